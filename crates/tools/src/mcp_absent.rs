//! Replaces the MCP client in a build without the feature `mcp`: every server is given up, with the reason.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use harn_model::{McpServerSpec, McpServerStatus, McpState, ToolSpec};
use harn_runtime::{ToolError, ToolOutput};
use serde_json::Value;
use tokio::sync::watch;

use crate::{McpSettings, StartCheck, lock::lock};

const REASON: &str =
    "this program was built without the MCP client; build it with the cargo feature `mcp`";

/// The servers of one session, none of which is started.
#[derive(Clone)]
pub struct SessionMcpServers {
    names: Arc<Mutex<BTreeSet<String>>>,
    changes: watch::Sender<u64>,
}

impl SessionMcpServers {
    /// Creates an empty set of servers.
    pub fn new(_: McpSettings) -> Self {
        Self {
            names: Arc::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// Stores the names of these servers and reports each as given up.
    pub fn add(&self, specs: Vec<McpServerSpec>) {
        lock(&self.names).extend(specs.into_iter().map(|spec| spec.name));
        self.changes.send_modify(|count| *count += 1);
    }

    /// Stores the names of these servers, as [`Self::add`] does.
    pub fn add_checked(&self, specs: Vec<McpServerSpec>, _: Option<&StartCheck>) {
        self.add(specs);
    }

    /// Removes a server.
    pub fn remove(&self, name: &str) {
        lock(&self.names).remove(name);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Returns the status of each server, by name.
    pub fn statuses(&self) -> Vec<McpServerStatus> {
        let given_up = |name: &String| McpServerStatus {
            name: name.clone(),
            state: McpState::GivenUp,
            tools: None,
            error: Some(REASON.to_owned()),
        };
        lock(&self.names).iter().map(given_up).collect()
    }

    /// Returns an empty list: no server is started.
    pub fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Rejects the call.
    pub async fn call(&self, _: &str, _: Value) -> Result<ToolOutput, ToolError> {
        Err(ToolError::new(REASON))
    }

    /// Resolves at once: no server is connecting.
    pub async fn wait_until_settled(&self) {}

    /// Returns a counter of changes to the list.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Removes all servers.
    pub fn close(&self) {
        lock(&self.names).clear();
    }
}

#[cfg(test)]
mod tests {
    use harn_model::McpTransport;

    use super::*;
    use crate::{LocalHost, McpDeadlines};

    #[tokio::test]
    async fn every_server_is_given_up_with_the_reason() {
        let servers = SessionMcpServers::new(McpSettings {
            host: LocalHost::new(),
            session: "s".into(),
            cwd: ".".into(),
            env: Arc::default(),
            deadlines: McpDeadlines::default(),
        });
        let transport = McpTransport::Stdio {
            command: "server".into(),
            args: Vec::new(),
            env: Vec::new(),
        };
        servers.add(vec![McpServerSpec {
            name: "files".to_owned(),
            transport,
        }]);
        servers.wait_until_settled().await;
        let [status] = &servers.statuses()[..] else {
            panic!("one server was added");
        };
        assert_eq!((&*status.name, status.state), ("files", McpState::GivenUp));
        assert!(status.error.as_ref().unwrap().contains("feature `mcp`"));
        assert!(servers.tools().is_empty());
        let refused = servers.call("mcp__files__read", Value::Null).await;
        assert!(refused.unwrap_err().message.contains("feature `mcp`"));
        servers.remove("files");
        assert!(servers.statuses().is_empty());
    }
}
