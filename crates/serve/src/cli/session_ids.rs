//! Session ids as users type them: whole, a prefix, or `last`.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use harn_journal::{JournalError, SessionSummary, Store};
use harn_model::SessionId;
use harn_terminal::{
    session_ids::{join_ids, matches_prefix},
    text::did_you_mean,
};

/// The word for the session that changed last, among those that are not archived.
const LAST: &str = "last";

/// Returns the stored session that a word names.
///
/// A word that matches no listed session is returned as it is if the store has it: only the store knows the
/// sessions of workers and damaged ones.
pub(super) fn find_stored_session(store: &dyn Store, word: &str) -> Result<SessionId> {
    let sessions = store.list()?.sessions;
    let ids = || sessions.iter().map(|it| &it.meta.thread_id);
    if let Some(id) = ids().find(|id| id.as_str() == word) {
        return Ok(id.clone());
    }
    if word == LAST {
        let last = find_last(store, sessions, |_| true);
        return last.ok_or_else(|| anyhow!("no session has a prompt yet"));
    }
    let begun: Vec<_> = ids()
        .filter(|id| matches_prefix(id.as_str(), word))
        .collect();
    match begun.as_slice() {
        [one] if !word.is_empty() => Ok((*one).clone()),
        [_, _, ..] if !word.is_empty() => {
            let ids = join_ids(begun.iter().map(|id| id.as_str()));
            bail!("several sessions begin with {word}: {ids}")
        }
        _ => {
            let id = SessionId::from(word);
            match store.meta(&id) {
                Err(JournalError::NotFound(_) | JournalError::InvalidId) => {
                    let near = did_you_mean(word, ids().map(SessionId::as_str));
                    bail!("unknown session {word}; {near}`harn-serve sessions list` lists all")
                }
                _ => Ok(id),
            }
        }
    }
}

/// Returns the session of a directory that changed last, has a prompt and is not archived.
#[cfg(feature = "terminal")]
pub(super) fn find_last_of_directory(store: &dyn Store, dir: &Path) -> Result<Option<SessionId>> {
    let sessions = store.list()?.sessions;
    // Sessions of other principals are not continued here.
    Ok(find_last(store, sessions, |it| {
        it.meta.principal.is_none() && is_same_dir(&it.meta.directory, dir)
    }))
}

fn find_last(
    store: &dyn Store,
    sessions: Vec<SessionSummary>,
    wanted: impl Fn(&SessionSummary) -> bool,
) -> Option<SessionId> {
    let listed = sessions.into_iter().filter(|it| !it.meta.archived);
    let mut wanted = listed.filter(wanted);
    let last = wanted.find(|it| has_prompt(store, it))?;
    Some(last.meta.thread_id)
}

/// Returns whether a session has a prompt; an unreadable log counts as one, so that it is not hidden.
pub(super) fn has_prompt(store: &dyn Store, session: &SessionSummary) -> bool {
    store.has_prompt(&session.meta.thread_id).unwrap_or(true)
}

/// Returns whether two paths are the same directory, as text or after following links.
pub(super) fn is_same_dir(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
