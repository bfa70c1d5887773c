//! The MCP part of a toolbox: servers of the client, of the workspace and of skills under one roof, and what is
//! told of them.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use harn_model::{McpServerSpec, McpServerStatus, ToolSpec};
use harn_runtime::{AgentError, EquipmentChange, ToolError, ToolOutput, TurnContext};
use serde_json::Value;

use super::{Toolbox, ToolboxConfig};
use crate::{
    mcp::{McpSettings, Servers},
    skills::SkillServers,
};

/// See the module.
pub(super) struct ServerPart {
    servers: Servers,
    /// The names of servers that skills brought, by skill.
    bound: Mutex<BTreeMap<String, Vec<String>>>,
    /// Servers came that no turn has waited for.
    awaited: AtomicBool,
    /// How long a turn waits for them.
    first_prompt: Duration,
}

impl ServerPart {
    pub(super) fn new(config: &ToolboxConfig, cwd: &Path) -> Self {
        let settings = McpSettings {
            host: config.local.clone(),
            cwd: cwd.to_owned(),
            env: config.inherited.clone(),
            deadlines: config.deadlines.mcp,
        };
        Self {
            servers: Servers::new(settings),
            bound: Mutex::default(),
            awaited: AtomicBool::new(false),
            first_prompt: config.deadlines.first_prompt,
        }
    }

    pub(super) fn add(&self, servers: Vec<McpServerSpec>) {
        self.awaited.store(true, Ordering::Relaxed);
        self.servers.add(servers);
    }

    pub(super) fn statuses(&self) -> Vec<McpServerStatus> {
        self.servers.statuses()
    }

    pub(super) fn tools(&self) -> Vec<ToolSpec> {
        self.servers.tools()
    }

    pub(super) async fn call(&self, tool: &str, input: Value) -> Result<ToolOutput, ToolError> {
        self.servers.call(tool, input).await
    }

    pub(super) fn close(&self) {
        self.servers.close();
    }

    /// Waits until servers that came are ready or failed, for so long, once for each time that some came.
    pub(super) async fn wait(&self, cx: &TurnContext) -> Result<(), AgentError> {
        if !self.awaited.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        tokio::select! {
            biased;
            () = cx.cancelled() => Err(AgentError::Cancelled),
            // Those that are late are there when they come.
            _ = tokio::time::timeout(self.first_prompt, self.servers.settled()) => Ok(()),
        }
    }

    fn bound(&self) -> MutexGuard<'_, BTreeMap<String, Vec<String>>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SkillServers for ServerPart {
    fn bind(&self, skill: &str, servers: Vec<McpServerSpec>) {
        let taken: Vec<_> = self.statuses().into_iter().map(|it| it.name).collect();
        // One that is there under the name is somebody's own.
        let free = |server: &McpServerSpec| !taken.contains(&server.name);
        let new: Vec<_> = servers.into_iter().filter(free).collect();
        let names = new.iter().map(|server| server.name.clone()).collect();
        self.bound().insert(skill.to_owned(), names);
        self.add(new);
    }

    fn unbind(&self, skill: &str) {
        for name in self.bound().remove(skill).unwrap_or_default() {
            self.servers.remove(&name);
        }
    }
}

/// Tells the session whenever its servers stand otherwise, or have other tools, for as long as it is open.
pub(super) fn follow(toolbox: &Arc<Toolbox>) {
    let mut changes = toolbox.servers.servers.changes();
    let this = Arc::downgrade(toolbox);
    tokio::spawn(async move {
        let mut told = Vec::new();
        while changes.changed().await.is_ok() {
            let Some(toolbox) = this.upgrade() else {
                return;
            };
            let statuses = toolbox.servers.statuses();
            let came = told.is_empty() != statuses.is_empty();
            if statuses != told {
                told.clone_from(&statuses);
                toolbox.link.tell(EquipmentChange::Servers(statuses)).await;
            }
            if came {
                toolbox.link.tell(EquipmentChange::Commands).await;
            }
            // A turn that runs keeps what it was told of; warnings are told where the next begins.
            toolbox.rebuild(None).await;
        }
    });
}
