//! The toolbox of a session: its catalogue of tools, and the one way to call any of them.
//!
//! It combines parts, each in its own file: the built-in tools, those of the host, MCP servers, skills, tool
//! search, shells. Depends on no wire; the session's rules decide about permissions.

mod call;
mod command;
mod host;
mod servers;
mod toolboxes;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
};

use async_trait::async_trait;
use harn_model::{
    ContentBlock, HostCapabilities, McpServerSpec, McpServerStatus, SessionId, SlashCommand,
    ToolSpec,
};
use harn_runtime::{
    Agent, AgentError, Equipment, EquipmentChange, EquipmentLink, NewEquipment, TurnContext,
};

use crate::{
    builtin::{BuiltinTool, BuiltinToolkit, warn},
    catalogue::Catalogue,
    lock::lock,
    shells::SessionShells,
    skills::{NewSessionSkills, SessionSkills},
    tool_search::ToolSearch,
};

use host::HostPart;
use servers::ServerPart;
pub use toolboxes::{ToolboxConfig, Toolboxes};

/// The tools, skills and shells of a session's agent.
pub struct Toolbox {
    session: SessionId,
    config: Arc<ToolboxConfig>,
    link: EquipmentLink,
    pub(crate) kit: BuiltinToolkit,
    host: HostPart,
    servers: Arc<ServerPart>,
    /// `None` if no skill library is configured.
    skills: Option<Arc<SessionSkills>>,
    search: Arc<ToolSearch>,
    shells: Arc<SessionShells>,
    state: Mutex<ToolboxState>,
    /// Locked while the catalogue is built: an older one must not replace a newer one.
    rebuilding: tokio::sync::Mutex<()>,
}

struct ToolboxState {
    catalogue: Arc<Catalogue>,
    /// The context size at the last rebuild.
    context_tokens: u64,
    /// Warnings that are reported or queued.
    told: BTreeSet<String>,
    /// The queued warnings, reported when a turn begins.
    untold: Vec<String>,
    /// The last warning about servers of the workspace.
    refusal_told: Option<String>,
}

impl Toolbox {
    /// Creates the toolbox of a session that is being opened. Must be called in a runtime.
    pub fn new(config: Arc<ToolboxConfig>, session: NewEquipment) -> Arc<Self> {
        let servers = Arc::new(ServerPart::new(&config, &session.session, &session.cwd));
        let skills = config.skills.as_ref().map(|library| {
            let skills = library.workspace(&session.cwd);
            let (trust, workspace) = (config.trust.clone(), skills.clone());
            SessionSkills::new(NewSessionSkills {
                session: session.session.clone(),
                // Check the workspace root: trust in a folder does not include its parents.
                trust: Arc::new(move || trust.trust(&workspace.root())),
                skills,
                servers: servers.clone(),
                matching: config.matching,
                deadlines: config.host_deadlines,
                environment: config.env.clone(),
                link: session.link.clone(),
            })
        });
        let toolbox = Arc::new(Self::assemble(config, session, servers, skills));
        servers::spawn_change_notifier(&toolbox);
        if let Some(skills) = &toolbox.skills {
            servers::connect_workspace_servers(&toolbox.servers, skills);
        }
        toolbox
    }

    /// Creates a toolbox with only the built-in tools, for a session without equipment.
    pub fn builtin_only() -> Arc<Self> {
        let config = Arc::new(ToolboxConfig::default());
        let nobody = NewEquipment {
            session: SessionId::new(String::new()),
            cwd: std::path::PathBuf::new(),
            files: None,
            link: EquipmentLink::none(),
        };
        let servers = Arc::new(ServerPart::new(&config, &nobody.session, &nobody.cwd));
        Arc::new(Self::assemble(config, nobody, servers, None))
    }

