//! The open questions of a session, and the events that announced their calls.

use std::sync::Arc;

use harn_model::{HitlRequest, PermissionAsked, Seq};

use super::{Observer, shared_session::lock};

impl Observer {
    /// Returns the open requests to people, oldest id first. Leaves out requests that an agent only reports:
    /// no client here could answer them.
    #[must_use]
    pub fn open_hitl(&self) -> Vec<Arc<HitlRequest>> {
        lock(&self.shared.hitl).values().cloned().collect()
    }

    /// Returns a request to a person while it is open.
    pub fn hitl(&self, request_id: &str) -> Option<Arc<HitlRequest>> {
        lock(&self.shared.hitl).get(request_id).cloned()
    }

    /// Returns the open questions about tool calls.
    #[must_use]
    pub fn open_asks(&self) -> Vec<PermissionAsked> {
        let view = self.shared.view();
        let asks = view.open_turn.iter().flat_map(|turn| turn.asks.values());
        asks.map(|ask| (**ask).clone()).collect()
    }

    /// Returns the event that announced an open call or an open request to a person, see
    /// [`OpenTurn::announcement_seq`](harn_model::OpenTurn::announcement_seq).
    pub fn announcement_seq(&self, id: &str, of_workers: bool) -> Option<Seq> {
        let view = self.shared.view();
        view.open_turn.as_ref()?.announcement_seq(id, of_workers)
    }
}
