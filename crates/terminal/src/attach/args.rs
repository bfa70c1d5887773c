//! The command line of `harn-serve attach`, beside the state directory.

use std::path::PathBuf;

/// Which session to attach to, and how.
#[derive(Debug, clap::Args)]
pub struct AttachArgs {
    /// Its id, or the beginning of it
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
    /// Begin behind this event, instead of with the whole history
    #[arg(long, value_name = "EVENT-ID")]
    pub after: Option<String>,
    /// What others see you as, instead of a made-up name
    #[arg(long)]
    pub name: Option<String>,
    /// The server, instead of those of this machine
    #[arg(long, value_name = "ws://…|wss://…")]
    pub url: Option<String>,
    /// The server's token, else HARN_SERVE_TOKEN, else in the state directory
    #[arg(long, value_name = "FILE", requires = "url")]
    pub token_file: Option<PathBuf>,
    /// Certificates of authorities to trust beside the system's
    #[arg(long, value_name = "FILE", requires = "url")]
    pub ca: Option<PathBuf>,
}
