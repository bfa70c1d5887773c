//! The plan document that accompanies the plan entries, which every client can show.

use crate::JsonSchema;
use harn_model::PlanDocument;
use serde::{Deserialize, Serialize};

use super::lend::RecordCow;

/// `_meta.harn` of a `plan` update.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlanMeta<'a> {
    /// The whole `harn.plan.v1` document, snake_case inside.
    pub plan: RecordCow<'a, PlanDocument>,
}