    fn assemble(
        config: Arc<ToolboxConfig>,
        session: NewEquipment,
        servers: Arc<ServerPart>,
        skills: Option<Arc<SessionSkills>>,
    ) -> Self {
        let local = config.local.shells().clone();
        let shells = Arc::new(SessionShells::new(
            local,
            session.session.clone(),
            config.host_deadlines,
        ));
        Self {
            session: session.session,
            link: session.link,
            kit: BuiltinToolkit::new(session.files, config.env.clone(), shells.clone()),
            host: HostPart::default(),
            servers,
            skills,
            search: Arc::new(ToolSearch::new(config.search.clone())),
            shells,
            state: Mutex::new(ToolboxState {
                catalogue: builtin_catalogue(),
                context_tokens: config.context_tokens,
                told: BTreeSet::new(),
                untold: Vec::new(),
                refusal_told: None,
            }),
            rebuilding: tokio::sync::Mutex::default(),
            config,
        }
    }

    /// Returns the toolbox of a turn's session, if it has one. Workers share the toolbox of the session they work
    /// for.
    pub fn from_turn(cx: &TurnContext) -> Option<Arc<Self>> {
        cx.equipment()
    }

    /// Returns the current tools.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        lock(&self.state).catalogue.clone()
    }

    /// Returns the tools that a model sees: those that active skills allow, without the deferred ones, and the tool
    /// that finds those.
    pub fn visible_tools(&self) -> Vec<ToolSpec> {
        let tools: Vec<_> = self.catalogue().tools().cloned().collect();
        let visible = self.search.visible_tools(&tools).loaded.into_iter();
        visible.filter(|tool| self.allows(tool)).cloned().collect()
    }

    /// Returns the skills of the session, if it has any.
    pub fn skills(&self) -> Option<&Arc<SessionSkills>> {
        self.skills.as_ref()
    }

    /// Returns the shells of the host or of this machine.
    pub fn shells(&self) -> &SessionShells {
        &self.shells
    }

    /// Returns the host's operations, as last received.
    pub fn capabilities(&self) -> Arc<HostCapabilities> {
        self.host.capabilities()
    }

    /// Returns whether active skills allow a tool.
    fn allows(&self, tool: &ToolSpec) -> bool {
        let skills = self.skills.as_ref();
        skills.is_none_or(|skills| skills.allows(tool))
    }

    /// Returns every tool, in the order of precedence for names.
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs: Vec<_> = builtin_catalogue().tools().cloned().collect();
        let skills = self.skills.as_ref();
        if skills.is_some_and(|skills| !skills.registry().skills().is_empty()) {
            specs.push(SessionSkills::load_skill_spec());
        }
        specs.extend(self.host.tools());
        specs.extend(self.servers.all.tools());
        specs
    }

    /// Connects the servers of the workspace's manifest while the user trusts it as it is; else returns a warning,
    /// once for each reason.
    fn sync_workspace_servers(&self, skills: &SessionSkills) -> Option<String> {
        let (servers, trusted) = skills.workspace_servers();
        let refusal = match trusted {
            Err(refusal) if !servers.is_empty() => refusal,
            Ok(()) | Err(_) => {
                let may_start = skills.servers_start_check();
                self.servers.set_workspace(servers, &may_start);
                return None;
            }
        };
        self.servers
            .set_workspace(Vec::new(), &skills.servers_start_check());
        let names: Vec<_> = servers.iter().map(|it| it.name.as_str()).collect();
        let names = names.join(", ");
        let remedy = refusal.remedy();
        let warning = format!(
            "{refusal}, so the MCP servers of its harn.toml ({names}) are not connected; {remedy}"
        );
        let told = lock(&self.state).refusal_told.replace(warning.clone());
        (told.as_ref() != Some(&warning)).then_some(warning)
    }

    /// Rebuilds the catalogue if something changed, and reports the change.
    async fn rebuild(&self, context_tokens: Option<u64>) {
        let _alone = self.rebuilding.lock().await;
        let specs = self.specs();
        let context = context_tokens.unwrap_or_else(|| lock(&self.state).context_tokens);
        let now = specs.iter().cloned().chain(self.search.spec());
        {
            let state = lock(&self.state);
            let new = state.catalogue.with_tools(now);
            let told = new.warnings().iter().all(|it| state.told.contains(it));
            let same = new.change_from(&state.catalogue).is_none() && told;
            if same && state.context_tokens == context {
                return;
            }
        }
        // Indexing many tools for search takes a while.
        let search = self.search.clone();
        let searched = tokio::task::spawn_blocking(move || {
            let searched = search.set_catalogue(&specs, context);
            (specs, searched)
        });
        let Ok((mut specs, searched)) = searched.await else {
            return;
        };
        specs.extend(self.search.spec());
        let change = {
            let mut state = lock(&self.state);
            let new = state.catalogue.with_tools(specs);
            let change = new.change_from(&state.catalogue);
            let mut warnings = new.warnings().to_vec();
            warnings.extend(searched.err().map(|error| error.to_string()));
            let fresh = warnings.iter().filter(|it| !state.told.contains(*it));
            let fresh: Vec<_> = fresh.cloned().collect();
            state.untold.extend(fresh);
            state.told = warnings.into_iter().collect();
            state.context_tokens = context;
            state.catalogue = Arc::new(new);
            change
        };
        if let Some(change) = change {
            self.link.report(EquipmentChange::Tools(change)).await;
        }
    }
}

