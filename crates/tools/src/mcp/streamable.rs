//! Requests to a server behind HTTP, for rmcp's streamable transport.
//!
//! rmcp's own client reads bodies whole, however large, and puts them into errors that it logs. This one reads as
//! much as a message may have, and what it says has no value of the server's settings.

use std::{collections::HashMap, error::Error, sync::Arc};

use reqwest::{
    RequestBuilder, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use rmcp::{
    model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        common::{
            client_side_sse::BoxedSseResponse,
            http_header::{
                EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
            },
        },
        streamable_http_client::{
            AuthRequiredError, StreamableHttpClient, StreamableHttpError,
            StreamableHttpPostResponse,
        },
    },
};

use super::{
    events::events,
    redact::{Secrets, one_line},
};

/// The largest message, with room for pictures.
const LARGEST: usize = 16 * 1024 * 1024;
/// How much is read of an answer that is an error.
const LARGEST_ERROR: usize = 64 * 1024;
/// How much of it is told.
const TOLD: usize = 512;

/// Sends requests to one server.
#[derive(Clone)]
pub(super) struct McpHttpClient {
    pub(super) client: reqwest::Client,
    /// Sent with each request.
    pub(super) headers: Arc<[(HeaderName, HeaderValue)]>,
    pub(super) secrets: Secrets,
}

#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub(super) struct McpHttpError {
    words: String,
    /// Whether there is nobody to ask.
    pub(super) gone: bool,
}

type Result<T> = std::result::Result<T, StreamableHttpError<McpHttpError>>;

impl McpHttpClient {
    async fn send(
        &self,
        mut request: RequestBuilder,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Response> {
        request = request.header(
            ACCEPT,
            format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}"),
        );
        let own = self.headers.iter().cloned();
        // The protocol's own come after ours.
        for (name, value) in own.chain(headers) {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session);
        }
        let response = request.send().await.map_err(|error| self.broken(error))?;
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(
                StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())),
            ),
            _ => Ok(response),
        }
    }

    fn broken(&self, error: reqwest::Error) -> StreamableHttpError<McpHttpError> {
        let gone = error.is_connect();
        // Its words repeat the address, which its reader has configured.
        let words = causes(&error.without_url());
        self.failed(&words, gone)
    }

    fn failed(&self, words: &str, gone: bool) -> StreamableHttpError<McpHttpError> {
        let words = one_line(&self.secrets.redact(words), TOLD);
        StreamableHttpError::Client(McpHttpError { words, gone })
    }

    /// The body, as far as it fits, and whether that is all.
    async fn body(&self, mut response: Response, most: usize) -> Result<(Vec<u8>, bool)> {
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.broken(error))? {
            let room = most - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                return Ok((body, false));
            }
        }
        Ok((body, true))
    }

    /// What a response that is no success says of a message.
    async fn refusal(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
        had_session: bool,
    ) -> Result<StreamableHttpPostResponse> {
        let status = response.status();
        let session = session_of(&response);
        let (body, _) = self.body(response, LARGEST_ERROR).await?;
        let told: serde_json::Result<ServerJsonRpcMessage> = serde_json::from_slice(&body);
        let Ok(JsonRpcMessage::Error(mut error)) = told else {
            let body = String::from_utf8_lossy(&body);
            return Err(self.failed(&format!("HTTP {status} {body}"), false));
        };
        // Many servers say so of a session that they do not know any more, where 404 is right. The message was not
        // looked at, so it may be sent again.
        if status == StatusCode::BAD_REQUEST && had_session && error.id.is_none() {
            return Err(StreamableHttpError::SessionExpired);
        }
        // Without an id it would answer nothing, and somebody would wait.
        if let JsonRpcMessage::Request(request) = message {
            error.id = Some(request.id.clone());
        }
        let error: ServerJsonRpcMessage = JsonRpcMessage::Error(error);
        Ok(StreamableHttpPostResponse::Json(error, session))
    }
}

impl StreamableHttpClient for McpHttpClient {
    type Error = McpHttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse> {
        let body = serde_json::to_vec(&message)?;
        let request = self.client.post(&*uri).body(body);
        let request = request.header(CONTENT_TYPE, JSON_MIME_TYPE);
        let response = self.send(request, session.as_deref(), headers).await?;
        match response.status() {
            StatusCode::NOT_FOUND if session.is_some() => {
                return Err(StreamableHttpError::SessionExpired);
            }
            status if !status.is_success() => {
                return self.refusal(response, &message, session.is_some()).await;
            }
            _ => {}
        }
        let asks = matches!(message, JsonRpcMessage::Request(_));
        let session = session_of(&response);
        if is(&response, EVENT_STREAM_MIME_TYPE) {
            let events = events(response.bytes_stream(), LARGEST);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        // Whatever stands in the answer to what asks for none.
        if !asks {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !is(&response, JSON_MIME_TYPE) {
            return Err(self.failed("it answered with neither JSON nor events", false));
        }
        let (body, whole) = self.body(response, LARGEST).await?;
        if !whole {
            let most = LARGEST / (1024 * 1024);
            return Err(self.failed(&format!("it sent a message larger than {most} MiB"), false));
        }
        let message: ServerJsonRpcMessage = serde_json::from_slice(&body)
            .map_err(|_| self.failed("it answered with JSON that is not MCP", false))?;
        Ok(StreamableHttpPostResponse::Json(message, session))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<()> {
        let request = self.client.delete(&*uri);
        // A server need not know of it; either way the session is over for us.
        self.send(request, Some(&session), headers).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedSseResponse> {
        let mut request = self.client.get(&*uri);
        if let Some(last) = last_event {
            request = request.header(HEADER_LAST_EVENT_ID, last);
        }
        let response = self.send(request, session.as_deref(), headers).await?;
        // Who has no such stream says so in many ways.
        if !response.status().is_success() || !is(&response, EVENT_STREAM_MIME_TYPE) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(events(response.bytes_stream(), LARGEST))
    }
}

fn session_of(response: &Response) -> Option<String> {
    let session = response.headers().get(HEADER_SESSION_ID)?;
    session.to_str().ok().map(str::to_owned)
}

fn is(response: &Response, kind: &str) -> bool {
    let header = response.headers().get(CONTENT_TYPE);
    header.is_some_and(|it| it.as_bytes().starts_with(kind.as_bytes()))
}

/// An error with what caused it, each in its own words.
fn causes(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let told = cause.to_string();
        if !words.contains(&told) {
            words.push_str(": ");
            words.push_str(&told);
        }
        next = cause.source();
    }
    words
}
