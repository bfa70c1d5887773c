//! The host's part of a toolbox: its tools and operations, requested once per turn.

use std::sync::{Arc, Mutex};

use harn_model::{HostCapabilities, HostTool, ToolSource, ToolSpec, TurnId};
use harn_runtime::{AgentError, HostDeadlines, HostError, HostOffers, TurnContext, answer_within};

use crate::lock::lock;

/// The tools and operations of the host, as last received.
#[derive(Default)]
pub(super) struct HostPart(Mutex<HostSnapshot>);

#[derive(Default)]
struct HostSnapshot {
    /// The turn of the last request, and the host's offers then.
    asked: Option<(TurnId, HostOffers)>,
    tools: Vec<ToolSpec>,
    capabilities: Arc<HostCapabilities>,
    /// The last failure, which was reported; the same failure is not reported again.
    warned: Option<String>,
}

impl HostPart {
    pub(super) fn tools(&self) -> Vec<ToolSpec> {
        lock(&self.0).tools.clone()
    }

    pub(super) fn capabilities(&self) -> Arc<HostCapabilities> {
        lock(&self.0).capabilities.clone()
    }

    /// Asks the host again in a new turn, or when its offers changed because a different client took over. Returns
    /// warnings.
    pub(super) async fn refresh(
        &self,
        cx: &TurnContext,
        deadlines: &HostDeadlines,
    ) -> Result<Vec<String>, AgentError> {
        let host = cx.host();
        let offers = host.client_offers();
        let asked = (cx.turn_id().clone(), offers);
        if lock(&self.0).asked.as_ref() == Some(&asked) {
            return Ok(Vec::new());
        }
        let (tools, capabilities) = if offers.tools {
            tokio::join!(
                answer_within(deadlines.list, "host/tools/list", host.list_tools()),
                answer_within(deadlines.list, "host/capabilities", host.capabilities()),
            )
        } else {
            // Without a bridge nothing is requested.
            (Ok(Vec::new()), Ok(HostCapabilities::default()))
        };
        if cx.is_cancelled() {
            return Err(AgentError::Cancelled);
        }
        let mut seen = lock(&self.0);
        seen.asked = Some(asked);
        seen.capabilities = Arc::new(capabilities.unwrap_or_default());
        let (tools, failed) = match tools {
            Ok(tools) => (tools, None),
            // The host offers operations but no tools.
            Err(HostError::Unsupported(_)) => (Vec::new(), None),
            Err(error) => (Vec::new(), Some(error)),
        };
        seen.tools = tools.into_iter().map(to_spec).collect();
        let warning = failed.map(|error| format!("the host's tools are not available: {error}"));
        let told = std::mem::replace(&mut seen.warned, warning.clone());
        Ok(warning
            .filter(|_| told != seen.warned)
            .into_iter()
            .collect())
    }
}

/// Converts a host's tool. Only its list entry is known, so the tool counts as writing.
fn to_spec(tool: HostTool) -> ToolSpec {
    ToolSpec {
        name: tool.name,
        description: tool.description,
        schema: Some(tool.schema).filter(|schema| !schema.is_null()),
        annotations: None,
        source: ToolSource::Host,
        deprecated: tool.deprecated,
    }
}
