//! A room: the document of one session, computed once for all its clients.
//!
//! Its task follows the session and makes at most one frame per [`TICK`]. Recent frames are stored, so a socket
//! needs only the number of its last frame. A client that is further behind receives the whole document again, and
//! costs no memory until then.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use harn_model::{AgentEvent, Seq};
use harn_runtime::{
    BatchSlice, ControlWatch, Controller, NoHost, Seat, SeatClaim, SessionEnd, Subscription,
};
use tokio::{
    sync::watch,
    time::{sleep, sleep_until, timeout_at},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    changes::DocumentChanges,
    error::StateError,
    to_wire::{Document, facts},
    wire::{DocumentOperation, DocumentState},
};

/// The minimum time between two frames to a client.
pub(crate) const TICK: Duration = Duration::from_millis(16);
/// How long a frame stays open for events that follow its first one. The start of a turn, for example, is several
/// events with disk writes between them.
const BREATH: Duration = Duration::from_millis(1);
/// How many bytes of frames are stored for clients that are behind.
const KEPT_BYTES: usize = 256 * 1024;
/// The maximum number of deliveries in one frame; a session that is read from its journal has many at once.
const DELIVERIES: usize = 1024;
/// The shared name of unnamed clients, which control a session together.
pub(crate) const NAMELESS: &str = "state";

pub(crate) struct Room {
    session: Controller,
    agent: String,
    shown: Mutex<RoomDocument>,
    /// The number of the last frame, and whether the session has ended.
    told: watch::Sender<RoomProgress>,
    /// The last event folded into the document; `None` when no more follow. A channel of its own, because most
    /// watchers of frames do not need it.
    folded: watch::Sender<Option<Seq>>,
    /// The seat that all unnamed clients share.
    nameless: Mutex<Weak<Seat>>,
    /// Ends the task that follows the session.
    _following: DropGuard,
}

/// The number of a room's last frame, and whether its session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoomProgress {
    last: u64,
    ended: bool,
}

impl RoomProgress {
    /// Whether a client that has everything up to `cursor` can receive more; the end counts as more.
    pub(crate) fn is_more_than(self, cursor: Option<u64>) -> bool {
        self.ended || cursor != Some(self.last)
    }
}

struct RoomDocument {
    document: Document,
    last: u64,
    frames: VecDeque<RoomFrame>,
    kept: usize,
}

/// The changes between two frames, or that only the whole document expresses them.
enum RoomFrame {
    /// Operations as JSON, without the surrounding brackets.
    Delta(Bytes),
    Anew,
}

/// The next data for a client.
#[derive(Debug)]
pub(crate) enum NextFrame {
    /// The changes since its cursor: operations as JSON, without the surrounding brackets.
    Delta(Vec<Bytes>),
    /// The whole document. Its messages are shared, so a slow reader does not cost a copy of them.
    Whole(Box<DocumentState>),
    Nothing,
    Ended,
}

impl Room {
    /// Opens a room: reads the past events of the session, then follows it.
    pub(crate) async fn open(session: Controller, agent: String) -> Result<Arc<Self>, StateError> {
        let mut from = session.subscribe(Seq::ZERO);
        let mut document = Document::new(facts::session(&session, &agent));
        let until = from.head();
        while from.position() < until {
            let delivery = from.next().await.map_err(StateError::from)?;
            let mut past = DocumentChanges::default();
            // No client has a document yet, so no operations are needed.
            past.require_whole_document();
            for envelope in delivery.events() {
                document.apply(envelope, &mut past);
            }
            // Events that were read ahead are ready without a wait, possibly for the whole log: yield.
            tokio::task::consume_budget().await;
        }
        let following = CancellationToken::new();
        let (told, _) = watch::channel(RoomProgress {
            last: 0,
            ended: false,
        });
        let room = Arc::new(Self {
            agent,
            shown: Mutex::new(RoomDocument {
                document,
                last: 0,
                frames: VecDeque::new(),
                kept: 0,
            }),
            told,
            folded: watch::Sender::new(Some(from.position())),
            nameless: Mutex::default(),
            _following: following.clone().drop_guard(),
            session,
        });
        // Before the first look, so that no later change is missed. This seat is never asked.
        let seat = room
            .session
            .take_seat(NAMELESS, Arc::new(NoHost), SeatClaim::Never);
        let control = seat.watch();
        room.update_facts(
            &mut lock(&room.shown).document,
            &mut DocumentChanges::default(),
        );
        let follow = follow(Arc::downgrade(&room), seat, control, from);
        tokio::spawn(async move {
            tokio::select! {
                () = following.cancelled() => {}
                () = follow => {}
            }
        });
        Ok(room)
    }

