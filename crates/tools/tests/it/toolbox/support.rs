//! A session whose agent calls the tool that a prompt names: `NAME {json}`.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use harn_journal::JsonlStore;
use harn_model::{
    AgentEvent, ContentBlock, Decision, McpServerStatus, PermissionAsked, Seq, StopReason,
    ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent, ToolsChange, TurnId, plain_text,
};
use harn_runtime::{
    Agent, AgentError, Clock, Controller, Hub, HubConfig, IdKind, IdSource, NewSession,
    Subscription, TurnContext, async_trait,
};
use harn_tools::{DiskProbe, LocalHost, Toolbox, ToolboxConfig, Toolboxes};
use serde_json::Value;
use tempfile::TempDir;

/// Returns whether a process is running. A zombie is not.
pub(crate) fn is_running(pid: &str) -> bool {
    let pid = pid.trim();
    if cfg!(target_os = "linux") {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        return stat.is_ok_and(|stat| !stat.contains(") Z "));
    }
    // Systems without `/proc` have `ps`.
    let state = std::process::Command::new("ps")
        .args(["-o", "stat=", "-p", pid])
        .output();
    let state = String::from_utf8(state.unwrap().stdout).unwrap();
    !state.trim().is_empty() && !state.starts_with('Z')
}

/// A clock that does not move.
pub(crate) struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> u64 {
        0
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

/// Calls the tools that its prompt names, one per line. `worker: NAME {json}` delegates a call to a worker,
/// `visible` sends the names of the tools that a model receives, `shell ID` chooses a shell.
struct Caller;

impl Caller {
    async fn act(&self, cx: &TurnContext, line: &str) -> Result<(), AgentError> {
        let toolbox = Toolbox::from_turn(cx).ok_or_else(|| AgentError::failed("no toolbox"))?;
        let (name, arguments) = line.split_once(' ').unwrap_or((line, "null"));
        let said = match name {
            "visible" => {
                let names = toolbox.visible_tools().into_iter().map(|tool| tool.name);
                Ok(names.collect::<Vec<_>>().join(" "))
            }
            "shell" => toolbox
                .shells()
                .set_default(cx, arguments)
                .await
                .map(|shell| shell.path)
                .map_err(|error| AgentError::Tool(error.to_string())),
            _ => {
                let arguments = serde_json::from_str(arguments).map_err(AgentError::failed)?;
                let called = toolbox.call(cx, name, arguments).await;
                called.map(|output| output.raw.unwrap_or_default().to_string())
            }
        };
        match said {
            Ok(said) => cx.say(said).await,
            Err(AgentError::Tool(reason) | AgentError::Denied { reason }) => cx.say(reason).await,
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl Agent for Caller {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let prompt = cx.prompt_text();
        if let Some(rest) = prompt.strip_prefix("worker: ") {
            let worker = cx.worker("hand").task(rest).agent(Arc::new(Self));
            worker.start().await?.wait_until_finished().await;
            return Ok(StopReason::EndTurn);
        }
        for line in prompt.lines() {
            self.act(cx, line).await?;
        }
        Ok(StopReason::EndTurn)
    }
}

/// A workspace, a session in it, and its events.
pub(crate) struct Rig {
    _folder: TempDir,
    root: PathBuf,
    pub(crate) session: Controller,
    events: Subscription,
    pub(crate) hub: Hub,
}

impl Rig {
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, ToolboxConfig::default()).await
    }

    pub(crate) async fn with(files: &[(&str, &str)], toolbox: ToolboxConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("workspace");
        fs::create_dir(&root).unwrap();
        let mut config = HubConfig::new(
            Arc::new(Caller),
            Arc::new(JsonlStore::new(folder.path().join("state"))),
            Arc::new(StillClock),
            Arc::new(CountedIds::default()),
            Arc::new(LocalHost::new()),
            Arc::new(DiskProbe),
        );
        config.equip = Arc::new(Toolboxes::new(toolbox));
        for (path, text) in files {
            put(&root.join(path), text);
        }
        let hub = Hub::new(config);
        let (session, events) = open(&hub, &root).await;
        Self {
            _folder: folder,
            root,
            session,
            events,
            hub,
        }
    }

    /// Switches to a new session of the same workspace and returns the old one.
    pub(crate) async fn switch_session(&mut self) -> Controller {
        let (session, events) = open(&self.hub, &self.root).await;
        self.events = events;
        std::mem::replace(&mut self.session, session)
    }

    /// Reads the events of the session from the start.
    pub(crate) fn rewind(&mut self) {
        self.events = self.session.subscribe(Seq::ZERO);
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        put(&self.path(path), text);
    }

    pub(crate) fn read_file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    /// Runs a turn that asks no question.
    pub(crate) async fn run_turn(&mut self, prompt: &str) -> Turn {
        self.start_turn(prompt).await;
        self.finish().await
    }

    pub(crate) async fn start_turn(&mut self, prompt: &str) -> TurnId {
        let prompt = vec![ContentBlock::text(prompt)];
        self.session.prompt(prompt, |_| ()).await.unwrap()
    }

    /// Calls a tool and asserts that no question is asked.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Turn {
        self.start_turn(&format!("{tool} {arguments}")).await;
        let turn = self.finish().await;
        assert!(
            turn.permission_question().is_none(),
            "nothing may be asked here: {turn:?}"
        );
        turn
    }

    /// Calls a tool and allows it when asked.
    pub(crate) async fn call_allowed(&mut self, tool: &str, arguments: Value) -> Turn {
        self.call_answered(tool, arguments, allow_with(None)).await
    }

    /// Calls a tool and answers its question with this decision.
    pub(crate) async fn call_answered(
        &mut self,
        tool: &str,
        arguments: Value,
        answer: Decision,
    ) -> Turn {
        self.start_turn(&format!("{tool} {arguments}")).await;
        let mut turn = self
            .collect_until(|event| matches!(event, AgentEvent::PermissionAsked(_)))
            .await;
        let ask = turn.permission_question().unwrap().ask_id.clone();
        self.session.answer(ask, answer).await;
        turn.events.extend(self.finish().await.events);
        turn
    }

    pub(crate) async fn finish(&mut self) -> Turn {
        self.collect_until(|event| matches!(event, AgentEvent::TurnEnded(_)))
            .await
    }

    /// Collects events up to the first batch with one that fits.
    pub(crate) async fn collect_until(&mut self, fits: impl Fn(&AgentEvent) -> bool) -> Turn {
        let mut turn = Turn { events: Vec::new() };
        while !turn.events.iter().any(&fits) {
            let Ok(batch) = self.events.next().await else {
                panic!("the session ended");
            };
            let events = batch.events().iter().map(|envelope| envelope.event.clone());
            turn.events.extend(events);
        }
        turn
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

async fn open(hub: &Hub, root: &Path) -> (Controller, Subscription) {
    let new = NewSession {
        cwd: root.to_owned(),
        additional_directories: Vec::new(),
    };
    let session = hub.create(new).await.unwrap();
    let events = session.subscribe(Seq::ZERO);
    (session, events)
}

/// Allows a call with its own arguments or with others.
pub(crate) fn allow_with(args: Option<Value>) -> Decision {
    Decision::Allowed {
        option_id: "allow_once".to_owned(),
        args,
    }
}

/// The events of a turn.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) events: Vec<AgentEvent>,
}

impl Turn {
    /// Returns the text of the agent.
    pub(crate) fn agent_text(&self) -> String {
        let pieces = self.events.iter().filter_map(|event| match event {
            AgentEvent::AgentMessageChunk { content, .. } => Some(content.as_str()),
            _ => None,
        });
        pieces.collect()
    }

    /// Returns the only call and the update that ended it.
    pub(crate) fn only_call(&self) -> (&ToolCall, &ToolCallUpdate) {
        let calls = self.events.iter().filter_map(|event| match event {
            AgentEvent::ToolCall(call) => Some(&**call),
            _ => None,
        });
        let calls: Vec<_> = calls.collect();
        let [call] = calls[..] else {
            panic!("there is not one call: {calls:?}");
        };
        let ends = self.updates().into_iter();
        let ends: Vec<_> = ends.filter(|update| update.status.is_terminal()).collect();
        let [end] = ends[..] else {
            panic!("it does not end once: {ends:?}");
        };
        (call, end)
    }

    pub(crate) fn updates(&self) -> Vec<&ToolCallUpdate> {
        let updates = self.events.iter().filter_map(|event| match event {
            AgentEvent::ToolCallUpdate(update) => Some(&**update),
            _ => None,
        });
        updates.collect()
    }

    pub(crate) fn permission_question(&self) -> Option<&PermissionAsked> {
        self.events.iter().find_map(|event| match event {
            AgentEvent::PermissionAsked(ask) => Some(&**ask),
            _ => None,
        })
    }

    pub(crate) fn changes(&self) -> Vec<&ToolsChange> {
        let changes = self.events.iter().filter_map(|event| match event {
            AgentEvent::ToolsChanged(change) => Some(&**change),
            _ => None,
        });
        changes.collect()
    }

    /// Returns the server states, once for each event that reports them.
    pub(crate) fn servers(&self) -> Vec<&[McpServerStatus]> {
        let told = self.events.iter().filter_map(|event| match event {
            AgentEvent::McpServers { servers } => Some(servers.as_slice()),
            _ => None,
        });
        told.collect()
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        let logs = self.events.iter().filter_map(|event| match event {
            AgentEvent::Log(log) => Some(log.message.as_str()),
            _ => None,
        });
        logs.collect()
    }
}

/// Returns the text that an update shows.
pub(crate) fn shown_text(update: &ToolCallUpdate) -> String {
    let content = update.content.iter().flatten();
    let texts = content.map(|content| match content {
        ToolContent::Content { content } => plain_text(std::slice::from_ref(content)),
        ToolContent::Output(output) => output.to_markdown(),
        ToolContent::Diff { .. } | ToolContent::Terminal { .. } => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Asserts that the only call failed with this category and these words.
pub(crate) fn assert_failed(turn: &Turn, category: harn_model::ErrorCategory, words: &str) {
    let (_, end) = turn.only_call();
    assert_eq!(end.status, ToolCallStatus::Failed, "{end:?}");
    let error = end.error.as_deref().unwrap_or_default();
    assert!(error.contains(words), "{error:?} does not say {words:?}");
    assert_eq!(end.error_category, Some(category), "{error}");
}
