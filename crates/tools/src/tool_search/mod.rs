//! Tool search: of a large catalogue a model sees a few tools and one that finds the others.
//!
//! [`ToolIndex`] ranks, [`Promotions`] keeps what was found within a budget, [`ToolSearchOptions`] says
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
pub use options::{DEFAULT_NAME, SearchMode, Switch, ToolSearchError, ToolSearchOptions};
pub use promotions::Promotions;
pub use rank::Ranking;
pub use session::{ToolSearch, Visible};
pub use strategy::{SearchOutcome, Strategy, ToolSearchFn};
pub use token_count::{catalogue_tokens, needed, tool_tokens};

#[cfg(test)]
mod tests;
