//! The earlier facts that rows refer to. They are stored for a limited number of events, so that a row does not
//! need the log from its beginning.

use std::{
    borrow::Borrow,
    collections::{HashMap, VecDeque},
    hash::Hash,
};

use harn_model::{AskId, PermissionOption, Seq, ToolCallId};

/// The number of events for which a fact is remembered. After that, a call is described by its title, and a
/// question by its answer.
pub(crate) const WINDOW: u64 = 2048;

#[derive(Default)]
pub(super) struct TimelineMemory {
    /// Calls that may run commands.
    pub(super) executes: RecentMap<ToolCallId, ()>,
    /// The command lines of calls, by their latest arguments; `None` if those contain no command.
    pub(super) commands: RecentMap<ToolCallId, Option<String>>,
    pub(super) asks: RecentMap<AskId, TimelineAsk>,
    /// The clients that the asks were routed to.
    pub(super) asked: RecentMap<AskId, String>,
    /// The subjects of questions to people, by request.
    pub(super) questions: RecentMap<String, String>,
}

/// A question about a call.
pub(super) struct TimelineAsk {
    /// The description of the call.
    pub(super) subject: String,
    pub(super) options: Vec<PermissionOption>,
}

/// The latest value of each key, while it is in the window. A value depends on a single event: a reader that began
/// later has the same value, or does not need it.
pub(super) struct RecentMap<K, V> {
    rows: HashMap<K, (Seq, V)>,
    order: VecDeque<(Seq, K)>,
}

impl<K, V> Default for RecentMap<K, V> {
    fn default() -> Self {
        Self {
            rows: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<K: Clone + Eq + Hash, V> RecentMap<K, V> {
    pub(super) fn insert(&mut self, seq: Seq, key: K, value: V) {
        while let Some((oldest, _)) = self.order.front()
            && is_past(*oldest, seq)
            && let Some((oldest, key)) = self.order.pop_front()
        {
            // A newer value may have replaced it.
            if self.rows.get(&key).is_some_and(|(said, _)| *said == oldest) {
                self.rows.remove(&key);
            }
        }
        self.order.push_back((seq, key.clone()));
        self.rows.insert(key, (seq, value));
    }

    /// Returns the value that an event at this position may refer to.
    pub(super) fn get<Q>(&self, at: Seq, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let (said, value) = self.rows.get(key)?;
        (!is_past(*said, at)).then_some(value)
    }
}

fn is_past(said: Seq, at: Seq) -> bool {
    said.0.saturating_add(WINDOW) <= at.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_value_is_remembered_within_the_window() {
        let mut recent: RecentMap<String, u32> = RecentMap::default();
        recent.insert(Seq(1), "a".to_owned(), 1);
        recent.insert(Seq(2), "b".to_owned(), 2);
        recent.insert(Seq(3), "a".to_owned(), 3);
        assert_eq!(recent.get(Seq(4), "a"), Some(&3));
        assert_eq!(recent.get(Seq(WINDOW + 1), "b"), Some(&2));
        assert_eq!(recent.get(Seq(WINDOW + 2), "b"), None);
        assert_eq!(recent.get(Seq(WINDOW + 2), "a"), Some(&3));
        assert_eq!(recent.get(Seq(WINDOW + 3), "a"), None);
        // Older entries are dropped.
        recent.insert(Seq(2 * WINDOW), "c".to_owned(), 4);
        assert_eq!((recent.rows.len(), recent.order.len()), (1, 1));
    }
}
