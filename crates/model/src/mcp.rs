//! MCP servers of a session: how to reach one, and how it stands. What lets us in is never shown.

use std::fmt;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server that a session is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerSpec {
    /// What it is called; unique in a session.
    pub name: String,
    /// How to reach it.
    pub transport: McpTransport,
}

/// How to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A child process that speaks on stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables it gets beside ours.
        env: Vec<(String, Secret)>,
    },
    /// Streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// Sent with each request.
        headers: Vec<(String, Secret)>,
    },
    /// Something this version does not speak, by name.
    Unsupported(&'static str),
}

/// A value that may let somebody in somewhere: shown to nobody, not even in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for whoever it is meant for.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// How a server stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct McpServerStatus {
    /// Which.
    pub name: String,
    /// How it stands.
    pub state: McpState,
    /// How many tools it has, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<u64>,
    /// What went wrong, where something did; holds no value of the server's settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpState {
    /// On the way, for the first time or again.
    Connecting,
    /// Its tools can be called.
    Ready,
    /// Not there; it is tried again.
    Failed,
    /// Not there, and it is not tried again.
    GivenUp,
}

impl McpState {
    /// Whether there is nothing to wait for: its tools are there, or they will not be soon.
    #[must_use]
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
