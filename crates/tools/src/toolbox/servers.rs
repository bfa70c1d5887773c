//! The MCP part of a toolbox: servers of the client, of the workspace and of skills, and notifications about them.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use harn_model::{McpServerSpec, SessionId};
use harn_runtime::{AgentError, EquipmentChange, TurnContext};

use super::{Toolbox, ToolboxConfig};
use crate::{
    lock::lock,
    mcp::SessionMcpServers,
    mcp_settings::McpSettings,
    skills::{SessionSkills, SkillServers},
    trust::StartCheck,
};

pub(super) struct ServerPart {
    pub(super) all: SessionMcpServers,
    owners: Mutex<ServerOwners>,
    /// Servers were added that no turn has waited for.
    awaited: AtomicBool,
    /// How long a turn waits for them.
    first_prompt: Duration,
}

/// The owner of each server. No owner removes another's server.
#[derive(Default)]
struct ServerOwners {
    /// The names of the servers of each skill.
    skills: BTreeMap<String, Vec<String>>,
    /// The servers of the workspace's manifest, by name; `None` before it was read.
    workspace: Option<BTreeMap<String, McpServerSpec>>,
}

impl ServerPart {
    pub(super) fn new(config: &ToolboxConfig, session: &SessionId, cwd: &Path) -> Self {
        let settings = McpSettings {
            host: config.local.clone(),
            session: session.clone(),
            cwd: cwd.to_owned(),
            env: config.inherited.clone(),
            deadlines: config.mcp_deadlines,
        };
        Self {
            all: SessionMcpServers::new(settings),
            owners: Mutex::default(),
            awaited: AtomicBool::new(false),
            first_prompt: config.mcp_deadlines.first_prompt,
        }
    }

    /// Adds servers of the client, which take precedence over others with the same name.
    pub(super) fn add(&self, servers: Vec<McpServerSpec>) {
        {
            let mut owners = lock(&self.owners);
            for McpServerSpec { name, .. } in &servers {
                let bound = owners.skills.values_mut();
                bound.for_each(|names| names.retain(|known| known != name));
                if let Some(own) = &mut owners.workspace {
                    own.remove(name);
                }
            }
        }
        self.connect(servers, None);
    }

    /// Replaces the servers of the workspace. Unchanged ones stay as they are, even one that was given up: it is
    /// not retried each turn.
    pub(super) fn set_workspace(&self, servers: Vec<McpServerSpec>, may_start: &StartCheck) {
        let there = self.names();
        let (new, gone) = {
            let mut owners = lock(&self.owners);
            let before = owners.workspace.take().unwrap_or_default();
            // An existing server with this name belongs to another owner.
            let may =
                |it: &McpServerSpec| before.contains_key(&it.name) || !there.contains(&it.name);
            let now: BTreeMap<_, _> = servers
                .into_iter()
                .filter(may)
                .map(|server| (server.name.clone(), server))
                .collect();
            let new = now.values().filter(|it| before.get(&it.name) != Some(*it));
            let new: Vec<_> = new.cloned().collect();
            let gone = before.into_keys().filter(|name| !now.contains_key(name));
            let gone: Vec<_> = gone.collect();
            owners.workspace = Some(now);
            (new, gone)
        };
        gone.iter().for_each(|name| self.all.remove(name));
        self.connect(new, Some(may_start));
    }

    fn connect(&self, servers: Vec<McpServerSpec>, may_start: Option<&StartCheck>) {
        if servers.is_empty() {
            return;
        }
        self.awaited.store(true, Ordering::Relaxed);
        self.all.add_checked(servers, may_start);
    }

    /// Waits until new servers are ready or failed, up to a limit, once after each addition.
    pub(super) async fn wait(&self, cx: &TurnContext) -> Result<(), AgentError> {
        if !self.awaited.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        tokio::select! {
            biased;
            () = cx.cancelled() => {
                // No turn has waited for them yet.
                self.awaited.store(true, Ordering::Relaxed);
                Err(AgentError::Cancelled)
            }
            // Late servers are available once they connect.
            _ = tokio::time::timeout(self.first_prompt, self.all.wait_until_settled()) => Ok(()),
        }
    }

    fn names(&self) -> Vec<String> {
        self.all.statuses().into_iter().map(|it| it.name).collect()
    }
}

impl SkillServers for ServerPart {
    fn bind(&self, skill: &str, servers: Vec<McpServerSpec>, may_start: &StartCheck) {
        let taken = self.names();
        // An existing server with this name belongs to another owner.
        let free = |server: &McpServerSpec| !taken.contains(&server.name);
        let new: Vec<_> = servers.into_iter().filter(free).collect();
        let names = new.iter().map(|server| server.name.clone()).collect();
        lock(&self.owners).skills.insert(skill.to_owned(), names);
        self.connect(new, Some(may_start));
    }

    fn unbind(&self, skill: &str) {
        let names = lock(&self.owners).skills.remove(skill);
        for name in names.unwrap_or_default() {
            self.all.remove(&name);
        }
    }
}

/// Connects the servers of a trusted workspace before the first prompt. Afterwards each turn checks them.
pub(super) fn connect_workspace_servers(servers: &Arc<ServerPart>, skills: &Arc<SessionSkills>) {
    let (servers, skills) = (servers.clone(), Arc::downgrade(skills));
    tokio::spawn(async move {
        let looking = skills.upgrade();
        let looking = looking.map(|skills| (skills.first_servers(), skills.servers_start_check()));
        let Some((looking, may_start)) = looking else {
            return;
        };
        let found = looking.await;
        // A turn that began meanwhile has newer information.
        if lock(&servers.owners).workspace.is_none() {
            servers.set_workspace(found, &may_start);
        }
    });
}

/// Notifies the session of changes in its servers' state or tools while it is open.
pub(super) fn spawn_change_notifier(toolbox: &Arc<Toolbox>) {
    let mut changes = toolbox.servers.all.changes();
    let this = Arc::downgrade(toolbox);
    tokio::spawn(async move {
        let mut told = Vec::new();
        while changes.changed().await.is_ok() {
            let Some(toolbox) = this.upgrade() else {
                return;
            };
            let statuses = toolbox.servers.all.statuses();
            let came = told.is_empty() != statuses.is_empty();
            if statuses != told {
                told.clone_from(&statuses);
                toolbox
                    .link
                    .report(EquipmentChange::Servers(statuses))
                    .await;
            }
            if came {
                toolbox.link.report(EquipmentChange::Commands).await;
            }
            // Warnings are reported when the next turn begins.
            toolbox.rebuild(None).await;
        }
    });
}
