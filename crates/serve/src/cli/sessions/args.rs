//! The command line of `harn-serve sessions list`.

use std::{num::NonZeroUsize, path::PathBuf};

/// The arguments of `sessions list`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ListSessionsArgs {
    /// Print a JSON array
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Only sessions that work in this directory
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) cwd: Option<PathBuf>,
    /// At most N sessions
    #[arg(long, value_name = "N")]
    pub(in crate::cli) limit: Option<NonZeroUsize>,
    /// Also stored sessions without a prompt, and archived ones
    #[arg(long)]
    pub(in crate::cli) all: bool,
}
