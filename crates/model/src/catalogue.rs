//! What an agent may call: tools as a session's catalogue lists them, whoever runs them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{McpServerTag, ToolAnnotations, ToolExecutor};

/// A tool of a catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name, which no other tool of the catalogue has.
    pub name: String,
    /// What it does, for whoever chooses it.
    pub description: String,
    /// The JSON Schema of its arguments, where there is one.
    pub schema: Option<Value>,
    /// What is known of it before it runs; what says nothing counts as writing.
    pub annotations: Option<ToolAnnotations>,
    /// Who runs it.
    pub source: ToolSource,
    /// Whether it is there for those who know it already.
    pub deprecated: bool,
}

/// Who runs a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolSource {
    /// We do.
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
    /// The one who runs such a tool, as calls tell it.
    #[must_use]
    pub fn executor(&self) -> ToolExecutor {
        match self {
            // What a skill adds runs in this process.
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

/// A catalogue changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolsChange {
    /// Tools that came, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// Tools that went, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Tools that are described otherwise now, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// How many there are.
    pub total: u64,
}
