//! Replaces the tool `fetch` in a build without the feature `fetch`. The catalogue does not list the tool, so
//! nothing calls it.

use std::{collections::BTreeMap, sync::Arc};

use harn_runtime::{AgentError, ToolOutput, TurnContext};
use serde_json::Value;

use super::BuiltinToolkit;

pub(super) const MAX_TIMEOUT_MS: u64 = 2 * 60 * 1000;

/// A placeholder without access to the web.
pub(super) struct WebClient;

impl WebClient {
    pub(super) fn new(_: Arc<BTreeMap<String, String>>) -> Self {
        Self
    }
}

impl BuiltinToolkit {
    pub(super) async fn fetch(&self, _: &TurnContext, _: Value) -> Result<ToolOutput, AgentError> {
        let WebClient = self.web;
        let reason =
            "this program was built without `fetch`; build it with the cargo feature `fetch`";
        Err(AgentError::Tool(reason.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::BuiltinTool;

    #[test]
    fn fetch_is_not_listed() {
        assert_eq!(BuiltinTool::from_name("fetch"), None);
        assert_eq!(BuiltinTool::from_name("grep"), Some(BuiltinTool::Grep));
    }
}
