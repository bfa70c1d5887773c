//! Tool search: of a large catalogue a model sees a few tools and one that finds the others.
//!
//! [`ToolIndex`] ranks, [`ToolPromotions`] keeps what was found within a budget, [`ToolSearchOptions`] says
//! whether and how, and [`ToolSearch`] puts them together for a session. Who calls tools is not known here.

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
pub use token_count::{catalogue_tokens, needed, tool_tokens};

#[cfg(test)]
mod tests;
