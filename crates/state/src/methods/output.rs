//! `GET /state/output`: the whole output of a tool call, as text.

use axum::response::Response;
use harn_model::{AgentEvent, CallOutput, Envelope, Seq, SessionId, ToolCallId};
use harn_runtime::Hub;

use super::{observe, query::QueryParams, tool_text_response};
use crate::{error::StateError, to_wire::output::whole_text};

/// Answers a request with this query.
pub(crate) async fn respond(hub: Hub, query: &str) -> Result<Response, StateError> {
    let given = QueryParams::parse(query)?;
    let session = given.required("session", "the id of a session")?.into();
    let call = given.required("call", "the id of a tool call")?.into();
    Ok(tool_text_response(
        read_output(&hub, &session, &call).await?,
    ))
}

/// Reads the output of a call so far. Any text may be an id.
pub(crate) async fn read_output(
    hub: &Hub,
    session: &SessionId,
    call: &ToolCallId,
) -> Result<String, StateError> {
    let session = observe(hub, session).await?;
    let mut past = session.subscribe(Seq::ZERO);
    let head = past.head();
    let mut found = LoggedCall::default();
    while past.position() < head && !found.ended {
        let delivery = past.next().await?;
        let events = delivery.events().iter();
        let told = events.take_while(|envelope| envelope.seq <= head);
        told.for_each(|envelope| found.add(envelope, call));
        // Events that were read ahead are ready without a wait, possibly for the whole log: yield.
        tokio::task::consume_budget().await;
    }
    match found.known {
        true => Ok(whole_text(&found.output)),
        false => Err(StateError::NoCall),
    }
}

/// The call, as far as the log was read.
#[derive(Default)]
struct LoggedCall {
    known: bool,
    ended: bool,
    output: CallOutput,
}

impl LoggedCall {
    fn add(&mut self, envelope: &Envelope, call: &ToolCallId) {
        // Selects events and translates none: all others are not about this call.
        if let AgentEvent::ToolCall(told) = &envelope.event
            && told.tool_call_id == *call
        {
            self.known = true;
            self.output.replace_content(&told.content, usize::MAX);
            self.ended = told.status.is_terminal();
        }
        if let AgentEvent::ToolCallUpdate(update) = &envelope.event
            && update.tool_call_id == *call
        {
            self.known = true;
            self.output.update(update, usize::MAX);
            self.ended = update.status.is_terminal();
        }
        // Of a worker's call, the parent session knows only the question about it.
        if let AgentEvent::PermissionAsked(ask) = &envelope.event
            && ask.tool_call.tool_call_id == *call
            && !self.known
        {
            self.known = true;
            self.output
                .replace_content(&ask.tool_call.content, usize::MAX);
        }
    }
}

#[cfg(test)]
mod tests;
