//! A session of the engine in a folder of its own; a test plays it turn by turn.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use harn_engines::ExploreAgent;
use harn_journal::JsonlStore;
use harn_model::{
    AgentEvent, ContentBlock, Decision, Plan, PlanEntryStatus, Seq, StopReason, ToolCall,
    ToolCallStatus, ToolCallUpdate, ToolContent, TurnId, TurnOutcome, WorkerUpdate, plain_text,
};
use harn_runtime::{Clock, Controller, Hub, HubConfig, IdKind, IdSource, NewSession, Subscription};
use harn_tools::{LocalHost, ToolboxConfig, Toolboxes};
use tempfile::TempDir;

struct StillClock;

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

/// A workspace, a session in it, and its events.
pub(crate) struct Rig {
    _folder: TempDir,
    root: PathBuf,
    pub(crate) session: Controller,
    events: Subscription,
    pub(crate) hub: Hub,
}

impl Rig {
    /// Creates a session in a workspace with these files.
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        Self::with_config(files, |_| ()).await
    }

    /// Like [`Rig::new`], with other limits.
    pub(crate) async fn with_config(
        files: &[(&str, &str)],
        limits: impl FnOnce(&mut HubConfig),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("workspace");
        fs::create_dir(&root).unwrap();
        let mut config = HubConfig::new(
            Arc::new(ExploreAgent::new()),
            Arc::new(JsonlStore::new(folder.path().join("state"))),
            Arc::new(StillClock),
            Arc::new(CountedIds::default()),
            Arc::new(LocalHost::new()),
            Arc::new(harn_tools::DiskProbe),
        );
        config.equip = Arc::new(Toolboxes::new(ToolboxConfig::default()));
        limits(&mut config);
        let hub = Hub::new(config);
        let new = NewSession {
            cwd: root.clone(),
            additional_directories: Vec::new(),
        };
        let session = hub.create(new).await.unwrap();
        let events = session.subscribe(Seq::ZERO);
        let rig = Self {
            _folder: folder,
            root,
            session,
            events,
            hub,
        };
        for (path, text) in files {
            rig.put(path, text);
        }
        rig
    }

    /// Returns the absolute path of a file in the workspace.
    pub(crate) fn path_of(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file into the workspace.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.path_of(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the content of a file in the workspace, or `None` if it is missing.
    pub(crate) fn get(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path_of(path)).ok()
    }

    pub(crate) async fn begin(&mut self, blocks: Vec<ContentBlock>) -> TurnId {
        self.session.prompt(blocks, |_| ()).await.unwrap()
    }

    /// Plays a turn that must not ask for permission.
    pub(crate) async fn play(&mut self, prompt: &str) -> Turn {
        self.play_blocks(vec![ContentBlock::text(prompt)]).await
    }

    /// Like [`Rig::play`], with other content than text.
    pub(crate) async fn play_blocks(&mut self, blocks: Vec<ContentBlock>) -> Turn {
        self.begin(blocks).await;
        let turn = self.finish().await;
        assert!(
            turn.permission_question().is_none(),
            "nothing may be asked here"
        );
        turn
    }

    /// Plays a turn and answers its question; calls `meanwhile` before the answer.
    pub(crate) async fn play_answering(
        &mut self,
        prompt: &str,
        decision: Decision,
        meanwhile: impl FnOnce(&Self),
    ) -> Turn {
        self.begin(vec![ContentBlock::text(prompt)]).await;
        let mut turn = self
            .collect_until(|event| matches!(event, AgentEvent::PermissionAsked(_)))
            .await;
        let ask = turn.permission_question().unwrap().ask_id.clone();
        meanwhile(self);
        self.session.answer(ask, decision).await;
        turn.events.extend(self.finish().await.events);
        turn
    }

    pub(crate) async fn play_allowing(&mut self, prompt: &str) -> Turn {
        let allowed = Decision::Allowed {
            option_id: "allow_once".to_owned(),
            args: None,
        };
        self.play_answering(prompt, allowed, |_| ()).await
    }

    /// Collects events to the end of the turn.
    pub(crate) async fn finish(&mut self) -> Turn {
        self.collect_until(|event| matches!(event, AgentEvent::TurnEnded(_)))
            .await
    }

    /// Collects events until one matches, and the rest of its batch.
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

/// The events of a turn.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) events: Vec<AgentEvent>,
}

