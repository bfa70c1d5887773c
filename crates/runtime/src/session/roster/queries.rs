//! Reads from a roster: the controller, the client that receives questions, the host, the clients.

use std::sync::Arc;

use harn_model::{LiveClient, LiveClientMode, Timestamp};
use serde_json::json;

use super::{
    AnsweringSeat, AttachClient, ClockReading, ControlHolder, ControlPreemption, Roster, SeatId,
    seconds_text,
};
use crate::HostPort;

impl Roster {
    /// Applies `Again`: a client that reconnects keeps the mode it had; the mode in its request is ignored.
    pub(super) fn keep_known_mode(&self, wanted: AttachClient) -> AttachClient {
        let known = self.row_index(&wanted.client_id);
        match known.filter(|_| wanted.taking == ControlPreemption::Again) {
            Some(at) => AttachClient {
                mode: self.rows[at].client.mode,
                ..wanted
            },
            None => wanted,
        }
    }

    /// Returns how often control has changed.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn answering_seat(&self) -> Option<AnsweringSeat> {
        let seat = self.asked_seat()?;
        let term = self.term;
        Some(AnsweringSeat { seat, term })
    }

    /// Returns the client that receives questions. A connection without a named client uses the connection's name.
    pub(crate) fn asked_client(&self, now: ClockReading) -> Option<LiveClient> {
        match self.holder() {
            Some(ControlHolder::Client(id)) => {
                self.row_index(id).map(|at| self.rows[at].client.clone())
            }
            Some(ControlHolder::Seat(_)) | None => Some(LiveClient {
                client_id: self.seats.get(&self.asked_seat()?)?.name.to_string(),
                mode: LiveClientMode::Controller,
                attached_at: self
                    .control
                    .as_ref()
                    .map_or_else(|| seconds_text(now), |it| (it.since / 1000).to_string()),
                last_seen_at: seconds_text(now),
                prompt_injection: true,
                permission_routing: true,
                metadata: json!({}),
            }),
        }
    }

    /// Returns the name of the client that receives questions, if it attached under one.
    pub(crate) fn asked_name(&self) -> Option<&str> {
        match self.holder()? {
            ControlHolder::Client(id) => Some(id),
            ControlHolder::Seat(_) => None,
        }
    }

    /// Whether this client controls the session.
    pub(crate) fn is_controller(&self, client_id: &str) -> bool {
        matches!(self.holder(), Some(ControlHolder::Client(id)) if id == client_id)
    }

    /// Whether this connection controls the session.
    pub(crate) fn has_control(&self, seat: SeatId) -> bool {
        self.holding_seat() == Some(seat)
    }

    /// Returns the controller's host for files, terminals and tools.
    pub(crate) fn host(&self) -> Option<Arc<dyn HostPort>> {
        let sitting = self.seats.get(&self.holding_seat()?)?;
        Some(sitting.host.clone())
    }

    /// Returns the name of the controller, and the time it took control.
    pub(crate) fn controller(&self) -> Option<(String, Timestamp)> {
        let since = self.control.as_ref()?.since;
        Some((self.controller_id()?, since))
    }

    /// Returns all named clients, in order of arrival.
    pub(crate) fn clients(&self) -> Vec<LiveClient> {
        self.rows.iter().map(|row| row.client.clone()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn has_clients(&self, seat: SeatId) -> bool {
        self.rows.iter().any(|row| row.seat == seat)
    }
}
