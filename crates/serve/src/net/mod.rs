//! Serves several clients: one port and one Unix socket in front of the same hub.
//!
//! Every request to the port passes the guard first. This module owns admission, limits and the end; the
//! front-ends own the routes.

mod connection_places;
mod guard;
#[cfg(feature = "page")]
mod last_sessions;
mod listener;
mod login;
mod optional_routes;
mod page;
mod port_connection;
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
    optional_routes::{RouteContext, refusal},
    token::AccessTokens,
};
use crate::{
    ServeOptions, SystemClock, limits,
    server_runtime::{ServerRuntime, build_waiting_runtime},
};

#[cfg(feature = "cli")]
pub(crate) use self::token::{check as check_tokens, token_path as token_file};

/// The address to listen on, and the rules for admission.
#[derive(Clone, Debug, Default)]
pub struct ListenOptions {
    /// `IP:PORT`, or `localhost:PORT`; port 0 selects a free one.
    pub address: String,
    /// A certificate and its key, in PEM files; without them there is no TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Host names that clients may use, besides those of the machine itself.
    pub hosts: Vec<String>,
    /// The origins of web pages that may connect.
    pub origins: Vec<String>,
    /// Listens without TLS where others could read the traffic.
    pub insecure: bool,
    /// The token; without one, those of `<state>/token`, which is created if it is missing.
    pub token: Option<String>,
    /// Opens the page in a browser, signed in as the owner.
    pub open: bool,
}

impl ListenOptions {
    /// Hides the private key from commands.
    pub(crate) fn hide_secrets(&self, options: &mut ServeOptions) {
        let key = self.tls.as_ref().map(|(_, key)| std::path::absolute(key));
        options.hidden_paths.extend(key.and_then(Result::ok));
    }

    /// Listens on this address, with the token of the state directory.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            ..Self::default()
        }
    }
}

/// Serves an agent to clients with a token, until a signal requests the end, which takes at most a second.
/// Prints the address to stderr. Starts its own runtime: do not call it from async code.
pub fn listen(
    agent: Arc<dyn Agent>,
    mut options: ServeOptions,
    listen: ListenOptions,
) -> Result<()> {
    crate::dispatch_sandbox_helper();
    listen.hide_secrets(&mut options);
    ensure!(
        tokio::runtime::Handle::try_current().is_err(),
        "listen starts a runtime of its own; call it outside of async code",
    );
    limits::raise_open_files();
    let workshop = ServerRuntime::open(agent, &options)?;
    let waiting = build_waiting_runtime()?;
    waiting.block_on(async {
        let mut signals = Signals::listen().context("listening for signals")?;
        let mut door = OpenPort::open(&workshop, &options, listen).await?;
        door.announce();
        signals.next().await;
        door.close();
        workshop.close().await;
        door.wait_closed().await;
        Ok(())
    })
}

/// How long the last answers may take to reach clients that do not read.
const LAST_ANSWERS: Duration = Duration::from_millis(150);

/// A port and a socket, open until this value is closed or dropped.
pub(crate) struct OpenPort {
    serving: JoinHandle<()>,
    address: SocketAddr,
    secure: bool,
    token: String,
    /// The sign-in code, until it is printed.
    code: Option<String>,
    open: bool,
    #[cfg(unix)]
    socket: unix::SocketFile,
    ending: CancellationToken,
}

impl OpenPort {
    /// Opens both, and serves on the worker threads.
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
        let address = parse_address(&listen.address)?;
        let tls = listen.tls.as_ref();
        let tls = tls
            .map(|(cert, key)| tls::load_acceptor(cert, key))
            .transpose()?;
        ensure!(
            tls.is_some() || listen.insecure || address.ip().is_loopback(),
            "--listen {address}: without TLS, others can read the token and all messages; give \
             --tls-cert and --tls-key, or --insecure-listen if something else protects the connection"
        );
        let hosts = parse("--allow-host", &listen.hosts)?;
        let origins = parse("--allow-origin", &listen.origins)?;
        let tokens = AccessTokens::load(listen.token.as_deref(), &options.state_dir)?;
        let token = tokens.source().to_owned();
        let bound = TcpListener::bind(address).await;
        let bound = bound.with_context(|| format!("--listen {address}"))?;
        let (address, secure) = (bound.local_addr()?, tls.is_some());
        let ending = CancellationToken::new();
        #[cfg(unix)]
        let socket = {
            let config = AcpConfig {
                on_this_machine: true,
                ..options.acp_config()
            };
            let (listener, place) = unix::bind(&options.state_dir)?;
            tokio::spawn(unix::serve(listener, hub.clone(), config, ending.clone()));
            place
        };
        let config = HttpConfig {
            acp: options.acp_config(),
            ending: ending.clone(),
            ..HttpConfig::new(hub.clone(), new_id)
        };
        let (code, shown) = LoginCode::generate()?;
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
        let routes = routes(config).merge(optional_routes::routes(&sessions));
        let router = add_guard(routes, guard);
        let connections = limits::clients_within_open_files(listener::CONNECTIONS);
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

