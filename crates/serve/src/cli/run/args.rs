//! The flags of `harn-serve run`, in addition to those of every agent.

use std::path::PathBuf;

/// The prompt, the session and the output format.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RunArgs {
    /// Directory to work in, instead of this one
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) cwd: Option<PathBuf>,
    /// Continue the last session of the directory, in its mode unless --mode is given
    #[arg(long = "continue", conflicts_with = "session")]
    pub(in crate::cli) go_on: bool,
    /// Continue this session, by its id or a prefix of it, in its directory
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Option<String>,
    /// Print the params of each update, one line each, as attach --json does
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Print only the answer and questions
    #[arg(long)]
    pub(in crate::cli) quiet: bool,
    /// The prompt, in one word or several; - or none reads stdin. Flags may precede or follow it, and
    /// everything after -- is the prompt. /help lists the commands of the explore engine
    #[arg(value_name = "PROMPT")]
    pub(in crate::cli) prompt: Vec<String>,
}
