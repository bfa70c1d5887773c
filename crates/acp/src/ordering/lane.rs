//! Runs the requests that open, join or leave one session on one connection one after another, in the order
//! they were read: two at once would follow the session twice, or not at all.

use std::{collections::HashMap, sync::Mutex};

use harn_model::SessionId;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::lock::lock;

/// The lanes of a connection, one for each session.
#[derive(Default)]
pub(crate) struct SessionLanes {
    /// The last request of each lane, until it is done.
    last: Mutex<HashMap<SessionId, CancellationToken>>,
}

/// A request's position in a lane. Dropping it lets the next request run.
pub(crate) struct LaneSlot {
    before: Option<CancellationToken>,
    _done: DropGuard,
}

impl SessionLanes {
    /// Adds a request behind all others in the lane.
    pub(crate) fn enter(&self, id: &SessionId) -> LaneSlot {
        let done = CancellationToken::new();
        let mut last = lock(&self.last);
        last.retain(|_, done| !done.is_cancelled());
        let before = last.insert(id.clone(), done.clone());
        let _done = done.drop_guard();
        LaneSlot { before, _done }
    }
}

impl LaneSlot {
    /// Whether all requests before it are done.
    pub(crate) fn is_free(&self) -> bool {
        let before = self.before.as_ref();
        before.is_none_or(CancellationToken::is_cancelled)
    }

    /// Waits for all requests before it.
    pub(crate) async fn wait_for_earlier(&self) {
        if let Some(before) = &self.before {
            before.cancelled().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn request_waits_for_earlier_requests_of_its_lane() {
        let lanes = SessionLanes::default();
        let [here, there] = ["a", "b"].map(SessionId::new);
        let first = lanes.enter(&here);
        let second = lanes.enter(&here);
        let third = lanes.enter(&here);
        assert!(first.is_free() && lanes.enter(&there).is_free());
        assert!(!second.is_free() && second.wait_for_earlier().now_or_never().is_none());
        drop(first);
        assert!(second.is_free() && second.wait_for_earlier().now_or_never().is_some());
        assert!(!third.is_free());
        // A request that is dropped lets the next one run.
        drop(second);
        assert!(third.is_free());
        drop(third);
        lanes.enter(&there);
        assert!(lanes.last.lock().unwrap().len() <= 1);
    }
}
