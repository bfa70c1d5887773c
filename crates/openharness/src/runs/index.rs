//! The turns in a session's journal, and the requests that started them. Pure.

use std::collections::HashMap;

use harn_model::{AgentEvent, Envelope, MessageId, Seq, TurnId};

use super::names::RequestFingerprint;

/// The turns of a session, up to a position in its journal.
#[derive(Default)]
pub(super) struct TurnIndex {
    turns: HashMap<TurnId, IndexedTurn>,
    /// Maps the hash of a request's id to the hash of its content and its turn.
    requests: HashMap<String, (String, TurnId)>,
}

/// The position of a turn in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexedTurn {
    /// The event before its first.
    pub(super) before: Seq,
    pub(super) over: bool,
}

/// Whether and how a request ran.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestHistory {
    Never,
    As(TurnId),
    /// The id belonged to another request.
    Otherwise,
}

impl TurnIndex {
    pub(super) fn apply(&mut self, envelope: &Envelope) {
        let Some(turn) = &envelope.turn else {
            return;
        };
        if let AgentEvent::TurnStarted(started) | AgentEvent::PromptWithdrawn(started) =
            &envelope.event
        {
            self.begin(turn, envelope.seq, &started.message_id);
        }
        if let AgentEvent::TurnEnded(_) | AgentEvent::PromptWithdrawn(_) | AgentEvent::Recovered(_) =
            &envelope.event
            && let Some(turn) = self.turns.get_mut(turn)
        {
            turn.over = true;
        }
    }

    fn begin(&mut self, turn: &TurnId, seq: Seq, message: &MessageId) {
        let new = IndexedTurn {
            before: Seq(seq.0.saturating_sub(1)),
            over: false,
        };
        self.turns.entry(turn.clone()).or_insert(new);
        if let Some(mark) = RequestFingerprint::from_message_id(message) {
            self.record_request(&mark, turn);
        }
    }

    /// Records the turn that a request is about to become. Only its first turn counts.
    pub(super) fn record_request(&mut self, mark: &RequestFingerprint, turn: &TurnId) {
        let ran = || (mark.digest.clone(), turn.clone());
        self.requests
            .entry(mark.request.clone())
            .or_insert_with(ran);
    }

    pub(super) fn turn(&self, turn: &TurnId) -> Option<IndexedTurn> {
        self.turns.get(turn).copied()
    }

    pub(super) fn request_history(&self, mark: &RequestFingerprint) -> RequestHistory {
        match self.requests.get(&mark.request) {
            None => RequestHistory::Never,
            Some((digest, turn)) if *digest == mark.digest => RequestHistory::As(turn.clone()),
            Some(_) => RequestHistory::Otherwise,
        }
    }
}

#[cfg(test)]
mod tests {
    use harn_model::{StopReason, TurnEnded, TurnOutcome, TurnStarted};

    use super::*;

    fn envelope(seq: u64, turn: &str, event: AgentEvent) -> Envelope {
        Envelope {
            seq: Seq(seq),
            at: seq,
            turn: Some(TurnId::new(turn)),
            event,
        }
    }

    fn turn_started(message: MessageId) -> Box<TurnStarted> {
        Box::new(TurnStarted {
            message_id: message,
            prompt: Vec::new(),
            live_session: None,
        })
    }

    #[test]
    fn request_is_found_by_its_id_and_content() {
        let (first, second) = (
            RequestFingerprint::new("r1", "a"),
            RequestFingerprint::new("r2", "a"),
        );
        let outcome = TurnOutcome::stopped(StopReason::EndTurn);
        let ended = AgentEvent::TurnEnded(Box::new(TurnEnded { outcome }));
        let events = [
            envelope(
                3,
                "t1",
                AgentEvent::TurnStarted(turn_started(first.message_id())),
            ),
            envelope(4, "t1", AgentEvent::message("hello")),
            envelope(
                5,
                "t2",
                AgentEvent::PromptQueued(turn_started(second.message_id())),
            ),
            envelope(
                6,
                "t2",
                AgentEvent::PromptWithdrawn(turn_started(second.message_id())),
            ),
            envelope(7, "t1", ended),
            envelope(
                8,
                "t3",
                AgentEvent::TurnStarted(turn_started("msg_1".into())),
            ),
        ];
        let mut index = TurnIndex::default();
        for event in &events {
            index.apply(event);
        }
        let turn = |before, over| {
            let before = Seq(before);
            Some(IndexedTurn { before, over })
        };
        assert_eq!(index.turn(&"t1".into()), turn(2, true));
        assert_eq!(index.turn(&"t2".into()), turn(5, true));
        assert_eq!(index.turn(&"t3".into()), turn(7, false));
        assert_eq!(index.turn(&"t4".into()), None);
        assert_eq!(
            index.request_history(&first),
            RequestHistory::As("t1".into())
        );
        assert_eq!(
            index.request_history(&second),
            RequestHistory::As("t2".into())
        );
        assert_eq!(
            index.request_history(&RequestFingerprint::new("r1", "b")),
            RequestHistory::Otherwise
        );
        assert_eq!(
            index.request_history(&RequestFingerprint::new("r3", "a")),
            RequestHistory::Never
        );
    }
}
