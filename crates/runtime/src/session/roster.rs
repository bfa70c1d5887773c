//! The connected clients of a session: connections (seats), the clients attached through them, and the controller.
//!
//! Plain data and its rules, without tasks, clocks or events. At most one client or connection controls the
//! session. The epoch grows with every change of control and with nothing else; the term with every change of
//! who receives questions.

mod attach;
mod change;
mod queries;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use harn_model::{
    LiveAuthor, LiveClient, LiveClientAction, LiveClientLeft, LiveClientMode, Timestamp,
};
use serde_json::Value;
use tokio::time::Instant;

pub(crate) use change::RosterChange;
pub use change::{AttachClient, ControlPreemption};
use change::{CLIENT_EXIT, silent_exit};

use crate::{HostPort, LiveClientError, NotInControl};

/// The maximum number of clients of a session; every change of one is published with all of them.
const MOST_CLIENTS: usize = 1024;

/// The maximum size of all clients' metadata in bytes: it is published with every change, too.
const MOST_METADATA: usize = 256 * 1024;

/// The number of missed heartbeats after which a client is detached.
const PATIENCE: u32 = 3;

/// The id of a connection on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SeatId(u64);

/// Whether a connection controls a session without an explicit attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeatClaim {
    /// It takes free control when it acts, because it opened the session.
    IfFree,
    /// It watches, until one of its clients takes control.
    Never,
}

/// The kind of action on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverAction {
    /// Sends a message to the agent.
    Speak,
    /// Answers a question.
    Answer,
    /// Anything else that changes the session.
    Steer,
}

/// A point in time, for people and for deadlines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockReading {
    pub(crate) at: Timestamp,
    pub(crate) tick: Instant,
}

/// The connection that receives questions, and the term since it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnsweringSeat {
    pub(crate) seat: SeatId,
    pub(crate) term: u64,
}

#[derive(Default)]
pub(crate) struct Roster {
    epoch: u64,
    term: u64,
    seated: u64,
    seats: BTreeMap<SeatId, SeatedConnection>,
    /// In order of arrival.
    rows: Vec<RosterClient>,
    control: Option<ControlTenure>,
}

struct SeatedConnection {
    name: Arc<str>,
    host: Arc<dyn HostPort>,
    /// Whether it may control the session without an attached client.
    implicit: bool,
}

struct RosterClient {
    client: LiveClient,
    seat: SeatId,
    promise: Option<HeartbeatPromise>,
    /// The size of its metadata in bytes.
    said: usize,
}

/// A client's promise to send heartbeats.
#[derive(Clone, Copy)]
struct HeartbeatPromise {
    every: Duration,
    due: Instant,
}

impl HeartbeatPromise {
    fn new(every: Duration, now: ClockReading) -> Self {
        let due = now.tick + every.saturating_mul(PATIENCE);
        Self { every, due }
    }
}

struct ControlTenure {
    holder: ControlHolder,
    since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ControlHolder {
    Seat(SeatId),
    Client(String),
}

impl Roster {
    pub(crate) fn add_seat(
        &mut self,
        name: &str,
        host: Arc<dyn HostPort>,
        claim: SeatClaim,
        now: ClockReading,
    ) -> SeatId {
        self.seated += 1;
        let seat = SeatId(self.seated);
        let sitting = SeatedConnection {
            name: name.into(),
            host,
            implicit: false,
        };
        self.seats.insert(seat, sitting);
        if claim == SeatClaim::IfFree {
            self.claim(seat, now);
        }
        seat
    }

    /// Lets a connection control the session from now on, unless it has clients, which decide for themselves.
    pub(crate) fn claim(&mut self, seat: SeatId, now: ClockReading) {
        if self.has_clients(seat) {
            return;
        }
        self.apply_change(|roster| {
            if let Some(sitting) = roster.seats.get_mut(&seat) {
                sitting.implicit = true;
            }
        });
        self.claim_if_free(seat, now);
    }

    /// Removes a connection and every client attached through it.
    pub(crate) fn leave(&mut self, seat: SeatId) -> Vec<RosterChange> {
        let own = self.rows.iter().filter(|row| row.seat == seat);
        let own: Vec<_> = own.map(|row| row.client.client_id.clone()).collect();
        let changes = self.remove_all(own, CLIENT_EXIT);
        self.apply_change(|roster| {
            if roster.holder() == Some(&ControlHolder::Seat(seat)) {
                roster.control = None;
            }
            roster.seats.remove(&seat);
        });
        changes
    }

