//! Turns where they begin and end, for clients that have event ids: the answer to a prompt reaches only who
//! sent it, and not even them if they come back over another connection.

use harn_model::{MessageId, TurnId, TurnOutcome};

use super::UpdateProjector;
use crate::{
    Profile,
    ext::agent_event::{HarnEvent, TurnEndedFields, TurnStartedFields},
};

impl UpdateProjector {
    /// Comes behind the prompt, so that who sent it and is spared it is not told it by coming back.
    pub(super) fn turn_started(
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
            self.event(HarnEvent::TurnStarted(fields), out);
        }
    }

    pub(super) fn turn_ended(
        &self,
        turn: Option<&TurnId>,
        outcome: &TurnOutcome,
        out: &mut Vec<u8>,
    ) {
        if let Some(turn) = turn.filter(|_| self.dialect.event_ids) {
            let fields = TurnEndedFields::new(turn, outcome);
            self.event(HarnEvent::TurnEnded(fields), out);
        }
    }

    /// Takes the prompt away from the lines of a turn that begins, which were written from `start` on, for
    /// whoever sent it; what is left keeps its place.
    pub(crate) fn without_prompt(&self, start: usize, out: &mut Vec<u8>) {
        let marker = self.dialect.event_ids && self.dialect.profile != Profile::Acp;
        let written = &out[start..];
        let mut lines = written.split_inclusive(|&byte| byte == b'\n');
        let kept = lines.next_back().filter(|_| marker).map_or(0, <[u8]>::len);
        out.drain(start..out.len() - kept);
    }
}
