//! The HTTP client of this process. It is created on first use, so that a process that contacts no server does not
//! pay for TLS and its certificate authorities.

use std::{sync::OnceLock, time::Duration};

use reqwest::{Client, ClientBuilder, redirect::Policy};
use tokio_rustls::rustls::crypto::ring;

/// The deadline for a connection attempt.
const CONNECT: Duration = Duration::from_secs(10);
/// The most redirects that the client follows.
const HOPS: usize = 5;

/// Returns the client; clones share its connections. It follows redirects on the same origin only, because a
/// request may carry a secret for that origin; the caller receives any other redirect as the response. A whole
/// request has no deadline, because an event stream has no end.
pub(crate) fn client() -> reqwest::Result<Client> {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    if let Some(client) = CLIENT.get() {
        return Ok(client.clone());
    }
    // The process may have installed a provider already; any provider will do.
    let _ = ring::default_provider().install_default();
    // A machine without trusted authorities can still reach its own servers without TLS.
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
