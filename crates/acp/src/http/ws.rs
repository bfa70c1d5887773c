//! `GET` with an upgrade: a WebSocket, one message in each text frame, in both directions.
//!
//! Thousands of clients may watch one session, so a socket has small buffers and a short queue, and its writer
//! pauses after each write: lines that arrive meanwhile are written together. An answer or a full queue ends
//! the pause.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderValue, Request},
    response::Response,
};
use bytes::Bytes;
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use harn_lines::{
    pace::{ClientSlot, RateAllowance},
    ws::{WebSocketUpgrade, close_reason, frames, socket_config},
};
use harn_model::Principal;
use harn_runtime::Hub;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message, Utf8Bytes,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};
use tokio_util::sync::CancellationToken;

use super::{CONNECTION_ID, refusal::HttpRefusal, registry::ConnectionRegistry, split_lines};
use crate::{
    AcpConfig, EventId, serve_connection,
    transport::{self, ConnectionInput, OutgoingLimits, PieceReceiver},
};

/// The subprotocol that ACP clients offer.
const PROTOCOL: &str = "acp";
/// The most bytes in the queue of the writer.
const WRITE_BYTES: usize = 16 * 1024;
/// Few chunks, so that the session's follow sends all available updates together.
const CHUNKS: usize = 2;
/// The most lines in the input queue.
const WAITING_LINES: usize = 2;
/// The interval of pings to a client that receives nothing else.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);
/// The longest time for the last lines to be written, and then for the close frame.
const LAST_WORDS: Duration = Duration::from_secs(2);
const FAREWELL: Duration = Duration::from_millis(100);

pub(super) fn handle(
    registry: Arc<ConnectionRegistry>,
    principal: &Principal,
    mut request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let upgrade =
        WebSocketUpgrade::read(&mut request, PROTOCOL).map_err(|_| HttpRefusal::Upgrade)?;
    let last_event_id = last_event_id(request.uri().query().unwrap_or_default())?;
    let member = registry.join(principal)?;
    let hub = registry.hub(principal);
    let id = (registry.config.new_id)().ok_or(HttpRefusal::Ended)?;
    let id = HeaderValue::from_str(&id).map_err(|_| HttpRefusal::Ended)?;
    let (mut response, socket) = upgrade.accept(socket_config(registry.config.message_bytes));
    tokio::spawn(async move {
        let Ok(socket) = socket.await else {
            return;
        };
        let config = AcpConfig {
            last_event_id,
            ..registry.config.acp.clone()
        };
        let per_second = registry.config.messages_per_second;
        let ending = registry.config.ending.clone();
        drop(registry);
        Box::pin(serve(socket, hub, config, member, per_second, ending)).await;
    });
    response.headers_mut().insert(CONNECTION_ID, id);
    Ok(response)
}

/// Returns the last event that the client has, from the URL: `?lastEventId=`.
fn last_event_id(query: &str) -> Result<Option<EventId>, HttpRefusal> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    match pairs.find(|(name, _)| *name == "lastEventId") {
        None => Ok(None),
        // For the id of an SSE frame, the part behind the plus is ignored.
        Some((_, id)) => {
            let event = id.split(['+', '%']).next().unwrap_or_default();
            event
                .parse()
                .map(Some)
                .map_err(|_| HttpRefusal::LastEventId)
        }
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    socket: WebSocketStream<S>,
    hub: Hub,
    config: AcpConfig,
    member: ClientSlot,
    per_second: u32,
    ending: CancellationToken,
) {
    let (lines, incoming) = mpsc::channel(WAITING_LINES);
    let (outgoing, queue) = transport::outgoing_with_limits(OutgoingLimits {
        bytes: WRITE_BYTES,
        chunks: CHUNKS,
        ahead_bytes: WRITE_BYTES,
        piece_bytes: WRITE_BYTES,
    });
    let (sink, stream) = socket.split();
    // A separate task: each update wakes it, and need not also poll the reader and the requests.
    let mut writing = tokio::spawn(write(queue, sink, member));
    let read = async {
        let farewell = tokio::select! {
            farewell = read(stream, lines, RateAllowance::new(per_second)) => farewell,
            () = ending.cancelled() => Some((CloseCode::Away, "the server is shutting down")),
        };
        // The end of reading ends the input. A client that does not read either is not waited for; the end of
        // the writer ends the served connection.
        let written = timeout(LAST_WORDS, &mut writing).await;
        if written.is_err() {
            writing.abort();
        }
        (farewell, written)
    };
    let served = Box::pin(serve_connection(hub, config, incoming, outgoing));
    let (served, (farewell, written)) = tokio::join!(served, read);
    if let Err(error) = served {
        tracing::debug!(%error, "a WebSocket ended early");
    }
    let Ok(Ok(mut sink)) = written else {
        return;
    };
    let (code, reason) = farewell.unwrap_or((CloseCode::Normal, ""));
    let reason = Utf8Bytes::from_static(reason);
    let close = Message::Close(Some(CloseFrame { code, reason }));
    let _ = timeout(FAREWELL, sink.send(close)).await;
}

type WebSocketSink<S> = SplitSink<WebSocketStream<S>, Message>;
type CloseReason = Option<(CloseCode, &'static str)>;

/// Passes on the client's messages, until the client disconnects or must be disconnected.
async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: SplitStream<WebSocketStream<S>>,
    lines: mpsc::Sender<ConnectionInput>,
    mut allowance: RateAllowance,
) -> CloseReason {
    while let Some(message) = stream.next().await {
        match message {
            Ok(Message::Text(text)) if allowance.take() => {
                let line = ConnectionInput::Line(text.as_str().to_owned());
                if lines.send(line).await.is_err() {
                    return None;
                }
            }
            Ok(Message::Text(_)) => {
                let reason = "too many messages in a short time; slow down";
                return Some((CloseCode::Policy, reason));
            }
            Ok(Message::Binary(_)) => {
                return Some((CloseCode::Unsupported, "send text, one message per frame"));
            }
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
            Ok(Message::Close(_)) => return None,
            Err(error) => return Some(close_reason(&error)),
        }
    }
    None
}

/// Writes what is in the queue, then pauses. Returns the sink when the queue is closed.
async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    mut queue: PieceReceiver,
    mut sink: WebSocketSink<S>,
    member: ClientSlot,
) -> WebSocketSink<S> {
    loop {
        let piece = match timeout(SIGN_OF_LIFE, queue.recv()).await {
            Ok(Some(piece)) => piece,
            Ok(None) => return sink,
            Err(_) => {
                if sink.send(Message::Ping(Default::default())).await.is_err() {
                    return sink;
                }
                continue;
            }
        };
        let mut next = Some(piece);
        while let Some(piece) = next {
            if feed(&mut sink, piece.bytes).await.is_err() {
                return sink;
            }
            next = queue.try_recv();
        }
        if sink.flush().await.is_err() {
            return sink;
        }
        tokio::select! {
            () = sleep(member.write_pause()) => {}
            () = queue.wait_for_hurry() => {}
        }
    }
}

async fn feed<S: AsyncRead + AsyncWrite + Unpin>(
    sink: &mut WebSocketSink<S>,
    bytes: Bytes,
) -> Result<(), Error> {
    for frame in split_lines(bytes).flat_map(frames) {
        sink.feed(Message::Frame(frame)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
