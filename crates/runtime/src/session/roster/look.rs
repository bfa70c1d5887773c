//! What a roster says: who is in control, who is asked, whose host it is, who is there.

use std::sync::Arc;

use harn_model::{LiveClient, LiveClientMode, Timestamp};
use serde_json::json;

use super::{
    AnsweringSeat, AttachClient, ClockReading, ControlHolder, ControlPreemption, Roster, SeatId,
    seconds,
};
use crate::HostPort;

impl Roster {
    /// Who comes again is what it was, whatever it says.
    pub(super) fn as_it_is(&self, wanted: AttachClient) -> AttachClient {
        let known = self.row(&wanted.client_id);
        match known.filter(|_| wanted.taking == ControlPreemption::Again) {
            Some(at) => AttachClient {
                mode: self.rows[at].client.mode,
                ..wanted
            },
            None => wanted,
        }
    }

    /// How often control has changed.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn asked(&self) -> Option<AnsweringSeat> {
        let seat = self.asked_seat()?;
        let term = self.term;
        Some(AnsweringSeat { seat, term })
    }

    /// The client that is asked. One that has no name of its own goes by its connection's.
    pub(crate) fn asked_client(&self, now: ClockReading) -> Option<LiveClient> {
        match self.holder() {
            Some(ControlHolder::Client(id)) => self.row(id).map(|at| self.rows[at].client.clone()),
            Some(ControlHolder::Seat(_)) | None => Some(LiveClient {
                client_id: self.seats.get(&self.asked_seat()?)?.name.to_string(),
                mode: LiveClientMode::Controller,
                attached_at: self
                    .control
                    .as_ref()
                    .map_or_else(|| seconds(now), |it| (it.since / 1000).to_string()),
                last_seen_at: seconds(now),
                prompt_injection: true,
                permission_routing: true,
                metadata: json!({}),
            }),
        }
    }

    /// The name of the client that is asked, where it has one of its own.
    pub(crate) fn asked_name(&self) -> Option<&str> {
        match self.holder()? {
            ControlHolder::Client(id) => Some(id),
            ControlHolder::Seat(_) => None,
        }
    }

    /// Whether this is the client that controls the session.
    pub(crate) fn is_controller(&self, client_id: &str) -> bool {
        matches!(self.holder(), Some(ControlHolder::Client(id)) if id == client_id)
    }

    /// Whether this connection controls the session.
    pub(crate) fn has_control(&self, seat: SeatId) -> bool {
        self.holding_seat() == Some(seat)
    }

    /// Who offers files, terminals and tools: whoever controls the session.
    pub(crate) fn host(&self) -> Option<Arc<dyn HostPort>> {
        let sitting = self.seats.get(&self.holding_seat()?)?;
        Some(sitting.host.clone())
    }

    /// Who controls the session, by name, and since when.
    pub(crate) fn controller(&self) -> Option<(String, Timestamp)> {
        let since = self.control.as_ref()?.since;
        Some((self.controller_id()?, since))
    }

    /// Everyone who came under a name, in the order they came.
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
