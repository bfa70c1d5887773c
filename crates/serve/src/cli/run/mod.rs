//! `harn-serve run`: an ACP client in the terminal, talking to the agent over an in-process pair.
//!
//! Everything passes through the same front-end an editor talks to. The client offers neither files nor
//! terminals, so the agent works on this machine by itself.

mod args;
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
mod start;
mod steer;
mod turn_calls;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use anyhow::Result;
use harn_acp::ProfileChoice;

use self::{
    conversation::{Conversation, RunRequest},
    keyboard::Keyboard,
    screen::Screen,
    show::Show,
};
use super::{args::Serve, dialect::DialectFlags, load, paint};
use crate::{
    SystemClock, limits,
    workshop::{Workshop, waiting_room},
};

pub(super) use self::args::RunArgs;

pub(super) fn run(serve: Serve, dialect: &DialectFlags, args: RunArgs) -> Result<ExitCode> {
    let prompt = prompt::read(&args.prompt)?;
    let mode = serve.permissions.mode;
    let (agent, mut options) = load(serve)?;
    let session = args.session.as_deref();
    let cwd = args.cwd.as_deref();
    let (cwd, start) = start::chosen(&options, cwd, args.go_on, session, mode)?;
    options.profile = match dialect.profile {
        ProfileChoice::Auto if args.json => ProfileChoice::Harn,
        // This client is made with a typed SDK, which delivers extensions on known updates only.
        ProfileChoice::Auto => ProfileChoice::Meta,
        chosen => chosen,
    };
    limits::raise_open_files();
    let workshop = Workshop::open(agent, &options)?;
    let screen = screen(args.json);
    // Somebody who asks for a command and nothing else wants what it prints.
    let prints = prompt.starts_with("/run ") && (args.quiet || screen.is_split());
    let show = Show::new(screen, cwd.clone(), SystemClock::new()).printing_output(prints);
    let keyboard = Keyboard::new(io::stdin().is_terminal() && io::stderr().is_terminal());
    let request = RunRequest {
        profile: options.profile,
        start,
        cwd,
        prompt,
        json: args.json,
        quiet: args.quiet,
    };
    let waiting = waiting_room()?;
    waiting.block_on(async {
        let conversation = Conversation::new(show, keyboard, &request)?;
        let ended = conversation.hold(&workshop, request).await;
        workshop.close().await;
        ended
    })
}

/// The answer goes to stdout; the rest with it on a terminal, else to stderr. Lines for a program share stdout with
/// nothing.
fn screen(json: bool) -> Screen {
    let stdout = io::stdout();
    if stdout.is_terminal() && !json {
        Screen::shared(Box::new(io::stdout()), paint::wanted(&stdout))
    } else {
        let colour = paint::wanted(&io::stderr());
        Screen::split(Box::new(io::stdout()), Box::new(io::stderr()), colour)
    }
}
