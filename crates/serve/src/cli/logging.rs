//! Logging: warnings to stderr, where editors show them as notices; more to a file on request.
//!
//! No filter language and no environment variable: both cost time before the first answer.

use std::{
    fs::File,
    io::{self, IsTerminal},
    path::Path,
    sync::Mutex,
};

use anyhow::{Context, Result};
use harn_terminal::console::as_command_line_error;
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
};

use super::{args::LogArgs, is_color_disabled};
use crate::private;

pub(super) fn start(args: &LogArgs) -> Result<()> {
    let level = args.log_level;
    let file = args.log_file.as_deref().map(open).transpose()?;
    let on_stderr = match &file {
        Some(_) => level.min(LevelFilter::WARN),
        None => level,
    };
    let stderr = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(!is_color_disabled() && io::stderr().is_terminal())
        .without_time()
        .with_filter(targets(on_stderr));
    let file = file.map(|file| {
        fmt::layer()
            .with_writer(Mutex::new(file))
            .with_ansi(false)
            .with_filter(targets(level))
    });
    let subscriber = tracing_subscriber::registry().with(stderr).with(file);
    tracing::subscriber::set_global_default(subscriber).context("logging is already initialized")
}

/// Returns the level of each crate. The ACP SDK logs its peers' mistakes, which only matter at debug level. The
/// MCP library logs whole messages, which may contain secrets, so it is off; our own code logs the errors of
/// MCP servers.
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

/// Opens the log file, readable only by its owner because a log may reveal the work.
fn open(path: &Path) -> Result<File> {
    let opened = private::file_options().create(true).append(true).open(path);
    opened
        .with_context(|| format!("--log-file {}", path.display()))
        .map_err(as_command_line_error)
}
