//! A room: one session's document, made once for everyone who looks at it.
//!
//! Its task follows the session and cuts a frame at most every [`TICK`]. Frames are kept for a while, so that a
//! socket needs no more than the number of the last one it has; whoever is further behind gets the document
//! anew, and costs no memory until then.

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

/// How often a client hears of something, at most.
pub(crate) const TICK: Duration = Duration::from_millis(16);
/// How long a frame is open for what comes right behind its first event: what begins a turn, for one, is more
/// than one event, and there is a disk between them.
const BREATH: Duration = Duration::from_millis(1);
/// How much of what was told is kept for those who are behind.
const KEPT_BYTES: usize = 256 * 1024;
/// How many deliveries go into one frame: a session that is read from its journal has many at once.
const DELIVERIES: usize = 1024;
/// What clients that give no name are called while they control a session together.
pub(crate) const NAMELESS: &str = "state";

pub(crate) struct Room {
    session: Controller,
    agent: String,
    shown: Mutex<RoomDocument>,
    /// The number of the last frame, or that there will be none.
    told: watch::Sender<RoomProgress>,
    /// The last event that was folded in; none where there will be no more. Not a part of the above: most who
    /// are told of frames have no use for it.
    folded: watch::Sender<Option<Seq>>,
    /// The seat of all who come without a name.
    nameless: Mutex<Weak<Seat>>,
    /// Ends the task that follows the session.
    _following: DropGuard,
}

/// How far a room is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoomProgress {
    last: u64,
    ended: bool,
}

