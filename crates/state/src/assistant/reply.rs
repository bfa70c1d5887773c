//! A response: the document, then what changes of it, for as long as something goes on by itself.
//!
//! It is pulled. A client that does not read is told nothing until it does, and then what there is: a cursor is
//! all it costs.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use harn_lines::pace::ClientSlot;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{attendance::AssistantClient, format::StreamFormat};
use crate::{
    refused::ClientCommandError,
    room::{NextFrame, Room, RoomProgress},
    wire::{DocumentState, DocumentStatus, MessageStatus},
};

/// How often a client that is told nothing is shown that somebody is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

pub(super) struct AssistantResponse {
    format: StreamFormat,
    room: Arc<Room>,
    told: watch::Receiver<RoomProgress>,
    cursor: Option<u64>,
    /// What is left to say of the document.
    pieces: Option<Box<dyn Iterator<Item = Bytes> + Send>>,
    /// What is said behind the first document, and then nothing more.
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

    /// The body, and a place that is held until it has ended.
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
                self.pieces = Some(Box::new(self.format.end().into_iter()));
                self.end();
                return Some(self.format.error(&refused.to_string()));
            }
            match self.room.next_and(&mut self.cursor, goes_on) {
                (NextFrame::Whole(state), _) => self.pieces = Some(self.format.whole(*state)),
                (NextFrame::Delta(operations), _) => return Some(self.format.delta(&operations)),
                (NextFrame::Nothing, true) => {
                    let changed = tokio::select! {
                        () = self.ending.cancelled() => return self.last_word(),
                        // An error means that the room is gone, which it is not before this is.
                        changed = timeout(SIGN_OF_LIFE, self.told.changed()) => changed,
                    };
                    if changed.is_err() {
                        return Some(self.format.alive());
                    }
                }
                (NextFrame::Nothing, false) | (NextFrame::Ended, _) => return self.last_word(),
            }
        }
    }

    fn last_word(&mut self) -> Option<Bytes> {
        self.end();
        self.format.end()
    }

    fn end(&mut self) {
        self.over = true;
        self.attendance.end();
    }
}

/// Whether something happens in a session without anybody doing anything: it runs, or what waits is about to,
/// and nobody is asked.
fn goes_on(state: &DocumentState) -> bool {
    let asks = !state.approvals.is_empty() || !state.questions.is_empty();
    // What waits is last. What is said in the middle of a run is not waited for: it begins none.
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
