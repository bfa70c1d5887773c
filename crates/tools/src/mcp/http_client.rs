//! HTTP requests to a server, for rmcp's streamable transport.
//!
//! rmcp's own client reads bodies of any size whole, and puts them into errors that it logs. This one has limits, and
//! its errors contain no value of the server's settings.

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
    events::parse_events,
    redact::{Secrets, one_line},
};

/// The largest message in bytes, with room for images.
const LARGEST: usize = 16 * 1024 * 1024;
/// How many bytes of an error response are read.
const LARGEST_ERROR: usize = 64 * 1024;
/// How many bytes of an error are reported.
const TOLD: usize = 512;

/// Sends requests to one server.
#[derive(Clone)]
pub(super) struct McpHttpClient {
    pub(super) client: reqwest::Client,
    pub(super) headers: Arc<[(HeaderName, HeaderValue)]>,
    pub(super) secrets: Secrets,
}

#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub(super) struct McpHttpError {
    words: String,
    /// Whether the server could not be reached at all.
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
        // The protocol's headers follow the configured ones.
        for (name, value) in own.chain(headers) {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session);
        }
        let response = request
            .send()
            .await
            .map_err(|error| self.request_error(error))?;
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(
                StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())),
            ),
            _ => Ok(response),
        }
    }

    fn request_error(&self, error: reqwest::Error) -> StreamableHttpError<McpHttpError> {
        let gone = error.is_connect();
        // The URL is left out: the reader of the message configured it.
        let words = join_causes(&error.without_url());
        self.client_error(&words, gone)
    }

    fn client_error(&self, words: &str, gone: bool) -> StreamableHttpError<McpHttpError> {
        let words = one_line(&self.secrets.redact(words), TOLD);
        StreamableHttpError::Client(McpHttpError { words, gone })
    }

    /// Reads at most `most` bytes of the body. Returns whether that is all of it.
    async fn read_body(&self, mut response: Response, most: usize) -> Result<(Vec<u8>, bool)> {
        let mut body = Vec::new();
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| self.request_error(error))?
        {
            let room = most - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                return Ok((body, false));
            }
        }
        Ok((body, true))
    }

    /// Converts a response without success into the answer to a message, or into an error.
    async fn convert_error_response(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
        had_session: bool,
    ) -> Result<StreamableHttpPostResponse> {
        let status = response.status();
        let session = session_of(&response);
        let (body, _) = self.read_body(response, LARGEST_ERROR).await?;
        let told: serde_json::Result<ServerJsonRpcMessage> = serde_json::from_slice(&body);
        let Ok(JsonRpcMessage::Error(mut error)) = told else {
            let body = String::from_utf8_lossy(&body);
            return Err(self.client_error(&format!("HTTP {status} {body}"), false));
        };
        // Many servers answer like this for a session that has expired, where 404 is correct. The server did not
        // process the message, so it may be sent again.
        if status == StatusCode::BAD_REQUEST && had_session && error.id.is_none() {
            return Err(StreamableHttpError::SessionExpired);
        }
        // An error without an id would answer no request, and the caller would wait.
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
                return self
                    .convert_error_response(response, &message, session.is_some())
                    .await;
            }
            _ => {}
        }
        let asks = matches!(message, JsonRpcMessage::Request(_));
        let session = session_of(&response);
        if has_content_type(&response, EVENT_STREAM_MIME_TYPE) {
            let events = parse_events(response.bytes_stream(), LARGEST);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        // The message expects no answer, so the body is ignored.
        if !asks {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !has_content_type(&response, JSON_MIME_TYPE) {
            return Err(self.client_error("it answered with neither JSON nor events", false));
        }
        let (body, whole) = self.read_body(response, LARGEST).await?;
        if !whole {
            let most = LARGEST / (1024 * 1024);
            return Err(
                self.client_error(&format!("it sent a message larger than {most} MiB"), false)
            );
        }
        let message: ServerJsonRpcMessage = serde_json::from_slice(&body)
            .map_err(|_| self.client_error("it answered with JSON that is not MCP", false))?;
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
        // A server need not support this; either way the session is over for this client.
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
        // Servers without such a stream answer in many ways.
        if !response.status().is_success() || !has_content_type(&response, EVENT_STREAM_MIME_TYPE) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(parse_events(response.bytes_stream(), LARGEST))
    }
}

fn session_of(response: &Response) -> Option<String> {
    let session = response.headers().get(HEADER_SESSION_ID)?;
    session.to_str().ok().map(str::to_owned)
}

fn has_content_type(response: &Response, kind: &str) -> bool {
    let header = response.headers().get(CONTENT_TYPE);
    header.is_some_and(|it| it.as_bytes().starts_with(kind.as_bytes()))
}

/// Joins the messages of an error and of its causes.
fn join_causes(error: &dyn Error) -> String {
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
