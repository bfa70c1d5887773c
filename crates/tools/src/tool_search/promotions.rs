//! Tools that a search found; the model sees them from the next boundary on, within a budget.

use std::collections::{BTreeSet, VecDeque};

/// The tools found so far. The visible tools change only at boundaries, so that they stay the same for a whole
/// iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPromotions {
    budget: Option<u64>,
    /// Sorted from oldest to newest.
    promoted: VecDeque<PromotedTool>,
    /// The names that the model sees.
    in_effect: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PromotedTool {
    name: String,
    tokens: u64,
}

impl ToolPromotions {
    /// Creates an empty list with a limit on the total tokens, or without one.
    pub fn new(budget_tokens: Option<u64>) -> Self {
        Self {
            budget: budget_tokens,
            ..Self::default()
        }
    }

    /// Promotes the results of a search, best first, from the next boundary on. `tokens` returns the size of a
    /// tool, or `None` if it does not exist. Returns the promoted names.
    ///
    /// If the budget is exceeded, the oldest tools are removed. Results of one search do not displace each other:
    /// the worse one is not promoted.
    pub fn promote(
        &mut self,
        found: &[String],
        tokens: impl Fn(&str) -> Option<u64>,
    ) -> Vec<String> {
        for name in found {
            let Some(size) = tokens(name).filter(|_| !self.contains(name)) else {
                continue;
            };
            if self.make_room(size, found) {
                self.promoted.push_back(PromotedTool {
                    name: name.clone(),
                    tokens: size,
                });
            }
        }
        let found = found.iter().filter(|name| self.contains(name));
        found.cloned().collect()
    }

    /// Removes the oldest until `size` fits; removes nothing if it cannot fit.
    fn make_room(&mut self, size: u64, kept: &[String]) -> bool {
        let Some(budget) = self.budget else {
            return true;
        };
        let keeps = |promoted: &PromotedTool| kept.contains(&promoted.name);
        let held = self.promoted.iter().filter(|it| keeps(it));
        let held: u64 = held.map(|it| it.tokens).sum();
        if held.saturating_add(size) > budget {
            return false;
        }
        let mut spent: u64 = self.promoted.iter().map(|it| it.tokens).sum();
        self.promoted.retain(|it| {
            let stays = spent.saturating_add(size) <= budget || keeps(it);
            if !stays {
                spent -= it.tokens;
            }
            stays
        });
        true
    }

    /// Begins a turn or an iteration: the model sees the promoted tools from now on.
    pub fn apply_promotions(&mut self) {
        self.in_effect = self.promoted.iter().map(|it| it.name.clone()).collect();
    }

    /// Removes tools that no longer exist.
    pub fn retain(&mut self, exists: impl Fn(&str) -> bool) {
        self.promoted.retain(|it| exists(&it.name));
        self.in_effect.retain(|name| exists(name));
    }

    /// Returns whether a tool is promoted, in effect or from the next boundary on.
    pub fn contains(&self, name: &str) -> bool {
        self.promoted.iter().any(|it| it.name == name)
    }

    /// Returns whether the model already sees a tool.
    pub fn is_in_effect(&self, name: &str) -> bool {
        self.in_effect.contains(name)
    }
}
