//! `harn-serve run`: an ACP client in the terminal, connected to the agent by in-process channels.
//!
//! All messages pass through the front-end that editors use. The client offers neither files nor terminals,
//! so the agent uses those of this machine.

mod conversation;
mod exit_code;
mod form;
mod jobs;
mod keyboard;
mod output;
mod permission;
mod prompt;
mod question;
mod screen;
mod transport;
mod turn_calls;
mod turn_printer;

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Result;
use futures::future::LocalBoxFuture;
use harn_acp::transport::{ConnectionInput, PieceSender};
use harn_model::SessionId;
use harn_policy::SessionMode;
use harn_runtime::Clock;
use tokio::sync::mpsc;

use self::{
    conversation::{AgentConnector, Conversation},
    keyboard::Keyboard,
    screen::RunScreen,
    turn_printer::TurnPrinter,
};

pub use self::{conversation::RunRequest, prompt::read_prompt};

/// The session to prompt.
#[derive(Debug)]
pub enum RunTarget {
    /// A new session.
    New,
    /// A stored session.
    Stored {
        /// The session's id.
        id: SessionId,
        /// The additional directories of the session.
        roots: Vec<PathBuf>,
        /// The mode from the command line, which replaces the session's mode.
        mode: Option<SessionMode>,
    },
}

/// Sends the prompt, shows the work of the agent, and returns the exit code. Must be called on a Tokio
/// runtime.
///
/// `connect` receives the agent's ends of the connection: the lines to read, and the sender to write to.
///
/// # Errors
/// When the agent rejects the session or the prompt, or stdout cannot be written.
pub fn run<'a>(
    request: RunRequest,
    clock: impl Clock,
    connect: impl FnOnce(mpsc::Receiver<ConnectionInput>, PieceSender) + 'a,
) -> LocalBoxFuture<'a, Result<ExitCode>> {
    let screen = screen(request.json, request.no_color);
    // A user who runs only a command, without notes on stdout, wants its output.
    let prints = request.prompt.starts_with("/run ") && (request.quiet || screen.is_split());
    let mut show = TurnPrinter::new(screen, request.cwd.clone(), clock);
    show.prints_output = prints;
    run_conversation(show, request, Box::new(connect))
}

/// Not generic, so that this crate compiles the client.
fn run_conversation(
    show: TurnPrinter,
    request: RunRequest,
    connect: AgentConnector<'_>,
) -> LocalBoxFuture<'_, Result<ExitCode>> {
    Box::pin(async move {
        let keyboard = Keyboard::new(io::stdin().is_terminal() && io::stderr().is_terminal());
        let conversation = Conversation::new(show, keyboard, &request)?;
        conversation.run(connect, request).await
    })
}

/// Writes the answer to stdout, and the rest with it on a terminal, else to stderr. JSON lines have stdout to
/// themselves.
fn screen(json: bool, no_color: bool) -> RunScreen {
    let stdout = io::stdout();
    if stdout.is_terminal() && !json {
        RunScreen::new_shared(Box::new(stdout), !no_color)
    } else {
        let colour = !no_color && io::stderr().is_terminal();
        RunScreen::new_split(Box::new(stdout), Box::new(io::stderr()), colour)
    }
}
