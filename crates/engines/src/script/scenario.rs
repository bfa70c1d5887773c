//! A decoded scenario: every value is checked, every event is ready to clone.

use std::{sync::Arc, time::Duration};

use harn_model::{
    AgentEvent, Author, ConfigOption, HandoffArtifact, OrderedEvent, Seam, SlashCommand,
    StopReason, SystemReminder, ToolCallId, ToolContent, ToolKind,
};
use regex::Regex;
use serde_json::Value;

use super::{
    hitl::HitlStep,
    scenario_workers::{ScenarioWorkers, WorkerName},
    steering::IdleStep,
};

#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) commands: Vec<SlashCommand>,
    pub(super) options: Vec<ConfigOption>,
    pub(super) turns: Vec<ScenarioTurn>,
    /// The workers that the file starts.
    pub(super) cast: Arc<ScenarioWorkers>,
}

#[derive(Debug)]
pub(super) struct ScenarioTurn {
    /// The pattern of matching prompts; without one, the turn matches every prompt.
    pub(super) pattern: Option<Regex>,
    pub(super) steps: Vec<ScenarioStep>,
}

impl ScenarioTurn {
    pub(super) fn matches_prompt(&self, prompt: &str) -> bool {
        let pattern = self.pattern.as_ref();
        pattern.is_none_or(|pattern| pattern.is_match(prompt))
    }
}

#[derive(Debug)]
pub(super) enum ScenarioStep {
    /// Emits an event; `say` and `think` also decode to this.
    Emit(AgentEvent),
    /// Emits an event whose call id contains [`TURN`].
    EmitInTurn(AgentEvent),
    Ask(Box<PermissionStep>),
    Person(Box<HitlStep>),
    Seam(Seam),
    Idle(IdleStep),
    /// Sends the messages and reminders of the last seam or wait as text.
    TellDelivered,
    /// Plays the steps unless the last seam interrupted.
    SkipIfInterrupted(Vec<ScenarioStep>),
    Remind(Box<SystemReminder>),
    Sleep(Duration),
    AwaitCancel,
    Act(ScenarioAction),
    Worker(Box<NewWorker>),
    /// Waits for these workers, or for all of the turn if the list is empty.
    AwaitWorkers(Vec<WorkerName>),
    Trigger {
        worker: WorkerName,
        task: String,
        /// The steps to play; without them, those of the worker's start.
        steps: Option<Arc<[ScenarioStep]>>,
    },
    StopWorker {
        worker: WorkerName,
        handoff: Box<HandoffArtifact>,
    },
    CancelWorker(WorkerName),
    Repeat {
        times: u64,
        steps: Vec<ScenarioStep>,
    },
    Stop(StopReason),
    Fail(String),
}

/// A tool call with a real effect.
#[derive(Debug)]
pub(super) enum ScenarioAction {
    HostTool {
        name: String,
        args: Value,
        kind: ToolKind,
    },
    HostCall {
        op: String,
        args: Value,
        kind: ToolKind,
    },
    Write {
        path: String,
        text: String,
    },
    Run(String),
}

#[derive(Debug)]
pub(super) struct NewWorker {
    pub(super) name: WorkerName,
    pub(super) task: String,
    pub(super) mode: Option<String>,
    pub(super) retriggerable: bool,
    pub(super) steps: Arc<[ScenarioStep]>,
}

#[derive(Debug)]
pub(super) struct PermissionStep {
    pub(super) tool: String,
    pub(super) kind: ToolKind,
    pub(super) title: Option<String>,
    pub(super) input: Option<Value>,
    pub(super) path: Option<String>,
    pub(super) diff: Option<ScenarioDiff>,
    pub(super) on_allow: Vec<ScenarioStep>,
    pub(super) on_reject: Vec<ScenarioStep>,
}

/// A change that a [`PermissionStep`] shows; its path may be relative.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct ScenarioDiff {
    pub(super) path: String,
    #[serde(default)]
    pub(super) old_text: Option<String>,
    pub(super) new_text: String,
}

impl ScenarioDiff {
    /// Returns the change as content of a call, at its absolute path.
    pub(super) fn content(&self, path: &std::path::Path) -> ToolContent {
        ToolContent::Diff {
            path: path.display().to_string(),
            old_text: self.old_text.clone(),
            new_text: self.new_text.clone(),
        }
    }
}

/// The placeholder for the turn's id in a call id, so that one session can play a turn again.
pub(super) const TURN: &str = "{turn}";

/// The role of an event in a scenario.
pub(super) enum EventRole<'e> {
    /// Only the runtime may write the event; the text names the step to use instead.
    Reserved(&'static str),
    /// The event belongs to a call.
    OfCall(&'e mut ToolCallId),
    /// The event belongs to a call inside a composition.
    OfChild(&'e mut String),
    Free,
}

impl EventRole<'_> {
    pub(super) fn of_event(event: &mut AgentEvent) -> EventRole<'_> {
        if let Author::Runtime(how) = event.author() {
            return EventRole::Reserved(how);
        }
        // Events that are not ordered name no call.
        match event.ordered_mut() {
            Some(OrderedEvent::ToolCall(call)) => EventRole::OfCall(&mut call.tool_call_id),
            Some(OrderedEvent::ToolCallUpdate(update)) => {
                EventRole::OfCall(&mut update.tool_call_id)
            }
            Some(OrderedEvent::CompositionChildCall(call)) => {
                EventRole::OfChild(&mut call.tool_call_id)
            }
            Some(OrderedEvent::CompositionChildResult(result)) => {
                EventRole::OfChild(&mut result.tool_call_id)
            }
            Some(
                OrderedEvent::TurnStarted(_)
                | OrderedEvent::UserMessage { .. }
                | OrderedEvent::PermissionAsked(_)
                | OrderedEvent::HitlRequested { .. }
                | OrderedEvent::HitlResolved { .. }
                | OrderedEvent::WorkerUpdate(_)
                | OrderedEvent::WorkerCall(_)
                | OrderedEvent::CompositionStart(_)
                | OrderedEvent::CompositionFinish(_)
                | OrderedEvent::CompositionError(_)
                | OrderedEvent::SkillDeactivated { .. },
            )
            | None => EventRole::Free,
        }
    }
}
