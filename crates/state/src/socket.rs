//! A socket: reads commands, and writes the document and its changes, each at its own pace.
//!
//! A client that does not read receives nothing until it does, then everything it missed: it costs only a cursor.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use harn_lines::{
    pace::RateAllowance,
    ws::{UpgradedWebSocket, close_reason, frames, frames_of_pieces},
};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_tungstenite::tungstenite::{
    Error, Message, Utf8Bytes,
    protocol::{
        CloseFrame,
        frame::{Frame, coding::CloseCode},
    },
};
use tokio_util::sync::CancellationToken;

use crate::{
    client::DocumentClient,
    commands, from_wire,
    listing::{self, ListingFeed},
    room::{self, NextFrame, Room},
    to_wire::document_writer,
    wire::{DocumentState, ServerMessage, SessionListing},
};

/// The maximum number of queued error messages; a client that causes more is not read until they are written.
const WAITING_WORDS: usize = 8;
/// The interval of pings to a client that receives nothing else.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);
/// The time limit for sending a close frame.
const FAREWELL: Duration = Duration::from_millis(100);

type SocketCloseReason = (CloseCode, &'static str);
type SocketSink = SplitSink<UpgradedWebSocket, Message>;

/// A message from the reading half to the writing half.
enum WriterMessage {
    Wrong(String),
    /// The client switched to another session.
    Room(Arc<Room>),
}

/// Serves a client until it disconnects, its session ends, or the server shuts down.
pub(crate) async fn serve(
    socket: UpgradedWebSocket,
    client: DocumentClient,
    per_second: u32,
    ending: CancellationToken,
) {
    let (mut sink, stream) = socket.split();
    let (says, said) = mpsc::channel(WAITING_WORDS);
    let room = client.room().clone();
    let farewell = tokio::select! {
        farewell = read(stream, client, says, RateAllowance::new(per_second)) => farewell,
        farewell = write(&mut sink, said, room) => farewell,
        () = ending.cancelled() => Some((CloseCode::Away, "the server is shutting down")),
    };
    send_close(&mut sink, farewell).await;
}

/// Sends a client the list of all sessions until it disconnects or the server shuts down. The client may send no
/// commands.
pub(crate) async fn serve_sessions(
    socket: UpgradedWebSocket,
    board: Arc<ListingFeed>,
    ending: CancellationToken,
) {
    let (mut sink, mut stream) = socket.split();
    let listen = async {
        while let Some(Ok(message)) = stream.next().await {
            if let Message::Text(_) | Message::Binary(_) = message {
                return Some((CloseCode::Policy, "this document accepts no commands"));
            }
        }
        None
    };
    let farewell = tokio::select! {
        farewell = listen => farewell,
        farewell = send_sessions(&mut sink, &board) => farewell,
        () = ending.cancelled() => Some((CloseCode::Away, "the server is shutting down")),
    };
    send_close(&mut sink, farewell).await;
}

async fn send_sessions(sink: &mut SocketSink, board: &ListingFeed) -> Option<SocketCloseReason> {
    let mut seen = board.watch();
    let mut known: Option<Arc<SessionListing>> = None;
    loop {
        let now = seen.borrow_and_update().clone();
        if let Some(message) = listing::message(known.as_deref(), &now) {
            send(sink, frames(message)).await.ok()?;
        }
        known = Some(now);
        while timeout(SIGN_OF_LIFE, seen.changed()).await.is_err() {
            sink.send(Message::Ping(Bytes::new())).await.ok()?;
        }
    }
}

async fn send_close(sink: &mut SocketSink, farewell: Option<SocketCloseReason>) {
    let (code, reason) = farewell.unwrap_or((CloseCode::Normal, ""));
    let reason = Utf8Bytes::from_static(reason);
    let close = Message::Close(Some(CloseFrame { code, reason }));
    let bid = async {
        // If the client closed first, the reply to it is already queued.
        if sink.send(close).await.is_err() {
            let _ = sink.flush().await;
        }
    };
    // The client may be gone.
    let _ = timeout(FAREWELL, bid).await;
}

/// Executes incoming commands until the client disconnects or must be disconnected.
async fn read(
    mut stream: SplitStream<UpgradedWebSocket>,
    mut client: DocumentClient,
    says: mpsc::Sender<WriterMessage>,
    mut allowance: RateAllowance,
) -> Option<SocketCloseReason> {
    while let Some(message) = stream.next().await {
        let text = match message {
            Ok(Message::Text(text)) if allowance.take() => text,
            Ok(Message::Text(_)) => {
                let reason = "too many messages in a short time; slow down";
                return Some((CloseCode::Policy, reason));
            }
            Ok(Message::Binary(_)) => {
                return Some((CloseCode::Unsupported, "send text, one message per frame"));
            }
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
            Ok(Message::Close(_)) => return None,
            Err(error) => return Some(close_reason(&error)),
        };
        execute_frame(&mut client, &text, &says).await?;
    }
    None
}

/// Executes the commands of a frame in order; returns `None` if the writing half has ended.
async fn execute_frame(
    client: &mut DocumentClient,
    frame: &str,
    says: &mpsc::Sender<WriterMessage>,
) -> Option<()> {
    let given = match from_wire::parse_commands(frame) {
        Ok(given) => given,
        Err(refused) => vec![Err(refused)],
    };
    for command in given {
        let done = match command {
            Ok(command) => commands::handle(client, command).await.map(|_| ()),
            Err(refused) => Err(refused),
        };
        if client.take_switched() {
            says.send(WriterMessage::Room(client.room().clone()))
                .await
                .ok()?;
        }
        if let Err(refused) = done {
            says.send(WriterMessage::Wrong(refused.to_string()))
                .await
                .ok()?;
        }
    }
    Some(())
}

/// Sends the document and its changes until the session ends.
async fn write(
    sink: &mut SocketSink,
    mut said: mpsc::Receiver<WriterMessage>,
    mut room: Arc<Room>,
) -> Option<SocketCloseReason> {
    let mut told = room.watch();
    let mut cursor = None;
    loop {
        match room.next(&mut cursor) {
            NextFrame::Nothing => {}
            NextFrame::Ended => return Some((CloseCode::Again, "the session was closed")),
            NextFrame::Delta(operations) => {
                send(sink, frames(delta_message(&operations))).await.ok()?;
            }
            NextFrame::Whole(state) => {
                send(sink, frames_of_pieces(document_message(*state)))
                    .await
                    .ok()?;
            }
        }
        tokio::select! {
            say = said.recv() => match say? {
                WriterMessage::Wrong(message) => {
                    send(sink, frames(error_message(&message))).await.ok()?;
                }
                WriterMessage::Room(other) => {
                    told = other.watch();
                    (room, cursor) = (other, None);
                }
            },
            () = async {
                // The room sets the pace: a timer of the socket would add to it, as the two drift apart. Checks
                // the value and not whether it changed, because the last frame and the end may come at once. An
                // error means that the room is dropped; this function has a handle to it.
                let _ = told.wait_for(|told| told.is_more_than(cursor)).await;
            } => {}
            () = sleep(SIGN_OF_LIFE) => {
                sink.send(Message::Ping(Bytes::new())).await.ok()?;
            }
        }
    }
}

/// Writes changes of the document as a message.
fn delta_message(operations: &[Bytes]) -> Bytes {
    room::join_operations(operations, r#"{"type":"delta","operations":["#, "]}")
}

/// Writes the whole document as a message, in pieces.
fn document_message(state: DocumentState) -> impl Iterator<Item = Bytes> {
    document_writer::pieces(state, r#"{"type":"state","state":"#, "}")
}

fn error_message(message: &str) -> Bytes {
    let error = ServerMessage::Error { message };
    // A string always serialises.
    serde_json::to_vec(&error).unwrap_or_default().into()
}

async fn send(sink: &mut SocketSink, frames: impl Iterator<Item = Frame>) -> Result<(), Error> {
    for frame in frames {
        sink.feed(Message::Frame(frame)).await?;
    }
    sink.flush().await
}
