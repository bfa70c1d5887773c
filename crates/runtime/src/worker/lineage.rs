//! The link from a worker's session to its parent.

use harn_journal::SessionMeta;
use harn_model::{TurnId, WorkerId};

use crate::Observer;

/// A worker's session's link to its parent.
#[derive(Clone)]
pub(crate) struct ParentLink {
    pub(crate) worker_id: WorkerId,
    pub(crate) worker_name: String,
    pub(crate) parent: Observer,
    /// The parent's turn that runs the worker.
    pub(crate) turn: TurnId,
}

impl ParentLink {
    /// Whether this is the session of that worker.
    pub(crate) fn owns(&self, meta: &SessionMeta) -> bool {
        meta.worker.as_ref() == Some(&self.worker_id)
            && meta.parent.as_ref() == Some(self.parent.id())
    }
}
