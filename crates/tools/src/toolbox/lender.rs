//! Others who lend tools to a session. What they lend is asked about like any tool, by the toolbox.

use async_trait::async_trait;
use harn_model::ToolSpec;
use harn_runtime::{ToolError, ToolOutput};
use serde_json::Value;

/// Somebody who lends tools.
#[async_trait]
pub(crate) trait Lender: Send + Sync + 'static {
    /// What there is now, in a fixed order.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Calls a tool, by the name that the catalogue has it under. Whether it may be called was decided before.
    /// Dropping the future gives up on it.
    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError>;
}

/// Lends nothing.
pub(super) struct Nobody;

#[async_trait]
impl Lender for Nobody {
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    async fn call(&self, tool: &str, _: Value) -> Result<ToolOutput, ToolError> {
        Err(ToolError::new(format!("nobody lends a tool {tool:?}")))
    }
}
