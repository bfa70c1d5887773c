//! Tools that were found and are told in full from the next boundary on, within a budget.

use std::collections::{BTreeSet, VecDeque};

/// What was found so far. Tools change only at boundaries: whatever a model was told holds for the whole
/// iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPromotions {
    budget: Option<u64>,
    /// Oldest first.
    promoted: VecDeque<PromotedTool>,
    /// Those that are told.
    in_effect: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PromotedTool {
    name: String,
    tokens: u64,
}

impl ToolPromotions {
    /// None yet; together they may take so many tokens, or any number.
    #[must_use]
    pub fn new(budget_tokens: Option<u64>) -> Self {
        Self {
            budget: budget_tokens,
            ..Self::default()
        }
    }

    /// Promotes what a search found, best first, from the next boundary on; `tokens` knows the size of a
    /// tool, and nothing of one that is not there. Returns the names that are promoted now.
    ///
    /// Where the budget is spent, the oldest go. What was found together does not push each other out: a
    /// worse one has to stay away then.
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

    /// Puts out the oldest until there is room, or nobody where that does not help.
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

    /// A turn or an iteration begins: what was promoted is told from now on.
    pub fn boundary(&mut self) {
        self.in_effect = self.promoted.iter().map(|it| it.name.clone()).collect();
    }

    /// The tools are others: forgets those that went.
    pub fn retain(&mut self, exists: impl Fn(&str) -> bool) {
        self.promoted.retain(|it| exists(&it.name));
        self.in_effect.retain(|name| exists(name));
    }

    /// Whether it is promoted, in effect or from the next boundary on.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.promoted.iter().any(|it| it.name == name)
    }

    /// Whether it is told already.
    #[must_use]
    pub fn in_effect(&self, name: &str) -> bool {
        self.in_effect.contains(name)
    }
}
