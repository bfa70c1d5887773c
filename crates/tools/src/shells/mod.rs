//! Shells: discovery, choice, and the invocation of a command.
//!
//! [`discover`] and [`invocation`] work without a host, on a [`ShellWorld`] that tests can fake; [`LocalShells`]
//! stores the choices of sessions, and [`SessionShells`] asks the host of a session first. Nothing here runs a
//! command.

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

/// The reason why a shell cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellError {
    /// No shell has this id.
    #[error("unknown shell {given:?}; known shells: {known}")]
    Unknown {
        /// The requested id.
        given: String,
        /// The known ids.
        known: String,
    },
    /// The shell is listed, but its file is missing.
    #[error("the shell {id:?} is not at {path}; choose one that is available")]
    Unavailable {
        /// The id of the shell.
        id: String,
        /// The path where it should be.
        path: String,
    },
    /// The command names no shell.
    #[error("which shell? give shell_id, or shell with an id or a path")]
    Unnamed,
    /// The host could not be asked, or refused.
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
