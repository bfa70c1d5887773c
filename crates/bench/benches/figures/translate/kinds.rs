//! The events that are translated: a recorded session in which each kind occurs, sorted by kind.

use anyhow::{Context, Result};
use harn_acp::{Profile, UpdateProjector};
use harn_model::Envelope;
use serde::Deserialize;

/// The same file pins the journal's format.
const RECORDED: &str = include_str!("../../../../../fixtures/journal/every-event.jsonl");

const SESSION: &str = "0199a0f0-0000-7000-8000-000000000001";

/// Events of one kind.
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) events: Vec<Envelope>,
}

#[derive(Deserialize)]
struct Tagged<'a> {
    #[serde(borrow)]
    event: Tag<'a>,
}

#[derive(Deserialize)]
struct Tag<'a> {
    r#type: &'a str,
}

/// Returns the kinds in the order in which they first occur.
pub(crate) fn kinds() -> Result<Vec<Kind>> {
    let mut kinds: Vec<Kind> = Vec::new();
    for line in RECORDED.lines() {
        let name = serde_json::from_str::<Tagged<'_>>(line)?.event.r#type;
        let event = serde_json::from_str(line).with_context(|| format!("an event {name}"))?;
        match kinds.iter_mut().find(|kind| kind.name == name) {
            Some(kind) => kind.events.push(event),
            None => kinds.push(Kind {
                name: name.to_owned(),
                events: vec![event],
            }),
        }
    }
    Ok(kinds)
}

impl Kind {
    pub(crate) fn write(&self, projector: &UpdateProjector, out: &mut Vec<u8>) {
        for event in &self.events {
            projector.write(event, out);
        }
    }

    /// Returns the lines that a profile sends for them.
    pub(crate) fn lines(&self, profile: Profile) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&projector(profile), &mut out);
        out
    }
}

pub(crate) fn projector(profile: Profile) -> UpdateProjector {
    UpdateProjector::new(&SESSION.into(), profile, false)
}
