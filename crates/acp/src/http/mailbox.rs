//! One stream of the streamable transport, independent of its reader: the lines to send, the lines to keep for
//! resending, and the position of the stream.
//!
//! Event lines are not kept: they have event ids, and the session is followed again from one of them. Other
//! lines, such as answers, get a frame id here, behind the event they were sent after; the latest of them are
//! kept, to be sent again. Nothing here waits.

use std::collections::VecDeque;

use bytes::Bytes;
use harn_model::{Seq, SessionId};
use tokio::sync::oneshot;

use super::frame_id::SseFrameId;
use crate::{
    EventId,
    transport::{FollowId, RefollowError, RefollowRequest},
};

/// The most bytes of the stream that wait for its reader.
pub(super) const WAITING_BYTES: usize = 256 * 1024;
/// How many lines without an event id are kept after they were sent, and how many bytes of them.
const KEPT_LINES: usize = 256;
const KEPT_BYTES: usize = 1024 * 1024;

#[derive(Default)]
pub(super) struct Mailbox {
    waiting: VecDeque<QueuedLine>,
    waiting_bytes: usize,
    /// Lines that wait for their position among repeated events, in order of that position.
    placed: VecDeque<DeferredLine>,
    placed_bytes: usize,
    /// Lines without an event id that were sent, the oldest first.
    kept: VecDeque<SentLine>,
    kept_bytes: usize,
    /// The frame id of the latest sent line that is not kept any more.
    forgotten: Option<SseFrameId>,
    state: CatchUpState,
    /// The current follow of the session; lines of an earlier one are stale.
    stream: Option<FollowId>,
    /// The last event of a client that reconnected, if it precedes the first event line that arrived.
    wanted: Option<EventId>,
    /// The first and last event line that arrived, and the last one that was sent.
    first: Option<EventId>,
    came: EventId,
    sent: EventId,
    /// The number of lines without an event id that were sent.
    number: u64,
}

enum QueuedLine {
    Event(EventId, Bytes),
    Other(NonEventLine),
    /// Marks the end of the events that existed when the session was followed again.
    CaughtUp,
}

/// A line without an event id.
#[derive(Clone)]
pub(super) struct NonEventLine {
    pub(super) line: Bytes,
    /// Whether following the session again sends it again, as it does with open questions.
    pub(super) said_anew: bool,
}

struct DeferredLine {
    behind: EventId,
    other: NonEventLine,
    /// The frame id under which it was sent before. It never changes, because clients know the line by it.
    sent: Option<SseFrameId>,
}

struct SentLine {
    place: SseFrameId,
    other: NonEventLine,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum CatchUpState {
    /// Lines are sent in the order they arrive.
    #[default]
    Along,
    /// Events were dropped or are needed again: the session must be followed again.
    Behind,
    /// The session is followed again: events repeat, and other lines wait for their positions among them.
    Catching,
}

/// The result of following a session again.
pub(super) type RefollowReply = oneshot::Receiver<Result<(), RefollowError>>;

/// A line to send, and its id in the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SseFrame {
    pub(super) place: SseFrameId,
    pub(super) line: Bytes,
}

/// The reason why a stream cannot continue behind the line that a client names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CannotResume {
    /// The stream has not reached this position.
    Unknown,
    /// Lines after this position are not kept any more.
    TooFarBack,
}

impl Mailbox {
    /// Whether there is room for an event line, or the line is not needed because the stream is behind.
    pub(super) fn can_take_event(&self) -> bool {
        self.state == CatchUpState::Behind || self.waiting_bytes < WAITING_BYTES
    }

    /// Whether there is room for a line without an event id.
    pub(super) fn can_take_other(&self) -> bool {
        self.waiting_bytes + self.placed_bytes < 2 * WAITING_BYTES
    }

