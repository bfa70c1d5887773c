//! A plan document beside the entries every client can show.

use harn_model::PlanDocument;
use serde::Serialize;

/// `_meta.harn` of a `plan` update.
#[derive(Serialize)]
pub(crate) struct PlanMeta<'a> {
    pub(crate) plan: &'a PlanDocument,
}
