//! The one HTTP client of this process: made when it is first needed, because who never asks a server should
//! not pay for TLS and its authorities.

use std::{sync::OnceLock, time::Duration};

use reqwest::{Client, ClientBuilder, redirect::Policy};
use tokio_rustls::rustls::crypto::ring;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// How many redirects are followed.
const HOPS: usize = 5;

/// The client; clones share its connections. A redirect is followed on the same origin only: what a request
/// carries may be a secret, meant for that one. Another redirect is the response. There is no deadline for a
/// whole request, because a stream of events has none.
pub(crate) fn client() -> reqwest::Result<Client> {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    if let Some(client) = CLIENT.get() {
        return Ok(client.clone());
    }
    // Somebody else may have chosen; one provider is as good as another.
    let _ = ring::default_provider().install_default();
    // A machine that trusts no authority can still speak to its own servers without TLS.
    let made = builder()
        .build()
        .or_else(|_| builder().tls_certs_only([]).build())?;
    Ok(CLIENT.get_or_init(|| made).clone())
}

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("harn-serve/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(Policy::custom(|attempt| {
            let from = attempt.previous().last();
            let stays = from.is_some_and(|from| from.origin() == attempt.url().origin());
            if !stays {
                attempt.stop()
            } else if attempt.previous().len() > HOPS {
                attempt.error("too many redirects")
            } else {
                attempt.follow()
            }
        }))
}
