//! A response: the document, then its changes, while something continues without input.
//!
//! The client pulls it. A client that does not read receives nothing until it does, then everything it missed: it
//! costs only a cursor.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use harn_lines::pace::ClientSlot;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{assistant_client::AssistantClient, format::StreamFormat};
use crate::{
    command_error::ClientCommandError,
    room::{NextFrame, Room, RoomProgress},
    wire::{DocumentState, DocumentStatus, MessageStatus},
};

/// The interval of signs of life to a client that receives nothing else.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

pub(super) struct AssistantResponse {
    format: StreamFormat,
    room: Arc<Room>,
    told: watch::Receiver<RoomProgress>,
    cursor: Option<u64>,
    /// The unsent pieces of the document.
    pieces: Option<Box<dyn Iterator<Item = Bytes> + Send>>,
    /// Sent after the first document, as the last message.
    refused: Option<ClientCommandError>,
    attendance: AssistantClient,
    ending: CancellationToken,
    over: bool,
}

impl AssistantResponse {
    pub(super) fn new(
        format: StreamFormat,
        room: Arc<Room>,
        attendance: AssistantClient,
        refused: Option<ClientCommandError>,
        ending: CancellationToken,
    ) -> Self {
        Self {
            format,
            told: room.watch(),
            room,
            cursor: None,
            pieces: None,
            refused,
            attendance,
            ending,
            over: false,
        }
    }

    /// Returns the body, which keeps a connection slot until it ends.
    pub(super) fn body(self, member: ClientSlot) -> Body {
        let pieces = stream::unfold((self, member), |(mut reply, member)| async move {
            let piece = reply.next().await?;
            Some((Ok::<_, Infallible>(piece), (reply, member)))
        });
        Body::from_stream(pieces)
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.pieces.as_mut().and_then(Iterator::next) {
                return Some(piece);
            }
            self.pieces = None;
            if self.over {
                return None;
            }
            if self.cursor.is_some()
                && let Some(refused) = self.refused.take()
            {
                self.pieces = Some(Box::new(self.format.end_marker().into_iter()));
                self.mark_over();
                return Some(self.format.write_error(&refused.to_string()));
            }
            match self
                .room
                .next_with(&mut self.cursor, continues_without_input)
            {
                (NextFrame::Whole(state), _) => {
                    self.pieces = Some(self.format.write_document(*state))
                }
                (NextFrame::Delta(operations), _) => {
                    return Some(self.format.write_delta(&operations));
                }
                (NextFrame::Nothing, true) => {
                    let changed = tokio::select! {
                        () = self.ending.cancelled() => return self.finish(),
                        // An error means that the room is dropped; this response has a handle to it.
                        changed = timeout(SIGN_OF_LIFE, self.told.changed()) => changed,
                    };
                    if changed.is_err() {
                        return Some(self.format.keep_alive());
                    }
                }
                (NextFrame::Nothing, false) | (NextFrame::Ended, _) => return self.finish(),
            }
        }
    }

    fn finish(&mut self) -> Option<Bytes> {
        self.mark_over();
        self.format.end_marker()
    }

    fn mark_over(&mut self) {
        self.over = true;
        self.attendance.mark_complete();
    }
}

/// Whether a session continues without input: a turn runs or a queued prompt is about to, and no person is asked.
fn continues_without_input(state: &DocumentState) -> bool {
    let asks = !state.approvals.is_empty() || !state.questions.is_empty();
    // Queued messages are last. A steering message does not count: it starts no turn.
    let waiting = state.messages.iter().rev();
    let mut waiting = waiting.take_while(|message| message.status == MessageStatus::Pending);
    let runs = match state.status {
        DocumentStatus::Running => true,
        DocumentStatus::Idle | DocumentStatus::Error => {
            waiting.any(|message| message.steer == Some(false))
        }
    };
    runs && !asks
}
