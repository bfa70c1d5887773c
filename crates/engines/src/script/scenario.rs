//! A scenario as it is played: every value checked, every event ready to be cloned.

use std::{sync::Arc, time::Duration};

use harn_model::{
    AgentEvent, Command, ConfigOption, HandoffArtifact, Seam, StopReason, ToolCallId, ToolContent,
    ToolKind,
};
use regex::Regex;
use serde_json::Value;

use super::cast::{Cast, WorkerName};

#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) commands: Vec<Command>,
    pub(super) options: Vec<ConfigOption>,
    pub(super) turns: Vec<Turn>,
    /// Every worker the file starts.
    pub(super) cast: Arc<Cast>,
}

#[derive(Debug)]
pub(super) struct Turn {
    /// Without one, it fits every prompt.
    pub(super) pattern: Option<Regex>,
    pub(super) steps: Vec<Step>,
}

impl Turn {
    pub(super) fn fits(&self, prompt: &str) -> bool {
        let pattern = self.pattern.as_ref();
        pattern.is_none_or(|pattern| pattern.is_match(prompt))
    }
}

#[derive(Debug)]
pub(super) enum Step {
    /// Also what `say` and `think` become.
    Emit(AgentEvent),
    /// The same, with a call id that holds [`TURN`].
    EmitInTurn(AgentEvent),
    Ask(Box<Ask>),
    Seam(Seam),
    Sleep(Duration),
    AwaitCancel,
    HostTool {
        name: String,
        args: Value,
    },
    HostCall {
        op: String,
        args: Value,
    },
    Worker(Box<NewWorker>),
    /// All of the turn where none is named.
    AwaitWorkers(Vec<WorkerName>),
    Trigger {
        worker: WorkerName,
        task: String,
        /// Those of its start where there are none.
        steps: Option<Arc<[Step]>>,
    },
    StopWorker {
        worker: WorkerName,
        handoff: Box<HandoffArtifact>,
    },
    CancelWorker(WorkerName),
    Repeat {
        times: u64,
        steps: Vec<Step>,
    },
    Stop(StopReason),
    Fail(String),
}

/// A worker that a step starts.
#[derive(Debug)]
pub(super) struct NewWorker {
    pub(super) name: WorkerName,
    pub(super) task: String,
    pub(super) mode: Option<String>,
    pub(super) retriggerable: bool,
    pub(super) steps: Arc<[Step]>,
}

#[derive(Debug)]
pub(super) struct Ask {
    pub(super) tool: String,
    pub(super) kind: ToolKind,
    pub(super) title: Option<String>,
    pub(super) input: Option<Value>,
    pub(super) path: Option<String>,
    pub(super) diff: Option<Diff>,
    pub(super) on_allow: Vec<Step>,
    pub(super) on_reject: Vec<Step>,
}

/// A change that an [`Ask`] shows; its path may be relative.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Diff {
    pub(super) path: String,
    #[serde(default)]
    pub(super) old_text: Option<String>,
    pub(super) new_text: String,
}

impl Diff {
    /// As content of a call, at its absolute path.
    pub(super) fn content(&self, path: &std::path::Path) -> ToolContent {
        ToolContent::Diff {
            path: path.display().to_string(),
            old_text: self.old_text.clone(),
            new_text: self.new_text.clone(),
        }
    }
}

/// Stands for the turn's id in a call id, so that a turn can be played again in the same session.
pub(super) const TURN: &str = "{turn}";

/// What an event means to a scenario.
pub(super) enum Role<'e> {
    /// Only the runtime may write it; the reason says what to do instead.
    Reserved(&'static str),
    /// It belongs to a call.
    OfCall(&'e mut ToolCallId),
    /// It belongs to a call inside a composition.
    OfChild(&'e mut String),
    /// Neither.
    Free,
}

impl Role<'_> {
    pub(super) fn of(event: &mut AgentEvent) -> Role<'_> {
        match event {
            AgentEvent::TurnStarted(_) => Role::Reserved("a prompt starts the turn"),
            AgentEvent::TurnEnded(_) => Role::Reserved("end the turn with stop or fail"),
            AgentEvent::PermissionAsked(_)
            | AgentEvent::PermissionResolved(_)
            | AgentEvent::PermissionGrant(_)
            | AgentEvent::PermissionDeny(_)
            | AgentEvent::PermissionEscalation(_)
            | AgentEvent::LiveSessionPermissionRoute(_) => Role::Reserved("use an ask step"),
            AgentEvent::HitlResponded(_) => Role::Reserved("whoever is asked answers"),
            AgentEvent::Recovered(_) => Role::Reserved("opening a session after a crash writes it"),
            AgentEvent::LoopCheckpoint(_) => Role::Reserved("use a seam step"),
            AgentEvent::SessionClosed { .. } => {
                Role::Reserved("whoever closes the session writes it")
            }
            AgentEvent::ModeChanged { .. }
            | AgentEvent::ConfigChanged { .. }
            | AgentEvent::GrantRevoked { .. } => {
                Role::Reserved("whoever controls the session changes it")
            }
            AgentEvent::ToolCall(call) => Role::OfCall(&mut call.tool_call_id),
            AgentEvent::ToolCallUpdate(update) => Role::OfCall(&mut update.tool_call_id),
            AgentEvent::CompositionChildCall(call) => Role::OfChild(&mut call.tool_call_id),
            AgentEvent::CompositionChildResult(result) => Role::OfChild(&mut result.tool_call_id),
            AgentEvent::AgentMessageChunk { .. }
            | AgentEvent::AgentThoughtChunk { .. }
            | AgentEvent::UserMessage { .. }
            | AgentEvent::Plan { .. }
            | AgentEvent::ProgressReported(_)
            | AgentEvent::Progress(_)
            | AgentEvent::Log(_)
            | AgentEvent::Artifact(_)
            | AgentEvent::FsWatch { .. }
            | AgentEvent::Handoff { .. }
            | AgentEvent::WorkerUpdate(_)
            | AgentEvent::SkillActivated { .. }
            | AgentEvent::SkillDeactivated { .. }
            | AgentEvent::SkillScopeTools { .. }
            | AgentEvent::SkillNarrow(_)
            | AgentEvent::SkillMatched(_)
            | AgentEvent::ToolSearchQuery(_)
            | AgentEvent::ToolSearchResult(_)
            | AgentEvent::TranscriptCompacted(_)
            | AgentEvent::TranscriptProjected(_)
            | AgentEvent::ReminderEmitted(_)
            | AgentEvent::HitlRequested { .. }
            | AgentEvent::HitlResolved { .. }
            | AgentEvent::AvailableCommands { .. }
            | AgentEvent::LiveSessionClient { .. }
            | AgentEvent::CompositionStart(_)
            | AgentEvent::CompositionFinish(_)
            | AgentEvent::CompositionError(_)
            | AgentEvent::Usage(_)
            | AgentEvent::SessionInfo(_) => Role::Free,
        }
    }
}
