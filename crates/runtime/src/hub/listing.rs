//! Listings of sessions, open or not, and places in them: text that is handed out and comes back.

use std::path::PathBuf;

use harn_journal::{SessionSummary, StoreListing};

use super::{Hub, blocking, same_dir};
use crate::{Controller, LiveState, SessionError};

const PAGE: usize = 50;

/// Part of a listing.
#[derive(Clone, Debug)]
pub struct SessionPage {
    /// The sessions, the most recently changed first.
    pub sessions: Vec<ListedSession>,
    /// What to ask for next, if there is more.
    pub next: Option<String>,
}

/// A row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// What is known without opening it.
    pub summary: SessionSummary,
    /// What it looks like, where it is open here.
    pub live: Option<LiveState>,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Those of this directory.
    pub cwd: Option<PathBuf>,
    /// Those that are open here, or those that are not.
    pub live: Option<bool>,
    /// Those that were sent a prompt, and those that are open here.
    pub prompted: bool,
    /// What becomes of those that are archived.
    pub archived: ArchiveFilter,
}

/// Whether a listing has sessions that are archived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchiveFilter {
    /// It has none of them.
    #[default]
    Exclude,
    /// It has them beside the others.
    Include,
    /// It has no others.
    Only,
}

impl ArchiveFilter {
    fn has(self, archived: bool) -> bool {
        match self {
            Self::Exclude => !archived,
            Self::Include => true,
            Self::Only => archived,
        }
    }
}

impl Hub {
    /// Lists sessions, open or not, a page at a time. Those of workers are left out; who knows their id
    /// can open them.
    pub async fn list(
        &self,
        filter: SessionFilter,
        after: Option<String>,
    ) -> Result<SessionPage, SessionError> {
        let after = match after {
            Some(cursor) => Some(parse_cursor(&cursor).ok_or(SessionError::BadCursor)?),
            None => None,
        };
        let mut sessions = self.rows(filter, after, PAGE + 1).await?;
        let more = sessions.len() > PAGE;
        sessions.truncate(PAGE);
        let next = sessions.last().filter(|_| more);
        Ok(SessionPage {
            next: next.map(|last| cursor(&last.summary)),
            sessions,
        })
    }

    /// The same, all of them at once.
    pub async fn list_all(
        &self,
        filter: SessionFilter,
    ) -> Result<Vec<ListedSession>, SessionError> {
        self.rows(filter, None, usize::MAX).await
    }

    /// At most so many that are stored after a place in the listing. Which directory a path leads to and whether
    /// a log has a prompt is asked of the disk, so it is asked off the async threads, and of no more sessions
    /// than are listed.
    async fn rows(
        &self,
        filter: SessionFilter,
        after: Option<(u64, String)>,
        most: usize,
    ) -> Result<Vec<ListedSession>, SessionError> {
        let hub = self.clone();
        let rows = move || {
            let store = &hub.inner.config.store;
            let StoreListing { sessions, problems } = store.list()?;
            // With the first page only: the rest is the same listing.
            if after.is_none() {
                for problem in &problems {
                    tracing::warn!(%problem, "a session cannot be listed");
                }
            }
            let rows = sessions.into_iter().filter(|summary| {
                let meta = &summary.meta;
                let in_dir = |cwd: &PathBuf| same_dir(cwd, &meta.directory);
                after.as_ref().is_none_or(|at| is_after(summary, at))
                    && hub.sees(meta)
                    && filter.archived.has(meta.archived)
                    && filter.cwd.as_ref().is_none_or(in_dir)
            });
            let rows = rows.map(|summary| ListedSession {
                live: hub
                    .live(&summary.meta.thread_id)
                    .map(|session| session.live_state()),
                summary,
            });
            let rows = rows.filter(|row| {
                let live = row.live.is_some();
                // One whose log cannot be read is listed, so that whoever opens it is told.
                let has_prompt = || {
                    store
                        .has_prompt(&row.summary.meta.thread_id)
                        .unwrap_or(true)
                };
                filter.live.is_none_or(|wanted| wanted == live)
                    && (!filter.prompted || live || has_prompt())
            });
            Ok(rows.take(most).collect())
        };
        Ok(blocking(rows).await?)
    }

    /// The sessions that are open here, but those of workers.
    #[must_use]
    pub fn live_sessions(&self) -> Vec<Controller> {
        let mut open = self.inner.open_sessions();
        open.retain(|session| session.meta().worker.is_none() && self.sees(session.meta()));
        open
    }
}

fn cursor(summary: &SessionSummary) -> String {
    format!("{}:{}", summary.updated, summary.meta.thread_id)
}

fn parse_cursor(cursor: &str) -> Option<(u64, String)> {
    let (updated, id) = cursor.split_once(':')?;
    Some((updated.parse().ok()?, id.to_owned()))
}

/// Whether a row comes after the cursor in the listing's order: newest first, then by id.
fn is_after(summary: &SessionSummary, (updated, id): &(u64, String)) -> bool {
    summary.updated < *updated
        || (summary.updated == *updated && summary.meta.thread_id.as_str() > id.as_str())
}
