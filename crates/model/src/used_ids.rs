//! The ids that a session has used, in eight bytes each: kept while the session is open.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Ids of tool calls and composition runs that were announced in a session, and of messages and reminders that
/// were delivered or revoked. Two different ids count as one with a probability of one in 2⁶⁴; the later one then
/// gets a count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsedIds(HashSet<u64>);

/// The kind of item that an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsedIdKind {
    /// A tool call.
    Call,
    /// A composition run.
    Run,
    /// A message that was delivered in the middle of a turn.
    DeliveredMessage,
    /// A message that was revoked.
    RevokedMessage,
    /// A reminder that was delivered.
    DeliveredReminder,
    /// A reminder that was revoked.
    RevokedReminder,
}

impl UsedIds {
    pub(crate) fn add(&mut self, what: UsedIdKind, id: &str) {
        self.0.insert(key(what, id));
    }

    /// Whether the id was used.
    pub fn contains(&self, what: UsedIdKind, id: &str) -> bool {
        self.0.contains(&key(what, id))
    }

    /// Returns an id that was not used yet: the given one, or the given one with a count appended.
    pub fn find_unused(&self, what: UsedIdKind, id: &str) -> String {
        let counted = |n: u64| format!("{id}~{n}");
        let is_used = |n: u64| self.contains(what, &counted(n));
        if !self.contains(what, id) {
            return id.to_owned();
        }
        // Counts have no gaps, so a binary search finds the first free one: an agent may use one id for all of its
        // calls.
        let (mut used, mut free) = (1, 2);
        while is_used(free) {
            (used, free) = (free, free * 2);
        }
        while free - used > 1 {
            let middle = used.midpoint(free);
            if is_used(middle) {
                used = middle;
            } else {
                free = middle;
            }
        }
        counted(free)
    }
}

fn key(what: UsedIdKind, id: &str) -> u64 {
    // Fixed keys: a forked session and a reopened one agree.
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_id_gets_a_count() {
        let mut used = UsedIds::default();
        assert_eq!(used.find_unused(UsedIdKind::Call, "c"), "c");
        used.add(UsedIdKind::Call, "c");
        used.add(UsedIdKind::Call, "c~2");
        assert_eq!(used.find_unused(UsedIdKind::Call, "c"), "c~3");
        for n in 3..100 {
            let fresh = used.find_unused(UsedIdKind::Call, "c");
            assert_eq!(fresh, format!("c~{n}"));
            used.add(UsedIdKind::Call, &fresh);
        }
        assert_eq!(used.find_unused(UsedIdKind::Run, "c"), "c");
    }
}
