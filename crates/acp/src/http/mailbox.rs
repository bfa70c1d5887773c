//! One stream of the streamable transport, between two of its readers: what waits to be sent, what may have
//! to be sent again, and where the stream goes on.
//!
//! Lines of the session's stream are not kept: they have event ids, and the session is followed anew from
//! behind one. Answers and the like have no such place, so they get one here, behind the event they were
//! sent after, and the latest are kept until the client has seen something later. Nothing here waits.

use std::collections::VecDeque;

use bytes::Bytes;
use harn_model::{Seq, SessionId};
use tokio::sync::oneshot;

use super::place::SseFrameId;
use crate::{
    EventId,
    transport::{FollowId, RefollowError, RefollowRequest},
};

/// How much of the stream may wait for its reader.
pub(super) const WAITING_BYTES: usize = 256 * 1024;
/// How many lines without an event id are kept after they were sent, and how much of them.
const KEPT_LINES: usize = 256;
const KEPT_BYTES: usize = 1024 * 1024;

#[derive(Default)]
pub(super) struct Mailbox {
    waiting: VecDeque<QueuedLine>,
    waiting_bytes: usize,
    /// Lines that wait for their place among events that come once more, by that place.
    placed: VecDeque<DeferredLine>,
    placed_bytes: usize,
    /// Lines that were sent, the oldest first.
    kept: VecDeque<SentLine>,
    kept_bytes: usize,
    /// The latest line that was sent and is not kept any more.
    forgotten: Option<SseFrameId>,
    state: CatchUpState,
    /// What an earlier following says is stale.
    stream: Option<FollowId>,
    /// What a client that came back had seen, where that was before the first event line that came.
    wanted: Option<EventId>,
    /// The first event line that came, the last one, and the last one that was sent.
    first: Option<EventId>,
    came: EventId,
    sent: EventId,
    /// How many lines without an event id were sent.
    number: u64,
}

enum QueuedLine {
    Event(EventId, Bytes),
    Other(NonEventLine),
    /// Everything was sent that was there when the session was followed anew.
    CaughtUp,
}

/// A line that has no place of its own.
#[derive(Clone)]
pub(super) struct NonEventLine {
    pub(super) line: Bytes,
    /// Whether who follows the session anew says it anew, as it does with open questions.
    pub(super) said_anew: bool,
}

struct DeferredLine {
    behind: EventId,
    other: NonEventLine,
    /// Where it was sent before, which it keeps for life: whoever has it knows it by that.
    sent: Option<SseFrameId>,
}

struct SentLine {
    place: SseFrameId,
    other: NonEventLine,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum CatchUpState {
    /// What comes is what goes on.
    #[default]
    Along,
    /// Something was left out, or is wanted again: the session has to be followed anew.
    Behind,
    /// It is: events come once more, and other lines wait for their places among them.
    Catching,
}

/// What comes of following a session anew.
pub(super) type RefollowReply = oneshot::Receiver<Result<(), RefollowError>>;

/// A line to send, and its place in the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SseFrame {
    pub(super) place: SseFrameId,
    pub(super) line: Bytes,
}

/// Why a stream does not go on where somebody wants it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CannotResume {
    /// It never came that far.
    Unknown,
    /// What was said since is not kept any more.
    TooFarBack,
}

impl Mailbox {
    /// Whether a line of the session's stream can be taken in without leaving it out, or is of no use.
    pub(super) fn takes_event(&self) -> bool {
        self.state == CatchUpState::Behind || self.waiting_bytes < WAITING_BYTES
    }

    /// Whether there is room for another line.
    pub(super) fn takes_other(&self) -> bool {
        self.waiting_bytes + self.placed_bytes < 2 * WAITING_BYTES
    }

