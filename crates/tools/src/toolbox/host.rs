//! The host's part of a toolbox: the tools it lends and the operations it has, asked for once a turn.

use std::sync::{Arc, Mutex};

use harn_model::{HostCapabilities, HostTool, ToolSource, ToolSpec, TurnId};
use harn_runtime::{AgentError, HostDeadlines, HostError, HostOffers, TurnContext, answer_within};

use crate::lock::lock;

/// What the host lends, as it was last told.
#[derive(Default)]
pub(super) struct HostPart(Mutex<HostSnapshot>);

#[derive(Default)]
struct HostSnapshot {
    /// The turn in which it was asked, and what it offered then.
    asked: Option<(TurnId, HostOffers)>,
    tools: Vec<ToolSpec>,
    capabilities: Arc<HostCapabilities>,
    /// How it failed the last time, which was told; it is not told again while it fails the same way.
    warned: Option<String>,
}

impl HostPart {
    pub(super) fn tools(&self) -> Vec<ToolSpec> {
        lock(&self.0).tools.clone()
    }

    pub(super) fn capabilities(&self) -> Arc<HostCapabilities> {
        lock(&self.0).capabilities.clone()
    }

    /// Asks the host again, if this is another turn than the last time, or the host offers something else: another
    /// took over that is not like it. Returns what is worth a warning.
    pub(super) async fn look(
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
            // What no bridge lends is not asked for.
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
            // It lends something else than tools.
            Err(HostError::Unsupported(_)) => (Vec::new(), None),
            Err(error) => (Vec::new(), Some(error)),
        };
        seen.tools = tools.into_iter().map(spec).collect();
        let warning = failed
            .map(|error| format!("the host's tools cannot be had, so there are none: {error}"));
        let told = std::mem::replace(&mut seen.warned, warning.clone());
        Ok(warning
            .filter(|_| told != seen.warned)
            .into_iter()
            .collect())
    }
}

/// Nothing is known of a host's tool but what its list says, so it counts as writing.
fn spec(tool: HostTool) -> ToolSpec {
    ToolSpec {
        name: tool.name,
        description: tool.description,
        schema: Some(tool.schema).filter(|schema| !schema.is_null()),
        annotations: None,
        source: ToolSource::Host,
        deprecated: tool.deprecated,
    }
}
