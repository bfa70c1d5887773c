//! `harn-serve sessions`: what is kept, read straight from the journal, and what is live, as the servers of
//! this machine tell it.

mod transcript;

use std::{borrow::Cow, collections::HashMap, path::Path, process::ExitCode};

use anyhow::Result;
use harn_journal::{Listing, SessionSummary};
use harn_model::{SessionId, Timestamp};
use harn_runtime::Clock;

use super::{
    args::SessionsCommand,
    attach::{Listed, Which, ask_servers, sockets},
    note, paint, print, text,
};
use crate::{Options, SystemClock, session_store, workshop::waiting_room};

pub(super) fn run(options: &Options, command: SessionsCommand) -> Result<ExitCode> {
    let store = session_store::of(options).store;
    let kept = options.sessions_dir.as_ref().unwrap_or(&options.state_dir);
    let now = SystemClock::new().now();
    match command {
        SessionsCommand::List => {
            let Listing { sessions, problems } = store.list()?;
            // "No sessions" would be untrue where some cannot be read.
            if !sessions.is_empty() || problems.is_empty() {
                let live = live(&options.state_dir)?;
                print(&list(&sessions, &live, now, kept))?;
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

/// The sessions that are live on this machine, by their ids. Servers that do not answer are left out.
fn live(state_dir: &Path) -> Result<HashMap<String, Listed>> {
    let sockets = sockets(state_dir);
    if sockets.is_empty() {
        return Ok(HashMap::new());
    }
    let asked = waiting_room()?.block_on(ask_servers(sockets, Which::Live));
    let sessions = asked.into_iter().flatten().flat_map(|it| it.sessions);
    Ok(sessions.map(|it| (it.id.clone(), it)).collect())
}

/// About what fits beside the other columns.
const TITLE: usize = 48;

fn list(
    sessions: &[SessionSummary],
    live: &HashMap<String, Listed>,
    now: Timestamp,
    kept: &Path,
) -> String {
    if sessions.is_empty() {
        return format!("no sessions in {}\n", kept.display());
    }
    let rows: Vec<[Cow<'_, str>; 6]> = sessions
        .iter()
        .map(|session| {
            let title = paint::one_line(&session.meta.title);
            let (state, controller) = standing(live.get(session.meta.thread_id.as_str()), now);
            [
                session.meta.thread_id.as_str().into(),
                text::age(now, session.updated).into(),
                state.into(),
                controller.into(),
                text::cut(&title, TITLE).into_owned().into(),
                session.meta.directory.to_string_lossy(),
            ]
        })
        .collect();
    let head = ["ID", "CHANGED", "STATE", "CONTROLLER", "TITLE", "DIRECTORY"];
    text::table(head, &rows)
}

/// What a session does, and who controls it since when.
fn standing(live: Option<&Listed>, now: Timestamp) -> (&'static str, String) {
    let Some(live) = live else {
        return ("stored", String::new());
    };
    let state = if live.working { "working" } else { "live" };
    let controller = match (&live.controller, live.since) {
        (None, _) => "nobody".to_owned(),
        (Some(who), None) => paint::one_line(who).into_owned(),
        (Some(who), Some(since)) => {
            format!("{}, {}", paint::one_line(who), text::since(now, since))
        }
    };
    (state, controller)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_session_says_who_controls_it_and_since_when() {
        let mut live = Listed {
            id: "s".to_owned(),
            title: String::new(),
            cwd: "/w".into(),
            updated: 0,
            live: true,
            working: false,
            controller: None,
            since: None,
        };
        let says = |live: &Listed| standing(Some(live), 3_600_000);
        assert_eq!(says(&live), ("live", "nobody".to_owned()));
        live.controller = Some("desk\x1b[2J".to_owned());
        live.since = Some(0);
        live.working = true;
        assert_eq!(
            says(&live),
            ("working", "desk\\u{1b}[2J, for 1 h".to_owned())
        );
        assert_eq!(standing(None, 0), ("stored", String::new()));
    }
}