impl Turn {
    /// Returns the stop reason; panics if the turn failed or has not ended.
    pub(crate) fn stop_reason(&self) -> StopReason {
        match self.events.last() {
            Some(AgentEvent::TurnEnded(end)) => match &end.outcome {
                TurnOutcome::Stopped { stop_reason } => *stop_reason,
                TurnOutcome::Failed { message } => panic!("the turn failed: {message}"),
            },
            other => panic!("the turn has not ended: {other:?}"),
        }
    }

    /// Returns the text chunks of the answer.
    pub(crate) fn pieces(&self) -> Vec<&str> {
        let pieces = self.events.iter().filter_map(|event| match event {
            AgentEvent::AgentMessageChunk { content, .. } => Some(content.as_str()),
            _ => None,
        });
        pieces.collect()
    }

    pub(crate) fn answer(&self) -> String {
        self.pieces().concat()
    }

    /// Returns the announced calls.
    pub(crate) fn calls(&self) -> Vec<&ToolCall> {
        let calls = self.events.iter().filter_map(|event| match event {
            AgentEvent::ToolCall(call) => Some(&**call),
            _ => None,
        });
        calls.collect()
    }

    pub(crate) fn titles(&self) -> Vec<&str> {
        let calls = self.calls().into_iter();
        calls.filter_map(|call| call.title.as_deref()).collect()
    }

    /// Returns the only call and the update that ended it.
    pub(crate) fn only_call(&self) -> (&ToolCall, &ToolCallUpdate) {
        let calls = self.calls();
        let [call] = calls[..] else {
            panic!("there is not one call: {calls:?}");
        };
        (call, self.final_update(call))
    }

    /// Returns the update that ended a call.
    pub(crate) fn final_update(&self, call: &ToolCall) -> &ToolCallUpdate {
        let mut ends = self.updates().into_iter().filter(|update| {
            update.tool_call_id == call.tool_call_id && update.status.is_terminal()
        });
        let end = ends.next().unwrap();
        assert!(ends.next().is_none(), "a call ends once");
        end
    }

    /// Returns all updates of calls.
    pub(crate) fn updates(&self) -> Vec<&ToolCallUpdate> {
        let updates = self.events.iter().filter_map(|event| match event {
            AgentEvent::ToolCallUpdate(update) => Some(&**update),
            _ => None,
        });
        updates.collect()
    }

    /// Returns the statuses of each shown plan.
    pub(crate) fn plans(&self) -> Vec<Vec<PlanEntryStatus>> {
        let plans = self.events.iter().filter_map(|event| match event {
            AgentEvent::Plan {
                plan: Plan::Entries(entries),
            } => Some(entries.iter().map(|entry| entry.status).collect()),
            _ => None,
        });
        plans.collect()
    }

    /// Returns all updates of workers.
    pub(crate) fn workers(&self) -> Vec<&WorkerUpdate> {
        let steps = self.events.iter().filter_map(|event| match event {
            AgentEvent::WorkerUpdate(update) => Some(&**update),
            _ => None,
        });
        steps.collect()
    }

    /// Returns the first permission question, if there is one.
    pub(crate) fn permission_question(&self) -> Option<&harn_model::PermissionAsked> {
        self.events.iter().find_map(|event| match event {
            AgentEvent::PermissionAsked(ask) => Some(&**ask),
            _ => None,
        })
    }
}

/// Returns the text that an update shows.
pub(crate) fn shown_text(update: &ToolCallUpdate) -> String {
    let texts = update
        .content
        .iter()
        .flatten()
        .map(|content| match content {
            ToolContent::Content { content } => plain_text(std::slice::from_ref(content)),
            ToolContent::Output(output) => output.to_markdown(),
            ToolContent::Diff { .. } | ToolContent::Terminal { .. } => String::new(),
        });
    texts.collect::<Vec<_>>().join("\n")
}

/// Asserts that a call failed with an error that contains `words`.
pub(crate) fn assert_failed(update: &ToolCallUpdate, words: &str) {
    assert_eq!(update.status, ToolCallStatus::Failed);
    let error = update.error.as_deref().unwrap_or_default();
    assert!(error.contains(words), "{error:?} does not say {words:?}");
}
