//! `harn-serve sessions`: what is kept, read straight from the journal.

mod transcript;

use std::{borrow::Cow, path::Path, process::ExitCode};

use anyhow::Result;
use harn_journal::{JsonlStore, Listing, SessionSummary, Store};
use harn_model::{SessionId, Timestamp};
use harn_runtime::Clock;

use super::{args::SessionsCommand, note, paint, print, text};
use crate::SystemClock;

pub(super) fn run(state_dir: &Path, command: SessionsCommand) -> Result<ExitCode> {
    let store = JsonlStore::new(state_dir);
    let now = SystemClock::new().now();
    match command {
        SessionsCommand::List => {
            let Listing { sessions, problems } = store.list()?;
            // "No sessions" would be untrue where some cannot be read.
            if !sessions.is_empty() || problems.is_empty() {
                print(&list(&sessions, now, state_dir))?;
            }
            problems.iter().for_each(note);
        }
        SessionsCommand::Show { id } => {
            let (meta, events) = store.read(&SessionId::from(id))?;
            print(&transcript::transcript(&meta, &events, now))?;
        }
        SessionsCommand::Delete { id } => {
            store.delete(&SessionId::from(id.as_str()))?;
            print(&format!("deleted {id}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// About what fits beside the other columns.
const TITLE: usize = 48;

fn list(sessions: &[SessionSummary], now: Timestamp, state_dir: &Path) -> String {
    if sessions.is_empty() {
        return format!("no sessions in {}\n", state_dir.display());
    }
    let rows: Vec<[Cow<'_, str>; 4]> = sessions
        .iter()
        .map(|session| {
            let title = paint::one_line(&session.meta.title);
            [
                session.meta.thread_id.as_str().into(),
                text::age(now, session.updated).into(),
                text::cut(&title, TITLE).into_owned().into(),
                session.meta.directory.to_string_lossy(),
            ]
        })
        .collect();
    text::table(["ID", "CHANGED", "TITLE", "DIRECTORY"], &rows)
}
