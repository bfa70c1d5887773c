//! `harn-serve run`: an ACP client in the terminal, talking to the agent over an in-process pair.
//!
//! Everything passes through the same front-end an editor talks to. The client offers neither files nor
//! terminals, so the agent works on this machine by itself.

mod ask;
mod conversation;
mod crew;
mod form;
mod keyboard;
mod pair;
mod question;
mod screen;
mod show;
mod steer;

use std::{
    io::{self, IsTerminal},
    path::Path,
    process::ExitCode,
};

use anyhow::{Result, anyhow};
use harn_acp::ProfileChoice;

use self::{conversation::Conversation, keyboard::Keyboard, screen::Screen, show::Show};
use super::{
    args::{Dialect, Serve},
    directory, load, paint, wrong_use,
};
use crate::{
    SystemClock, limits,
    workshop::{Workshop, waiting_room},
};

pub(super) fn run(
    serve: Serve,
    dialect: &Dialect,
    cwd: Option<&Path>,
    prompt: String,
) -> Result<ExitCode> {
    if prompt.trim().is_empty() {
        return Err(wrong_use(anyhow!("the prompt is empty; say what to ask")));
    }
    let cwd = directory(cwd).map_err(wrong_use)?;
    let (agent, mut options) = load(serve)?;
    // This client is made with a typed SDK, which delivers extensions on known updates only.
    options.profile = match dialect.profile {
        ProfileChoice::Auto => ProfileChoice::Meta,
        chosen => chosen,
    };
    limits::raise_open_files();
    let workshop = Workshop::open(agent, &options)?;
    let show = Show::new(screen(), cwd.clone(), SystemClock::new());
    let keyboard = Keyboard::new(io::stdin().is_terminal() && io::stderr().is_terminal());
    let waiting = waiting_room()?;
    waiting.block_on(async {
        let conversation = Conversation::new(show, keyboard)?;
        let ended = conversation
            .hold(&workshop, options.profile, cwd, prompt)
            .await;
        workshop.close().await;
        ended
    })
}

/// The answer goes to stdout; the rest with it on a terminal, else to stderr.
fn screen() -> Screen {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        Screen::shared(Box::new(io::stdout()), paint::wanted(&stdout))
    } else {
        let colour = paint::wanted(&io::stderr());
        Screen::split(Box::new(io::stdout()), Box::new(io::stderr()), colour)
    }
}
