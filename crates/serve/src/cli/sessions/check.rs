//! `harn-serve sessions check`: reads whole journals, reports damage with file and line, and repairs them on request.

use std::{borrow::Cow, fmt::Write as _, process::ExitCode};

use anyhow::Result;
use harn_journal::{JournalError, LogCheck, LogRepair, Store};
use harn_model::SessionId;
use harn_terminal::{console::print, text};

use super::CheckSessionsArgs;
use crate::cli::session_ids::find_stored_session;

type Row = [Cow<'static, str>; 3];

pub(super) fn run(store: &dyn Store, args: &CheckSessionsArgs) -> Result<ExitCode> {
    let ids = match &args.id {
        Some(id) => vec![find_stored_session(store, id)?],
        None => store.ids()?,
    };
    let (mut rows, mut has_damage) = (Vec::new(), false);
    for id in ids {
        if args.repair {
            rows.extend(repair(store, &id));
        }
        match store.check_log(&id) {
            Ok(found) => rows.push(row("ok", &id, describe_check(found))),
            // A folder that is no session, or one that was deleted meanwhile.
            Err(JournalError::NotFound(_)) if args.id.is_none() => {}
            Err(error) => {
                has_damage = true;
                rows.push(row("damaged", &id, error.to_string()));
            }
        }
    }
    print(&match rows.is_empty() {
        true => "no sessions\n".to_owned(),
        false => text::columns(&rows),
    })?;
    Ok(ExitCode::from(u8::from(has_damage)))
}

/// Repairs the journal of a session, if it is damaged, and returns what was lost or why it failed.
fn repair(store: &dyn Store, id: &SessionId) -> Option<Row> {
    match store.repair_log(id) {
        Ok(repaired) => Some(row("repaired", id, describe_repair(&repaired?))),
        // The check reports a session that does not exist.
        Err(JournalError::NotFound(_)) => None,
        Err(error) => Some(row("failed", id, format!("not repaired: {error}"))),
    }
}

fn row(grade: &'static str, id: &SessionId, found: String) -> Row {
    [grade.into(), id.as_str().to_owned().into(), found.into()]
}

fn describe_check(found: LogCheck) -> String {
    let mut words = count(found.events, "event");
    if found.without_checksum > 0 {
        let _ = write!(
            words,
            ", the first {} without a checksum",
            found.without_checksum
        );
    }
    if found.torn_bytes > 0 {
        let torn = count(found.torn_bytes, "byte");
        let _ = write!(
            words,
            "; the next opening removes {torn} of an interrupted write"
        );
    }
    words
}

fn describe_repair(repaired: &LogRepair) -> String {
    format!(
        "{}; kept {}, lost {} with {}; the damaged file is {}",
        repaired.damage,
        count(repaired.events, "event"),
        count(repaired.lost_lines, "line"),
        count(repaired.lost_bytes, "byte"),
        repaired.damaged_file.display()
    )
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
