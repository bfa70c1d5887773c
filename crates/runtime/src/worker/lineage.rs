//! Whose worker a session is, and what it has from the session it works for.

use harn_model::WorkerId;

use crate::Observer;

/// What a worker's session knows of where it comes from.
#[derive(Clone)]
pub(crate) struct ChildOf {
    pub(crate) worker_id: WorkerId,
    /// The session it works for.
    pub(crate) parent: Observer,
}
