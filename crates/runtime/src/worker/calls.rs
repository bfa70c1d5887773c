//! Copies a worker's tool calls to its parent session: a host observes every call on the stream of the
//! session that it opened. If the parent is a worker too, its own relay passes them on.
//!
//! A copy has one step for each change of state. Content that a call shows while it runs stays in the
//! worker's session, unless it is a terminal of the client.

use std::{collections::HashMap, sync::Arc};

use harn_model::{
    AgentEvent, ErrorCategory, LineageEntry, ToolCallId, ToolCallStatus, ToolContent, WorkerCall,
    WorkerCallStep,
};

use super::WorkerCrew;
use crate::{AgentError, Subscription, turn::TurnItem};

/// The open calls of one cycle.
pub(super) struct CallRelay {
    crew: Arc<WorkerCrew>,
    worker: LineageEntry,
    open: HashMap<ToolCallId, RelayedCall>,
}

struct RelayedCall {
    lineage: Vec<LineageEntry>,
    tool_name: String,
    title: Option<String>,
    status: ToolCallStatus,
}

impl CallRelay {
    pub(super) fn new(crew: Arc<WorkerCrew>, worker: LineageEntry) -> Self {
        Self {
            crew,
            worker,
            open: HashMap::new(),
        }
    }

    /// Copies an event of the worker's session if it is a step of a call.
    pub(super) async fn relay(&mut self, event: &AgentEvent) -> Result<(), AgentError> {
        match WorkerCall::from_worker_event(event, &self.worker) {
            Some(call) if self.record_step(&call) => self.write(call).await,
            Some(_) | None => Ok(()),
        }
    }

    /// Copies the ends of calls that were open when the worker stopped, up to the end of its closed session;
    /// ends calls that have no end there.
    pub(super) async fn finish(mut self, events: &mut Subscription) {
        while !self.open.is_empty() {
            let Ok(delivery) = events.next().await else {
                break;
            };
            for envelope in delivery.events() {
                let call = WorkerCall::from_worker_event(&envelope.event, &self.worker);
                let ended = call.filter(|call| self.open.contains_key(call.id()));
                if let Some(call) = ended
                    && self.record_step(&call)
                    && self.write(call).await.is_err()
                {
                    return;
                }
            }
        }
        for (id, call) in std::mem::take(&mut self.open) {
            let named = (id, call.tool_name, call.title);
            let error = "the worker stopped before this tool ended; it may have had effects";
            let failed = WorkerCall::failed(call.lineage, named, error, ErrorCategory::Cancelled);
            // If the parent turn is over, it has settled its calls itself.
            let _ = self.write(failed).await;
        }
    }

    /// Records the state of a call; returns whether the step must be copied.
    fn record_step(&mut self, call: &WorkerCall) -> bool {
        match &call.step {
            WorkerCallStep::Announced(announced) => {
                let open = RelayedCall {
                    lineage: call.lineage.clone(),
                    tool_name: announced.tool_name.clone(),
                    title: announced.title.clone(),
                    status: announced.status,
                };
                if !announced.status.is_terminal() {
                    self.open.insert(announced.tool_call_id.clone(), open);
                }
                true
            }
            // The code that relays the question writes this step.
            WorkerCallStep::Asked(_) => false,
            WorkerCallStep::Changed(update) => {
                let id = &update.tool_call_id;
                if update.status.is_terminal() {
                    return self.open.remove(id).is_some();
                }
                let Some(open) = self.open.get_mut(id) else {
                    return false;
                };
                let mut shown = update.content.iter().flatten();
                let changed = open.status != update.status
                    || update.raw_input.is_some()
                    || update.locations.is_some()
                    || shown.any(|content| matches!(content, ToolContent::Terminal { .. }));
                open.status = update.status;
                if update.title.is_some() {
                    open.title.clone_from(&update.title);
                }
                changed
            }
        }
    }

    async fn write(&self, call: WorkerCall) -> Result<(), AgentError> {
        let event = AgentEvent::WorkerCall(Box::new(call));
        self.crew.pipe.push(TurnItem::Event(event)).await
    }
}
