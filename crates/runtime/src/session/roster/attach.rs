//! Attaches a client to a session: for the first time, over a newer connection, or to take or give up control.

use harn_model::{LiveClient, LiveClientAction, LiveClientMode};
use serde_json::json;

use super::{
    AttachClient, ClockReading, ControlHolder, ControlPreemption, ControlTenure, HeartbeatPromise,
    MOST_CLIENTS, Roster, RosterChange, RosterClient, SeatId, change::silent_exit, seconds_text,
};
use crate::LiveClientError;

impl Roster {
    /// Attaches or reattaches a client, or changes its control.
    pub(crate) fn attach(
        &mut self,
        seat: SeatId,
        wanted: AttachClient,
        now: ClockReading,
    ) -> Result<Vec<RosterChange>, LiveClientError> {
        if !self.seats.contains_key(&seat) {
            return Err(LiveClientError::Closed);
        }
        let mut wanted = self.keep_known_mode(wanted);
        let id = wanted.client_id.clone();
        let drives = wanted.mode == LiveClientMode::Controller;
        let displaces = drives
            && match self.holder() {
                None => false,
                Some(ControlHolder::Seat(other)) => *other != seat,
                Some(ControlHolder::Client(other)) => *other != id,
            };
        if displaces
            && matches!(
                wanted.taking,
                ControlPreemption::IfFree | ControlPreemption::Again
            )
        {
            let controller = self.controller_id().unwrap_or_default();
            return Err(LiveClientError::ControllerExists { controller });
        }
        let known = self.row_index(&id);
        // All clients of a session belong to one principal: a client of this name on another connection is
        // the same client, which reconnects.
        let elsewhere = known.is_some_and(|at| self.rows[at].seat != seat);
        if known.is_none() && self.rows.len() >= MOST_CLIENTS {
            let limit = MOST_CLIENTS;
            return Err(LiveClientError::TooMany { limit });
        }
        self.check_metadata_size(&id, wanted.metadata.as_ref())?;
        let mut before = self.controller_id();
        let action = match (wanted.taking, drives && (displaces || elsewhere)) {
            (ControlPreemption::Outright, _) | (ControlPreemption::IfNeeded, true) => {
                LiveClientAction::Takeover
            }
            (ControlPreemption::IfFree | ControlPreemption::Again, _)
            | (ControlPreemption::IfNeeded, false) => LiveClientAction::Attached,
        };
        let mut replaced = None;
        if let Some(at) = known.filter(|_| elsewhere) {
            let row = &self.rows[at];
            // Its earlier metadata stays unless it sends new metadata.
            wanted.metadata = wanted.metadata.take().or(Some(row.client.metadata.clone()));
            if wanted.taking == ControlPreemption::Outright {
                wanted.heartbeat = wanted.heartbeat.or(row.promise.map(|it| it.every));
            }
        }
        // One change, even if it replaces an older connection: the epoch grows once.
        self.apply_change(|roster| {
            if elsewhere {
                roster.remove_row(&id);
                let left = Some(Box::new(silent_exit(id.clone(), "replaced")));
                let told =
                    roster.build_change(LiveClientAction::Detached, None, before.take(), left);
                before.clone_from(&told.state.active_controller_id);
                replaced = Some(told);
            }
            roster.upsert_client(seat, wanted, now);
        });
        let attached = self.build_change(action, Some(&id), before, None);
        Ok(replaced.into_iter().chain([attached]).collect())
    }

    fn upsert_client(&mut self, seat: SeatId, wanted: AttachClient, now: ClockReading) {
        if let Some(sitting) = self.seats.get_mut(&seat) {
            sitting.implicit = false;
        }
        let id = wanted.client_id.clone();
        let drives = wanted.mode == LiveClientMode::Controller;
        let held = self.control.take();
        let same = held.as_ref().is_some_and(|it| match &it.holder {
            ControlHolder::Seat(held) => *held == seat,
            ControlHolder::Client(held) => *held == id,
        });
        let own = matches!(&held, Some(it) if it.holder == ControlHolder::Client(id.clone()));
        self.control = match (drives, held) {
            (true, held) => {
                if let Some(ControlHolder::Client(other)) = held.as_ref().map(|it| &it.holder)
                    && !own
                {
                    self.demote(&other.clone());
                }
                let since = held.filter(|_| own).map_or(now.at, |it| it.since);
                let holder = ControlHolder::Client(id.clone());
                Some(ControlTenure { holder, since })
            }
            // It gives up only its own control.
            (false, held) => held.filter(|_| !same),
        };
        let at = self.row_index(&id).unwrap_or_else(|| {
            let client = LiveClient {
                client_id: id,
                mode: wanted.mode,
                attached_at: seconds_text(now),
                last_seen_at: seconds_text(now),
                prompt_injection: false,
                permission_routing: false,
                metadata: json!({}),
            };
            self.rows.push(RosterClient {
                client,
                seat,
                promise: None,
                said: 0,
            });
            self.rows.len() - 1
        });
        let row = &mut self.rows[at];
        row.seat = seat;
        let renewed = row.promise.map(|promise| promise.every);
        let every = match wanted.taking {
            ControlPreemption::IfFree | ControlPreemption::Again | ControlPreemption::IfNeeded => {
                wanted.heartbeat
            }
            // A takeover retains the heartbeat interval unless it sets a new one.
            ControlPreemption::Outright => wanted.heartbeat.or(renewed),
        };
        row.promise = every.map(|every| HeartbeatPromise::new(every, now));
        row.client.mode = wanted.mode;
        row.client.prompt_injection = drives && wanted.prompt_injection.unwrap_or(true);
        row.client.permission_routing = drives && wanted.permission_routing.unwrap_or(true);
        row.update_seen(wanted.metadata, now);
    }
}
