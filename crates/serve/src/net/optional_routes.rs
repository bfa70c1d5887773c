//! The optional routes of the port: the page with its documents, and OpenHarness.

use std::path::{Path, PathBuf};

use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use harn_runtime::Hub;
use tokio_util::sync::CancellationToken;

use super::login;

/// The answer for unknown paths.
pub(super) const NOTHING_HERE: &str = match (cfg!(feature = "page"), cfg!(feature = "openharness"))
{
    (true, true) => "not found; try / for the page, /acp, or /v1/openharness for OpenHarness",
    (true, false) => "not found; try / for the page, or /acp",
    (false, true) => "not found; try /acp, or /v1/openharness for OpenHarness",
    (false, false) => "not found; try /acp",
};

/// The hub of the sessions that the routes serve, and their directories.
#[cfg_attr(
    not(any(feature = "page", feature = "openharness")),
    allow(dead_code, reason = "nothing of it is served")
)]
pub(super) struct RouteContext<'a> {
    pub(super) hub: Hub,
    pub(super) state_dir: &'a Path,
    pub(super) directory: PathBuf,
    pub(super) ending: CancellationToken,
}

/// Returns the routes that this build has.
#[cfg_attr(
    not(any(feature = "page", feature = "openharness")),
    allow(unused_variables, reason = "nothing of it is served")
)]
pub(super) fn routes(sessions: &RouteContext<'_>) -> Router {
    let routes = Router::new();
    #[cfg(feature = "page")]
    let routes = {
        let memory = super::last_sessions::LastSessionFile::new(sessions.state_dir);
        routes.merge(harn_state::routes(harn_state::StateConfig {
            ending: sessions.ending.clone(),
            memory: std::sync::Arc::new(memory),
            ..harn_state::StateConfig::new(sessions.hub.clone(), sessions.directory.clone())
        }))
    };
    #[cfg(feature = "openharness")]
    let routes = {
        let (hub, directory) = (sessions.hub.clone(), sessions.directory.clone());
        routes.merge(harn_openharness::routes(
            harn_openharness::OpenHarnessConfig {
                ending: sessions.ending.clone(),
                ..harn_openharness::OpenHarnessConfig::new(hub, directory)
            },
        ))
    };
    routes
}

/// Returns the path of OpenHarness.
#[cfg(feature = "openharness")]
pub(super) fn open_harness_path() -> Option<&'static str> {
    harn_openharness::PATHS.first().copied()
}

/// Returns none: this build has no OpenHarness.
#[cfg(not(feature = "openharness"))]
pub(super) fn open_harness_path() -> Option<&'static str> {
    None
}

/// Returns whether a path is the page or a part of it.
pub(super) fn is_page(path: &str) -> bool {
    #[cfg(feature = "page")]
    return harn_state::is_page(path);
    #[cfg(not(feature = "page"))]
    {
        let _ = path;
        false
    }
}

/// Rejects a request: in plain text, or in the format of the protocol at that path, if it has one.
pub(super) fn refusal(request: &Request, status: StatusCode, words: &'static str) -> Response {
    match request.uri().path() {
        #[cfg(feature = "openharness")]
        path if harn_openharness::PATHS.contains(&path) => {
            harn_openharness::refusal(status, words, request.headers())
        }
        path if login::PATHS.contains(&path) => login::refusal(status, words),
        _ => (status, words).into_response(),
    }
}