    pub(crate) fn detach(
        &mut self,
        seat: SeatId,
        wanted: LiveClientLeft,
    ) -> Result<RosterChange, LiveClientError> {
        let unknown = LiveClientError::NotAttached {
            client_id: wanted.client_id.clone(),
        };
        // A broker reports the exit of a client of any connection; all belong to one principal.
        if wanted.reason != CLIENT_EXIT {
            self.attached_row(seat, &wanted.client_id)?;
        }
        self.remove(wanted).ok_or(unknown)
    }

    /// Records that a client is still connected.
    pub(crate) fn heartbeat(
        &mut self,
        seat: SeatId,
        client_id: &str,
        metadata: Option<Value>,
        now: ClockReading,
    ) -> Result<RosterChange, LiveClientError> {
        let at = self.attached_row(seat, client_id)?;
        self.check_metadata_size(client_id, metadata.as_ref())?;
        let row = &mut self.rows[at];
        row.update_seen(metadata, now);
        row.promise = row.promise.map(|it| HeartbeatPromise::new(it.every, now));
        let controller = self.controller_id();
        let action = LiveClientAction::Heartbeat;
        Ok(self.build_change(action, Some(client_id), controller, None))
    }

    /// Detaches clients whose heartbeats are overdue.
    pub(crate) fn detach_overdue(&mut self, now: ClockReading) -> Vec<RosterChange> {
        let late = |row: &&RosterClient| row.promise.is_some_and(|it| it.due <= now.tick);
        let late = self.rows.iter().filter(late);
        let late: Vec<_> = late.map(|row| row.client.client_id.clone()).collect();
        self.remove_all(late, "heartbeat_missed")
    }

    /// Returns when the next client is overdue.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let promises = self.rows.iter().filter_map(|row| row.promise);
        promises.map(|it| it.due).min()
    }

    /// Checks whether a connection or client may act, and returns the author. A connection that may control
    /// the session implicitly takes free control.
    pub(crate) fn drive(
        &mut self,
        seat: SeatId,
        act: DriverAction,
        client: Option<&str>,
        now: ClockReading,
    ) -> Result<Option<LiveAuthor>, NotInControl> {
        self.claim_if_free(seat, now);
        let controller = self.controller_id();
        let own = |row: &RosterClient, id: &str| row.seat == seat && row.client.client_id == id;
        let named = client.filter(|id| self.rows.iter().any(|row| own(row, id)));
        let holds = match (self.holder(), named) {
            (None, _) => false,
            (Some(ControlHolder::Client(id)), Some(named)) => id == named,
            (Some(ControlHolder::Seat(_)), Some(_)) => false,
            (Some(_), None) => self.holding_seat() == Some(seat),
        };
        let Some(controller) = controller.clone().filter(|_| holds) else {
            return Err(NotInControl::NotController { controller });
        };
        let Some(row) = self.row_index(&controller).filter(|_| !self.is_implicit()) else {
            return Ok(None);
        };
        let client = &self.rows[row].client;
        match act {
            DriverAction::Speak if !client.prompt_injection => {
                Err(NotInControl::PromptInjectionOff { controller })
            }
            DriverAction::Answer if !client.permission_routing => {
                Err(NotInControl::PermissionRoutingOff { controller })
            }
            DriverAction::Speak | DriverAction::Answer | DriverAction::Steer => {
                let author = LiveAuthor::controller(controller, client.metadata.clone());
                Ok(Some(author))
            }
        }
    }

    fn claim_if_free(&mut self, seat: SeatId, now: ClockReading) {
        let implicit = self.seats.get(&seat).is_some_and(|it| it.implicit);
        if implicit && self.control.is_none() {
            let (holder, since) = (ControlHolder::Seat(seat), now.at);
            self.apply_change(|roster| roster.control = Some(ControlTenure { holder, since }));
        }
    }

    /// Removes a client and returns the change to publish.
    fn remove(&mut self, gone: LiveClientLeft) -> Option<RosterChange> {
        let before = self.controller_id();
        self.row_index(&gone.client_id)?;
        self.apply_change(|roster| roster.remove_row(&gone.client_id));
        let left = Some(Box::new(gone));
        Some(self.build_change(LiveClientAction::Detached, None, before, left))
    }

    fn remove_all(&mut self, clients: Vec<String>, reason: &str) -> Vec<RosterChange> {
        let gone = clients.into_iter().map(|id| silent_exit(id, reason));
        gone.filter_map(|gone| self.remove(gone)).collect()
    }

