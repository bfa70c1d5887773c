//! What a tool may do, judged without doing it: rules, paths and shell commands.
//!
//! Pure: the same call under the same rules gets the same receipt. The disk is looked at through the
//! [`PathProbe`] that a caller hands in, and by nothing else; no file, clock or environment is touched.

mod command;
mod compile;
mod decide;
mod error;
mod grant;
mod lists;
mod mode;
mod named;
pub mod path;
mod pattern;
mod policy;
mod rule;
pub mod shell;
mod unseen;
mod word_table;

#[cfg(not(feature = "schema"))]
use harn_schema::JsonSchema;
#[cfg(feature = "schema")]
use schemars::JsonSchema;

pub use decide::{Policy, PolicyCall};
pub use error::PolicyError;
pub use grant::{
    GrantFile, describe, describe_whole, matches, narrow, quote_words, visible_line, visible_lines,
    with_effect,
};
pub use mode::SessionMode;
pub use path::{
    LocatedPath, PathEntry, PathProbe, PathScope, RootedPath, SessionRoots, locate, locate_all,
};
pub use policy::ToolApprovalPolicy;
pub use rule::{PolicyRule, RuleMatcher};