impl RoomProgress {
    /// Whether somebody who has everything up to `cursor` can be told more: that it is over counts, too.
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

/// What changed between two frames, or that only the whole document tells it.
enum RoomFrame {
    /// Operations, without the brackets around them.
    Delta(Bytes),
    Anew,
}

/// What to tell a client next.
#[derive(Debug)]
pub(crate) enum NextFrame {
    /// What changed since: operations, without the brackets around them.
    Delta(Vec<Bytes>),
    /// The document. Its messages are shared, so that who reads slowly does not cost what it is long.
    Whole(Box<DocumentState>),
    Nothing,
    Ended,
}

impl Room {
    /// Opens a room: reads what has happened in the session, and follows it from there.
    pub(crate) async fn open(session: Controller, agent: String) -> Result<Arc<Self>, StateError> {
        let mut from = session.subscribe(Seq::ZERO);
        let mut document = Document::new(facts::session(&session, &agent));
        let until = from.head();
        while from.position() < until {
            let delivery = from.next().await.map_err(StateError::from)?;
            let mut past = DocumentChanges::default();
            // What changed until now was told to nobody.
            past.tell_anew();
            for envelope in delivery.events() {
                document.apply(envelope, &mut past);
            }
            // What was read ahead is there at once, and might be for as long as the log is.
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
        // Before the look: what changes behind it is heard of. Nobody is asked here.
        let seat = room
            .session
            .sit(NAMELESS, Arc::new(NoHost), SeatClaim::Never);
        let control = seat.watch();
        room.look(
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

    /// A place for somebody without a name: all of them have one, and drive together while nobody else does.
    pub(crate) fn nameless(&self) -> Arc<Seat> {
        let mut nameless = lock(&self.nameless);
        if let Some(seat) = nameless.upgrade() {
            return seat;
        }
        let seat = Arc::new(
            self.session
                .sit(NAMELESS, Arc::new(NoHost), SeatClaim::IfFree),
        );
        *nameless = Arc::downgrade(&seat);
        seat
    }

    /// Hears of it when there is more to tell.
    pub(crate) fn watch(&self) -> watch::Receiver<RoomProgress> {
        self.told.subscribe()
    }

    /// Waits until an event is folded in, or nothing will be any more.
    pub(crate) async fn caught_up(&self, seq: Seq) {
        let mut folded = self.folded.subscribe();
        let there = |folded: &Option<Seq>| folded.is_none_or(|folded| folded >= seq);
        // An error means that the room is gone, which it is not while somebody is in it.
        let _ = folded.wait_for(there).await;
    }

    /// What to tell somebody who has everything up to `cursor`, or nothing; moves the cursor behind it.
    pub(crate) fn next(&self, cursor: &mut Option<u64>) -> NextFrame {
        self.next_and(cursor, |_| ()).0
    }

    /// The same, with a look at the document that they have then.
    pub(crate) fn next_and<T>(
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
            before => match before.and_then(|seen| shown.since(seen)) {
                Some(operations) => NextFrame::Delta(operations),
                None => NextFrame::Whole(Box::new(state.clone())),
            },
        };
        (next, look(state))
    }

    /// Somebody has come: the first document they get has them in it.
    pub(crate) fn greet(&self) {
        self.tell(&[], true);
    }

    /// Folds in what happened, and tells what changed by it: in one step, so that nobody sees a document that
    /// is ahead of its frames, and nobody's look at the session is older than what was told of it.
    fn tell(&self, deliveries: &[BatchSlice], look: bool) {
        let events = || deliveries.iter().flat_map(BatchSlice::events);
        let mut changes = DocumentChanges::default();
        let mut shown = lock(&self.shown);
        for envelope in events() {
            shown.document.apply(envelope, &mut changes);
        }
        if look || events().any(|envelope| may_change_facts(&envelope.event)) {
            self.look(&mut shown.document, &mut changes);
        }
        self.cut(&mut shown, &changes);
        if let Some(last) = events().next_back() {
            self.folded.send_replace(Some(last.seq));
        }
    }

    /// Takes over what is known of the session beside its events. The runtime knows nothing of rooms, so
    /// that its locks may be taken while the document is locked.
    fn look(&self, document: &mut Document, changes: &mut DocumentChanges) {
        document.set_session(facts::session(&self.session, &self.agent), changes);
        document.set_presence(facts::presence(&self.session), changes);
        document.set_questions(facts::questions(&self.session), changes);
    }

    /// Makes a frame of what changed, if anything did.
    fn cut(&self, shown: &mut RoomDocument, changes: &DocumentChanges) {
        if changes.is_empty() {
            return;
        }
        shown.keep(match changes.operations() {
            Some(operations) => RoomFrame::Delta(inner(operations)),
            None => RoomFrame::Anew,
        });
        let last = shown.last;
        self.told.send_modify(|told| told.last = last);
    }

    /// The session is over.
    fn end(&self, end: &SessionEnd) {
        if let SessionEnd::Failed(why) = end {
            let mut changes = DocumentChanges::default();
            let mut shown = lock(&self.shown);
            shown.document.fail(why, &mut changes);
            self.cut(&mut shown, &changes);
        }
        self.told.send_modify(|told| told.ended = true);
        self.folded.send_replace(None);
    }
}

impl RoomDocument {
    fn keep(&mut self, frame: RoomFrame) {
        self.last += 1;
        self.kept += frame.weight();
        self.frames.push_back(frame);
        // The last is kept however long it is, for those who have all before it.
        while self.kept > KEPT_BYTES
            && self.frames.len() > 1
            && let Some(gone) = self.frames.pop_front()
        {
            self.kept -= gone.weight();
        }
    }

    /// What was told behind this frame; nothing where that is not kept, or cannot be told so.
    fn since(&self, seen: u64) -> Option<Vec<Bytes>> {
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
        // Small ones count, too.
        const BASE: usize = 64;
        match self {
            Self::Delta(operations) => BASE + operations.len(),
            Self::Anew => BASE,
        }
    }
}

/// Whether what is known beside the events may be other after this one. What an agent says and does is what
/// there is most of, and changes none of it.
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

/// Follows a session for a room, as long as somebody is in it.
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
        // What comes in the same breath goes into the same frame.
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
        room.tell(&deliveries, look);
        deliveries.clear();
        if let Some(end) = ended {
            room.end(&end);
            return;
        }
        drop(room);
        // Until a client may hear of something again, which takes a breath.
        sleep_until(cut + TICK - BREATH).await;
    }
}

/// Operations as they stand in a message, without the brackets.
fn inner(operations: &[DocumentOperation]) -> Bytes {
    let written = serde_json::to_vec(operations).unwrap_or_default();
    let written = Bytes::from(written);
    match written.len() {
        0 | 1 => Bytes::new(),
        len => written.slice(1..len - 1),
    }
}

/// One message of what several frames tell, between what comes before and behind it.
pub(crate) fn message(operations: &[Bytes], before: &str, behind: &str) -> Bytes {
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
