//! All sessions as a document of its own, while a client watches it.
//!
//! The open sessions are read four times a second and the disk less often, once for all clients of a principal.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use harn_model::{Principal, SessionId};
use harn_runtime::{AgentProfile, Controller, Hub, SessionError, SessionFilter, SessionSummary};
use tokio::{sync::watch, time::sleep};

use crate::{
    changes::{DocumentChanges, at},
    error::StateError,
    wire::{ListingMessage, SessionListing, SessionRow, SessionStatus},
};

/// How often the open sessions are read; a user who starts a session expects it in the list.
const GLANCE: Duration = Duration::from_millis(250);
/// How many reads pass before the disk is read again.
const GLANCES: u32 = 20;
const COMMANDS_AS_EXAMPLES: usize = 4;

/// The lists of sessions that clients watch, by principal.
#[derive(Default)]
pub(crate) struct ListingFeeds {
    boards: Mutex<HashMap<Principal, Weak<ListingFeed>>>,
}

/// The sessions of a principal, as they were last read.
pub(crate) struct ListingFeed {
    seen: watch::Sender<Arc<SessionListing>>,
}

impl ListingFeeds {
    /// Returns the list of the hub's principal, which a task keeps up to date.
    pub(crate) async fn open_feed(
        &self,
        hub: &Hub,
        directory: &Path,
    ) -> Result<Arc<ListingFeed>, StateError> {
        if let Some(board) = self.find(hub.principal()) {
            return Ok(board);
        }
        let mut gaze = ListingPoller::new(hub.clone(), directory);
        let first = gaze.poll().await?;
        let (seen, _) = watch::channel(Arc::new(first));
        let board = Arc::new(ListingFeed { seen });
        let mut boards = self.boards.lock().unwrap_or_else(PoisonError::into_inner);
        boards.retain(|_, board| board.strong_count() > 0);
        let place = boards.entry(hub.principal().clone()).or_default();
        if let Some(faster) = place.upgrade() {
            return Ok(faster);
        }
        *place = Arc::downgrade(&board);
        tokio::spawn(gaze.keep_updated(Arc::downgrade(&board)));
        Ok(board)
    }

    fn find(&self, principal: &Principal) -> Option<Arc<ListingFeed>> {
        let boards = self.boards.lock().unwrap_or_else(PoisonError::into_inner);
        boards.get(principal)?.upgrade()
    }
}

impl ListingFeed {
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<SessionListing>> {
        self.seen.subscribe()
    }
}

/// Reads the list of sessions periodically.
struct ListingPoller {
    hub: Hub,
    /// The working directory of new sessions.
    cwd: String,
    stored: Vec<SessionSummary>,
    /// The sessions that were open at the last read.
    open: Vec<SessionId>,
    glances: u32,
}

impl ListingPoller {
    fn new(hub: Hub, directory: &Path) -> Self {
        Self {
            hub,
            cwd: directory.to_string_lossy().into_owned(),
            stored: Vec::new(),
            open: Vec::new(),
            glances: 0,
        }
    }

    async fn keep_updated(mut self, board: Weak<ListingFeed>) {
        loop {
            sleep(GLANCE).await;
            if board.strong_count() == 0 {
                return;
            }
            match self.poll().await {
                Ok(listing) => {
                    let Some(board) = board.upgrade() else {
                        return;
                    };
                    board.seen.send_if_modified(|seen| {
                        let other = **seen != listing;
                        if other {
                            *seen = Arc::new(listing);
                        }
                        other
                    });
                }
                // The list stays as it is until the next read.
                Err(error) => tracing::warn!(%error, "the sessions could not be listed"),
            }
        }
    }

    async fn poll(&mut self) -> Result<SessionListing, SessionError> {
        let live = self.hub.live_sessions();
        let mut open: Vec<_> = live.iter().map(|it| it.id().clone()).collect();
        open.sort();
        if self.glances == 0 || self.open != open {
            self.stored = self.list_stored().await?;
            self.glances = GLANCES;
        }
        self.glances -= 1;
        self.open = open;
        Ok(SessionListing {
            sessions: rows(&self.stored, &live),
            cwd: self.cwd.clone(),
            examples: examples(self.hub.profile()),
        })
    }

    async fn list_stored(&self) -> Result<Vec<SessionSummary>, SessionError> {
        let listed = self.hub.list_all(SessionFilter::default()).await?;
        Ok(listed.into_iter().map(|row| row.summary).collect())
    }
}

