//! A home directory, a workspace and a session in it, whose agent performs the acts of a test.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use harn_journal::JsonlStore;
use harn_model::{
    AgentEvent, ContentBlock, Decision, McpServerSpec, Seq, SessionId, SlashCommand, StopReason,
    TurnOutcome,
};
use harn_runtime::{
    Agent, AgentError, AgentProfile, Clock, Controller, Equipment, EquipmentProvider,
    HostDeadlines, Hub, HubConfig, IdKind, IdSource, NewEquipment, NewSession, Seam, Subscription,
    TurnContext, async_trait,
};
use harn_tools::{
    DiskProbe, LocalHost, StartCheck, WorkspaceTrust,
    skills::{
        NewSessionSkills, SessionSkills, SkillLibrary, SkillMatching, SkillPlaces, SkillServers,
        WorkspaceSkills,
    },
};
use tempfile::TempDir;

/// A clock that is far ahead of every file, so that file timestamps count.
pub(crate) struct LateClock;

impl Clock for LateClock {
    fn now(&self) -> u64 {
        4_000_000_000_000
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

#[derive(Default)]
struct CountedIds(AtomicU64);

impl IdSource for CountedIds {
    fn mint(&self, kind: IdKind) -> String {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        format!("{kind:?}-{number}").to_lowercase()
    }
}

/// A temporary directory tree with skills.
pub(crate) struct Disk {
    _dir: TempDir,
    pub(crate) top: PathBuf,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("home/ws/.git")).unwrap();
        Self { _dir: dir, top }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("home/ws")
    }

    /// Writes a file and creates its directory.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a skill into a directory; `more` adds lines to its front matter.
    pub(crate) fn write_skill(&self, folder: &str, more: &str) {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        let text = format!("---\nshort: The {name}\n{more}---\nText of {name}: $ARGUMENTS\n");
        self.put(&format!("{folder}/SKILL.md"), &text);
    }

    pub(crate) fn places(&self) -> SkillPlaces {
        SkillPlaces {
            user: Some(self.path("home/.harn/skills")),
            home: Some(self.path("home")),
            system: vec![self.path("etc/skills"), self.path("config/skills")],
            ..SkillPlaces::default()
        }
    }
}

