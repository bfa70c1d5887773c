//! The skills of one session: which there are, which are active, and what follows from it.
//!
//! The workers of a session have no skills of their own; what is active in the session holds for them too.

mod active;
mod broken;
mod effects;
mod host;
mod matching;
mod menu;
mod using;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
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

use self::{active::ActiveSet, host::HostLayer, menu::commands};
pub use self::{
    active::TOOL_SEARCH,
    effects::{SkillServers, SkillTrust},
    matching::{SkillMatchStrategy, SkillMatching},
    using::LOAD_SKILL,
};
use super::{library::WorkspaceSkills, problem::SkillProblem, registry::SkillRegistry};
use crate::{builtin, lock::lock, workspace::slashed};

/// The session to have skills.
pub struct NewSessionSkills {
    /// Which.
    pub session: SessionId,
    /// Those of its workspace.
    pub skills: Arc<WorkspaceSkills>,
    /// Whether the workspace may run commands and add servers through its skills.
    pub trust: SkillTrust,
    /// Who connects servers.
    pub servers: Arc<dyn SkillServers>,
    /// How skills are matched.
    pub matching: SkillMatching,
    /// How long the host may take.
    pub deadlines: HostDeadlines,
    /// What `${NAME}` in the text of a skill stands for.
    pub environment: Arc<BTreeMap<String, String>>,
    /// The way to tell that the slash commands changed.
    pub link: EquipmentLink,
}

/// The skills of a session.
pub struct SessionSkills {
    config: NewSessionSkills,
    /// Whether the workspace was trusted at the beginning of the turn.
    trusted: AtomicBool,
    state: Mutex<SessionSkillsState>,
    /// The host said that it has others.
    host_changed: AtomicBool,
    /// Tells clients when the slash commands change.
    teller: Mutex<Option<AbortHandle>>,
}

#[derive(Default)]
struct SessionSkillsState {
    registry: Arc<SkillRegistry>,
    host: HostLayer,
    active: ActiveSet,
    /// Those that somebody ended: not activated again by themselves.
    dismissed: BTreeSet<String>,
    /// Files that were read, the latest last.
    working_files: Vec<String>,
    /// What keeps skills from being used, as far as it was told.
    told: Vec<SkillProblem>,
    /// The last turn whose beginning was seen.
    turn: Option<TurnId>,
    /// Whether what was active when the session was closed was taken over.
    adopted: bool,
}

impl SessionSkills {
    /// Gives a session its skills. Returns at once; they are found beside whatever goes on. To be called in a
    /// runtime.
    #[must_use]
    pub fn new(config: NewSessionSkills) -> Arc<Self> {
        let this = Arc::new(Self {
            config,
            trusted: AtomicBool::new(false),
            state: Mutex::default(),
            host_changed: AtomicBool::new(false),
            teller: Mutex::default(),
        });
        this.renew();
        let teller = tokio::spawn(tell(Arc::downgrade(&this)));
        *lock(&this.teller) = Some(teller.abort_handle());
        this
    }

    /// Those there are now.
    #[must_use]
    pub fn registry(&self) -> Arc<SkillRegistry> {
        lock(&self.state).registry.clone()
    }

    /// The MCP servers of the workspace's manifest, and whether it may have them, as both were when a turn began.
    #[must_use]
    pub fn workspace_servers(&self) -> (Vec<McpServerSpec>, bool) {
        let trusted = self.trusted.load(Ordering::Relaxed);
        (self.registry().servers().to_vec(), trusted)
    }

    /// Those that it may have before any turn, once the workspace was looked at. Does not keep the session's
    /// skills.
    pub(crate) fn first_servers(&self) -> impl Future<Output = Vec<McpServerSpec>> + use<> {
        let (mut changes, trust) = (self.config.skills.changes(), self.config.trust.clone());
        async move {
            let looked = changes.wait_for(|shelf| !shelf.found.root.as_os_str().is_empty());
            let found = looked.await.map(|shelf| shelf.found.servers.clone());
            let Some(servers) = found.ok().filter(|servers| !servers.is_empty()) else {
                return Vec::new();
            };
            let trusted = tokio::task::spawn_blocking(move || trust());
            match trusted.await {
                Ok(true) => servers,
                Ok(false) | Err(_) => Vec::new(),
            }
        }
    }

    /// A slash command for each that people may use.
    #[must_use]
    pub fn commands(&self) -> Vec<SlashCommand> {
        commands(&self.registry())
    }

