//! `harn-serve run`: an ACP client in the terminal, talking to the agent over an in-process pair.
//!
//! Everything passes through the same front-end an editor talks to. The client offers neither files nor
//! terminals, so the agent works on this machine by itself.

mod ask;
mod conversation;
mod crew;
mod form;
mod keyboard;
mod output;
mod pair;
mod prompt;
mod question;
mod screen;
mod show;
mod turn_calls;

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
    show::TurnPrinter,
};

pub use self::{conversation::RunRequest, prompt::read_prompt};

/// The session that is prompted.
#[derive(Debug)]
pub enum RunTarget {
    /// A new one.
    New,
    /// One that is stored.
    Stored {
        /// The session.
        id: SessionId,
        /// Its further roots.
        roots: Vec<PathBuf>,
        /// The mode that the command line asks for, instead of the one it has.
        mode: Option<SessionMode>,
    },
}

/// Sends the prompt, shows what the agent does, and returns how to exit. Must be called on a runtime.
///
/// `connect` gets the agent's ends of the connection: the lines that it reads, and where it writes.
///
/// # Errors
/// When the agent refuses the session or the prompt, or stdout cannot be written.
pub fn run<'a>(
    request: RunRequest,
    clock: impl Clock,
    connect: impl FnOnce(mpsc::Receiver<ConnectionInput>, PieceSender) + 'a,
) -> LocalBoxFuture<'a, Result<ExitCode>> {
    let screen = screen(request.json, request.no_color);
    // Somebody who asks for a command and nothing else wants what it prints.
    let prints = request.prompt.starts_with("/run ") && (request.quiet || screen.is_split());
    let mut show = TurnPrinter::new(screen, request.cwd.clone(), clock);
    show.prints_output = prints;
    hold(show, request, Box::new(connect))
}

/// Not generic, so that the client is compiled in this crate.
fn hold(
    show: TurnPrinter,
    request: RunRequest,
    connect: AgentConnector<'_>,
) -> LocalBoxFuture<'_, Result<ExitCode>> {
    Box::pin(async move {
        let keyboard = Keyboard::new(io::stdin().is_terminal() && io::stderr().is_terminal());
        let conversation = Conversation::new(show, keyboard, &request)?;
        conversation.hold(connect, request).await
    })
}

/// The answer goes to stdout; the rest with it on a terminal, else to stderr. Lines for a program share stdout with
/// nothing.
fn screen(json: bool, no_color: bool) -> RunScreen {
    let stdout = io::stdout();
    if stdout.is_terminal() && !json {
        RunScreen::shared(Box::new(stdout), !no_color)
    } else {
        let colour = !no_color && io::stderr().is_terminal();
        RunScreen::split(Box::new(stdout), Box::new(io::stderr()), colour)
    }
}
