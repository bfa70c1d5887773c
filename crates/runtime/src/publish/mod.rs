//! Publishing: a ring of recent batches, and cursors that pull from it.
//!
//! A slow reader uses no memory beyond its cursor: when the ring has dropped its events, it reads the journal
//! until it has caught up, and the session waits for it only briefly. The cost of publishing does not grow
//! with the number of readers: the session task never visits them one by one.

mod batch;
mod catch_up;
mod feed;
mod positions;
mod ring;
mod subscription;
mod waker;

pub use batch::{BatchSlice, EncodingSlot, EventBatch};
pub use feed::SessionEnd;
pub(crate) use feed::SessionFeed;
pub use subscription::Subscription;
