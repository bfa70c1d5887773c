//! Listings of sessions, open or not, and their cursors, which clients receive and send back as text.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use harn_journal::{JournalError, SessionSummary};
use harn_model::SessionId;

use super::{Hub, is_same_dir, run_blocking};
use crate::{Controller, LiveState, SessionError};

const PAGE: usize = 50;

/// One page of a listing.
#[derive(Clone, Debug)]
pub struct SessionPage {
    /// The sessions, the most recently changed first.
    pub sessions: Vec<ListedSession>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}

/// A row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// The data that is known without opening it.
    pub summary: SessionSummary,
    /// The live state, if the session is open here.
    pub live: Option<LiveState>,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Only sessions of this directory.
    pub cwd: Option<PathBuf>,
    /// Only open sessions (`true`) or only others (`false`).
    pub live: Option<bool>,
    /// Only sessions with a prompt, and open sessions.
    pub prompted: bool,
    /// How to treat archived sessions.
    pub archived: ArchiveFilter,
}

/// Whether a listing contains archived sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchiveFilter {
    /// Leaves out archived sessions.
    #[default]
    Exclude,
    /// Lists archived sessions with the others.
    Include,
    /// Lists only archived sessions.
    Only,
}

impl ArchiveFilter {
    fn includes(self, archived: bool) -> bool {
        match self {
            Self::Exclude => !archived,
            Self::Include => true,
            Self::Only => archived,
        }
    }
}

impl Hub {
    /// Lists sessions, open or not, one page at a time. Leaves out the sessions of workers, which a client
    /// can open by id.
    pub async fn list(
        &self,
        filter: SessionFilter,
        after: Option<String>,
    ) -> Result<SessionPage, SessionError> {
        let after = match after {
            Some(cursor) => Some(parse_cursor(&cursor).ok_or(SessionError::BadCursor)?),
            None => None,
        };
        let mut sessions = self.list_rows(filter, after, PAGE + 1).await?;
        let more = sessions.len() > PAGE;
        sessions.truncate(PAGE);
        let next = sessions.last().filter(|_| more);
        Ok(SessionPage {
            next: next.map(|last| format_cursor(&last.summary)),
            sessions,
        })
    }

    /// Lists all sessions that match, without pages.
    pub async fn list_all(
        &self,
        filter: SessionFilter,
    ) -> Result<Vec<ListedSession>, SessionError> {
        self.list_rows(filter, None, usize::MAX).await
    }

    /// Returns at most `most` sessions after a cursor. Reads the disk to resolve directories and to find prompts, so it
    /// runs on a blocking thread and reads no more sessions than it lists.
    async fn list_rows(
        &self,
        filter: SessionFilter,
        after: Option<(u64, SessionId)>,
        most: usize,
    ) -> Result<Vec<ListedSession>, SessionError> {
        let hub = self.clone();
        let rows = move || {
            let store = &hub.inner.config.store;
            let (rows, problems) = hub.read_rows(&filter, after.clone(), most)?;
            // Only with the first page: later pages repeat the same problems.
            if after.is_none() {
                for problem in &problems {
                    tracing::warn!(%problem, "a session cannot be listed");
                }
            }
            match rows.iter().all(|row| store.is_still_listed(&row.summary)) {
                true => Ok(rows),
                false => Ok(hub.read_rows(&filter, after, most)?.0),
            }
        };
        Ok(run_blocking(rows).await?)
    }

    fn read_rows(
        &self,
        filter: &SessionFilter,
        after: Option<(u64, SessionId)>,
        most: usize,
    ) -> Result<(Vec<ListedSession>, Vec<JournalError>), JournalError> {
        let store = &self.inner.config.store;
        let (mut rows, mut in_dir) = (Vec::new(), SameDirectory::new(filter.cwd.as_deref()));
        let problems = store.for_each_listed(after, &mut |summary| {
            let meta = &summary.meta;
            if !(self.owns_session(meta)
                && filter.archived.includes(meta.archived)
                && in_dir.includes(&meta.directory))
            {
                return true;
            }
            let live = self.live_session(&meta.thread_id);
            // A session with an unreadable log is listed, so that the client that opens it receives the error.
            let has_prompt = || store.has_prompt(&meta.thread_id).unwrap_or(true);
            if filter.live.is_none_or(|wanted| wanted == live.is_some())
                && (!filter.prompted || live.is_some() || has_prompt())
            {
                let live = live.map(|session| session.live_state());
                rows.push(ListedSession { summary, live });
            }
            rows.len() < most
        })?;
        Ok((rows, problems))
    }

    /// Returns the sessions that are open here, without those of workers.
    pub fn live_sessions(&self) -> Vec<Controller> {
        let mut open = self.inner.open_sessions();
        open.retain(|session| session.meta().worker.is_none() && self.owns_session(session.meta()));
        open
    }
}

fn format_cursor(summary: &SessionSummary) -> String {
    format!("{}:{}", summary.updated, summary.meta.thread_id)
}

fn parse_cursor(cursor: &str) -> Option<(u64, SessionId)> {
    let (updated, id) = cursor.split_once(':')?;
    Some((updated.parse().ok()?, id.into()))
}

/// Which directories are the one of a filter. Sessions share few directories, so each is resolved once.
struct SameDirectory<'a> {
    wanted: Option<&'a Path>,
    resolved: HashMap<PathBuf, bool>,
}

impl<'a> SameDirectory<'a> {
    fn new(wanted: Option<&'a Path>) -> Self {
        Self {
            wanted,
            resolved: HashMap::new(),
        }
    }

    fn includes(&mut self, directory: &Path) -> bool {
        let Some(wanted) = self.wanted else {
            return true;
        };
        if let Some(same) = self.resolved.get(directory) {
            return *same;
        }
        let same = is_same_dir(wanted, directory);
        self.resolved.insert(directory.to_owned(), same);
        same
    }
}
