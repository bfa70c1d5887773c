//! How a transport has one session followed anew: what a client that came back over another stream of the
//! same connection has not seen is told again.

use std::sync::atomic::{AtomicU64, Ordering};

use harn_model::SessionId;
use tokio::sync::oneshot;

use crate::EventId;

/// One following of a session, of this process. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FollowId(u64);

impl FollowId {
    pub(crate) fn begin() -> Self {
        static BEGUN: AtomicU64 = AtomicU64::new(0);
        Self(BEGUN.fetch_add(1, Ordering::Relaxed))
    }
}

/// Why a session is not followed anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefollowError {
    /// This client does not have it open.
    #[error("the session is not open on this connection")]
    NotOpen,
    /// The session has not come that far.
    #[error("the session has no such event")]
    UnknownEvent,
}

/// Wants a session that this client has open followed anew. What waits of it in the queue is stale then: the
/// pieces whose [`stream`](super::OutgoingPiece::stream) is an earlier one than this are to be thrown away.
#[derive(Debug)]
pub struct RefollowRequest {
    pub(crate) session: SessionId,
    pub(crate) after: EventId,
    pub(crate) stream: FollowId,
    pub(crate) reply: oneshot::Sender<Result<(), RefollowError>>,
}

impl RefollowRequest {
    /// From behind this line. The receiver hears what came of it, at the latest before the first piece.
    #[must_use]
    pub fn new(
        session: SessionId,
        after: EventId,
    ) -> (Self, oneshot::Receiver<Result<(), RefollowError>>) {
        let (reply, came_of_it) = oneshot::channel();
        let refollow = Self {
            session,
            after,
            stream: FollowId::begin(),
            reply,
        };
        (refollow, came_of_it)
    }

    /// The following it will be.
    #[must_use]
    pub fn stream(&self) -> FollowId {
        self.stream
    }
}

impl PartialEq for RefollowRequest {
    fn eq(&self, other: &Self) -> bool {
        (&self.session, self.after) == (&other.session, other.after)
    }
}

impl Eq for RefollowRequest {}
