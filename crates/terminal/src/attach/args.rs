//! The command line of `harn-serve attach`, except the state directory.

use std::path::PathBuf;

/// The session to attach to, and the options.
#[derive(Debug, clap::Args)]
pub struct AttachArgs {
    /// The session's id, or its beginning
    pub session: Option<String>,
    /// Only watch, and never take control
    #[arg(long)]
    pub observe: bool,
    /// Print the params of each update, a line each, and only watch; needs no terminal
    #[arg(long)]
    pub json: bool,
    /// Begin a new session in this directory
    #[arg(long, conflicts_with_all = ["session", "json", "observe"])]
    pub new: bool,
    /// Open the session if it is stored and not live
    #[arg(long, requires = "session")]
    pub open: bool,
    /// Begin after this event, instead of with the whole history
    #[arg(long, value_name = "EVENT-ID")]
    pub after: Option<String>,
    /// The name that other clients see, instead of a generated one
    #[arg(long)]
    pub name: Option<String>,
    /// The URL of a server, instead of the servers of this machine
    #[arg(long, value_name = "ws://…|wss://…")]
    pub url: Option<String>,
    /// A file with the server's token, instead of HARN_SERVE_TOKEN or the state directory's token
    #[arg(long, value_name = "FILE", requires = "url")]
    pub token_file: Option<PathBuf>,
    /// Certificate authorities to trust in addition to the system's
    #[arg(long, value_name = "FILE", requires = "url")]
    pub ca: Option<PathBuf>,
}
