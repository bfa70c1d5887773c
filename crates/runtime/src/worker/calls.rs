//! A worker's tool calls, copied to the session it works for: a host observes every dispatch on the stream of
//! the session that it opened. That session may be a worker's too; then its own relay passes them on.
//!
//! A copy has a step for each change of state. What a call shows while it runs stays in the worker's session,
//! unless it is a terminal of the client.

use std::{collections::HashMap, sync::Arc};

use harn_model::{
    AgentEvent, ErrorCategory, LineageEntry, ToolCallId, ToolCallStatus, ToolContent, WorkerCall,
    WorkerCallStep,
};

use super::WorkerCrew;
use crate::{AgentError, Subscription, turn::TurnItem};

/// The calls of one cycle that have not ended.
pub(super) struct CallRelay {
    crew: Arc<WorkerCrew>,
    /// The worker.
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

    /// Copies an event of the worker's session where it is a step of a call.
    pub(super) async fn relay(&mut self, event: &AgentEvent) -> Result<(), AgentError> {
        match WorkerCall::of(event, &self.worker) {
            Some(call) if self.note(&call) => self.write(call).await,
            Some(_) | None => Ok(()),
        }
    }

    /// Copies the ends of calls that were open when the worker stopped, up to the end of its session, which
    /// is closed; ends those that have no end there.
    pub(super) async fn finish(mut self, events: &mut Subscription) {
        while !self.open.is_empty() {
            let Ok(delivery) = events.next().await else {
                break;
            };
            for envelope in delivery.events() {
                let call = WorkerCall::of(&envelope.event, &self.worker);
                let ended = call.filter(|call| self.open.contains_key(call.id()));
                if let Some(call) = ended
                    && self.note(&call)
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
            // Where the turn above is over, it has settled its calls itself.
            let _ = self.write(failed).await;
        }
    }

    /// Remembers where a call is; whether the step is worth a copy.
    fn note(&mut self, call: &WorkerCall) -> bool {
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
            // Written where the question is.
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
