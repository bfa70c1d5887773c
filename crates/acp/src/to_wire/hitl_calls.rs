//! Questions to a person as tool calls, for a client that receives them as permission requests: such a
//! request names a call, and the client must know the call before. Each update is made from one event alone.

use harn_model::{HitlKind, HitlOutcome, ToolCallStatus, ToolKind, hitl_headline};
use serde_json::Value;

use super::{UpdateProjector, plain::call};
use crate::wire::{StandardUpdate, ToolContents};

impl UpdateProjector {
    /// Announces the question as a call, if this client receives it as a permission request.
    pub(crate) fn write_hitl_call(&self, request_id: &str, payload: &Value, out: &mut Vec<u8>) {
        let Some(kind) = self.kind_of_call(request_id) else {
            return;
        };
        let title = hitl_headline(kind, payload);
        let args = payload.pointer("/approval_request/args");
        let mut call = call(request_id, &title, ToolCallStatus::Pending);
        call.kind = Some(ToolKind::Think);
        call.raw_input = args.filter(|args| !args.is_null());
        self.write_update(&StandardUpdate::ToolCall(call), out);
    }

    pub(super) fn end_hitl_call(&self, request_id: &str, outcome: HitlOutcome, out: &mut Vec<u8>) {
        if !self.is_hitl_call(request_id) {
            return;
        }
        let (status, text) = match outcome {
            HitlOutcome::Answered => (ToolCallStatus::Completed, None),
            HitlOutcome::Timeout => (ToolCallStatus::Failed, Some("No answer in time")),
            HitlOutcome::Cancelled => (ToolCallStatus::Failed, Some("Not answered")),
        };
        let mut call = call(request_id, "", status);
        // The event does not repeat the question.
        call.title = None;
        call.content = text.map(ToolContents::Text);
        self.write_update(&StandardUpdate::ToolCallUpdate(call), out);
    }

    pub(super) fn is_hitl_call(&self, request_id: &str) -> bool {
        self.kind_of_call(request_id).is_some()
    }

    /// Returns the kind that the id states. The session did not create an id of another form, so it asks no
    /// client about it.
    fn kind_of_call(&self, request_id: &str) -> Option<HitlKind> {
        let kind = HitlKind::from_request_id(request_id);
        kind.filter(|kind| self.dialect.hitl_calls.contains(*kind))
    }
}