    /// Queues an event line. Drops it if there is no room; then the session must be followed again.
    pub(super) fn push_event(&mut self, stream: Option<FollowId>, id: EventId, line: Bytes) {
        self.came = self.came.max(id);
        self.first.get_or_insert(id);
        if self.is_stale(stream) || self.state == CatchUpState::Behind {
            return;
        }
        if self.waiting_bytes < WAITING_BYTES {
            self.waiting_bytes += line.len();
            self.waiting.push_back(QueuedLine::Event(id, line));
        } else {
            self.fall_behind();
        }
    }

    /// Queues a line without an event id. Drops it only if it is from a stale follow; call
    /// [`Self::can_take_other`] before.
    pub(super) fn push_other(&mut self, stream: Option<FollowId>, other: NonEventLine) {
        if self.is_stale(stream) {
            return;
        }
        match self.state {
            CatchUpState::Along => {
                self.waiting_bytes += other.line.len();
                self.waiting.push_back(QueuedLine::Other(other));
            }
            CatchUpState::Behind | CatchUpState::Catching => self.defer_line(self.came, other),
        }
    }

    /// Marks that all events arrived that existed when the session was followed again.
    pub(super) fn mark_caught_up(&mut self, stream: Option<FollowId>) {
        if self.state == CatchUpState::Catching && !self.is_stale(stream) {
            self.state = CatchUpState::Along;
            self.waiting.push_back(QueuedLine::CaughtUp);
        }
    }

    /// Returns a request to follow the session again, if that is needed; only once.
    pub(super) fn refollow(
        &mut self,
        session: &SessionId,
    ) -> Option<(RefollowRequest, RefollowReply)> {
        if self.state != CatchUpState::Behind {
            return None;
        }
        let (refollow, answer) =
            RefollowRequest::new(session.clone(), self.sent.max(self.start_event()));
        self.state = CatchUpState::Catching;
        self.stream = Some(refollow.follow_id());
        self.placed.retain(|placed| !placed.other.said_anew);
        let lines = self.placed.iter().map(|placed| &placed.other.line);
        self.placed_bytes = lines.map(Bytes::len).sum();
        Some((refollow, answer))
    }

    /// Returns the event before the first one of this stream.
    fn start_event(&self) -> EventId {
        let before = |id: EventId| EventId::from(Seq(id.seq().0.saturating_sub(1)));
        self.wanted
            .or(self.first.map(before))
            .unwrap_or(EventId::BEGINNING)
    }

    /// Whether any line was sent, to any reader.
    pub(super) fn has_sent(&self) -> bool {
        self.number > 0 || self.sent != EventId::BEGINNING
    }

    /// Whether a line is from an earlier follow. A line from no follow is never stale.
    fn is_stale(&self, stream: Option<FollowId>) -> bool {
        stream.is_some() && stream < self.stream
    }

    fn defer_line(&mut self, behind: EventId, other: NonEventLine) {
        self.placed_bytes += other.line.len();
        self.placed.push_back(DeferredLine {
            behind,
            other,
            sent: None,
        });
    }

    /// Returns the next line to send.
    pub(super) fn next(&mut self) -> Option<SseFrame> {
        loop {
            let sent = self.sent;
            let placed = match self.waiting.front() {
                Some(QueuedLine::Event(id, _)) => {
                    let id = *id;
                    self.pop_deferred_if(|behind| behind < id)
                }
                Some(QueuedLine::CaughtUp) => self.pop_deferred_if(|_| true),
                Some(QueuedLine::Other(_)) | None => self.pop_deferred_if(|behind| behind <= sent),
            };
            if let Some(DeferredLine { other, sent, .. }) = placed {
                return Some(self.send_other(other, sent));
            }
            match self.waiting.pop_front()? {
                QueuedLine::Event(id, line) => {
                    self.waiting_bytes -= line.len();
                    self.sent = id;
                    let place = SseFrameId::from(id);
                    return Some(SseFrame { place, line });
                }
                QueuedLine::Other(other) => {
                    self.waiting_bytes -= other.line.len();
                    return Some(self.send_other(other, None));
                }
                QueuedLine::CaughtUp => {}
            }
        }
    }