fn rows(stored: &[SessionSummary], live: &[Controller]) -> Vec<SessionRow> {
    let live: BTreeMap<_, _> = live.iter().map(|it| (it.id(), it)).collect();
    let rows = stored.iter().map(|summary| {
        let meta = &summary.meta;
        let open = live.get(&meta.thread_id);
        let title = open.and_then(|open| open.title());
        let title = title.or_else(|| (!meta.title.is_empty()).then(|| meta.title.clone()));
        let state = open.map(|open| open.live_state());
        SessionRow {
            id: meta.thread_id.to_string(),
            title,
            cwd: meta.directory.to_string_lossy().into_owned(),
            created_at: meta.created,
            updated_at: open.map_or(summary.updated, |it| it.updated_at().max(meta.created)),
            status: match open {
                Some(open) => status(open),
                None if meta.failed => SessionStatus::Error,
                None => SessionStatus::Closed,
            },
            clients: state.as_ref().map_or(0, |state| state.clients),
            controller: state
                .and_then(|state| state.controller)
                .map(|controller| controller.client_id),
        }
    });
    let mut sessions: Vec<_> = rows.collect();
    sessions.sort_by_cached_key(|row| (Reverse(row.updated_at), row.id.clone()));
    sessions
}

/// Returns the agent's examples, or its first commands if it has none.
fn examples(agent: &AgentProfile) -> Vec<String> {
    if !agent.examples.is_empty() {
        return agent.examples.clone();
    }
    let commands = agent.commands.iter().take(COMMANDS_AS_EXAMPLES);
    commands.map(|it| format!("/{}", it.name)).collect()
}

fn status(session: &Controller) -> SessionStatus {
    let active = session.live_state().active_prompt;
    let asks = || !session.open_asks().is_empty() || !session.open_hitl().is_empty();
    match active {
        false if session.last_turn_failed() => SessionStatus::Error,
        false => SessionStatus::Idle,
        true if asks() => SessionStatus::Waiting,
        true => SessionStatus::Running,
    }
}

/// Returns the message for a client that has `known`; `None` if nothing changed.
pub(crate) fn message(known: Option<&SessionListing>, now: &SessionListing) -> Option<Bytes> {
    let changes = known.and_then(|known| changes(known, now));
    let message = match &changes {
        Some(changes) if changes.is_empty() => return None,
        Some(changes) => ListingMessage::Delta {
            operations: changes.operations().unwrap_or_default(),
        },
        None => ListingMessage::State { state: now },
    };
    serde_json::to_vec(&message).ok().map(Bytes::from)
}

/// Returns the changed rows; `None` if the number of rows changed.
fn changes(known: &SessionListing, now: &SessionListing) -> Option<DocumentChanges> {
    let same = known.sessions.len() == now.sessions.len();
    let mut changes = DocumentChanges::default();
    let pairs = known.sessions.iter().zip(&now.sessions).enumerate();
    for (index, (_, row)) in pairs.filter(|(_, (known, row))| known != row) {
        changes.set(at!["sessions", index], row);
    }
    same.then_some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn row(id: &str, status: SessionStatus) -> SessionRow {
        SessionRow {
            id: id.to_owned(),
            title: None,
            cwd: "/work".to_owned(),
            created_at: 1,
            updated_at: 2,
            status,
            controller: None,
            clients: 0,
        }
    }

    fn message_json(known: Option<&SessionListing>, now: &SessionListing) -> Option<Value> {
        let message = message(known, now)?;
        Some(serde_json::from_slice(&message).unwrap())
    }

    #[test]
    fn a_client_receives_the_changed_rows() {
        use SessionStatus::{Idle, Running};
        let listing = |rows: Vec<SessionRow>| SessionListing {
            sessions: rows,
            ..SessionListing::default()
        };
        let one = listing(vec![row("a", Idle), row("b", Idle)]);
        let two = listing(vec![row("a", Idle), row("b", Running)]);
        assert_eq!(
            message_json(None, &one).unwrap()["state"]["sessions"][1]["id"],
            "b"
        );
        assert_eq!(message_json(Some(&one), &one), None);
        let delta = message_json(Some(&one), &two).unwrap();
        let [operation] = delta["operations"].as_array().unwrap().as_slice() else {
            panic!("{delta}");
        };
        assert_eq!(operation["path"], json!(["sessions", "1"]));
        assert_eq!(operation["value"]["status"], "running");
        let fewer = listing(vec![row("a", Idle)]);
        assert_eq!(message_json(Some(&one), &fewer).unwrap()["type"], "state");
    }
}
