//! The routes, and what every answer of them has in common.

use std::{path::PathBuf, time::Duration};

use axum::{
    Router,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use harn_runtime::Hub;
use tokio_util::sync::CancellationToken;

/// Where requests are taken.
pub const PATHS: [&str; 2] = ["/v1/openharness", "/openharness/invoke"];

/// What is served, and within which bounds.
#[derive(Clone)]
pub struct OpenHarnessConfig {
    /// The sessions, as their owner sees them.
    pub hub: Hub,
    /// Where sessions work; absolute.
    pub directory: PathBuf,
    /// The longest body that is read.
    pub body_bytes: usize,
    /// How many requests may be under way at a time; a quarter of them is kept from each principal, for the
    /// others.
    pub requests: usize,
    /// How many prompts of a session may wait behind the one that runs.
    pub waiting: usize,
    /// How long a run is waited for before its request is answered with what there is.
    pub patience: Duration,
    /// Ends what waits, with an answer that says so.
    pub ending: CancellationToken,
}

impl OpenHarnessConfig {
    /// The usual bounds.
    pub fn new(hub: Hub, directory: PathBuf) -> Self {
        Self {
            hub,
            directory,
            body_bytes: 1024 * 1024,
            requests: 1024,
            waiting: 4,
            patience: Duration::from_secs(50),
            ending: CancellationToken::new(),
        }
    }
}

/// The routes. Each request must come with the [`Principal`](harn_model::Principal) it is from, as an
/// extension.
pub fn routes(config: OpenHarnessConfig) -> Router {
    let _ = config;
    Router::new()
}

/// An answer to a request on one of [`PATHS`] that is refused before it gets here: by its status, with an
/// envelope that says why. Ids that the headers mirror are echoed.
#[must_use]
pub fn refusal(status: StatusCode, words: &str, headers: &HeaderMap) -> Response {
    let _ = headers;
    (status, words.to_owned()).into_response()
}