    pub(crate) fn session(&self) -> &Controller {
        &self.session
    }

    /// Returns the seat that all unnamed clients share: they control the session together while no other client
    /// does.
    pub(crate) fn unnamed_seat(&self) -> Arc<Seat> {
        let mut nameless = lock(&self.nameless);
        if let Some(seat) = nameless.upgrade() {
            return seat;
        }
        let seat = Arc::new(
            self.session
                .take_seat(NAMELESS, Arc::new(NoHost), SeatClaim::IfFree),
        );
        *nameless = Arc::downgrade(&seat);
        seat
    }

    /// Subscribes to the progress of the room.
    pub(crate) fn watch(&self) -> watch::Receiver<RoomProgress> {
        self.told.subscribe()
    }

    /// Waits until an event is folded in, or until no more events follow.
    pub(crate) async fn wait_until_folded(&self, seq: Seq) {
        let mut folded = self.folded.subscribe();
        let there = |folded: &Option<Seq>| folded.is_none_or(|folded| folded >= seq);
        // An error means that the room is dropped; the caller has a handle to it.
        let _ = folded.wait_for(there).await;
    }

    /// Returns the next data for a client that has everything up to `cursor`, or nothing if it is `None`; advances
    /// the cursor.
    pub(crate) fn next(&self, cursor: &mut Option<u64>) -> NextFrame {
        self.next_with(cursor, |_| ()).0
    }

    /// Does the same, and calls `look` with the document that the client then has.
    pub(crate) fn next_with<T>(
        &self,
        cursor: &mut Option<u64>,
        look: impl FnOnce(&DocumentState) -> T,
    ) -> (NextFrame, T) {
        let shown = lock(&self.shown);
        let state = shown.document.state();
        let before = cursor.replace(shown.last);
        let next = match before {
            Some(seen) if seen == shown.last => match self.told.borrow().ended {
                true => NextFrame::Ended,
                false => NextFrame::Nothing,
            },
            before => match before.and_then(|seen| shown.operations_since(seen)) {
                Some(operations) => NextFrame::Delta(operations),
                None => NextFrame::Whole(Box::new(state.clone())),
            },
        };
        (next, look(state))
    }

    /// Refreshes the facts after a client joined, so that its first document includes it.
    pub(crate) fn refresh_facts(&self) {
        self.fold_and_publish(&[], true);
    }

    /// Folds events in and publishes the changes, in one step: no client sees a document that is ahead of its
    /// frames, and no look at the session is older than the published facts.
    fn fold_and_publish(&self, deliveries: &[BatchSlice], look: bool) {
        let events = || deliveries.iter().flat_map(BatchSlice::events);
        let mut changes = DocumentChanges::default();
        let mut shown = lock(&self.shown);
        for envelope in events() {
            shown.document.apply(envelope, &mut changes);
        }
        if look || events().any(|envelope| may_change_facts(&envelope.event)) {
            self.update_facts(&mut shown.document, &mut changes);
        }
        self.add_frame(&mut shown, &changes);
        if let Some(last) = events().next_back() {
            self.folded.send_replace(Some(last.seq));
        }
    }

    /// Copies the facts that are not in events from the session. The runtime does not call rooms, so its locks may
    /// be taken while the document is locked.
    fn update_facts(&self, document: &mut Document, changes: &mut DocumentChanges) {
        document.set_session(facts::session(&self.session, &self.agent), changes);
        document.set_presence(facts::presence(&self.session), changes);
        document.set_questions(facts::questions(&self.session), changes);
    }

    /// Makes a frame of the changes, if there are any.
    fn add_frame(&self, shown: &mut RoomDocument, changes: &DocumentChanges) {
        if changes.is_empty() {
            return;
        }
        shown.store_frame(match changes.operations() {
            Some(operations) => RoomFrame::Delta(write_operations(operations)),
            None => RoomFrame::Anew,
        });
        let last = shown.last;
        self.told.send_modify(|told| told.last = last);
    }