/// An action of the agent in its next turn.
pub(crate) enum Act {
    Note(&'static str),
    Activate(&'static str),
    Deactivate(&'static str),
    Load(&'static str, &'static str),
    Iterate,
    SayPrompt,
}

#[derive(Default)]
pub(crate) struct Puppet(Mutex<VecDeque<Act>>);

#[async_trait]
impl Agent for Puppet {
    fn profile(&self) -> AgentProfile {
        AgentProfile::default()
    }

    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let skills = cx.equipment::<Kit>().unwrap().skills.clone();
        let acts: Vec<_> = self.0.lock().unwrap().drain(..).collect();
        for act in acts {
            let said = match act {
                Act::Note(path) => {
                    skills.note_file(cx, &cx.cwd().join(path)).await?;
                    continue;
                }
                Act::Iterate => {
                    cx.seam(Seam::TurnStart).await?;
                    continue;
                }
                Act::SayPrompt => Ok(cx.prompt_text()),
                Act::Activate(id) => skills
                    .activate(cx, id, "wanted")
                    .await
                    .map(|()| "ok".into()),
                Act::Deactivate(id) => skills.deactivate(cx, id).await.map(|()| "ok".into()),
                Act::Load(name, arguments) => skills.load_skill(cx, name, arguments).await,
            };
            cx.say(said.unwrap_or_else(|error| format!("error: {error}")))
                .await?;
        }
        Ok(StopReason::EndTurn)
    }
}

/// The equipment of the session.
pub(crate) struct Kit {
    pub(crate) skills: Arc<SessionSkills>,
}

#[async_trait]
impl Equipment for Kit {
    fn notify_skills_updated(&self) {
        self.skills.note_host_change();
    }

    fn commands(&self) -> Vec<SlashCommand> {
        self.skills.commands()
    }

    fn agent_for_command(
        &self,
        prompt: &[ContentBlock],
        agent: &Arc<dyn Agent>,
    ) -> Option<Arc<dyn Agent>> {
        self.skills.agent_for_command(prompt, agent)
    }

    async fn refresh_at_boundary(&self, cx: &TurnContext) -> Result<(), AgentError> {
        self.skills.handle_boundary(cx).await
    }

    fn close(&self) {
        self.skills.close();
    }
}

/// Records which servers are bound and unbound.
#[derive(Default)]
pub(crate) struct Bound(pub(crate) Mutex<Vec<String>>);

impl SkillServers for Bound {
    fn bind(&self, skill: &str, servers: Vec<McpServerSpec>, _: &StartCheck) {
        let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
        let told = format!("bind {skill}: {}", names.join(" "));
        self.0.lock().unwrap().push(told);
    }

    fn unbind(&self, skill: &str) {
        self.0.lock().unwrap().push(format!("unbind {skill}"));
    }
}

struct Kits {
    library: SkillLibrary,
    matching: SkillMatching,
    /// Whether the workspace is trusted, which may change.
    trusted: Arc<Mutex<WorkspaceTrust>>,
    servers: Arc<Bound>,
    made: Mutex<Option<Arc<SessionSkills>>>,
}

impl EquipmentProvider for Kits {
    fn equip(&self, session: NewEquipment) -> Arc<dyn Equipment> {
        let skills = SessionSkills::new(NewSessionSkills {
            session: session.session,
            skills: self.library.workspace(&session.cwd),
            trust: {
                let trusted = self.trusted.clone();
                Arc::new(move || trusted.lock().unwrap().clone())
            },
            servers: self.servers.clone(),
            matching: self.matching,
            deadlines: HostDeadlines::default(),
            environment: Arc::new([("STAGE".to_owned(), "prod".to_owned())].into()),
            link: session.link,
        });
        *self.made.lock().unwrap() = Some(skills.clone());
        Arc::new(Kit { skills })
    }
}

/// A session with its disk, agent and events.
pub(crate) struct Rig {
    pub(crate) disk: Disk,
    pub(crate) session: Controller,
    pub(crate) servers: Arc<Bound>,
    events: Subscription,
    agent: Arc<Puppet>,
    kits: Arc<Kits>,
    hub: Hub,
}

fn everything_if(trusted: bool) -> WorkspaceTrust {
    match trusted {
        true => WorkspaceTrust::Everything,
        false => WorkspaceTrust::Nothing,
    }
}

impl Rig {
    pub(crate) async fn new(disk: Disk) -> Self {
        Self::with(disk, SkillMatching::default(), false).await
    }

    pub(crate) async fn with(disk: Disk, matching: SkillMatching, trusted: bool) -> Self {
        let agent = Arc::new(Puppet::default());
        let servers = Arc::new(Bound::default());
        let kits = Arc::new(Kits {
            library: SkillLibrary::new(disk.places(), Arc::new(LateClock)),
            matching,
            trusted: Arc::new(Mutex::new(everything_if(trusted))),
            servers: servers.clone(),
            made: Mutex::default(),
        });
        let mut config = HubConfig::new(
            agent.clone(),
            Arc::new(JsonlStore::new(disk.path("state"))),
            Arc::new(LateClock),
            Arc::new(CountedIds::default()),
            Arc::new(LocalHost::new()),
            Arc::new(DiskProbe),
        );
        config.equip = kits.clone();
        let hub = Hub::new(config);
        let new = NewSession {
            cwd: disk.workspace(),
            additional_directories: Vec::new(),
        };
        let session = hub.create(new).await.unwrap();
        let events = session.subscribe(Seq::ZERO);
        Self {
            disk,
            session,
            servers,
            events,
            agent,
            kits,
            hub,
        }
    }

    /// Grants or revokes the trust in the workspace.
    pub(crate) fn trust(&self, trusted: bool) {
        *self.kits.trusted.lock().unwrap() = everything_if(trusted);
    }

    /// Trusts the files of the workspace as they are now.
    pub(crate) fn trust_content(&self) {
        let disk = &self.disk;
        let found = WorkspaceSkills::find(disk.places(), &disk.workspace(), Arc::new(LateClock));
        let files = found.trust_scope().files();
        *self.kits.trusted.lock().unwrap() = WorkspaceTrust::Files(files);
    }

    /// Closes the session and opens it again.
    pub(crate) async fn reopen(&mut self) {
        let id: SessionId = self.session.id().clone();
        self.hub.close(&id).await;
        self.session = self.hub.open(&id, None).await.unwrap();
        self.events = self.session.subscribe_from_now();
    }

    pub(crate) fn skills(&self) -> Arc<SessionSkills> {
        self.kits.made.lock().unwrap().clone().unwrap()
    }

    /// Runs a turn and returns its events as lines.
    pub(crate) async fn run_turn(&mut self, prompt: &str, acts: Vec<Act>) -> Vec<String> {
        self.agent.0.lock().unwrap().extend(acts);
        let blocks = vec![ContentBlock::text(prompt)];
        self.session.prompt(blocks, |_| ()).await.unwrap();
        let mut told = Vec::new();
        loop {
            let Ok(batch) = self.events.next().await else {
                panic!("the session ended");
            };
            for envelope in batch.events() {
                if let AgentEvent::PermissionAsked(ask) = &envelope.event {
                    let allow = Decision::Allowed {
                        option_id: "allow_once".to_owned(),
                        args: None,
                    };
                    self.session.answer(ask.ask_id.clone(), allow).await;
                }
                if let AgentEvent::TurnEnded(end) = &envelope.event {
                    if let TurnOutcome::Failed { message } = &end.outcome {
                        panic!("the turn failed: {message}");
                    }
                    return told;
                }
                told.extend(format_event(&envelope.event));
            }
        }
    }

    /// Waits until the published slash commands have these names.
    pub(crate) async fn wait_for_commands(&mut self, names: &[&str]) {
        loop {
            let Ok(batch) = self.events.next().await else {
                panic!("the session ended");
            };
            for envelope in batch.events() {
                if let AgentEvent::AvailableCommands { equipped, .. } = &envelope.event
                    && equipped == names
                {
                    return;
                }
            }
        }
    }
}

/// Formats an event that the tests check.
fn format_event(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::SkillMatched(found) => {
            let candidates = found.candidates.iter();
            let candidates: Vec<_> = candidates
                .map(|one| format!("{} {:.2} ({})", one.name, one.score, one.reason))
                .collect();
            let again = if found.reassess { " again" } else { "" };
            let files = match found.working_files.is_empty() {
                true => String::new(),
                false => format!(" with {}", found.working_files.join(" ")),
            };
            let (strategy, iteration) = (&found.strategy, found.iteration);
            format!(
                "{iteration}: matched{again} by {strategy}{files}: [{}]",
                candidates.join(", ")
            )
        }
        AgentEvent::SkillActivated {
            skill_name,
            skill_id,
            iteration,
            reason,
        } => format!(
            "{iteration}: + {skill_name}{} ({reason})",
            format_id(skill_id)
        ),
        AgentEvent::SkillDeactivated {
            skill_name,
            skill_id,
            iteration,
        } => format!("{iteration}: - {skill_name}{}", format_id(skill_id)),
        AgentEvent::SkillScopeTools {
            skill_name,
            skill_id,
            allowed_tools,
        } => {
            let tools = allowed_tools.join(" ");
            format!("scope {skill_name}{}: {tools}", format_id(skill_id))
        }
        AgentEvent::Log(record) => format!("{}: {}", record.level, record.message),
        AgentEvent::AgentMessageChunk { content, .. } => format!("says {content:?}"),
        AgentEvent::PermissionAsked(ask) => {
            format!("asks {:?}", ask.tool_call.raw_input["command"])
        }
        AgentEvent::ToolCallUpdate(update) if update.status.is_terminal() => {
            let error = update.error.as_deref().unwrap_or("well");
            format!("{} ended: {error}", update.tool_name)
        }
        _ => return None,
    })
}

/// Formats the id of a skill if it differs from its name.
fn format_id(skill_id: &Option<String>) -> String {
    skill_id
        .as_ref()
        .map(|id| format!(" = {id}"))
        .unwrap_or_default()
}
