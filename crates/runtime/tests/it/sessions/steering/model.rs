//! A session's queue as a plain list, written from the rules alone: the reference for the real queue.

use std::collections::VecDeque;

use harn_model::{ControlResult, DeliveryMode, Seam};

use super::{INTERRUPT, QUEUE, STEER};

/// A message or reminder that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub id: String,
    pub message: bool,
    pub mode: DeliveryMode,
    pub text: String,
    /// The client that may change it, besides host owners.
    pub owner: String,
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Waits,
    Revoked,
    Delivered,
}

/// A prompt that was sent and has not ended.
#[derive(Clone, Debug)]
pub struct Sent {
    pub turn: String,
    pub text: String,
}

/// The expected state of a session's queue.
#[derive(Debug, Default)]
pub struct Model {
    /// Everything that was sent, in that order.
    pub rows: Vec<Row>,
    /// Messages as they were delivered, by id and text.
    pub delivered: Vec<(String, String)>,
    /// Reminders in force, and whether each was rendered.
    in_force: Vec<(String, bool)>,
    /// The sent prompts; the first one is running.
    pub sent: VecDeque<Sent>,
}

/// Returns the modes that a seam drains, by the contract.
fn drained_modes(seam: Seam) -> &'static [DeliveryMode] {
    match seam {
        Seam::TurnStart | Seam::TurnEnd | Seam::PostToolDispatch => &[INTERRUPT, STEER],
        Seam::PreToolDispatch | Seam::DaemonIdlePre | Seam::DaemonIdlePost => &[INTERRUPT],
        Seam::PreCompact | Seam::PostCompact => &[],
        Seam::LoopExit => &[QUEUE],
    }
}

impl Model {
    /// Returns the pending rows: whether each is a message, its id, mode and text.
    pub fn pending_rows(&self) -> Vec<(bool, String, DeliveryMode, String)> {
        let waiting = self.rows.iter().filter(|row| row.state == State::Waits);
        let told = waiting.map(|row| (row.message, row.id.clone(), row.mode, row.text.clone()));
        told.collect()
    }

    /// Returns the expected result of an inject.
    pub fn inject(&self) -> ControlResult {
        match self.sent.is_empty() {
            true => ControlResult::NoActivePrompt,
            false => ControlResult::Accepted,
        }
    }

    fn find(&mut self, message: bool, id: &str) -> Option<&mut Row> {
        let mut rows = self.rows.iter_mut();
        rows.find(|row| row.message == message && row.id == id)
    }

    pub fn revoke(&mut self, id: &str, by: &str) -> ControlResult {
        let Some(row) = self.find(true, id) else {
            return ControlResult::UnknownMessageId;
        };
        match row.state {
            State::Waits if by != "host" && by != row.owner => {
                ControlResult::NotOwnerOrNotAuthorized
            }
            State::Waits => {
                row.state = State::Revoked;
                ControlResult::Revoked
            }
            State::Revoked => ControlResult::AlreadyRevoked,
            State::Delivered => ControlResult::AlreadyDelivered,
        }
    }

    pub fn replace(&mut self, id: &str, by: &str, text: &str) -> ControlResult {
        let Some(row) = self.find(true, id) else {
            return ControlResult::UnknownMessageId;
        };
        match row.state {
            State::Waits if by != "host" && by != row.owner => {
                ControlResult::NotOwnerOrNotAuthorized
            }
            State::Waits => {
                text.clone_into(&mut row.text);
                ControlResult::Replaced
            }
            State::Revoked => ControlResult::AlreadyRevoked,
            State::Delivered => ControlResult::AlreadyDelivered,
        }
    }

    pub fn revoke_reminder(&mut self, id: &str) -> ControlResult {
        let Some(row) = self.find(false, id) else {
            return ControlResult::UnknownReminderId;
        };
        match row.state {
            State::Waits => {
                row.state = State::Revoked;
                ControlResult::Revoked
            }
            State::Revoked => ControlResult::AlreadyRevoked,
            State::Delivered => ControlResult::AlreadyDelivered,
        }
    }

    /// Passes a seam and returns the delivered texts.
    pub fn pass_seam(&mut self, seam: Seam) -> Vec<String> {
        let modes = drained_modes(seam);
        let mut given = Vec::new();
        if modes.contains(&STEER) {
            for (id, rendered) in &mut self.in_force {
                if !*rendered {
                    let row = self.rows.iter().find(|row| !row.message && row.id == *id);
                    given.push(row.unwrap().text.clone());
                    *rendered = true;
                }
            }
        }
        let steers = |row: &Row| row.message && row.state == State::Waits && row.mode != QUEUE;
        let held = seam == Seam::LoopExit && self.rows.iter().any(steers);
        for row in &mut self.rows {
            if row.state != State::Waits || !modes.contains(&row.mode) {
                continue;
            }
            // Queued messages are delivered after those for an earlier seam.
            if row.message && held {
                continue;
            }
            row.state = State::Delivered;
            if row.message {
                self.delivered.push((row.id.clone(), row.text.clone()));
            } else if row.mode != QUEUE {
                self.in_force.push((row.id.clone(), true));
            }
            if row.message || row.mode != QUEUE {
                given.push(row.text.clone());
            }
        }
        given
    }

    /// Ends a successful call of the agent and returns the prompt of its next call, if any.
    pub fn exit(&mut self) -> Option<String> {
        for modes in [&[INTERRUPT, STEER][..], &[QUEUE]] {
            for row in &mut self.rows {
                if !row.message && row.state == State::Waits && modes.contains(&row.mode) {
                    row.state = State::Delivered;
                    if row.mode != QUEUE {
                        self.in_force.push((row.id.clone(), false));
                    }
                }
            }
            let mut rows = self.rows.iter_mut();
            let next = rows
                .find(|row| row.message && row.state == State::Waits && modes.contains(&row.mode));
            if let Some(row) = next {
                row.state = State::Delivered;
                self.delivered.push((row.id.clone(), row.text.clone()));
                return Some(row.text.clone());
            }
        }
        None
    }

    /// Ends the process: no prompt is running, and everything else stays.
    pub fn restart(&mut self) {
        self.sent.clear();
    }
}
