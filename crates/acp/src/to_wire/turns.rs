//! Markers for the start and end of turns, for clients with event ids: the answer to a prompt reaches only
//! its sender, and not even the sender after a reconnect over another connection.

use harn_model::{MessageId, TurnId, TurnOutcome};

use super::UpdateProjector;
use crate::{
    Profile,
    ext::agent_event::{HarnEvent, TurnEndedFields, TurnStartedFields},
};

impl UpdateProjector {
    /// Writes the marker after the prompt. The sender's stream omits its own prompt; the marker has the last
    /// id of the event, so a reconnect does not send the prompt either.
    pub(super) fn write_turn_started(
        &self,
        turn: Option<&TurnId>,
        message: &MessageId,
        out: &mut Vec<u8>,
    ) {
        if let Some(turn_id) = turn.filter(|_| self.dialect.event_ids) {
            let fields = TurnStartedFields {
                turn_id: turn_id.as_str().into(),
                message_id: message.as_str().into(),
            };
            self.write_event(HarnEvent::TurnStarted(fields), out);
        }
    }

    pub(super) fn write_turn_ended(
        &self,
        turn: Option<&TurnId>,
        outcome: &TurnOutcome,
        out: &mut Vec<u8>,
    ) {
        if let Some(turn) = turn.filter(|_| self.dialect.event_ids) {
            let fields = TurnEndedFields::new(turn, outcome);
            self.write_event(HarnEvent::TurnEnded(fields), out);
        }
    }

    /// Removes the prompt from the lines of a starting turn, which begin at `start`, for the sender of the
    /// prompt. The remaining line keeps its event id.
    pub(crate) fn remove_prompt(&self, start: usize, out: &mut Vec<u8>) {
        let marker = self.dialect.event_ids && self.dialect.profile != Profile::Acp;
        let written = &out[start..];
        let mut lines = written.split_inclusive(|&byte| byte == b'\n');
        let kept = lines.next_back().filter(|_| marker).map_or(0, <[u8]>::len);
        out.drain(start..out.len() - kept);
    }
}
