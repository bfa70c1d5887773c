//! Rules for every ACP conversation with the extensions, checked on a recording.

mod acp_shapes;
mod activity;
mod advertised_names;
mod bridge;
mod catalogue;
mod checker;
mod composition;
mod envelope;
mod explain;
mod extensions;
mod live_clients;
mod meta;
mod methods;
mod permission;
mod recording;
mod requests;
mod rule;
mod session;
mod shape;
mod steering;
mod stream;
#[cfg(test)]
mod tests;
mod tools;
mod verify;

use std::fmt;

pub use catalogue::{Fixture, find_fixture, fixtures};
pub use checker::Checker;
pub use rule::ConformanceRule;
use serde::Serialize;
pub use verify::{FileVerdict, verify};

/// The direction of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum TrafficDirection {
    /// From the client to the agent.
    #[serde(rename = "agent")]
    ToAgent,
    /// From the agent to the client.
    #[serde(rename = "client")]
    ToClient,
}

impl TrafficDirection {
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::ToAgent => Self::ToClient,
            Self::ToClient => Self::ToAgent,
        }
    }
}

/// A line that breaks a rule.
///
/// The message names members, ids and methods and never repeats a text, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConformanceFinding {
    /// The number of the line, from one.
    pub line: usize,
    /// The direction, if known: a line to the agent is the client's mistake.
    #[serde(rename = "to", skip_serializing_if = "Option::is_none")]
    pub direction: Option<TrafficDirection>,
    /// The rule that the line breaks.
    pub rule: ConformanceRule,
    /// The reason why the line breaks the rule.
    pub message: String,
}

impl fmt::Display for ConformanceFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, message, .. } = self;
        write!(f, "{rule}: {message}")?;
        match self.direction {
            Some(TrafficDirection::ToAgent) => f.write_str(" (sent by the client)"),
            Some(TrafficDirection::ToClient) | None => Ok(()),
        }
    }
}

/// The findings of one message; the caller adds the line and its direction.
type MessageFindings = Vec<(ConformanceRule, String)>;

/// Formats a name from a message for display: short, without control characters.
fn quote_name(name: &str) -> String {
    const LIMIT: usize = 64;
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut text: String = name.chars().take(LIMIT).map(plain).collect();
    if name.chars().nth(LIMIT).is_some() {
        text.push('…');
    }
    format!("`{text}`")
}

/// Formats up to four names and the number of further ones.
fn list_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const LIMIT: usize = 4;
    let mut names = names.into_iter();
    let mut text: Vec<_> = names.by_ref().take(LIMIT).map(quote_name).collect();
    match names.count() {
        0 => {}
        more => text.push(format!("{more} more")),
    }
    text.join(", ")
}
