//! The skills of one session: which exist, which are active, and their effects.
//!
//! The workers of a session have no skills of their own; the session's active skills apply to them too.

mod active;
mod effects;
mod host;
mod loading;
mod matching;
mod problem_report;
mod slash_commands;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use harn_model::{McpServerSpec, SessionId, SlashCommand, TurnId};
use harn_runtime::{
    AgentError, BoxFuture, EquipmentChange, EquipmentLink, HostDeadlines, TurnContext,
};
use serde_json::json;
use tokio::task::AbortHandle;

use self::{active::ActiveSet, host::HostLayer, slash_commands::commands};
pub use self::{
    active::TOOL_SEARCH,
    effects::{SkillServers, SkillTrust},
    loading::LOAD_SKILL,
    matching::{SkillMatchStrategy, SkillMatching},
};
use super::{library::WorkspaceSkills, problem::SkillProblem, registry::SkillRegistry};
use crate::{
    builtin,
    lock::lock,
    trust::{StartCheck, TrustRefusal},
    workspace::join_with_slashes,
};

/// The configuration of a session's skills.
pub struct NewSessionSkills {
    /// The id of the session.
    pub session: SessionId,
    /// The skills of its workspace.
    pub skills: Arc<WorkspaceSkills>,
    /// The files of the workspace that may cause programs to run.
    pub trust: SkillTrust,
    /// Connects MCP servers.
    pub servers: Arc<dyn SkillServers>,
    /// The settings for matching skills.
    pub matching: SkillMatching,
    /// The time limits for the host.
    pub deadlines: HostDeadlines,
    /// The values for `${NAME}` in the text of a skill.
    pub environment: Arc<BTreeMap<String, String>>,
    /// Notifies the session that its slash commands changed.
    pub link: EquipmentLink,
}

/// The skills of one session and the active ones among them.
pub struct SessionSkills {
    config: NewSessionSkills,
    state: Mutex<SessionSkillsState>,
    /// Whether the host reported a change of its skills.
    host_changed: AtomicBool,
    /// The task that notifies clients when the slash commands change.
    teller: Mutex<Option<AbortHandle>>,
}

#[derive(Default)]
struct SessionSkillsState {
    registry: Arc<SkillRegistry>,
    host: HostLayer,
    active: ActiveSet,
    /// Skills that were deactivated on request; they do not activate by themselves.
    dismissed: BTreeSet<String>,
    /// Files that were read, the latest last.
    working_files: Vec<String>,
    /// The problems that were reported.
    told: Vec<SkillProblem>,
    /// The current or last turn.
    turn: Option<TurnId>,
    /// Whether the skills that were active when the session was closed were restored.
    adopted: bool,
    /// The active skills whose servers are connected.
    bound: BTreeSet<String>,
    /// The trust in the servers of the manifest at the beginning of the turn; `None` before the first.
    servers_trust: Option<Result<(), TrustRefusal>>,
}

impl SessionSkills {
    /// Creates the skills of a session. Returns at once; a background task finds them. Must be called in a tokio
    /// runtime.
    pub fn new(config: NewSessionSkills) -> Arc<Self> {
        let this = Arc::new(Self {
            config,
            state: Mutex::default(),
            host_changed: AtomicBool::new(false),
            teller: Mutex::default(),
        });
        this.rebuild_registry();
        let teller = tokio::spawn(notify_command_changes(Arc::downgrade(&this)));
        *lock(&this.teller) = Some(teller.abort_handle());
        this
    }

    /// Returns the skills that exist now.
    pub fn registry(&self) -> Arc<SkillRegistry> {
        lock(&self.state).registry.clone()
    }

    /// Returns the MCP servers of the workspace's manifest, and whether the user trusts them. The trust is that of the
    /// last beginning of a turn.
    pub fn workspace_servers(&self) -> (Vec<McpServerSpec>, Result<(), TrustRefusal>) {
        let state = lock(&self.state);
        let trusted = state.servers_trust.clone();
        let trusted = trusted.unwrap_or(Err(TrustRefusal::Untrusted));
        (state.registry.servers().to_vec(), trusted)
    }

    /// Returns the check of the manifest's servers as they are when one starts.
    pub fn servers_start_check(&self) -> StartCheck {
        let trust = self.config.trust.clone();
        let skills = Arc::downgrade(&self.config.skills);
        Arc::new(move || {
            let skills = skills.upgrade().ok_or(TrustRefusal::Untrusted)?;
            skills.check_servers(&skills.snapshot().found, &trust())
        })
    }

    /// Returns the paths whose content decides what the skills and servers of the workspace run.
    pub fn configuration_paths(&self) -> Vec<PathBuf> {
        self.config.skills.snapshot().configuration.to_vec()
    }

