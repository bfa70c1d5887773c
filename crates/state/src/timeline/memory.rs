//! What rows refer to that was said before: for a while, and no longer, so that what a row says can be told
//! without reading the log from its beginning.

use std::{
    borrow::Borrow,
    collections::{HashMap, VecDeque},
    hash::Hash,
};

use harn_model::{AskId, PermissionOption, Seq, ToolCallId};

/// How many events something is remembered for. A call that takes longer is told by its title, a question by
/// its answer.
pub(crate) const WINDOW: u64 = 2048;

#[derive(Default)]
pub(super) struct TimelineMemory {
    /// Calls that may run commands.
    pub(super) executes: RecentMap<ToolCallId, ()>,
    /// The command lines of calls, as their arguments said last; nothing where they say none.
    pub(super) commands: RecentMap<ToolCallId, Option<String>>,
    pub(super) asks: RecentMap<AskId, TimelineAsk>,
    /// Whom they were put to.
    pub(super) asked: RecentMap<AskId, String>,
    /// What people were asked, by request.
    pub(super) questions: RecentMap<String, String>,
}

/// A question about a call.
pub(super) struct TimelineAsk {
    /// What is asked about, in words.
    pub(super) subject: String,
    /// What may be answered.
    pub(super) options: Vec<PermissionOption>,
}

/// What was said last of each, as long as that is in the window. What is kept of one depends on a single event:
/// who began to read in between knows the same or has no use for it.
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
            // It may have been said again since.
            if self.rows.get(&key).is_some_and(|(said, _)| *said == oldest) {
                self.rows.remove(&key);
            }
        }
        self.order.push_back((seq, key.clone()));
        self.rows.insert(key, (seq, value));
    }

    /// What an event at this place may refer to.
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
    fn what_was_said_last_is_remembered_for_a_while() {
        let mut recent: RecentMap<String, u32> = RecentMap::default();
        recent.insert(Seq(1), "a".to_owned(), 1);
        recent.insert(Seq(2), "b".to_owned(), 2);
        recent.insert(Seq(3), "a".to_owned(), 3);
        assert_eq!(recent.get(Seq(4), "a"), Some(&3));
        assert_eq!(recent.get(Seq(WINDOW + 1), "b"), Some(&2));
        assert_eq!(recent.get(Seq(WINDOW + 2), "b"), None);
        assert_eq!(recent.get(Seq(WINDOW + 2), "a"), Some(&3));
        assert_eq!(recent.get(Seq(WINDOW + 3), "a"), None);
        // And not kept for longer.
        recent.insert(Seq(2 * WINDOW), "c".to_owned(), 4);
        assert_eq!((recent.rows.len(), recent.order.len()), (1, 1));
    }
}
