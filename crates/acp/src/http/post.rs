//! `POST`: one message of the client. The server validates it before it passes it on.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, HeaderValue, Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use harn_model::{Principal, SessionId};
use serde_json::{Value, value::RawValue};
use tokio::time::timeout;

use super::{
    CONNECTION_ID, JSON, SESSION_ID, connection::HttpConnection, header_text, message::RpcEnvelope,
    refusal::HttpRefusal, registry::ConnectionRegistry,
};
use crate::transport::ConnectionInput;

/// The longest time that a client may take to send a message.
const SENDING: Duration = Duration::from_secs(30);
/// The longest time until the answer to `initialize`.
const ANSWERING: Duration = Duration::from_secs(10);

pub(super) async fn handle(
    registry: &Arc<ConnectionRegistry>,
    principal: &Principal,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    if !is_json(&headers) {
        return Err(HttpRefusal::ContentType);
    }
    // Checked before the body is read: a client that names another principal's connection need not send it.
    let connection = match headers.contains_key(&CONNECTION_ID) {
        true => Some(registry.find_connection(&headers, principal)?),
        false => None,
    };
    let body = read(&headers, body, registry.config.message_bytes).await?;
    let message = match RpcEnvelope::read(&body) {
        Some(message) => message,
        None => return Err(classify_non_message(&body)),
    };
    let initializes = message.method.as_deref() == Some("initialize");
    match (connection, initializes) {
        (None, true) => initialize(registry, principal, &message, &body).await,
        (Some(_), true) => Err(HttpRefusal::InitializeAgain),
        (None, false) => Err(HttpRefusal::NoConnection),
        (Some(connection), false) => {
            if !connection.may_send() {
                return Err(HttpRefusal::TooFast);
            }
            let line = check_message(registry, &connection, &headers, &message, &body).await?;
            connection.send(ConnectionInput::Line(line)).await?;
            Ok(StatusCode::ACCEPTED.into_response())
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(JSON)
}

async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<String, HttpRefusal> {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return Err(HttpRefusal::TooLarge { limit });
    }
    let body = timeout(SENDING, to_bytes(body, limit)).await;
    let body = body.map_err(|_| HttpRefusal::Slow)?;
    // This is also the error of a client that disconnected, which does not receive it.
    let body = body.map_err(|_| HttpRefusal::TooLarge { limit })?;
    String::from_utf8(body.into()).map_err(|_| HttpRefusal::NotJson)
}

/// Returns the error for a body that is not a message.
fn classify_non_message(body: &str) -> HttpRefusal {
    match serde_json::from_str::<&RawValue>(body) {
        Err(_) => HttpRefusal::NotJson,
        Ok(value) if value.get().starts_with('[') => HttpRefusal::Batch,
        Ok(_) => HttpRefusal::NotAMessage,
    }
}

/// Returns the message to pass on. Rejects a message that names another client's requests or sessions.
async fn check_message(
    registry: &ConnectionRegistry,
    connection: &HttpConnection,
    headers: &HeaderMap,
    message: &RpcEnvelope<'_>,
    body: &str,
) -> Result<String, HttpRefusal> {
    if message.is_answer() {
        // Some clients send errors without an id; these are passed on and answer nothing.
        let unknown = message
            .id()
            .is_some_and(|id| !connection.has_sent_request(id));
        return match unknown {
            true => Err(HttpRefusal::NothingAsked),
            false => Ok(body.to_owned()),
        };
    }
    let named = message.session().map_err(|_| HttpRefusal::NamedTwice)?;
    let header = header_text(headers, &SESSION_ID)?;
    let line = match (&named, header) {
        (Some(named), Some(header)) if named != header => return Err(HttpRefusal::OtherSession),
        (None, None) if message.needs_session() => return Err(HttpRefusal::NoSession),
        (None, Some(header)) if message.needs_session() => with_session(body, header)?,
        _ => body.to_owned(),
    };
    if let Some(session) = named.as_deref().or(header) {
        let session = SessionId::from(session);
        registry.check_session(connection, &session).await?;
        if let Some(id) = message.id().filter(|_| message.closes_session()) {
            connection.remember_closing(id, &session);
        }
    }
    Ok(line)
}

/// Adds the session, which only the header names, to the params of the message.
fn with_session(body: &str, session: &str) -> Result<String, HttpRefusal> {
    let mut message: Value = serde_json::from_str(body).map_err(|_| HttpRefusal::NotJson)?;
    let params = message.as_object_mut().map(|message| {
        let empty = || Value::Object(serde_json::Map::new());
        message.entry("params").or_insert_with(empty)
    });
    let params = params.and_then(Value::as_object_mut);
    let params = params.ok_or(HttpRefusal::NotAMessage)?;
    // A `sessionId` that exists here is not a string.
    if params.contains_key("sessionId") {
        return Err(HttpRefusal::NotAMessage);
    }
    params.insert("sessionId".to_owned(), session.into());
    Ok(message.to_string())
}

/// Opens a connection with its first message and returns the answer in the response.
async fn initialize(
    registry: &Arc<ConnectionRegistry>,
    principal: &Principal,
    message: &RpcEnvelope<'_>,
    body: &str,
) -> Result<Response, HttpRefusal> {
    if message.id().is_none() {
        return Err(HttpRefusal::InitializeWithoutId);
    }
    if !registry.may_begin(principal) {
        return Err(HttpRefusal::TooFast);
    }
    let (connection, answer) = HttpConnection::open(registry, principal)?;
    // If the client disconnects meanwhile, it never learns the id of this connection.
    let unnamed = EndOnDrop(&connection);
    connection
        .send(ConnectionInput::Line(body.to_owned()))
        .await?;
    let answer = timeout(ANSWERING, answer)
        .await
        .map_err(|_| HttpRefusal::Ended)?;
    let answer = answer.map_err(|_| HttpRefusal::Ended)?;
    let refused = str::from_utf8(&answer).ok().and_then(RpcEnvelope::read);
    let refused = refused.is_none_or(|message| message.is_error());
    let mut response = ([(header::CONTENT_TYPE, JSON)], answer).into_response();
    if !refused {
        std::mem::forget(unnamed);
        let id = HeaderValue::from_str(connection.id()).map_err(|_| HttpRefusal::Ended)?;
        response.headers_mut().insert(CONNECTION_ID, id);
    }
    Ok(response)
}

struct EndOnDrop<'a>(&'a HttpConnection);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
