//! Publishing: a ring of recent batches, and cursors that pull from it.
//!
//! A slow reader costs a cursor, never memory: when the ring has moved on it reads the journal until it
//! has caught up, and the session waits for no one longer than a moment. Publishing costs the session the
//! same for one reader and for a thousand: nothing on its way visits them one by one.

mod batch;
mod bell;
mod catch_up;
mod feed;
mod places;
mod ring;
mod subscription;

pub use batch::{BatchSlice, EncodingSlot, EventBatch};
pub use feed::SessionEnd;
pub(crate) use feed::SessionFeed;
pub use subscription::Subscription;
