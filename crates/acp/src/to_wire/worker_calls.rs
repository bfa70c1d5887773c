//! Tool calls of workers in the stream of the session that they work for.

use harn_model::{PermissionAsked, WorkerCall, WorkerCallStep};

use super::{
    UpdateProjector,
    standard::{tool_call, tool_call_update},
};
use crate::{
    ext::{HarnMeta, tool::ToolMeta},
    wire::StandardUpdate,
};

impl UpdateProjector {
    /// Writes a worker's call. A client that observes workers' calls receives all of them. Every other client
    /// receives only those with a permission request, from just before the request on: no request names a
    /// call that its client does not know.
    pub(super) fn write_worker_call(&self, call: &WorkerCall, replay: bool, out: &mut Vec<u8>) {
        let all = self.dialect.worker_calls;
        let named = self.dialect.newer.members;
        let update = match &call.step {
            WorkerCallStep::Announced(announced) if all => tool_call(announced, replay, named),
            WorkerCallStep::Asked(announced) if !all => tool_call(announced, replay, named),
            WorkerCallStep::Changed(update) if all || call.asked => {
                tool_call_update(update, replay)
            }
            WorkerCallStep::Announced(_)
            | WorkerCallStep::Asked(_)
            | WorkerCallStep::Changed(_) => return,
        };
        self.write_update(&with_worker(update, call), out);
    }

    /// Announces the call of a permission request to a client that connected after the call's announcement.
    pub(crate) fn write_asked_call(&self, ask: &PermissionAsked, out: &mut Vec<u8>) {
        let named = self.dialect.newer.members;
        let update = tool_call(&ask.tool_call, false, named);
        if ask.lineage.is_empty() {
            return self.write_update(&update, out);
        }
        let call = WorkerCall {
            lineage: ask.lineage.clone(),
            asked: false,
            step: WorkerCallStep::Asked(ask.tool_call.clone()),
        };
        self.write_update(&with_worker(update, &call), out);
    }
}

fn with_worker<'a>(mut update: StandardUpdate<'a>, call: &'a WorkerCall) -> StandardUpdate<'a> {
    if let StandardUpdate::ToolCall(wire) | StandardUpdate::ToolCallUpdate(wire) = &mut update {
        let meta = match &call.step {
            WorkerCallStep::Announced(call) | WorkerCallStep::Asked(call) => {
                ToolMeta::from_call(call)
            }
            WorkerCallStep::Changed(update) => ToolMeta::from_update(update),
        };
        wire.meta = Some(HarnMeta::new(meta.unwrap_or_default().with_worker(call)));
    }
    update
}