    /// Publishes the end of the session.
    fn publish_end(&self, end: &SessionEnd) {
        if let SessionEnd::Failed(why) = end {
            let mut changes = DocumentChanges::default();
            let mut shown = lock(&self.shown);
            shown.document.fail(why, &mut changes);
            self.add_frame(&mut shown, &changes);
        }
        self.told.send_modify(|told| told.ended = true);
        self.folded.send_replace(None);
    }
}

impl RoomDocument {
    fn store_frame(&mut self, frame: RoomFrame) {
        self.last += 1;
        self.kept += frame.weight();
        self.frames.push_back(frame);
        // The last frame is stored whatever its length, for clients that have all frames before it.
        while self.kept > KEPT_BYTES
            && self.frames.len() > 1
            && let Some(gone) = self.frames.pop_front()
        {
            self.kept -= gone.weight();
        }
    }

    /// Returns the operations after frame `seen`; `None` if they are no longer stored or need the whole document.
    fn operations_since(&self, seen: u64) -> Option<Vec<Bytes>> {
        let behind = usize::try_from(self.last.checked_sub(seen)?).ok()?;
        let first = self.frames.len().checked_sub(behind)?;
        let mut deltas = Vec::with_capacity(behind);
        for frame in self.frames.range(first..) {
            match frame {
                RoomFrame::Delta(operations) => deltas.push(operations.clone()),
                RoomFrame::Anew => return None,
            }
        }
        Some(deltas)
    }
}

impl RoomFrame {
    fn weight(&self) -> usize {
        // Small frames must count too.
        const BASE: usize = 64;
        match self {
            Self::Delta(operations) => BASE + operations.len(),
            Self::Anew => BASE,
        }
    }
}

/// Whether an event may change the facts that are not in events. The most frequent ones, the agent's texts and
/// calls, do not.
fn may_change_facts(event: &AgentEvent) -> bool {
    !matches!(
        event,
        AgentEvent::AgentMessageChunk { .. }
            | AgentEvent::AgentThoughtChunk { .. }
            | AgentEvent::ToolCall(_)
            | AgentEvent::ToolCallUpdate(_)
            | AgentEvent::WorkerCall(_)
    )
}

/// Follows a session for a room until the room is dropped.
async fn follow(room: Weak<Room>, _seat: Seat, mut control: ControlWatch, mut from: Subscription) {
    let mut deliveries = Vec::new();
    loop {
        let mut look = false;
        let mut ended = None;
        tokio::select! {
            delivery = from.next() => match delivery {
                Ok(delivery) => deliveries.push(delivery),
                Err(end) => ended = Some(end),
            },
            () = control.changed() => look = true,
        }
        // Events within `BREATH` share a frame.
        let cut = sleep(BREATH).deadline();
        while ended.is_none() && deliveries.len() < DELIVERIES {
            match timeout_at(cut, from.next()).await {
                Ok(Ok(delivery)) => deliveries.push(delivery),
                Ok(Err(end)) => ended = Some(end),
                Err(_) => break,
            }
        }
        look |= control.has_changed();
        let Some(room) = room.upgrade() else {
            return;
        };
        room.fold_and_publish(&deliveries, look);
        deliveries.clear();
        if let Some(end) = ended {
            room.publish_end(&end);
            return;
        }
        drop(room);
        // The next frame is due after `TICK`, of which it takes `BREATH` to collect its events.
        sleep_until(cut + TICK - BREATH).await;
    }
}

/// Writes operations as JSON, without the surrounding brackets.
fn write_operations(operations: &[DocumentOperation]) -> Bytes {
    let written = serde_json::to_vec(operations).unwrap_or_default();
    let written = Bytes::from(written);
    match written.len() {
        0 | 1 => Bytes::new(),
        len => written.slice(1..len - 1),
    }
}

/// Joins the operations of several frames into one message, between `before` and `behind`.
pub(crate) fn join_operations(operations: &[Bytes], before: &str, behind: &str) -> Bytes {
    let length: usize = operations.iter().map(|it| it.len() + 1).sum();
    let mut message = BytesMut::with_capacity(before.len() + length + behind.len());
    message.put_slice(before.as_bytes());
    for (index, operations) in operations.iter().enumerate() {
        if index > 0 {
            message.put_u8(b',');
        }
        message.put_slice(operations);
    }
    message.put_slice(behind.as_bytes());
    message.freeze()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
