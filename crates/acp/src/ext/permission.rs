//! What Harn adds to a permission request: through which workers it came.

use harn_model::Lineage;
use schemars::JsonSchema;
use serde::Serialize;

/// `_meta.harn` of the params of `session/request_permission`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct PermissionMeta<'a> {
    /// The workers from the session down to the one that asks.
    lineage: Vec<LineageStep<'a>>,
}

/// A worker on the way.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct LineageStep<'a> {
    /// The worker.
    worker_id: &'a str,
    /// Its name.
    worker_name: &'a str,
    /// The session it works in.
    session_id: &'a str,
}

impl<'a> PermissionMeta<'a> {
    /// None for a call of the session's own.
    pub(crate) fn of(lineage: &'a [Lineage]) -> Option<Self> {
        let lineage: Vec<_> = lineage.iter().map(LineageStep::from).collect();
        (!lineage.is_empty()).then_some(Self { lineage })
    }
}

impl<'a> From<&'a Lineage> for LineageStep<'a> {
    fn from(step: &'a Lineage) -> Self {
        Self {
            worker_id: step.worker_id.as_str(),
            worker_name: &step.worker_name,
            session_id: step.session_id.as_str(),
        }
    }
}
