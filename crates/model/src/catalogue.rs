//! The tools that an agent may call, as a session's catalogue lists them, with the party that runs each.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{McpServerTag, ToolAnnotations, ToolExecutor};

/// A tool of a catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name, unique in the catalogue.
    pub name: String,
    /// A description, for the caller that chooses a tool.
    pub description: String,
    /// The JSON Schema of its arguments, if there is one.
    pub schema: Option<Value>,
    /// Its properties as known before it runs; a tool without annotations counts as writing.
    pub annotations: Option<ToolAnnotations>,
    /// The party that runs it.
    pub source: ToolSource,
    /// Whether it is deprecated: kept for callers that already use it.
    pub deprecated: bool,
}

/// The party that runs a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolSource {
    /// This process.
    Builtin,
    /// The host, over the bridge.
    Host,
    /// An MCP server, by its configured name.
    Mcp(String),
    /// A skill, by its id.
    Skill(String),
    /// The model's provider.
    Provider,
}

impl ToolSource {
    /// Returns the executor that calls of such a tool report.
    pub fn executor(&self) -> ToolExecutor {
        match self {
            // The tools of a skill run in this process.
            Self::Builtin | Self::Skill(_) => ToolExecutor::HarnBuiltin,
            Self::Host => ToolExecutor::HostBridge,
            Self::Mcp(server) => ToolExecutor::McpServer {
                kind: McpServerTag::McpServer,
                server_name: server.clone(),
            },
            Self::Provider => ToolExecutor::ProviderNative,
        }
    }
}

/// A change of a catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolsChange {
    /// Tools that are new, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// Tools that are gone, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Tools whose definition changed, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The number of tools in the catalogue.
    pub total: u64,
}