    /// A line of the session's stream. Where there is no room it is left out, and the session has to be
    /// followed anew.
    pub(super) fn event(&mut self, stream: Option<FollowId>, id: EventId, line: Bytes) {
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

    /// A line that has no place of its own. It is never left out, unless a following that is no more wrote
    /// it: ask for room before.
    pub(super) fn other(&mut self, stream: Option<FollowId>, other: NonEventLine) {
        if self.is_stale(stream) {
            return;
        }
        match self.state {
            CatchUpState::Along => {
                self.waiting_bytes += other.line.len();
                self.waiting.push_back(QueuedLine::Other(other));
            }
            CatchUpState::Behind | CatchUpState::Catching => self.place(self.came, other),
        }
    }

    /// Everything came that was there when the session was followed anew.
    pub(super) fn caught_up(&mut self, stream: Option<FollowId>) {
        if self.state == CatchUpState::Catching && !self.is_stale(stream) {
            self.state = CatchUpState::Along;
            self.waiting.push_back(QueuedLine::CaughtUp);
        }
    }

    /// How to have the session followed anew, if that is needed. Said once.
    pub(super) fn refollow(
        &mut self,
        session: &SessionId,
    ) -> Option<(RefollowRequest, RefollowReply)> {
        if self.state != CatchUpState::Behind {
            return None;
        }
        let (refollow, answer) = RefollowRequest::new(session.clone(), self.sent.max(self.begun()));
        self.state = CatchUpState::Catching;
        self.stream = Some(refollow.stream());
        self.placed.retain(|placed| !placed.other.said_anew);
        let lines = self.placed.iter().map(|placed| &placed.other.line);
        self.placed_bytes = lines.map(Bytes::len).sum();
        Some((refollow, answer))
    }

    /// Behind which event it begins.
    fn begun(&self) -> EventId {
        let before = |id: EventId| EventId::from(Seq(id.seq().0.saturating_sub(1)));
        self.wanted
            .or(self.first.map(before))
            .unwrap_or(EventId::BEGINNING)
    }

    /// Whether anything was sent, to whoever it was.
    pub(super) fn has_sent(&self) -> bool {
        self.number > 0 || self.sent != EventId::BEGINNING
    }

    /// Whether a following that is no more wrote something. What nobody who follows wrote is never stale.
    fn is_stale(&self, stream: Option<FollowId>) -> bool {
        stream.is_some() && stream < self.stream
    }

    fn place(&mut self, behind: EventId, other: NonEventLine) {
        self.placed_bytes += other.line.len();
        self.placed.push_back(DeferredLine {
            behind,
            other,
            sent: None,
        });
    }

    /// The next line to send.
    pub(super) fn next(&mut self) -> Option<SseFrame> {
        loop {
            let sent = self.sent;
            let placed = match self.waiting.front() {
                Some(QueuedLine::Event(id, _)) => {
                    let id = *id;
                    self.placed_until(|behind| behind < id)
                }
                Some(QueuedLine::CaughtUp) => self.placed_until(|_| true),
                Some(QueuedLine::Other(_)) | None => self.placed_until(|behind| behind <= sent),
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

    /// The next line whose place has come.
    fn placed_until(&mut self, comes: impl FnOnce(EventId) -> bool) -> Option<DeferredLine> {
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
            // One that comes again has the place of an event that may not: this one is behind it too.
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

    /// Goes on behind a place that a client has seen, whatever was sent since.
    pub(super) fn resume(&mut self, after: SseFrameId) -> Result<(), CannotResume> {
        if after.number > self.number || after.event > self.came {
            return Err(CannotResume::Unknown);
        }
        if self.forgotten.is_some_and(|place| !after.covers(place)) {
            return Err(CannotResume::TooFarBack);
        }
        self.seen_after_all(after);
        let unseen = self.kept.partition_point(|sent| after.covers(sent.place));
        let unseen = self.kept.split_off(unseen);
        self.kept_bytes = self.kept.iter().map(|sent| sent.other.line.len()).sum();
        if self.state != CatchUpState::Along || after.event != self.sent {
            self.fall_behind();
            if after.event < self.begun() {
                self.wanted = Some(after.event);
            }
            self.sent = after.event;
        }
        // Whatever is not in its hands is placed among the events that it has not seen.
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

    /// Lines that were to be sent again and are not, because whoever asked for them had seen them by then: its
    /// request was held up on its way.
    fn seen_after_all(&mut self, after: SseFrameId) {
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

    /// Leaves out the events that wait. The lines between them keep their places.
    fn fall_behind(&mut self) {
        self.state = CatchUpState::Behind;
        let mut behind = self.sent;
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting {
                QueuedLine::Event(id, _) => behind = id,
                QueuedLine::Other(other) => self.place(behind, other),
                // What was placed comes before it, even where the event it was behind does not come again.
                QueuedLine::CaughtUp => {
                    let placed = self.placed.back().map(|placed| placed.behind);
                    behind = placed.map_or(behind, |placed| placed.max(behind));
                }
            }
        }
        self.waiting_bytes = 0;
        // Those that had their places and those that waited are each in order.
        let placed = self.placed.make_contiguous();
        placed.sort_by_key(|placed| placed.behind);
    }
}

#[cfg(test)]
mod tests;
