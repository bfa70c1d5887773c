//! Tool search: a model sees a few tools of a large catalogue, and one tool that finds the others.
//!
//! [`ToolIndex`] ranks, [`ToolPromotions`] stores the found tools within a budget, [`ToolSearchOptions`] configures
//! the search, and [`ToolSearch`] combines them for a session. Nothing here calls a tool.

mod index;
mod options;
mod promotions;
mod rank;
mod session;
mod strategy;
mod token_count;

pub use index::ToolIndex;
pub(crate) use index::tokens;
pub use options::{
    DEFAULT_NAME, ToolSearchError, ToolSearchMode, ToolSearchOptions, ToolSearchSwitch,
};
pub use promotions::ToolPromotions;
pub use rank::ToolRanking;
pub use session::{ToolSearch, VisibleTools};
pub use strategy::{ToolSearchFn, ToolSearchOutcome, ToolSearchStrategy};
pub use token_count::{catalogue_tokens, is_search_needed, tool_tokens};

#[cfg(test)]
mod tests;
