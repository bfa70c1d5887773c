//! Settings of MCP servers: their processes, directory, variables and deadlines.

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use harn_model::SessionId;

use crate::LocalHost;

/// The environment in which the servers of a session run.
#[derive(Clone)]
pub struct McpSettings {
    /// The host that owns their processes: its `end_all` ends them too.
    pub host: LocalHost,
    /// The session that they belong to.
    pub session: SessionId,
    /// Their working directory, and the root that they receive.
    pub cwd: PathBuf,
    /// Their variables, besides those of their own settings.
    pub env: Arc<[(OsString, OsString)]>,
    /// The time limits.
    pub deadlines: McpDeadlines,
}

/// The time limits for connecting and for calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpDeadlines {
    /// From the start of a server until its tools are listed.
    pub connect: Duration,
    /// The limit for one call.
    pub call: Duration,
    /// How long a call waits for a server that reconnects.
    pub reconnect: Duration,
    /// How long the first turn after servers were added waits for those that still connect.
    pub first_prompt: Duration,
}

impl Default for McpDeadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            call: Duration::from_secs(300),
            reconnect: Duration::from_secs(10),
            first_prompt: Duration::from_secs(10),
        }
    }
}
