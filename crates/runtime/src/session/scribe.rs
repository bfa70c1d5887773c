//! Converts reported events to written ones: legal, complete, and in order.

use std::sync::Arc;

use harn_model::{
    AgentEvent, Envelope, MutationSession, SessionId, SessionView, Timestamp, TurnId,
    binding_manifest_hash, snippet_hash,
};

use super::{order::EventOrder, split_sequence::SplitSequence, stamper::EventStamper};
use crate::IdSource;

/// Orders, completes and numbers the events of one session, and folds them into its view.
pub(crate) struct EventScribe {
    session: SessionId,
    split: SplitSequence,
    order: EventOrder,
    stamper: EventStamper,
    /// Whether a warning about this agent's event order was logged.
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

    /// Returns a scribe for events that a crash left open: their durations are unknown, because the process
    /// was not running.
    pub(crate) fn for_recovery(session: SessionId) -> Self {
        let mut scribe = Self::new(session);
        scribe.stamper.unmeasured = true;
        scribe
    }

    /// Sets the audit record of later events; `None` if the session may change nothing.
    pub(crate) fn set_audit(&mut self, audit: Option<Arc<MutationSession>>) {
        self.stamper.audit = audit;
    }

    /// Computes hashes. Separate from `enter`, because large snippets take time and must not block the view meanwhile.
    pub(crate) fn hash(events: &mut [AgentEvent]) {
        for event in events {
            if let AgentEvent::CompositionStart(run) = event {
                run.snippet_hash = snippet_hash(&run.language, &run.snippet);
                run.binding_manifest_hash = binding_manifest_hash(&run.binding_manifest);
            }
        }
    }

    /// Numbers the events after those in `view`, and folds them in. Returns fewer or more events than given.
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
                    self.log_dropped(why);
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

    /// Warns once, because an agent that does this does it often.
    fn log_dropped(&mut self, why: &str) {
        if self.told {
            tracing::debug!(session = %self.session, why, "dropped an event of the agent");
        } else {
            tracing::warn!(session = %self.session, why, "dropped an event of the agent");
        }
        self.told = true;
    }
}

#[cfg(test)]
mod tests;
