//! `POST /assistant`: the document for the transport that assistant-ui ships with, out of the same rooms as
//! over a socket.
//!
//! Its client sends commands, and is told the document until nothing goes on by itself. While a response is
//! open it sends nothing, so one that waited for a decision would wait for ever: it ends when somebody is
//! asked, and the answer is the next request.

mod attendance;
mod format;
mod reply;
mod request;
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
    error::StateError,
    refused::ClientCommandError,
    rooms::Rooms,
    session_choice::{LastSessions, SessionChoice},
    wire::ClientCommand,
};
use attendance::AssistantClient;
use format::StreamFormat;
use reply::AssistantResponse;
use request::AssistantRequest;

/// Where a request comes to.
pub(crate) struct AssistantContext {
    /// The sessions of who sent it.
    pub(crate) hub: Hub,
    /// Where they are looked at.
    pub(crate) rooms: Arc<Rooms>,
    /// Where they are opened.
    pub(crate) sessions: Arc<LastSessions>,
    /// Where a new session works.
    pub(crate) directory: PathBuf,
    /// The longest body.
    pub(crate) limit: usize,
    /// What the URL says.
    pub(crate) coming: ClientOptions,
    /// Whether the URL says that what was begun goes on when the client leaves.
    pub(crate) detached: bool,
    /// A place among those who are served.
    pub(crate) member: ClientSlot,
    /// Ends the response.
    pub(crate) ending: CancellationToken,
}

/// Carries out what a client wants, and tells it what comes of it.
pub(crate) async fn respond(
    mut visit: AssistantContext,
    request: Request<Body>,
) -> Result<Response, StateError> {
    let (head, body) = request.into_parts();
    let format = StreamFormat::of(&head.headers);
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
        // The library sends its document back, so it knows its session unless it wants a new one.
        visit.coming.session = asked.session.unwrap_or(SessionChoice::New);
    }
    let (rooms, sessions) = (visit.rooms, &visit.sessions);
    let client =
        DocumentClient::come(visit.hub, rooms, sessions, visit.coming, visit.directory).await?;
    let room = client.room().clone();
    let mut attendance = AssistantClient::new(client, visit.detached || asked.detached);
    let refused = carry_out(&mut attendance, asked.commands).await.err();
    // What a command does is in the document a moment later. Whoever looked before would see nothing going
    // on, and a page would see its own message gone.
    if let Some(seq) = room.session().dealt_with().await {
        room.caught_up(seq).await;
    }
    let reply = AssistantResponse::new(format, room, attendance, refused, visit.ending);
    Ok(format.response(reply.body(visit.member)))
}

/// Carries out commands in their order, up to one that is refused; none where one of them makes no sense.
async fn carry_out(
    attendance: &mut AssistantClient,
    commands: Result<Vec<ClientCommand>, ClientCommandError>,
) -> Result<(), ClientCommandError> {
    for command in commands? {
        attendance.carry_out(command).await?;
    }
    Ok(())
}
