//! The MCP servers of a session: transport and state. Credentials are never shown.

use std::fmt;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// The configuration of an MCP server of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerSpec {
    /// Its name, unique in a session.
    pub name: String,
    /// How to reach it.
    pub transport: McpTransport,
}

/// How to connect to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A child process that communicates on stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables in addition to ours.
        env: Vec<(String, Secret)>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of each request.
        headers: Vec<(String, Secret)>,
    },
    /// A transport that this version does not support, by name.
    Unsupported(&'static str),
}

/// A value that may be a credential: never shown, not even in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value, for its intended recipient only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// The status of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct McpServerStatus {
    /// The name of the server.
    pub name: String,
    /// Its state.
    pub state: McpState,
    /// The number of its tools, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<u64>,
    /// The error, if there is one; contains no value of the server's settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The connection state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpState {
    /// The server is starting or reconnecting.
    Connecting,
    /// Its tools can be called.
    Ready,
    /// Not connected; the client retries.
    Failed,
    /// Not connected; the client does not retry.
    GivenUp,
}

impl McpState {
    /// Whether there is nothing to wait for: its tools are available, or will not be soon.
    pub fn is_settled(self) -> bool {
        match self {
            Self::Connecting => false,
            Self::Ready | Self::Failed | Self::GivenUp => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let spec = McpServerSpec {
            name: "issues".to_owned(),
            transport: McpTransport::Http {
                url: "http://127.0.0.1/mcp".to_owned(),
                headers: vec![("authorization".to_owned(), Secret::new("hunter2"))],
            },
        };
        let shown = format!("{spec:?} {:#?}", spec.transport);
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("authorization"), "{shown}");
    }
}
