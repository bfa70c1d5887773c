//! Ranked search over text: words, chunks, BM25, and names that are defined where the hit is.
//!
//! Pure computation; walking a folder is [`Workspace`](crate::Workspace)'s.

pub(crate) mod bm25;
mod corpus;
mod define;
mod line;
mod query;
mod rank;
mod words;

pub use corpus::Corpus;
pub use define::defined_name;
pub use query::SearchQuery;

use harn_runtime::ToolError;

use crate::{watch::WatchError, workspace::WalkSummary};

/// A place that fits a query.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The file, from the root, with `/` between its parts.
    pub path: String,
    /// The first line of the passage, from 1.
    pub first: u32,
    /// Its last line.
    pub last: u32,
    /// The line in it that fits best.
    pub line: u32,
    /// What it says, without the space around it; long ones are cut and end in `…`.
    pub text: String,
    /// How well it fits; comparable within one search only.
    pub score: f64,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResults {
    /// The places, best first.
    pub hits: Vec<SearchHit>,
    /// Words of the query that are nowhere.
    pub missing: Vec<String>,
    /// What was looked at.
    pub walked: WalkSummary,
}

/// A search could not be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The pattern is not a regular expression.
    #[error("this is not a regular expression: {0}")]
    Pattern(String),
    /// The glob is not one that can be looked for.
    #[error(transparent)]
    Glob(#[from] WatchError),
    /// The folder cannot be read.
    #[error("the folder cannot be read: {0}")]
    Unreadable(String),
    /// It stopped in the middle.
    #[error("the search was interrupted")]
    Interrupted,
}

impl From<SearchError> for ToolError {
    fn from(error: SearchError) -> Self {
        Self::new(error)
    }
}
