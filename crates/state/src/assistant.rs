//! `POST /assistant`: the document for the transport that assistant-ui ships with, from the same rooms as over a
//! socket.
//!
//! The client sends commands, and receives the document until nothing continues without input. It sends nothing
//! while a response is open, so a response that waited for a decision would wait for ever: it ends when a person
//! is asked, and the answer is the next request.

mod assistant_client;
mod format;
mod request;
mod response;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, sync::Arc};

use axum::{body::Body, http::Request, response::Response};
use harn_lines::{
    body::{self, BodyError},
    pace::ClientSlot,
};
use harn_runtime::Hub;
use tokio_util::sync::CancellationToken;

use crate::{
    client::{ClientOptions, DocumentClient},
    command_error::ClientCommandError,
    error::StateError,
    rooms::Rooms,
    session_choice::{LastSessions, SessionChoice},
    wire::ClientCommand,
};
use assistant_client::AssistantClient;
use format::StreamFormat;
use request::AssistantRequest;
use response::AssistantResponse;

/// The context of a request: the server's state and the options of its URL.
pub(crate) struct AssistantContext {
    /// The sessions of the request's principal.
    pub(crate) hub: Hub,
    pub(crate) rooms: Arc<Rooms>,
    pub(crate) sessions: Arc<LastSessions>,
    /// The working directory of a new session.
    pub(crate) directory: PathBuf,
    /// The maximum length of the body.
    pub(crate) limit: usize,
    /// The connection options of the URL.
    pub(crate) coming: ClientOptions,
    /// Whether the URL requests that turns continue when the client disconnects.
    pub(crate) detached: bool,
    /// The connection slot of the request.
    pub(crate) member: ClientSlot,
    pub(crate) ending: CancellationToken,
}

/// Executes the commands of a request, and responds with the document as they change it.
pub(crate) async fn respond(
    mut visit: AssistantContext,
    request: Request<Body>,
) -> Result<Response, StateError> {
    let (head, body) = request.into_parts();
    let format = StreamFormat::from_headers(&head.headers);
    let limit = visit.limit;
    let body = body::read(&head.headers, body, limit, usize::MAX).await;
    let body = body.map_err(|error| match error {
        BodyError::TooLong => StateError::TooLong { limit },
        BodyError::Slow => StateError::Slow,
        BodyError::Broken => StateError::NoBody,
    })?;
    let asked = AssistantRequest::read(&body)?;
    // It may be long, and the response may take a while.
    drop(body);
    if visit.coming.session == SessionChoice::Last {
        // The library sends its document back, so a request without a session wants a new one.
        visit.coming.session = asked.session.unwrap_or(SessionChoice::New);
    }
    let (rooms, sessions) = (visit.rooms, &visit.sessions);
    let client =
        DocumentClient::connect(visit.hub, rooms, sessions, visit.coming, visit.directory).await?;
    let room = client.room().clone();
    let mut attendance = AssistantClient::new(client, visit.detached || asked.detached);
    let refused = execute_commands(&mut attendance, asked.commands)
        .await
        .err();
    // The effect of a command is in the document a moment later. Before that the session seems idle, and a page
    // would see its own message vanish.
    if let Some(seq) = room.session().wait_until_processed().await {
        room.wait_until_folded(seq).await;
    }
    let reply = AssistantResponse::new(format, room, attendance, refused, visit.ending);
    Ok(format.response(reply.body(visit.member)))
}

/// Executes commands in order, up to one that is rejected; none if one of them is malformed.
async fn execute_commands(
    attendance: &mut AssistantClient,
    commands: Result<Vec<ClientCommand>, ClientCommandError>,
) -> Result<(), ClientCommandError> {
    for command in commands? {
        attendance.execute(command).await?;
    }
    Ok(())
}