    /// Prints the addresses to stderr, and opens the page if requested. Drops the code then.
    pub(crate) fn announce(&mut self) {
        use std::io::Write;
        let code = self.code.take();
        let code = code.filter(|_| cfg!(feature = "page"));
        let page = code.map(|code| page::page_url(self.address, self.secure, &code));
        let Self { address, token, .. } = self;
        let (http, ws) = match self.secure {
            true => ("https", "wss"),
            false => ("http", "ws"),
        };
        let open_harness = optional_routes::open_harness_path().map_or_else(String::new, |path| {
            format!("harn-serve: OpenHarness is at {http}://{address}{path}\n")
        });
        let mut words = format!(
            "harn-serve: listening on {http}://{address}/acp\n\
             {open_harness}\
             harn-serve: the token is in {token}; clients send it as \"Authorization: Bearer TOKEN\"\n"
        );
        #[cfg(unix)]
        {
            let socket = self.socket.path().display();
            words.push_str(&format!(
                "harn-serve: programs of this machine use {socket}\n"
            ));
        }
        words.push_str(&format!(
            "harn-serve: to attach a terminal: harn-serve attach, or from another machine: \
             harn-serve attach --url {ws}://{address}/acp\n"
        ));
        if let Some(page) = &page {
            words.push_str(&format!(
                "harn-serve: the page is at {page}\n\
                 harn-serve: the code in it works once, for 10 minutes; after that, sign in with the token\n"
            ));
        }
        // Without stderr, there is no reader.
        let _ = io::stderr().write_all(words.as_bytes());
        if let Some(page) = page.filter(|_| self.open) {
            page::open_browser(&page);
        }
    }

    /// Stops accepting clients, and ends the connections of the others.
    pub(crate) fn close(&self) {
        self.ending.cancel();
    }

    /// Waits briefly until the last answers are written.
    pub(crate) async fn wait_closed(&mut self) {
        // A client that does not read had its time.
        let _ = timeout(LAST_ANSWERS, &mut self.serving).await;
    }
}

impl Drop for OpenPort {
    fn drop(&mut self) {
        self.ending.cancel();
    }
}

/// Puts the guard in front of the routes and of the answer for unknown paths.
fn add_guard(routes: Router, guard: PortGuard) -> Router {
    let guard = Arc::new(guard);
    routes
        .merge(login::routes(guard.clone()))
        .fallback(async |request: Request| {
            refusal(
                &request,
                StatusCode::NOT_FOUND,
                optional_routes::NOTHING_HERE,
            )
        })
        .layer(middleware::from_fn_with_state(guard, guard::check))
}

fn parse_address(text: &str) -> Result<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let port = text
        .strip_prefix("localhost:")
        .and_then(|port| port.parse().ok());
    match port {
        Some(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        None => bail!("--listen {text}: must be an address and a port, such as 127.0.0.1:7433"),
    }
}

fn parse<T: std::str::FromStr<Err = String>>(flag: &str, texts: &[String]) -> Result<Vec<T>> {
    let parse = |text: &String| {
        text.parse()
            .map_err(|error| anyhow!("{flag} {text}: {error}"))
    };
    texts.iter().map(parse).collect()
}

/// Returns an id that cannot be guessed, though it is no credential. None if the system has no random numbers.
fn new_id() -> Option<String> {
    let random = token::random_hex::<32>().ok()?;
    Some(format!("con_{random}"))
}

#[cfg(test)]
#[cfg(all(feature = "page", feature = "openharness"))]
mod tests;
