//! The flags of `harn-serve run`, in addition to those of every agent.

use std::path::PathBuf;

/// What to ask, in which session, and what to print.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RunArgs {
    /// Directory to work in, instead of this one
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) cwd: Option<PathBuf>,
    /// Continue the last session of the directory, in the mode that it has unless --mode is given
    #[arg(long = "continue", conflicts_with = "session")]
    pub(in crate::cli) go_on: bool,
    /// Continue this session, by its id or the beginning of it, in its directory
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Option<String>,
    /// Print the params of each update, a line each, as attach --json does
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Print the answer and questions, and nothing else
    #[arg(long)]
    pub(in crate::cli) quiet: bool,
    /// What to ask, in one word or several; - or none reads stdin. Flags come before it or behind it, and
    /// all behind -- is the prompt. /help lists what the explore engine can do
    #[arg(value_name = "PROMPT")]
    pub(in crate::cli) prompt: Vec<String>,
}
