//! Lets a transport follow one session again: the session sends the events again that a client, reconnected
//! over another stream of the same connection, has not received.

use std::sync::atomic::{AtomicU64, Ordering};

use harn_model::SessionId;
use tokio::sync::oneshot;

use crate::EventId;

/// The id of one follow: one subscription of a connection to a session. Later ids are greater; unique in this
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FollowId(u64);

impl FollowId {
    pub(crate) fn next_id() -> Self {
        static BEGUN: AtomicU64 = AtomicU64::new(0);
        Self(BEGUN.fetch_add(1, Ordering::Relaxed))
    }
}

/// The reason why a session is not followed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefollowError {
    /// The session is not open on this connection.
    #[error("the session is not open on this connection")]
    NotOpen,
    /// The session has not reached this event.
    #[error("the session has no such event")]
    UnknownEvent,
}

/// A request to follow a session again that this client has open. It makes the session's pieces in the queue
/// stale: drop each piece whose [`stream`](super::OutgoingPiece::stream) is earlier than this one.
#[derive(Debug)]
pub struct RefollowRequest {
    pub(crate) session: SessionId,
    pub(crate) after: EventId,
    pub(crate) stream: FollowId,
    pub(crate) reply: oneshot::Sender<Result<(), RefollowError>>,
}

impl RefollowRequest {
    /// Creates a request to follow the session from behind this line. The receiver gets the result, at the
    /// latest before the first piece.
    #[must_use]
    pub fn new(
        session: SessionId,
        after: EventId,
    ) -> (Self, oneshot::Receiver<Result<(), RefollowError>>) {
        let (reply, came_of_it) = oneshot::channel();
        let refollow = Self {
            session,
            after,
            stream: FollowId::next_id(),
            reply,
        };
        (refollow, came_of_it)
    }

    /// Returns the id of the follow that this request starts.
    #[must_use]
    pub fn follow_id(&self) -> FollowId {
        self.stream
    }
}

impl PartialEq for RefollowRequest {
    fn eq(&self, other: &Self) -> bool {
        (&self.session, self.after) == (&other.session, other.after)
    }
}

impl Eq for RefollowRequest {}
