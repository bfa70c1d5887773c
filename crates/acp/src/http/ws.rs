//! `GET` with an upgrade: a WebSocket, one message in each text frame, both ways.
//!
//! Thousands may watch one session, so a socket has small buffers and a short queue, and its writer rests after
//! each write: what comes meanwhile goes out together. An answer or a full queue ends the rest.

use std::sync::Arc;

use axum::{
    Error,
    extract::{
        WebSocketUpgrade,
        ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code},
    },
    http::HeaderValue,
    response::Response,
};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use harn_model::Principal;
use harn_runtime::Hub;
use std::time::Duration;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    CONNECTION_ID,
    pace::{Allowance, Member},
    refusal::Refusal,
    registry::Registry,
};
use crate::{
    AcpConfig, EventId, serve_connection,
    transport::{self, Incoming, Limits, OutgoingReceiver},
};

/// What browsers are told they speak, beside the token that they can only offer as another protocol.
const PROTOCOL: &str = "acp";
/// What may wait to be written, and how much is written at a time.
const WRITE_BYTES: usize = 16 * 1024;
/// Few chunks, so that who follows the session takes what there is together.
const CHUNKS: usize = 2;
const READ_BYTES: usize = 4 * 1024;
/// Lines that may wait to be understood.
const WAITING_LINES: usize = 2;
/// How often a client that is told nothing is asked whether it is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_millis(100);

pub(super) fn handle(
    registry: Arc<Registry>,
    principal: &Principal,
    upgrade: WebSocketUpgrade,
    query: &str,
) -> Result<Response, Refusal> {
    let last_event_id = last_event_id(query)?;
    let member = registry.join()?;
    let hub = registry.hub(principal);
    let limit = registry.config.message_bytes;
    let id = (registry.config.new_id)().ok_or(Refusal::Ended)?;
    let id = HeaderValue::from_str(&id).map_err(|_| Refusal::Ended)?;
    let upgrade = upgrade
        .protocols([PROTOCOL])
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES)
        .max_frame_size(limit)
        .max_message_size(limit);
    let mut response = upgrade.on_upgrade(async move |socket| {
        let config = AcpConfig {
            profile: registry.config.profile,
            last_event_id,
            ..AcpConfig::default()
        };
        let per_second = registry.config.messages_per_second;
        let ending = registry.config.ending.clone();
        drop(registry);
        Box::pin(serve(socket, hub, config, member, per_second, ending)).await;
    });
    response.headers_mut().insert(CONNECTION_ID, id);
    Ok(response)
}

/// Where the URL says to go on: `?lastEventId=`.
fn last_event_id(query: &str) -> Result<Option<EventId>, Refusal> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    match pairs.find(|(name, _)| *name == "lastEventId") {
        None => Ok(None),
        // Where the id of a stream's frame is given, what is behind its plus is of no use here.
        Some((_, id)) => {
            let event = id.split(['+', '%']).next().unwrap_or_default();
            event.parse().map(Some).map_err(|_| Refusal::LastEventId)
        }
    }
}

async fn serve(
    socket: WebSocket,
    hub: Hub,
    config: AcpConfig,
    member: Member,
    per_second: u32,
    ending: CancellationToken,
) {
    let (lines, incoming) = mpsc::channel(WAITING_LINES);
    let (outgoing, queue) = transport::outgoing_of(Limits {
        bytes: WRITE_BYTES,
        chunks: CHUNKS,
        ahead_bytes: WRITE_BYTES,
        piece_bytes: WRITE_BYTES,
    });
    let (sink, stream) = socket.split();
    // A task of its own: it is woken for each update, and what reads and answers need not be looked at then.
    let writing = tokio::spawn(write(queue, sink, member));
    let read = async {
        tokio::select! {
            farewell = read(stream, lines, Allowance::new(per_second)) => farewell,
            () = ending.cancelled() => Some((close_code::AWAY, "the server ends")),
        }
    };
    // The end of what is read is the end of the input.
    let (served, farewell) = tokio::join!(serve_connection(hub, config, incoming, outgoing), read);
    if let Err(error) = served {
        tracing::debug!(%error, "a WebSocket ended early");
    }
    let Ok(mut sink) = writing.await else {
        return;
    };
    let (code, reason) = farewell.unwrap_or((close_code::NORMAL, ""));
    let reason = Utf8Bytes::from_static(reason);
    let close = Message::Close(Some(CloseFrame { code, reason }));
    // Who does not read need not be told.
    let _ = timeout(FAREWELL, sink.send(close)).await;
}

type Farewell = Option<(u16, &'static str)>;

/// Hands over what comes, until the client leaves or has to.
async fn read(
    mut stream: SplitStream<WebSocket>,
    lines: mpsc::Sender<Incoming>,
    mut allowance: Allowance,
) -> Farewell {
    while let Some(message) = stream.next().await {
        match message {
            Ok(Message::Text(text)) if allowance.take() => {
                let line = Incoming::Line(text.as_str().to_owned());
                if lines.send(line).await.is_err() {
                    return None;
                }
            }
            Ok(Message::Text(_)) => {
                let reason = "too many messages in too short a time; go slower";
                return Some((close_code::POLICY, reason));
            }
            Ok(Message::Binary(_)) => {
                return Some((close_code::UNSUPPORTED, "send text, one message in a frame"));
            }
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(Message::Close(_)) => return None,
            Err(error) => return Some(reproach(&error)),
        }
    }
    None
}

/// Why no more is read.
fn reproach(error: &Error) -> (u16, &'static str) {
    // The errors of the library beneath are not ours to name.
    let words = error.to_string();
    if words.contains("Space limit exceeded") {
        (close_code::SIZE, "the message is longer than what is read")
    } else if words.contains("UTF-8") {
        (close_code::INVALID, "the message is not UTF-8")
    } else {
        (close_code::PROTOCOL, "this is not how WebSockets talk")
    }
}

/// Writes what there is, then rests. Gives the sink back when there is nothing to come.
async fn write(
    mut queue: OutgoingReceiver,
    mut sink: SplitSink<WebSocket, Message>,
    member: Member,
) -> SplitSink<WebSocket, Message> {
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
            () = sleep(member.rest()) => {}
            () = queue.hurried() => {}
        }
    }
}

async fn feed(
    sink: &mut SplitSink<WebSocket, Message>,
    mut bytes: bytes::Bytes,
) -> Result<(), Error> {
    while !bytes.is_empty() {
        let newline = bytes.iter().position(|&byte| byte == b'\n');
        let mut line = bytes.split_to(newline.map_or(bytes.len(), |at| at + 1));
        line.truncate(newline.unwrap_or(line.len()));
        // Every line is JSON that was made here.
        if let Ok(text) = Utf8Bytes::try_from(line) {
            sink.feed(Message::Text(text)).await?;
        }
    }
    Ok(())
}
