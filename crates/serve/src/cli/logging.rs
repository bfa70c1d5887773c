//! Logging: warnings to stderr, where editors show them as notices; more to a file when asked.
//!
//! No filter language and no environment variable: both cost time before the first answer.

use std::{
    fs::File,
    io::{self, IsTerminal},
    path::Path,
    sync::Mutex,
};

use anyhow::{Context, Result};
use harn_terminal::console::wrong_use;
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
};

use super::{args::LogArgs, no_color};
use crate::private;

/// Logs from now on.
pub(super) fn start(args: &LogArgs) -> Result<()> {
    let level = args.log_level;
    let file = args.log_file.as_deref().map(open).transpose()?;
    let on_stderr = match &file {
        Some(_) => level.min(LevelFilter::WARN),
        None => level,
    };
    let stderr = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(!no_color() && io::stderr().is_terminal())
        .without_time()
        .with_filter(targets(on_stderr));
    let file = file.map(|file| {
        fmt::layer()
            .with_writer(Mutex::new(file))
            .with_ansi(false)
            .with_filter(targets(level))
    });
    let subscriber = tracing_subscriber::registry().with(stderr).with(file);
    tracing::subscriber::set_global_default(subscriber).context("logging was started before")
}

/// The SDK logs what its peers do wrong; that is for those who look for it. The MCP library logs messages whole, and
/// what is in them may be a secret; what goes wrong with a server is told by us.
fn targets(level: LevelFilter) -> Targets {
    let sdk = if level >= LevelFilter::DEBUG {
        level
    } else {
        LevelFilter::ERROR
    };
    Targets::new()
        .with_default(level)
        .with_target("agent_client_protocol", sdk.min(level))
        .with_target("rmcp", LevelFilter::OFF)
}

/// A log may tell what was worked on, so only its owner may read it.
fn open(path: &Path) -> Result<File> {
    let opened = private::file().create(true).append(true).open(path);
    opened
        .with_context(|| format!("--log-file {}", path.display()))
        .map_err(wrong_use)
}
