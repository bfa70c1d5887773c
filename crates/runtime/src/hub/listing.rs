//! Listings of sessions, open or not, and places in them: text that is handed out and comes back.

use std::path::PathBuf;

use harn_journal::SessionSummary;

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
}

impl Hub {
    /// Lists sessions, open or not, a page at a time. Those of workers are left out; who knows their id
    /// can open them.
    pub async fn list(
        &self,
        filter: SessionFilter,
        after: Option<String>,
    ) -> Result<SessionPage, SessionError> {
        let after = match &after {
            Some(cursor) => Some(parse_cursor(cursor).ok_or(SessionError::BadCursor)?),
            None => None,
        };
        let mut rest = self.stored(filter, after).await?;
        let sessions: Vec<_> = rest.by_ref().take(PAGE).collect();
        let more = rest.next().is_some();
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
        Ok(self.stored(filter, None).await?.collect())
    }

    /// Those that are stored after a place in the listing.
    async fn stored(
        &self,
        filter: SessionFilter,
        after: Option<(u64, &str)>,
    ) -> Result<impl Iterator<Item = ListedSession>, SessionError> {
        let store = self.inner.config.store.clone();
        // Which directory a path leads to is asked of the disk: not here, where nothing may wait.
        let listing = blocking(move || {
            let mut listing = store.list()?;
            if let Some(cwd) = filter.cwd {
                listing
                    .sessions
                    .retain(|s| same_dir(&cwd, &s.meta.directory));
            }
            Ok(listing)
        })
        .await?;
        // With the first page only: the rest is the same listing.
        if after.is_none() {
            for problem in &listing.problems {
                tracing::warn!(%problem, "a session cannot be listed");
            }
        }
        let rest = listing.sessions.into_iter();
        let rest =
            rest.filter(move |s| after.is_none_or(|at| is_after(s, at)) && self.sees(&s.meta));
        let rest = rest.map(|summary| ListedSession {
            live: self
                .live(&summary.meta.thread_id)
                .map(|session| session.live_state()),
            summary,
        });
        let live = filter.live;
        Ok(rest.filter(move |s| live.is_none_or(|live| live == s.live.is_some())))
    }

    /// The sessions that are open here, but those of workers.
    #[must_use]
    pub fn live_sessions(&self) -> Vec<Controller> {
        let live = self.inner.lock();
        let open = live.iter().flat_map(|live| live.values());
        let open = open.filter_map(|cell| cell.get());
        let own = open.filter(|session| {
            let meta = session.meta();
            !session.is_closed() && meta.worker.is_none() && self.sees(meta)
        });
        own.cloned().collect()
    }
}

fn cursor(summary: &SessionSummary) -> String {
    format!("{}:{}", summary.updated, summary.meta.thread_id)
}

fn parse_cursor(cursor: &str) -> Option<(u64, &str)> {
    let (updated, id) = cursor.split_once(':')?;
    Some((updated.parse().ok()?, id))
}

/// Whether a row comes after the cursor in the listing's order: newest first, then by id.
fn is_after(summary: &SessionSummary, (updated, id): (u64, &str)) -> bool {
    summary.updated < updated
        || (summary.updated == updated && summary.meta.thread_id.as_str() > id)
}
