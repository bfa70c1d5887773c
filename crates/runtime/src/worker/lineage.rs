//! Whose worker a session is, and what it has from the session it works for.

use harn_journal::SessionMeta;
use harn_model::{TurnId, WorkerId};

use crate::Observer;

/// What a worker's session knows of where it comes from.
#[derive(Clone)]
pub(crate) struct ParentLink {
    pub(crate) worker_id: WorkerId,
    pub(crate) worker_name: String,
    /// The session it works for.
    pub(crate) parent: Observer,
    /// The turn of it that this is part of.
    pub(crate) turn: TurnId,
}

impl ParentLink {
    /// Whether this is the session of that worker.
    pub(crate) fn owns(&self, meta: &SessionMeta) -> bool {
        meta.worker.as_ref() == Some(&self.worker_id)
            && meta.parent.as_ref() == Some(self.parent.id())
    }
}
