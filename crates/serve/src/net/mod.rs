//! Where several clients meet: one port and one socket before the same hub.
//!
//! Everything that knocks passes the guard first. What is served behind it is the front-end's business; this
//! is about who gets there, how many, and how it ends.

mod caller;
mod guard;
#[cfg(feature = "page")]
mod last_sessions;
mod listener;
mod login;
mod optional;
mod page;
mod tls;
mod token;
#[cfg(unix)]
mod unix;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use axum::{Router, extract::Request, http::StatusCode, middleware};
use harn_acp::{
    AcpConfig,
    http::{HttpConfig, routes},
};
use harn_runtime::{Agent, Hub};
use harn_terminal::signals::Signals;
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use self::{
    guard::{AllowedAuthorities, PortGuard},
    login::{LoginCode, LoginCookies},
    optional::{RouteContext, refusal},
    token::AccessTokens,
};
use crate::{
    ServeOptions, SystemClock, limits,
    workshop::{ServerRuntime, waiting_room},
};

#[cfg(feature = "cli")]
pub(crate) use self::token::{check as check_tokens, file_in as token_file};

/// Where to listen, and who may come in.
#[derive(Clone, Debug, Default)]
pub struct ListenOptions {
    /// `IP:PORT`, or `localhost:PORT`; port 0 takes a free one.
    pub address: String,
    /// A certificate and its key, in PEM files; without them there is no TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Names that clients may call us by, beside those of the machine itself.
    pub hosts: Vec<String>,
    /// Origins of web pages that may come in.
    pub origins: Vec<String>,
    /// Listens without TLS where others could read what is said.
    pub insecure: bool,
    /// The token; without one, those of `<state>/token`, which is made when there is none.
    pub token: Option<String>,
    /// Opens the page in a browser, signed in as the owner.
    pub open: bool,
}

impl ListenOptions {
    /// On this address, with the token of the state directory.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            ..Self::default()
        }
    }
}

/// Serves an agent to whoever comes with a token, until a signal asks for the end. All of it ends within a
/// second then. Says on stderr where it listens. Starts a runtime of its own: not to be called from async code.
pub fn listen(agent: Arc<dyn Agent>, options: ServeOptions, listen: ListenOptions) -> Result<()> {
    ensure!(
        tokio::runtime::Handle::try_current().is_err(),
        "listen starts a runtime of its own; call it outside of async code",
    );
    limits::raise_open_files();
    let workshop = ServerRuntime::open(agent, &options)?;
    let waiting = waiting_room()?;
    waiting.block_on(async {
        let mut signals = Signals::listen().context("listening for signals")?;
        let mut door = OpenPort::open(&workshop, &options, listen).await?;
        door.announce();
        signals.next().await;
        door.close();
        workshop.close().await;
        door.closed().await;
        Ok(())
    })
}

/// How long the last answers may take to reach clients that are not reading.
const LAST_ANSWERS: Duration = Duration::from_millis(150);

/// A port and a socket, open until this is closed or dropped.
pub(crate) struct OpenPort {
    serving: JoinHandle<()>,
    address: SocketAddr,
    secure: bool,
    token: String,
    /// The code that signs in, until it is told.
    code: Option<String>,
    open: bool,
    #[cfg(unix)]
    socket: unix::SocketFile,
    ending: CancellationToken,
}

impl OpenPort {
    /// Opens both, and serves on the workshop's threads.
    pub(crate) async fn open(
        workshop: &ServerRuntime,
        options: &ServeOptions,
        listen: ListenOptions,
    ) -> Result<Self> {
        let (hub, options) = (workshop.hub().clone(), options.clone());
        let open = workshop.spawn(async move { Self::open_here(hub, &options, listen).await });
        open.await.context("opening the port panicked")?
    }

