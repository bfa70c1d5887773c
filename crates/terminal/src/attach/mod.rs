//! `harn-serve attach`: a terminal client for a session of a server, over the server's socket or URL. It
//! observes, controls, takes over and hands back; after a lost connection it reconnects and continues after
//! the last event it received.
//!
//! `talk`, `state` and `transcript` fold the messages into the state; `draw` reads only that state; `keys`
//! and `act` change it. Only `link`, `wire` and `app` do I/O.

mod actions;
mod address;
mod args;
mod connection;
mod draw;
mod editor;
mod finder;
mod json;
mod keys;
mod lines;
mod link;
mod picker;
mod protocol;
mod question;
mod screen_text;
mod servers;
mod state;
mod terminal;
mod tls;
mod transcript;

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Result, anyhow};
use futures::future::LocalBoxFuture;
use harn_runtime::Clock;

use self::{
    address::RemoteAddress,
    finder::{AttachDestination, SessionFinder},
    link::SessionLink,
    picker::Picker,
    protocol::AttachProtocol,
    servers::ListScope,
    state::AttachScreen,
    terminal::AttachTerminal,
};
use crate::console::{as_command_line_error, print_note};

pub use self::{args::AttachArgs, servers::live_sessions};

/// Attaches to a session until the user leaves or the session ends. `token` is the environment's token.
///
/// # Errors
/// When there is no such session or no terminal to show it in.
pub fn run(
    state_dir: PathBuf,
    args: AttachArgs,
    token: Option<String>,
    clock: Arc<dyn Clock>,
) -> LocalBoxFuture<'static, Result<ExitCode>> {
    Box::pin(async move {
        let seen = io::stdin().is_terminal() && io::stdout().is_terminal();
        if !args.json && !seen {
            let error = "attach needs a terminal; without one, --json prints one line per update";
            return Err(as_command_line_error(anyhow!(error)));
        }
        AttachCommand::new(state_dir, args, token, clock)?
            .run()
            .await
    })
}

struct AttachCommand {
    args: AttachArgs,
    find: SessionFinder,
    me: String,
    clock: Arc<dyn Clock>,
}

impl AttachCommand {
    fn new(
        state_dir: PathBuf,
        args: AttachArgs,
        token: Option<String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let remote = args
            .url
            .as_deref()
            .map(|url| remote_address(url, &state_dir, &args, token));
        let remote = remote.transpose()?;
        let me = match &args.name {
            Some(name) if name.trim().is_empty() => {
                return Err(as_command_line_error(anyhow!(
                    "--name is empty; give the name that other clients see"
                )));
            }
            Some(name) => name.trim().to_owned(),
            None => random_name()?,
        };
        Ok(Self {
            find: SessionFinder { state_dir, remote },
            args,
            me,
            clock,
        })
    }

    async fn run(self) -> Result<ExitCode> {
        let found = match (&self.args.session, self.args.new) {
            (Some(session), _) => Some(self.find.find_session(session, self.args.open).await?),
            (None, true) => Some(AttachDestination::new_session_here(
                self.find.any_server().await?,
            )?),
            (None, false) if self.args.json => Some(self.find.find_only_live_session().await?),
            // The user chooses, but there must be a server to choose from.
            (None, false) => {
                self.find.any_server().await?;
                None
            }
        };
        match (self.args.json, found) {
            (true, Some(found)) => {
                let link = self.link(found, false);
                json::follow(link).await
            }
            (_, found) => self.show(found).await,
        }
    }

    async fn show(self, found: Option<AttachDestination>) -> Result<ExitCode> {
        let mut terminal = AttachTerminal::open(self.clock.clone())?;
        let found = match found {
            None => self.choose(&mut terminal).await?,
            found => found,
        };
        let Some(found) = found else {
            return Ok(ExitCode::SUCCESS);
        };
        let mut screen = AttachScreen::new(&self.me, self.args.observe);
        // The replay arrives before the response that has the directory.
        screen.transcript.cwd = found.cwd.clone();
        let mut link = self.link(found, !self.args.observe);
        let followed = terminal.follow(&mut screen, &mut link).await;
        drop(terminal);
        link.close().await;
        followed?;
        if screen.ended.is_none() && !screen.session.is_empty() {
            let url = self.args.url.as_deref().map(|url| format!("--url {url} "));
            let (url, id) = (url.unwrap_or_default(), &screen.session);
            print_note(format!("attach again with `harn-serve attach {url}{id}`"));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn choose(&self, terminal: &mut AttachTerminal) -> Result<Option<AttachDestination>> {
        let mut picker = Picker::default();
        let refresh = async || {
            self.find
                .list_servers(ListScope::All)
                .await
                .unwrap_or_default()
        };
        picker.set(refresh().await);
        terminal.choose(&mut picker, refresh).await
    }

    fn link(&self, found: AttachDestination, control: bool) -> SessionLink {
        let after = self.args.after.clone();
        let mut talk = AttachProtocol::new(self.me.clone(), found.target, after);
        talk.worker_calls = self.args.json;
        let dir = self.find.state_dir.clone();
        SessionLink::new(talk, found.address, dir, self.clock.clone(), control)
    }
}

/// Parses a server's URL and reads the token for it.
fn remote_address(
    url: &str,
    state_dir: &Path,
    args: &AttachArgs,
    given: Option<String>,
) -> Result<RemoteAddress> {
    let url = address::parse_url(url).map_err(as_command_line_error)?;
    if address::is_exposed(&url) {
        print_note(
            "without TLS, others on the network path can read the token and all messages; use wss://",
        );
    }
    let given = given.filter(|token| !token.trim().is_empty());
    let token = address::read_token(given, args.token_file.as_deref(), &state_dir.join("token"))?;
    Ok(RemoteAddress {
        url,
        token,
        ca: args.ca.clone(),
    })
}

/// Generates a random name.
fn random_name() -> Result<String> {
    let mut bytes = [0; 3];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow!("cannot generate random bytes: {error}"))?;
    let [a, b, c] = bytes;
    Ok(format!("terminal-{a:02x}{b:02x}{c:02x}"))
}
