//! Ranked search over text: words, passages, BM25, and bonuses for defined names.
//!
//! Pure computation; [`Workspace`](crate::Workspace) walks the folders.

pub(crate) mod bm25;
mod corpus;
mod definition;
mod line;
mod query;
mod rank;
mod words;

pub use corpus::Corpus;
pub use definition::defined_name;
pub use query::SearchQuery;

use harn_runtime::ToolError;

use crate::{watch::WatchError, workspace::WalkSummary};

/// A passage that matches a query.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The file's path relative to the root, with `/` between its parts.
    pub path: String,
    /// The first line of the passage, from 1.
    pub first: u32,
    /// The last line of the passage.
    pub last: u32,
    /// The best matching line in the passage.
    pub line: u32,
    /// The text of that line, trimmed; a long one is cut and ends in `…`.
    pub text: String,
    /// The score; comparable within one search only.
    pub score: f64,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResults {
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// Words of the query that occur nowhere.
    pub missing: Vec<String>,
    /// How much was searched.
    pub walked: WalkSummary,
}

/// The reason why a search failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The pattern is not a regular expression.
    #[error("this is not a regular expression: {0}")]
    Pattern(String),
    /// The glob is invalid.
    #[error(transparent)]
    Glob(#[from] WatchError),
    /// The folder cannot be read.
    #[error("the folder cannot be read: {0}")]
    Unreadable(String),
    /// The search stopped before its end.
    #[error("the search was interrupted")]
    Interrupted,
}

impl From<SearchError> for ToolError {
    fn from(error: SearchError) -> Self {
        Self::new(error)
    }
}
