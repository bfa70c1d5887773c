//! Tool calls of ACP, folded by the transcript that all readers share. What a call shows is left out: each client
//! renders that itself.

use agent_client_protocol::v1::schema::{self, ToolCall, ToolCallUpdate};
use harn_model::{AgentEvent, ShownCall, TaggedItem, ToolCallStatus, Transcript};

/// Folds the announcement of a call in. Returns the call where it has ended by that.
pub(crate) fn announce<T: Default>(
    transcript: &mut Transcript<T>,
    call: &ToolCall,
) -> Option<TaggedItem<ShownCall, T>> {
    let id = &*call.tool_call_id.0;
    let announced = harn_model::ToolCall {
        title: Some(call.title.clone()),
        ..harn_model::ToolCall::new(id, "")
    };
    // As one that waits, so that there is one way to end.
    transcript.apply(&AgentEvent::ToolCall(Box::new(announced)));
    change(transcript, id, None, Some(call.status))
}

/// Folds a change in to a call that is open. Returns the call where it has ended by that.
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
