//! The ids of items: derived from ours, and unique in a thread.

use std::collections::HashSet;

/// The ids that are in use.
#[derive(Default)]
pub(super) struct ItemNames(HashSet<Box<str>>);

impl ItemNames {
    /// Returns the id of a new item, derived from `id`. Agents may resume a message, or use an id twice; each time
    /// it is another item.
    pub(super) fn new_item_id(&mut self, id: &str) -> String {
        let mut name = format!("itm_{id}");
        let mut count = 1_u64;
        while !self.0.insert(name.as_str().into()) {
            count += 1;
            name = format!("itm_{id}.{count}");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_is_used_twice() {
        let mut names = ItemNames::default();
        let given = ["a", "b", "a", "a.2", "a"].map(|id| names.new_item_id(id));
        assert_eq!(given, ["itm_a", "itm_b", "itm_a.2", "itm_a.2.2", "itm_a.3"]);
    }
}
