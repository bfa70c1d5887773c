//! A plan document beside the entries every client can show.

use harn_model::PlanDocument;
use schemars::JsonSchema;
use serde::Serialize;

/// `_meta.harn` of a `plan` update.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct PlanMeta<'a> {
    /// The whole `harn.plan.v1` document, snake_case inside.
    pub(crate) plan: &'a PlanDocument,
}
