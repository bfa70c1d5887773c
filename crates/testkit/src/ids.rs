//! Counted ids, so that every run mints the same ones.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use harn_runtime::{IdKind, IdSource};

/// Mints `session-1`, `session-2`, `turn-1`, … Clones share the counters, so that a second runtime on the same
/// state mints no id twice.
#[derive(Clone, Debug, Default)]
pub struct CountedIds {
    counters: Arc<[AtomicU64; 9]>,
}

impl IdSource for CountedIds {
    fn mint(&self, kind: IdKind) -> String {
        let (at, word) = match kind {
            IdKind::Session => (0, "session"),
            IdKind::Turn => (1, "turn"),
            IdKind::Message => (2, "msg"),
            IdKind::ToolCall => (3, "call"),
            IdKind::Ask => (4, "ask"),
            IdKind::Worker => (5, "worker"),
            IdKind::Handoff => (6, "handoff"),
            IdKind::Reminder => (7, "reminder"),
            IdKind::Control => (8, "control"),
        };
        let number = self.counters[at].fetch_add(1, Ordering::SeqCst) + 1;
        format!("{word}-{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_counts_by_itself() {
        let ids = CountedIds::default();
        assert_eq!(ids.mint(IdKind::Session), "session-1");
        assert_eq!(ids.mint(IdKind::Turn), "turn-1");
        assert_eq!(ids.mint(IdKind::Message), "msg-1");
        assert_eq!(ids.clone().mint(IdKind::Session), "session-2");
        assert_eq!(ids.mint(IdKind::ToolCall), "call-1");
        assert_eq!(ids.mint(IdKind::Ask), "ask-1");
    }
}