    /// Removes a client, and its control. Only inside `changing`.
    fn remove_row(&mut self, client_id: &str) {
        if matches!(self.holder(), Some(ControlHolder::Client(id)) if id == client_id) {
            self.control = None;
        }
        self.rows.retain(|row| row.client.client_id != client_id);
    }

    fn demote(&mut self, client_id: &str) {
        if let Some(at) = self.row_index(client_id) {
            let client = &mut self.rows[at].client;
            client.mode = LiveClientMode::Observer;
            client.prompt_injection = false;
            client.permission_routing = false;
        }
    }

    /// The only function that increments the epoch and the term.
    fn apply_change(&mut self, change: impl FnOnce(&mut Self)) {
        let held = self.holder().cloned().zip(self.holding_seat());
        let asked = self.asked_party();
        change(self);
        if self.holder().cloned().zip(self.holding_seat()) != held {
            self.epoch += 1;
        }
        if self.asked_party() != asked {
            self.term += 1;
        }
    }

    /// Returns the connection that receives questions, and its client: a broker has several.
    fn asked_party(&self) -> Option<(SeatId, Option<String>)> {
        let name = self.asked_name().map(str::to_owned);
        self.asked_seat().map(|seat| (seat, name))
    }

    /// Rejects metadata that would make the published clients too large.
    fn check_metadata_size(
        &self,
        client_id: &str,
        metadata: Option<&Value>,
    ) -> Result<(), LiveClientError> {
        let Some(metadata) = metadata else {
            return Ok(());
        };
        let others = self
            .rows
            .iter()
            .filter(|row| row.client.client_id != client_id);
        let others: usize = others.map(|row| row.said).sum();
        match others + metadata_len(metadata) > MOST_METADATA {
            true => Err(LiveClientError::TooMuchMetadata {
                limit: MOST_METADATA,
            }),
            false => Ok(()),
        }
    }

    fn holder(&self) -> Option<&ControlHolder> {
        self.control.as_ref().map(|control| &control.holder)
    }

    fn is_implicit(&self) -> bool {
        matches!(self.holder(), Some(ControlHolder::Seat(_)))
    }

    fn holding_seat(&self) -> Option<SeatId> {
        match self.holder()? {
            ControlHolder::Seat(seat) => Some(*seat),
            ControlHolder::Client(id) => self.row_index(id).map(|at| self.rows[at].seat),
        }
    }

    /// Returns the controller's connection, unless it opted out of questions. Without a controller, returns the
    /// connection that opened the session last: an unseen question would block the turn until its deadline.
    fn asked_seat(&self) -> Option<SeatId> {
        match self.holder() {
            Some(ControlHolder::Seat(seat)) => Some(*seat),
            Some(ControlHolder::Client(id)) => {
                let row = &self.rows[self.row_index(id)?];
                row.client.permission_routing.then_some(row.seat)
            }
            None => {
                let mut seats = self.seats.iter().rev();
                seats.find(|(_, it)| it.implicit).map(|(seat, _)| *seat)
            }
        }
    }

    fn controller_id(&self) -> Option<String> {
        match self.holder()? {
            ControlHolder::Seat(seat) => self.seats.get(seat).map(|it| it.name.to_string()),
            ControlHolder::Client(id) => Some(id.clone()),
        }
    }

    fn row_index(&self, client_id: &str) -> Option<usize> {
        let named = |row: &RosterClient| row.client.client_id == client_id;
        self.rows.iter().position(named)
    }

    /// Returns the index of a client that is attached through this connection.
    fn attached_row(&self, seat: SeatId, client_id: &str) -> Result<usize, LiveClientError> {
        let at = self
            .row_index(client_id)
            .filter(|at| self.rows[*at].seat == seat);
        at.ok_or_else(|| LiveClientError::NotAttached {
            client_id: client_id.to_owned(),
        })
    }
}

impl RosterClient {
    fn update_seen(&mut self, metadata: Option<Value>, now: ClockReading) {
        self.client.last_seen_at = seconds_text(now);
        if let Some(metadata) = metadata {
            self.said = metadata_len(&metadata);
            self.client.metadata = metadata;
        }
    }
}

fn metadata_len(metadata: &Value) -> usize {
    metadata.to_string().len()
}

fn seconds_text(now: ClockReading) -> String {
    (now.at / 1000).to_string()
}