    async fn open_here(hub: Hub, options: &ServeOptions, listen: ListenOptions) -> Result<Self> {
        let address = address(&listen.address)?;
        let tls = listen.tls.as_ref();
        let tls = tls
            .map(|(cert, key)| tls::acceptor(cert, key))
            .transpose()?;
        ensure!(
            tls.is_some() || listen.insecure || address.ip().is_loopback(),
            "--listen {address}: others could read what is said there, the token first of all; give \
             --tls-cert and --tls-key, or say --insecure-listen if something else protects it"
        );
        let hosts = parse("--allow-host", &listen.hosts)?;
        let origins = parse("--allow-origin", &listen.origins)?;
        let tokens = AccessTokens::load(listen.token.as_deref(), &options.state_dir)?;
        let token = tokens.place().to_owned();
        let bound = TcpListener::bind(address).await;
        let bound = bound.with_context(|| format!("--listen {address}"))?;
        let (address, secure) = (bound.local_addr()?, tls.is_some());
        let ending = CancellationToken::new();
        #[cfg(unix)]
        let socket = {
            let config = AcpConfig {
                on_this_machine: true,
                ..options.acp()
            };
            let (listener, place) = unix::bind(&options.state_dir)?;
            tokio::spawn(unix::serve(listener, hub.clone(), config, ending.clone()));
            place
        };
        let config = HttpConfig {
            acp: options.acp(),
            ending: ending.clone(),
            ..HttpConfig::new(hub.clone(), new_id)
        };
        let (code, shown) = LoginCode::make()?;
        let clock = Arc::new(SystemClock::new());
        let guard = PortGuard {
            cookies: LoginCookies::new(&tokens, address.port(), secure, clock),
            code,
            tokens,
            authorities: AllowedAuthorities {
                listens: address,
                secure,
                hosts,
                origins,
            },
        };
        let sessions = RouteContext {
            hub,
            state_dir: &options.state_dir,
            directory: options.work_dir()?,
            ending: ending.clone(),
        };
        let routes = routes(config).merge(optional::routes(&sessions));
        let router = guarded(routes, guard);
        let connections = listener::CONNECTIONS;
        let serving = tokio::spawn(listener::serve(
            bound,
            tls,
            router,
            connections,
            ending.clone(),
        ));
        Ok(Self {
            serving,
            address,
            secure,
            token,
            code: Some(shown),
            open: listen.open,
            #[cfg(unix)]
            socket,
            ending,
        })
    }

    /// Says where to come, on stderr, and opens the page where that is wanted. The code is forgotten then.
    pub(crate) fn announce(&mut self) {
        use std::io::Write;
        let code = self.code.take();
        let code = code.filter(|_| cfg!(feature = "page"));
        let page = code.map(|code| page::url(self.address, self.secure, &code));
        let Self { address, token, .. } = self;
        let (http, ws) = match self.secure {
            true => ("https", "wss"),
            false => ("http", "ws"),
        };
        let open_harness = optional::open_harness_path().map_or_else(String::new, |path| {
            format!("harn-serve: and for OpenHarness on {http}://{address}{path}\n")
        });
        let mut words = format!(
            "harn-serve: listening on {http}://{address}/acp\n\
             {open_harness}\
             harn-serve: the token is in {token}; clients send it as \"Authorization: Bearer TOKEN\"\n"
        );
        #[cfg(unix)]
        {
            let socket = self.socket.path().display();
            words.push_str(&format!("harn-serve: tools of this machine use {socket}\n"));
        }
        words.push_str(&format!(
            "harn-serve: to join from a terminal: harn-serve attach, or from elsewhere: harn-serve attach \
             --url {ws}://{address}/acp\n"
        ));
        if let Some(page) = &page {
            words.push_str(&format!(
                "harn-serve: the page is at {page}\n\
                 harn-serve: the code in it works once and for 10 minutes; sign in with the token after that\n"
            ));
        }
        // Without stderr there is nobody to tell.
        let _ = io::stderr().write_all(words.as_bytes());
        if let Some(page) = page.filter(|_| self.open) {
            page::show(&page);
        }
    }

    /// Lets nobody in any more, and says farewell to those who are.
    pub(crate) fn close(&self) {
        self.ending.cancel();
    }

    /// Waits for the last answers to be written, for a moment.
    pub(crate) async fn closed(&mut self) {
        // Whoever does not read has had their time.
        let _ = timeout(LAST_ANSWERS, &mut self.serving).await;
    }
}

impl Drop for OpenPort {
    fn drop(&mut self) {
        self.ending.cancel();
    }
}

/// Routes that nobody reaches but through the guard, what is not found included.
fn guarded(routes: Router, guard: PortGuard) -> Router {
    let guard = Arc::new(guard);
    routes
        .merge(login::routes(guard.clone()))
        .fallback(async |request: Request| {
            refusal(&request, StatusCode::NOT_FOUND, optional::NOTHING_HERE)
        })
        .layer(middleware::from_fn_with_state(guard, guard::check))
}

fn address(text: &str) -> Result<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let port = text
        .strip_prefix("localhost:")
        .and_then(|port| port.parse().ok());
    match port {
        Some(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        None => bail!("--listen {text}: say an address and a port, such as 127.0.0.1:7433"),
    }
}

fn parse<T: std::str::FromStr<Err = String>>(flag: &str, texts: &[String]) -> Result<Vec<T>> {
    let parse = |text: &String| {
        text.parse()
            .map_err(|error| anyhow!("{flag} {text}: {error}"))
    };
    texts.iter().map(parse).collect()
}

/// An id that nobody can guess, though it is no credential. None where the system has no random numbers.
fn new_id() -> Option<String> {
    let random = token::random::<32>().ok()?;
    Some(format!("con_{random}"))
}

#[cfg(test)]
#[cfg(all(feature = "page", feature = "openharness"))]
mod tests;
