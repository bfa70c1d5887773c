//! Folds ACP tool calls into the transcript of the model crate. The content of a call is left out: each client
//! renders it itself.

use agent_client_protocol::v1::schema::{self, ToolCall, ToolCallUpdate};
use harn_model::{AgentEvent, ShownCall, TaggedItem, ToolCallStatus, Transcript};

/// Applies the announcement of a call. Returns the call if that ends it.
pub(crate) fn announce<T: Default>(
    transcript: &mut Transcript<T>,
    call: &ToolCall,
) -> Option<TaggedItem<ShownCall, T>> {
    let id = &*call.tool_call_id.0;
    let announced = harn_model::ToolCall {
        title: Some(call.title.clone()),
        ..harn_model::ToolCall::new(id, "")
    };
    // Announced as pending in any case, so that only `change` ends a call.
    transcript.apply(&AgentEvent::ToolCall(Box::new(announced)));
    change(transcript, id, None, Some(call.status))
}

/// Applies an update to an open call. Returns the call if that ends it.
pub(crate) fn update<T: Default>(
    transcript: &mut Transcript<T>,
    update: &ToolCallUpdate,
) -> Option<TaggedItem<ShownCall, T>> {
    let (id, fields) = (&*update.tool_call_id.0, &update.fields);
    change(transcript, id, fields.title.clone(), fields.status)
}

fn change<T: Default>(
    transcript: &mut Transcript<T>,
    id: &str,
    title: Option<String>,
    status: Option<schema::ToolCallStatus>,
) -> Option<TaggedItem<ShownCall, T>> {
    let before = transcript.open.calls.get(id)?.status;
    let status = match status {
        None => before,
        Some(schema::ToolCallStatus::InProgress) => ToolCallStatus::InProgress,
        Some(schema::ToolCallStatus::Completed) => ToolCallStatus::Completed,
        Some(schema::ToolCallStatus::Failed) => ToolCallStatus::Failed,
        Some(_) => ToolCallStatus::Pending,
    };
    let update = harn_model::ToolCallUpdate {
        title,
        ..harn_model::ToolCallUpdate::new(id, "", status)
    };
    let event = AgentEvent::ToolCallUpdate(Box::new(update));
    transcript.apply(&event).call
}