#[async_trait]
impl Equipment for Toolbox {
    fn add_servers(&self, servers: Vec<McpServerSpec>) {
        self.servers.add(servers);
    }

    fn servers(&self) -> Vec<McpServerStatus> {
        self.servers.all.statuses()
    }

    fn notify_skills_updated(&self) {
        if let Some(skills) = &self.skills {
            skills.note_host_change();
        }
    }

    fn commands(&self) -> Vec<SlashCommand> {
        let mut commands = command::commands(&self.servers);
        if let Some(skills) = &self.skills {
            let taken: Vec<_> = commands.iter().map(|it| it.name.clone()).collect();
            let own = skills.commands().into_iter();
            commands.extend(own.filter(|it| !taken.contains(&it.name)));
        }
        commands
    }

    fn configuration_paths(&self) -> Vec<PathBuf> {
        let skills = self.skills.as_ref();
        skills.map_or_else(Vec::new, |skills| skills.configuration_paths())
    }

    fn agent_for_command(
        &self,
        prompt: &[ContentBlock],
        agent: &Arc<dyn Agent>,
    ) -> Option<Arc<dyn Agent>> {
        command::command(&self.servers, prompt).or_else(|| {
            let skills = self.skills.as_ref()?;
            let skill = skills.agent_for_command(prompt, agent)?;
            Some(Arc::new(command::BoundaryAgent(skill)))
        })
    }

    async fn refresh_at_boundary(&self, cx: &TurnContext) -> Result<(), AgentError> {
        // A worker's turn belongs to another session; the parent session reports changes.
        if *cx.session_id() != self.session {
            return Ok(());
        }
        // In parallel, so that an unresponsive host causes only one timeout.
        let skills = async {
            match &self.skills {
                Some(skills) => skills.handle_boundary(cx).await,
                None => Ok(()),
            }
        };
        let (looked, matched) =
            tokio::join!(self.host.refresh(cx, &self.config.host_deadlines), skills);
        matched?;
        let mut warnings = looked?;
        self.kit.set_host_operations(&self.host.capabilities());
        if let Some(skills) = &self.skills {
            warnings.extend(self.sync_workspace_servers(skills));
        }
        self.servers.wait(cx).await?;
        self.search.apply_promotions();
        let context = cx.context_tokens().unwrap_or(self.config.context_tokens);
        self.rebuild(Some(context)).await;
        warnings.append(&mut lock(&self.state).untold);
        for message in warnings {
            warn(cx, message, None).await?;
        }
        Ok(())
    }

    fn close(&self) {
        if let Some(skills) = &self.skills {
            skills.close();
        }
        self.servers.all.close();
        if let Some(sandbox) = self.config.local.local_sandbox() {
            sandbox.end_session(&self.session);
        }
    }
}

/// Returns the shared catalogue of sessions with only built-in tools, which are the majority.
fn builtin_catalogue() -> Arc<Catalogue> {
    static BUILT_IN: OnceLock<Arc<Catalogue>> = OnceLock::new();
    let made = || Arc::new(Catalogue::new(BuiltinTool::ALL.iter().map(|it| it.spec())));
    BUILT_IN.get_or_init(made).clone()
}
