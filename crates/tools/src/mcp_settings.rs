//! What MCP servers get of the machine and the session, and how long things may take.

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use crate::LocalHost;

/// What servers get of the machine and the session.
#[derive(Clone)]
pub struct McpSettings {
    /// Whose processes they are: its `end_all` ends them too.
    pub host: LocalHost,
    /// Where they run, and the root they are told of.
    pub cwd: PathBuf,
    /// The variables they get, beside those of their own settings.
    pub env: Arc<[(OsString, OsString)]>,
    /// How long things may take.
    pub deadlines: McpDeadlines,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpDeadlines {
    /// From the start of a server until its tools are known.
    pub connect: Duration,
    /// One call.
    pub call: Duration,
    /// How long a call waits for a server that is being tried again.
    pub reconnect: Duration,
    /// How long the first turn after servers came waits for those that are still connecting.
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
