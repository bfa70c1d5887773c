//! The command lines of `harn-serve sessions list` and `harn-serve sessions check`.

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

/// The arguments of `sessions check`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("selection").args(["id", "all"])))]
pub(in crate::cli) struct CheckSessionsArgs {
    /// The session's id, a prefix of it, or `last` for the one that changed last; all sessions without it
    #[arg(value_name = "ID|last")]
    pub(in crate::cli) id: Option<String>,
    /// All sessions, also those of workers
    #[arg(long)]
    pub(in crate::cli) all: bool,
    /// Keep each damaged journal under another name, and continue the session with the lines before the damage;
    /// needs an ID or --all
    #[arg(long, requires = "selection")]
    pub(in crate::cli) repair: bool,
}