    /// The host has other skills than before: it is asked at the next boundary, once.
    pub fn host_changed(&self) {
        self.host_changed.store(true, Ordering::Relaxed);
    }

    /// A turn begins, or an iteration of one. Looks what changed, lets go of what is gone and matches what was
    /// said.
    pub fn boundary<'a>(&'a self, cx: &'a TurnContext) -> BoxFuture<'a, Result<(), AgentError>> {
        Box::pin(async move {
            if !self.is_own(cx) {
                return Ok(());
            }
            let begins = self.begins(cx);
            self.look_at_host(cx).await?;
            if begins {
                self.look_at_disk(cx).await?;
            }
            self.catch_up(cx).await?;
            if begins || !self.config.matching.sticky {
                self.match_pass(cx, !begins).await?;
            }
            Ok(())
        })
    }

    /// The session is over.
    pub fn close(&self) {
        if let Some(teller) = lock(&self.teller).take() {
            teller.abort();
        }
        for skill in lock(&self.state).active.clear() {
            self.unbind(&skill);
        }
    }

    /// Whether this is the session's own turn, and not that of a worker.
    fn is_own(&self, cx: &TurnContext) -> bool {
        *cx.session_id() == self.config.session
    }

    /// Whether this turn is seen for the first time.
    fn begins(&self, cx: &TurnContext) -> bool {
        let turn = Some(cx.turn_id().clone());
        let mut state = lock(&self.state);
        let begins = state.turn != turn;
        state.turn = turn;
        begins
    }

    /// Stamps, and whether the workspace is trusted, are looked at once a turn: some file systems tell nobody when
    /// something changes.
    async fn look_at_disk(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let (skills, trust) = (self.config.skills.clone(), self.config.trust.clone());
        let looked = tokio::task::spawn_blocking(move || (skills.refresh(), trust()));
        // One that panicked has seen nothing.
        let (looked, trusted) = looked.await.unwrap_or_default();
        tracing::debug!(?looked, trusted, "looked for skills");
        if self.trusted.swap(trusted, Ordering::Relaxed) != trusted {
            let active = self.active().into_iter();
            for skill in active.filter(|skill| skill.layer.is_the_workspaces()) {
                match trusted {
                    true => self.bind(cx, &skill).await?,
                    false => self.unbind(&skill),
                }
            }
        }
        Ok(())
    }

    /// Makes the session agree with what there is now: its slash commands, and what is active.
    async fn catch_up(&self, cx: &TurnContext) -> Result<(), AgentError> {
        if self.renew() {
            self.config.link.tell(EquipmentChange::Commands).await;
        }
        // First why, then what follows from it.
        self.tell_of_broken(cx).await?;
        self.adopt(cx).await?;
        self.let_go_of_gone(cx).await
    }

    /// Puts the layers together again; says whether the slash commands are others now.
    fn renew(&self) -> bool {
        let shelf = self.config.skills.shelf();
        let mut state = lock(&self.state);
        let registry = match state.host.is_empty() {
            true => shelf.registry,
            false => state.host.on_top_of(&shelf.found),
        };
        if registry == state.registry {
            return false;
        }
        let changed = commands(&registry) != commands(&state.registry);
        state.registry = registry;
        changed
    }

    /// A path as globs and rankers see it: from the working directory, with `/`.
    fn file_name(cx: &TurnContext, path: &Path) -> String {
        let path = path.strip_prefix(cx.cwd()).unwrap_or(path);
        match path.is_absolute() {
            true => path.to_string_lossy().into_owned(),
            false => slashed(path),
        }
    }
}

impl Drop for SessionSkills {
    fn drop(&mut self) {
        self.close();
    }
}

/// Tells the session whenever a change on disk makes its slash commands others.
async fn tell(skills: Weak<SessionSkills>) {
    let Some((mut changes, link)) = skills
        .upgrade()
        .map(|skills| (skills.config.skills.changes(), skills.config.link.clone()))
    else {
        return;
    };
    loop {
        let Some(changed) = skills.upgrade().map(|skills| skills.renew()) else {
            return;
        };
        if changed {
            link.tell(EquipmentChange::Commands).await;
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Warns whoever reads the session's log.
async fn warn(cx: &TurnContext, logger: &'static str, message: String) -> Result<(), AgentError> {
    let fields = json!({"logger": logger});
    builtin::warn(cx, format!("{logger}: {message}"), Some(fields)).await
}
