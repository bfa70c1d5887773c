//! The reasons why a server is not connected, for the person who configured it.

use std::time::Duration;

use crate::TrustRefusal;

/// A server could not be reached, or its connection ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum McpConnectionError {
    #[error("this agent speaks stdio and streamable HTTP, not {0}")]
    Unsupported(&'static str),
    #[error("the program `{0}` was not found; install it and add its folder to the PATH")]
    NotFound(String),
    #[error("the program `{0}` may not be run: permission denied")]
    NotAllowed(String),
    #[error("the program `{program}` did not start: {error}")]
    NotStarted { program: String, error: String },
    #[error("the working directory `{0}` does not exist")]
    NoDirectory(String),
    #[error("its address is not a URL that begins with http:// or https://")]
    BadUrl,
    #[error("the header `{0}` cannot be sent: its name or its value is not valid in HTTP")]
    BadHeader(String),
    #[error("could not create an HTTP client: {0}")]
    NoClient(String),
    #[error(
        "it denied access with HTTP 401 or 403; add the credentials that it requires to its headers"
    )]
    Forbidden,
    #[error("a request to it failed: {0}")]
    Unreachable(String),
    #[error("{0}; {remedy}", remedy = .0.remedy())]
    Untrusted(TrustRefusal),
    #[error("it was not ready within {} s", .0.as_secs())]
    Late(Duration),
    #[error("it returned an error: {0}")]
    Refused(String),
    #[error("{0}")]
    Ended(String),
}

impl McpConnectionError {
    /// Whether a retry is useless until the configuration or the machine changes.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Unsupported(_)
            | Self::NotFound(_)
            | Self::NotAllowed(_)
            | Self::NoDirectory(_)
            | Self::BadUrl
            | Self::BadHeader(_)
            | Self::Forbidden => true,
            Self::NotStarted { .. }
            | Self::NoClient(_)
            | Self::Unreachable(_)
            | Self::Untrusted(_)
            | Self::Late(_)
            | Self::Refused(_)
            | Self::Ended(_) => false,
        }
    }
}