    /// Returns the MCP servers to connect before any turn, once the workspace was searched. The future does not keep
    /// the session's skills alive.
    pub(crate) fn first_servers(&self) -> impl Future<Output = Vec<McpServerSpec>> + use<> {
        let (mut changes, trust) = (self.config.skills.changes(), self.config.trust.clone());
        let skills = Arc::downgrade(&self.config.skills);
        async move {
            let looked = changes.wait_for(|shelf| !shelf.found.root.as_os_str().is_empty());
            let found = looked.await.map(|shelf| shelf.found.clone());
            let Some(found) = found.ok().filter(|found| !found.servers.is_empty()) else {
                return Vec::new();
            };
            let servers = found.servers.clone();
            let trusted = tokio::task::spawn_blocking(move || {
                let skills = skills.upgrade()?;
                skills.check_servers(&found, &trust()).ok()
            });
            match trusted.await {
                Ok(Some(())) => servers,
                Ok(None) | Err(_) => Vec::new(),
            }
        }
    }

    /// Returns a slash command for each skill that people may use.
    pub fn commands(&self) -> Vec<SlashCommand> {
        commands(&self.registry())
    }

    /// Records that the host's skills changed: the next boundary requests the list again, once.
    pub fn note_host_change(&self) {
        self.host_changed.store(true, Ordering::Relaxed);
    }

    /// Handles the beginning of a turn or of an iteration: looks for changes, deactivates skills that are gone, and
    /// matches skills with the prompt.
    pub fn handle_boundary<'a>(
        &'a self,
        cx: &'a TurnContext,
    ) -> BoxFuture<'a, Result<(), AgentError>> {
        Box::pin(async move {
            if !self.is_own(cx) {
                return Ok(());
            }
            let begins = self.enter_turn(cx);
            self.refresh_host_list(cx).await?;
            if begins {
                self.refresh_from_disk().await;
            }
            self.catch_up(cx).await?;
            if begins {
                self.sync_bound_servers(cx).await?;
            }
            if begins || !self.config.matching.sticky {
                self.match_pass(cx, !begins).await?;
            }
            Ok(())
        })
    }

    /// Ends the skills of a closed session.
    pub fn close(&self) {
        if let Some(teller) = lock(&self.teller).take() {
            teller.abort();
        }
        let ended = lock(&self.state).active.clear();
        for skill in ended {
            self.unbind(&skill);
        }
    }

    /// Whether this is a turn of the session itself, not of a worker.
    fn is_own(&self, cx: &TurnContext) -> bool {
        *cx.session_id() == self.config.session
    }

    /// Whether this is the first boundary of the turn.
    fn enter_turn(&self, cx: &TurnContext) -> bool {
        let turn = Some(cx.turn_id().clone());
        let mut state = lock(&self.state);
        let begins = state.turn != turn;
        state.turn = turn;
        begins
    }

    /// Checks the stamps of the workspace and the trust in its servers, once a turn, because some file systems report
    /// no changes.
    async fn refresh_from_disk(&self) {
        let (skills, trust) = (self.config.skills.clone(), self.config.trust.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let looked = skills.refresh();
            let trusted = skills.check_servers(&skills.snapshot().found, &trust());
            (looked, trusted)
        });
        // A task that panicked found no change and no trust.
        let Ok((looked, trusted)) = looked.await else {
            lock(&self.state).servers_trust = None;
            return;
        };
        tracing::debug!(?looked, ?trusted, "searched for skills");
        lock(&self.state).servers_trust = Some(trusted);
    }

    /// Applies changes to the session: its slash commands and its active skills.
    async fn catch_up(&self, cx: &TurnContext) -> Result<(), AgentError> {
        if self.rebuild_registry() {
            self.config.link.report(EquipmentChange::Commands).await;
        }
        // Problems first, then the deactivations that follow from them.
        self.report_broken(cx).await?;
        self.restore_active(cx).await?;
        self.deactivate_gone(cx).await
    }

    /// Rebuilds the registry; returns whether the slash commands changed.
    fn rebuild_registry(&self) -> bool {
        let shelf = self.config.skills.snapshot();
        let mut state = lock(&self.state);
        let registry = match state.host.is_empty() {
            true => shelf.registry,
            false => state.host.merge_with(&shelf.found),
        };
        if registry == state.registry {
            return false;
        }
        let changed = commands(&registry) != commands(&state.registry);
        state.registry = registry;
        changed
    }

    /// Returns a path for globs and rankings: relative to the working directory, with `/`.
    fn file_name(cx: &TurnContext, path: &Path) -> String {
        let path = path.strip_prefix(cx.cwd()).unwrap_or(path);
        match path.is_absolute() {
            true => path.to_string_lossy().into_owned(),
            false => join_with_slashes(path),
        }
    }
}

impl Drop for SessionSkills {
    fn drop(&mut self) {
        self.close();
    }
}

/// Notifies the session when a change on disk changes its slash commands.
async fn notify_command_changes(skills: Weak<SessionSkills>) {
    let Some((mut changes, link)) = skills
        .upgrade()
        .map(|skills| (skills.config.skills.changes(), skills.config.link.clone()))
    else {
        return;
    };
    loop {
        let Some(changed) = skills.upgrade().map(|skills| skills.rebuild_registry()) else {
            return;
        };
        if changed {
            link.report(EquipmentChange::Commands).await;
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Writes a warning to the session's log.
async fn warn(cx: &TurnContext, logger: &'static str, message: String) -> Result<(), AgentError> {
    let fields = json!({"logger": logger});
    builtin::warn(cx, format!("{logger}: {message}"), Some(fields)).await
}
