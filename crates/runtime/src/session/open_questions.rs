//! Which questions a session has open, and where their calls were announced.

use std::sync::Arc;

use harn_model::{HitlRequest, PermissionAsked, Seq};

use super::{Observer, shared::lock};

impl Observer {
    /// What people are being asked, oldest id first. Questions that an agent only tells of are not among
    /// them: nobody here could answer.
    #[must_use]
    pub fn open_hitl(&self) -> Vec<Arc<HitlRequest>> {
        lock(&self.shared.hitl).values().cloned().collect()
    }

    /// Something that a person is being asked, while it is open.
    #[must_use]
    pub fn hitl(&self, request_id: &str) -> Option<Arc<HitlRequest>> {
        lock(&self.shared.hitl).get(request_id).cloned()
    }

    /// The questions about tool calls that are open.
    #[must_use]
    pub fn open_asks(&self) -> Vec<PermissionAsked> {
        let view = self.shared.view();
        let asks = view.open_turn.iter().flat_map(|turn| turn.asks.values());
        asks.map(|ask| (**ask).clone()).collect()
    }

    /// The event that announced an open call or an open question to a person, see
    /// [`OpenTurn::announced`](harn_model::OpenTurn::announced).
    #[must_use]
    pub fn announced(&self, id: &str, of_workers: bool) -> Option<Seq> {
        let view = self.shared.view();
        view.open_turn.as_ref()?.announced(id, of_workers)
    }
}