    /// Returns the next deferred line if its position is reached.
    fn pop_deferred_if(&mut self, comes: impl FnOnce(EventId) -> bool) -> Option<DeferredLine> {
        let next = self.placed.front()?;
        if self.state == CatchUpState::Behind || !comes(next.behind) {
            return None;
        }
        let placed = self.placed.pop_front()?;
        self.placed_bytes -= placed.other.line.len();
        Some(placed)
    }

    fn send_other(&mut self, other: NonEventLine, sent: Option<SseFrameId>) -> SseFrame {
        let place = sent.unwrap_or_else(|| {
            self.number += 1;
            // A resent line may name an event that is not sent again; this line must be behind that event too.
            let before = self.kept.back().map_or(self.sent, |sent| sent.place.event);
            SseFrameId {
                event: before.max(self.sent),
                number: self.number,
            }
        });
        let line = other.line.clone();
        self.kept_bytes += line.len();
        self.kept.push_back(SentLine { place, other });
        while (self.kept.len() > KEPT_LINES || self.kept_bytes > KEPT_BYTES)
            && let Some(forgotten) = self.kept.pop_front()
        {
            self.kept_bytes -= forgotten.other.line.len();
            self.forgotten = Some(forgotten.place);
        }
        SseFrame { place, line }
    }

    /// Continues behind a line that the client has received, whatever was sent since.
    pub(super) fn resume(&mut self, after: SseFrameId) -> Result<(), CannotResume> {
        if after.number > self.number || after.event > self.came {
            return Err(CannotResume::Unknown);
        }
        if self.forgotten.is_some_and(|place| !after.covers(place)) {
            return Err(CannotResume::TooFarBack);
        }
        self.restore_received(after);
        let unseen = self.kept.partition_point(|sent| after.covers(sent.place));
        let unseen = self.kept.split_off(unseen);
        self.kept_bytes = self.kept.iter().map(|sent| sent.other.line.len()).sum();
        if self.state != CatchUpState::Along || after.event != self.sent {
            self.fall_behind();
            if after.event < self.start_event() {
                self.wanted = Some(after.event);
            }
            self.sent = after.event;
        }
        // Lines that the client has not received get a position among the events that it has not received.
        for SentLine { place, other } in unseen.into_iter().rev() {
            self.placed_bytes += other.line.len();
            let behind = place.event;
            let sent = Some(place);
            self.placed.push_front(DeferredLine {
                behind,
                other,
                sent,
            });
        }
        Ok(())
    }

    /// Moves lines that were to be sent again back to the kept ones, if the client has received them by now:
    /// the request for them was delayed.
    fn restore_received(&mut self, after: SseFrameId) {
        let placed = std::mem::take(&mut self.placed);
        for placed in placed {
            match placed.sent {
                Some(place) if after.covers(place) => {
                    let other = placed.other;
                    self.placed_bytes -= other.line.len();
                    self.kept.push_back(SentLine { place, other });
                }
                _ => self.placed.push_back(placed),
            }
        }
    }

    /// Drops the events in the queue. The lines between them keep their positions.
    fn fall_behind(&mut self) {
        self.state = CatchUpState::Behind;
        let mut behind = self.sent;
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting {
                QueuedLine::Event(id, _) => behind = id,
                QueuedLine::Other(other) => self.defer_line(behind, other),
                // Deferred lines precede this mark, even if the event before them is not sent again.
                QueuedLine::CaughtUp => {
                    let placed = self.placed.back().map(|placed| placed.behind);
                    behind = placed.map_or(behind, |placed| placed.max(behind));
                }
            }
        }
        self.waiting_bytes = 0;
        // The lines deferred before and the lines moved here are each in order.
        let placed = self.placed.make_contiguous();
        placed.sort_by_key(|placed| placed.behind);
    }
}

#[cfg(test)]
mod tests;
