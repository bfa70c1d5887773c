//! Tool calls and their updates, as an agent reports them.

use std::sync::Arc;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CommandOutput, ContentBlock, MutationSession, ToolCallId, event::value_weight};

/// What sort of thing a tool does; decides how a host shows it and whether it may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files or content.
    Edit,
    /// Removes files or data.
    Delete,
    /// Moves or renames files.
    Move,
    /// Searches.
    Search,
    /// Runs commands.
    Execute,
    /// Reasons or plans.
    Think,
    /// Fetches from elsewhere.
    Fetch,
    /// Anything else; counts as writing.
    #[default]
    Other,
}

impl ToolKind {
    /// Whether a tool of this kind leaves the workspace as it was.
    #[must_use]
    pub fn is_read_only(self) -> bool {
        match self {
            Self::Read | Self::Search | Self::Think | Self::Fetch => true,
            Self::Edit | Self::Delete | Self::Move | Self::Execute | Self::Other => false,
        }
    }
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// Announced, not started.
    #[default]
    Pending,
    /// Running.
    InProgress,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
}

impl ToolCallStatus {
    /// Whether nothing may follow.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// Why a tool call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// The arguments did not fit the tool's schema.
    SchemaValidation,
    /// The tool itself failed.
    ToolError,
    /// An MCP server failed.
    McpServerError,
    /// The host failed.
    HostBridgeError,
    /// A person or a policy said no.
    PermissionDenied,
    /// The same refused call came again and again.
    RejectedLoop,
    /// The call could not be parsed.
    ParseAborted,
    /// It took too long.
    Timeout,
    /// The network failed.
    Network,
    /// Something it needed was in use.
    ResourceBusy,
    /// The turn was cancelled.
    Cancelled,
    /// The turn ended and left it open.
    AbandonedAtLoopExit,
    /// None of these.
    Unknown,
}

/// Who ran a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolExecutor {
    /// One of our own tools.
    HarnBuiltin,
    /// The host, over the bridge.
    HostBridge,
    /// The model's provider.
    ProviderNative,
    /// An MCP server.
    #[serde(untagged)]
    McpServer {
        /// Always `mcp_server`.
        kind: McpServerTag,
        /// The server's configured name.
        server_name: String,
    },
}

/// The one word that marks an MCP executor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpServerTag {
    /// `mcp_server`.
    #[default]
    McpServer,
}

/// A place in a file that a tool call touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Location {
    /// Absolute path.
    pub path: String,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// What a tool call produced, for a person to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    /// A content block.
    Content {
        /// The block.
        content: ContentBlock,
    },
    /// A change to a file.
    Diff {
        /// Absolute path.
        path: String,
        /// What was there; absent for a new file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// What is there now.
        new_text: String,
    },
    /// A terminal of the host, while it lives; never replayed.
    Terminal {
        /// The host's id of it.
        terminal_id: String,
    },
    /// What the command of the call printed, raw; a front-end renders it for its clients.
    Output(CommandOutput),
}

impl ToolContent {
    /// Text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Content {
            content: ContentBlock::text(text),
        }
    }

    /// What a command printed, where this is that.
    #[must_use]
    pub fn printed(&self) -> Option<&CommandOutput> {
        match self {
            Self::Output(output) => Some(output),
            Self::Content { .. } | Self::Diff { .. } | Self::Terminal { .. } => None,
        }
    }

    /// The path of a changed file, what was there and what is there now, where this is a change.
    #[must_use]
    pub fn diff(&self) -> Option<(&str, Option<&str>, &str)> {
        match self {
            Self::Diff {
                path,
                old_text,
                new_text,
            } => Some((path, old_text.as_deref(), new_text)),
            Self::Content { .. } | Self::Terminal { .. } | Self::Output(_) => None,
        }
    }

    /// About how many bytes this keeps alive.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Content { content } => content.weight(),
            Self::Diff {
                path,
                old_text,
                new_text,
            } => path.len() + old_text.as_ref().map_or(0, String::len) + new_text.len(),
            Self::Terminal { terminal_id } => terminal_id.len(),
            Self::Output(output) => output.text.len(),
        }
    }
}

/// The announcement of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id, unique in the session.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
    /// What to show a person; the tool's name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What sort of tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// Where it stands.
    #[serde(default)]
    pub status: ToolCallStatus,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub raw_input: Value,
    /// Files it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// What it shows already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ToolContent>,
    /// Whether its arguments are still streaming in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsing: Option<bool>,
    /// The mutation session it belongs to; filled by the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Arc<MutationSession>>,
}

impl ToolCall {
    /// A pending call of `tool_name`.
    pub fn new(tool_call_id: impl Into<ToolCallId>, tool_name: impl Into<String>) -> Self {
        Self {
            tool_call_id: tool_call_id.into(),
            tool_name: tool_name.into(),
            title: None,
            kind: None,
            status: ToolCallStatus::Pending,
            raw_input: Value::Null,
            locations: Vec::new(),
            content: Vec::new(),
            parsing: None,
            audit: None,
        }
    }

    /// About how many bytes this keeps alive.
    #[must_use]
    pub fn weight(&self) -> usize {
        let content = self.content.iter().map(ToolContent::weight);
        value_weight(&self.raw_input) + content.sum::<usize>()
    }
}

/// A change to a tool call. Absent fields stay as they were; `content` and `locations` replace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCallUpdate {
    /// Which call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
    /// A new title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it stands now.
    pub status: ToolCallStatus,
    /// Arguments, once they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// Arguments as far as they streamed, while they do not parse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input_partial: Option<String>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
    /// What it shows; replaces what it showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent>>,
    /// Files it touches; replaces what was said before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Which sort of wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_category: Option<ErrorCategory>,
    /// From announcement to end, in milliseconds; filled by the runtime on the terminal update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// From start to end, in milliseconds; filled by the runtime on the terminal update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_duration_ms: Option<u64>,
    /// Who ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<ToolExecutor>,
    /// Whether its arguments are still streaming in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsing: Option<bool>,
    /// The mutation session it belongs to; filled by the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Arc<MutationSession>>,
}

impl ToolCallUpdate {
    /// An update that changes the status only.
    pub fn new(
        tool_call_id: impl Into<ToolCallId>,
        tool_name: impl Into<String>,
        status: ToolCallStatus,
    ) -> Self {
        Self {
            tool_call_id: tool_call_id.into(),
            tool_name: tool_name.into(),
            title: None,
            status,
            raw_input: None,
            raw_input_partial: None,
            raw_output: None,
            content: None,
            locations: None,
            error: None,
            error_category: None,
            duration_ms: None,
            execution_duration_ms: None,
            executor: None,
            parsing: None,
            audit: None,
        }
    }

    /// A failed terminal update.
    pub fn failed(
        tool_call_id: impl Into<ToolCallId>,
        tool_name: impl Into<String>,
        error: impl Into<String>,
        category: ErrorCategory,
    ) -> Self {
        Self {
            error: Some(error.into()),
            error_category: Some(category),
            ..Self::new(tool_call_id, tool_name, ToolCallStatus::Failed)
        }
    }
}
