//! Decides what a tool may do without running it: rules, paths and shell commands.
//!
//! Pure: the same call under the same rules gets the same receipt. Reads the disk only through the
//! [`PathProbe`] of the caller; accesses no file, clock or environment itself.

mod access;
mod command;
mod command_findings;
mod command_paths;
mod compile;
mod decide;
mod error;
mod grant;
mod invisible_chars;
mod line_folders;
mod lists;
mod mode;
pub mod path;
mod pattern;
mod policy;
mod repository;
mod rule;
mod sandbox;
pub mod shell;
mod word_table;

#[cfg(not(feature = "schema"))]
use harn_schema::JsonSchema;
#[cfg(feature = "schema")]
use schemars::JsonSchema;

pub use access::CommandAccess;
pub use command_findings::CommandFindings;
pub use decide::{Policy, PolicyCall};
pub use error::PolicyError;
pub use grant::{
    GrantFile, describe, describe_whole, grant_for_call, matches, quote_words, visible_line,
    visible_lines, with_effect,
};
pub use mode::SessionMode;
pub use path::{
    LocatedPath, PathEntry, PathProbe, PathScope, RootedPath, SessionRoots, locate, locate_all,
};
pub use policy::ToolApprovalPolicy;
pub use rule::{PolicyRule, RuleMatcher};
pub use sandbox::{McpSandboxRules, SandboxRules, SandboxSettings};
