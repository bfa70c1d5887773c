//! `harn-serve sessions`: stored sessions, read from the journal, and live ones, from the servers of this machine.

mod args;
mod check;
mod transcript;

use std::{
    borrow::Cow,
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use harn_journal::{JournalError, SessionSummary, Store};
use harn_model::{Timestamp, format_rfc3339};
use harn_runtime::Clock;
use harn_terminal::{
    console::{as_command_line_error, print, print_note},
    paint,
    server_session::ServerSession,
    text,
};
use serde::Serialize;

use super::{
    args::SessionsCommand,
    print_json,
    session_ids::{find_stored_session, has_prompt, is_same_dir},
};
use crate::{ServeOptions, SystemClock, session_store};

pub(super) use self::args::{CheckSessionsArgs, ListSessionsArgs};

pub(super) fn run(options: &ServeOptions, command: SessionsCommand) -> Result<ExitCode> {
    let store = session_store::select_storage(options).store;
    match command {
        SessionsCommand::List(args) => list(options, &*store, &args)?,
        SessionsCommand::Show { id } => {
            let (meta, events) = store.read(&find_stored_session(&*store, &id)?)?;
            let now = SystemClock::new().now();
            print(&transcript::format_transcript(&meta, &events, now))?;
        }
        SessionsCommand::Check(args) => return check::run(&*store, &args),
        SessionsCommand::Delete { id } => {
            let id = find_stored_session(&*store, &id)?;
            store.delete(&id)?;
            print(&format!("deleted {id}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(options: &ServeOptions, store: &dyn Store, args: &ListSessionsArgs) -> Result<()> {
    // A deleted directory still has its sessions.
    let cwd = args.cwd.as_deref().map(|dir| {
        let absolute = std::path::absolute(dir)?;
        io::Result::Ok(absolute.components().collect::<PathBuf>())
    });
    let cwd = cwd
        .transpose()
        .context("--cwd")
        .map_err(as_command_line_error)?;
    let live = fetch_live_sessions(&options.state_dir)?;
    let mut listing = list_rows(store, cwd.as_deref(), &live, args)?;
    if !listing.rows.iter().all(|row| store.is_still_listed(row)) {
        listing = list_rows(store, cwd.as_deref(), &live, args)?;
    }
    let ListedRows {
        rows: shown,
        unprompted,
        archived,
        problems,
    } = listing;
    if args.json {
        let rows = shown
            .iter()
            .map(|session| SessionListRow::from_summary(session, &live));
        let rows: Vec<_> = rows.collect();
        print_json(&rows)?;
    } else if !shown.is_empty() {
        print(&format_table(&shown, &live, SystemClock::new().now()))?;
    } else if problems.is_empty() {
        let kept = options.sessions_dir.as_ref().unwrap_or(&options.state_dir);
        // "No sessions" would be false when some are unreadable or left out.
        let none = match unprompted + archived {
            0 => "no sessions",
            _ => "no sessions to list",
        };
        print(&match &cwd {
            Some(cwd) => format!("{none} of {} in {}\n", cwd.display(), kept.display()),
            None => format!("{none} in {}\n", kept.display()),
        })?;
    }
    let left_out = [(unprompted, "without a prompt"), (archived, "archived")];
    let left_out = left_out.iter().filter(|(count, _)| *count > 0);
    let left_out: Vec<_> = left_out
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    if !left_out.is_empty() {
        let left_out = left_out.join(" and ");
        print_note(format_args!("{left_out} left out; --all lists them"));
    }
    problems.iter().for_each(print_note);
    Ok(())
}

/// The rows that a command prints, and what it left out.
#[derive(Default)]
struct ListedRows {
    rows: Vec<SessionSummary>,
    unprompted: usize,
    archived: usize,
    problems: Vec<JournalError>,
}

fn list_rows(
    store: &dyn Store,
    cwd: Option<&Path>,
    live: &HashMap<String, ServerSession>,
    args: &ListSessionsArgs,
) -> Result<ListedRows> {
    let limit = args.limit.map_or(usize::MAX, usize::from);
    let mut listed = ListedRows::default();
    // Sessions share few directories, so each is resolved once.
    let mut resolved: HashMap<PathBuf, bool> = HashMap::new();
    let problems = store.for_each_listed(None, &mut |session| {
        if let Some(cwd) = cwd {
            let directory = &session.meta.directory;
            let same = resolved.get(directory).copied();
            let same = same.unwrap_or_else(|| is_same_dir(cwd, directory));
            resolved.insert(directory.clone(), same);
            if !same {
                return true;
            }
        }
        let is_live = live.contains_key(session.meta.thread_id.as_str());
        if !args.all && session.meta.archived {
            listed.archived += 1;
        } else if !args.all && !is_live && !has_prompt(store, &session) {
            listed.unprompted += 1;
        } else {
            listed.rows.push(session);
        }
        listed.rows.len() < limit
    })?;
    listed.problems = problems;
    Ok(listed)
}

/// A session as JSON; names and values are those of `session/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionListRow<'a> {
    session_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    cwd: Cow<'a, str>,
    created_at: String,
    updated_at: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    archived: bool,
    live_state: &'static str,
    active_prompt: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    controller_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    controlled_since: Option<String>,
}

impl<'a> SessionListRow<'a> {
    fn from_summary(session: &'a SessionSummary, live: &'a HashMap<String, ServerSession>) -> Self {
        let meta = &session.meta;
        let live = live.get(meta.thread_id.as_str());
        Self {
            session_id: meta.thread_id.as_str(),
            title: &meta.title,
            cwd: meta.directory.to_string_lossy(),
            created_at: format_rfc3339(meta.created),
            updated_at: format_rfc3339(session.updated),
            archived: meta.archived,
            live_state: live.map_or("persisted", |_| "live"),
            active_prompt: live.is_some_and(|live| live.working),
            controller_id: live.and_then(|live| live.controller.as_deref()),
            controlled_since: live.and_then(|live| live.since).map(format_rfc3339),
        }
    }
}

/// Returns the live sessions on this machine, by id. Servers that do not answer are left out.
#[cfg(feature = "terminal")]
fn fetch_live_sessions(state_dir: &Path) -> Result<HashMap<String, ServerSession>> {
    let sessions = crate::server_runtime::build_waiting_runtime()?
        .block_on(harn_terminal::attach::live_sessions(state_dir));
    Ok(sessions.into_iter().map(|it| (it.id.clone(), it)).collect())
}

/// A build without the terminal client asks no server.
#[cfg(not(feature = "terminal"))]
fn fetch_live_sessions(_: &Path) -> Result<HashMap<String, ServerSession>> {
    Ok(HashMap::new())
}

/// The title's width, about what fits beside the other columns.
const TITLE: usize = 48;

fn format_table(
    sessions: &[SessionSummary],
    live: &HashMap<String, ServerSession>,
    now: Timestamp,
) -> String {
    let rows: Vec<[Cow<'_, str>; 6]> = sessions
        .iter()
        .map(|session| {
            let title = paint::one_line(&session.meta.title);
            let (state, controller) = match live.get(session.meta.thread_id.as_str()) {
                None if session.meta.archived => ("archived", String::new()),
                live => describe_state(live, now),
            };
            [
                session.meta.thread_id.as_str().into(),
                text::format_age(now, session.updated).into(),
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

/// Returns the state of a session, and its controller with the time of control.
fn describe_state(live: Option<&ServerSession>, now: Timestamp) -> (&'static str, String) {
    let Some(live) = live else {
        return ("stored", String::new());
    };
    let state = if live.working { "working" } else { "live" };
    let controller = match (&live.controller, live.since) {
        (None, _) => "none".to_owned(),
        (Some(who), None) => paint::one_line(who).into_owned(),
        (Some(who), Some(since)) => {
            format!(
                "{}, {}",
                paint::one_line(who),
                text::format_since(now, since)
            )
        }
    };
    (state, controller)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_session_row_shows_the_controller_and_its_time() {
        let mut live = ServerSession {
            id: "s".to_owned(),
            title: String::new(),
            cwd: "/w".into(),
            updated: 0,
            live: true,
            working: false,
            controller: None,
            since: None,
        };
        let says = |live: &ServerSession| describe_state(Some(live), 3_600_000);
        assert_eq!(says(&live), ("live", "none".to_owned()));
        live.controller = Some("desk\x1b[2J".to_owned());
        live.since = Some(0);
        live.working = true;
        assert_eq!(
            says(&live),
            ("working", "desk\\u{1b}[2J, for 1 h".to_owned())
        );
        assert_eq!(describe_state(None, 0), ("stored", String::new()));
    }
}
