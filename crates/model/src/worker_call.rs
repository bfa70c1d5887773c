//! Tool calls of workers, as recorded by the session that they work for. The worker's own session has the whole
//! call; this is the part that a client of the parent session receives.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentEvent, ErrorCategory, LineageEntry, ToolCall, ToolCallId, ToolCallUpdate, ToolContent,
    WorkerId, event::value_weight,
};

/// A step of a worker's tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerCall {
    /// The workers from the session down to the one that makes the call; never empty.
    pub lineage: Vec<LineageEntry>,
    /// Whether a person was asked about the call before this step; the runtime fills it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// The step. The ids of the workers precede the id of the call.
    pub step: WorkerCallStep,
}

/// A change of a worker's call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerCallStep {
    /// It is announced.
    Announced(ToolCall),
    /// A permission question about it is the next event: clients that do not observe the calls of workers receive
    /// the call here.
    Asked(ToolCall),
    /// It changed.
    Changed(ToolCallUpdate),
}

/// How many bytes one step may have; the worker's journal has the full values.
const LIMIT: usize = 64 * 1024;

/// The text that replaces longer content in a copy.
const LEFT_OUT: &str = "Too long to repeat here; see the worker's own session.";

impl WorkerCall {
    /// Converts an event of a worker's session to an event of the parent session; none if it is not a step of a
    /// call.
    pub fn from_worker_event(event: &AgentEvent, worker: &LineageEntry) -> Option<Self> {
        let mut call = if let AgentEvent::ToolCall(call) = event {
            Self::new(WorkerCallStep::Announced((**call).clone()))
        } else if let AgentEvent::ToolCallUpdate(update) = event {
            Self::new(WorkerCallStep::Changed((**update).clone()))
        } else if let AgentEvent::WorkerCall(call) = event {
            // Each session asks its own questions.
            if let WorkerCallStep::Asked(_) = &call.step {
                return None;
            }
            (**call).clone()
        } else {
            return None;
        };
        call.lineage.insert(0, worker.clone());
        // Two sessions may use the same id; a client sees both as one session.
        let id = call.id_mut();
        *id = format!("{}/{id}", worker.worker_id).into();
        call.asked = false;
        call.truncate_to_limit();
        Some(call)
    }

    /// Builds the step before a permission question, with the call under the parent session's id for it.
    pub fn new_asked(lineage: Vec<LineageEntry>, call: ToolCall) -> Self {
        let mut call = Self {
            lineage,
            ..Self::new(WorkerCallStep::Asked(call))
        };
        call.truncate_to_limit();
        call
    }

    /// Builds the end of a call that its worker did not end.
    pub fn failed(
        lineage: Vec<LineageEntry>,
        (id, tool, title): (ToolCallId, String, Option<String>),
        error: &str,
        category: ErrorCategory,
    ) -> Self {
        let mut update = ToolCallUpdate::failed(id, tool, error, category);
        update.title = title;
        Self {
            lineage,
            ..Self::new(WorkerCallStep::Changed(update))
        }
    }

    fn new(step: WorkerCallStep) -> Self {
        Self {
            lineage: Vec::new(),
            asked: false,
            step,
        }
    }

    /// Returns the id of the call in the parent session.
    pub fn id(&self) -> &ToolCallId {
        match &self.step {
            WorkerCallStep::Announced(call) | WorkerCallStep::Asked(call) => &call.tool_call_id,
            WorkerCallStep::Changed(update) => &update.tool_call_id,
        }
    }

    /// Returns the id for modification.
    pub fn id_mut(&mut self) -> &mut ToolCallId {
        match &mut self.step {
            WorkerCallStep::Announced(call) | WorkerCallStep::Asked(call) => &mut call.tool_call_id,
            WorkerCallStep::Changed(update) => &mut update.tool_call_id,
        }
    }

    /// Returns the worker that makes the call.
    pub fn worker_id(&self) -> Option<&WorkerId> {
        self.lineage.last().map(|worker| &worker.worker_id)
    }

    /// Replaces content that is too long for a copy with a note.
    fn truncate_to_limit(&mut self) {
        let (content, values) = match &mut self.step {
            WorkerCallStep::Announced(call) | WorkerCallStep::Asked(call) => {
                (&mut call.content, [Some(&mut call.raw_input), None])
            }
            WorkerCallStep::Changed(update) => (
                update.content.get_or_insert_default(),
                [update.raw_input.as_mut(), update.raw_output.as_mut()],
            ),
        };
        let mut left = LIMIT.checked_sub(content.iter().map(ToolContent::weight).sum());
        for value in values.into_iter().flatten() {
            let rest = left.and_then(|left| left.checked_sub(value_weight(value)));
            if rest.is_none() {
                *value = Value::Null;
            }
            left = rest;
        }
        if left.is_none() {
            *content = vec![ToolContent::text(LEFT_OUT)];
        }
        if let WorkerCallStep::Changed(update) = &mut self.step {
            update.content.take_if(|content| content.is_empty());
            update.raw_input.take_if(|input| input.is_null());
            update.raw_output.take_if(|output| output.is_null());
        }
    }
}
