//! Turns what happened into what is written: legal, complete, and each in its place.

use std::sync::Arc;

use harn_model::{
    AgentEvent, Envelope, MutationSession, SessionId, SessionView, Timestamp, TurnId,
    binding_manifest_hash, snippet_hash,
};

use super::{order::EventOrder, split_sequence::SplitSequence, stamp::EventStamper};
use crate::IdSource;

/// See the module. One a session; folds what it enters into the session's view.
pub(crate) struct EventScribe {
    session: SessionId,
    split: SplitSequence,
    order: EventOrder,
    stamper: EventStamper,
    /// Whether somebody was told that this session's agent breaks the order.
    told: bool,
}

impl EventScribe {
    pub(crate) fn new(session: SessionId) -> Self {
        Self {
            session,
            split: SplitSequence::default(),
            order: EventOrder::default(),
            stamper: EventStamper::default(),
            told: false,
        }
    }

    /// For what a crash left open: how long that took cannot be known, since the process was not there.
    pub(crate) fn after_a_crash(session: SessionId) -> Self {
        let mut scribe = Self::new(session);
        scribe.stamper.unmeasured = true;
        scribe
    }

    /// Under which right the session acts from now on; none where it may change nothing.
    pub(crate) fn acts_under(&mut self, audit: Option<Arc<MutationSession>>) {
        self.stamper.audit = audit;
    }

    /// Hashes what has to be hashed: apart, because large snippets take their time and nobody else should
    /// wait for the view meanwhile.
    pub(crate) fn hash(events: &mut [AgentEvent]) {
        for event in events {
            if let AgentEvent::CompositionStart(run) = event {
                run.snippet_hash = snippet_hash(&run.language, &run.snippet);
                run.binding_manifest_hash = binding_manifest_hash(&run.binding_manifest);
            }
        }
    }

    /// Numbers the events after those in `view`, and folds them in. There may be fewer or more than were
    /// given.
    pub(crate) fn enter(
        &mut self,
        view: &mut SessionView,
        turn: Option<&TurnId>,
        events: Vec<AgentEvent>,
        at: Timestamp,
        ids: &dyn IdSource,
    ) -> Vec<Envelope> {
        let mut batch = Vec::with_capacity(events.len());
        let events = events.into_iter().flat_map(|event| self.split.pass(event));
        for mut event in events.collect::<Vec<_>>() {
            let before = match self.order.judge(&mut event, view) {
                Ok(before) => before,
                Err(why) => {
                    self.left_out(why);
                    continue;
                }
            };
            for mut event in before.into_iter().chain([event]) {
                self.stamper.stamp(&mut event, view, at, ids);
                let envelope = Envelope {
                    seq: view.last_seq.next(),
                    at,
                    turn: turn.cloned(),
                    event,
                };
                view.apply(&envelope);
                batch.push(envelope);
            }
        }
        batch
    }

    /// Told once: an agent that does this does it often.
    fn left_out(&mut self, why: &str) {
        if self.told {
            tracing::debug!(session = %self.session, why, "left out an event of the agent");
        } else {
            tracing::warn!(session = %self.session, why, "left out an event of the agent");
        }
        self.told = true;
    }
}

#[cfg(test)]
mod tests;
