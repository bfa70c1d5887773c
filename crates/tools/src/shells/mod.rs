//! Shells: which there are, which one to use, and how to run a command in it.
//!
//! [`discover`] and [`invocation`] are what holds without a host, over a [`ShellWorld`] that tests can make
//! up; [`LocalShells`] keeps what sessions chose, and [`SessionShells`] asks the host of a session first. Nothing is run
//! here.

mod discover;
mod invocation;
mod kinds;
mod local;
mod session;
mod world;

pub use discover::{default_id, discover};
pub use invocation::invocation;
pub use local::LocalShells;
pub use session::SessionShells;
pub use world::{LocalShellWorld, ShellWorld};

use harn_runtime::ToolError;

/// A shell could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellError {
    /// None of this id.
    #[error("there is no shell {given:?}; there are {known}")]
    Unknown {
        /// What was asked for.
        given: String,
        /// What there is.
        known: String,
    },
    /// It was listed and is not there.
    #[error("the shell {id:?} is not at {path}; choose one that is available")]
    Unavailable {
        /// Which.
        id: String,
        /// Where it should be.
        path: String,
    },
    /// Nobody said which.
    #[error("which shell? give shell_id, or shell with an id or a path")]
    Unnamed,
    /// The host was not to be asked, or refused.
    #[error("{0}")]
    Host(String),
}

impl From<ShellError> for ToolError {
    fn from(error: ShellError) -> Self {
        Self::new(error)
    }
}

#[cfg(test)]
mod tests;
