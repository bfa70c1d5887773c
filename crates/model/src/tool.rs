//! Tool calls and their updates, as an agent reports them.

use std::sync::Arc;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CommandOutput, ContentBlock, MutationSession, ToolCallId, event::value_weight};

/// The kind of action of a tool; decides how a host shows it and whether it may write.
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
    /// Searches files or data.
    Search,
    /// Runs commands.
    Execute,
    /// Reasons or plans.
    Think,
    /// Fetches external data.
    Fetch,
    /// Anything else; counts as writing.
    #[default]
    Other,
}

impl ToolKind {
    /// Whether a tool of this kind does not change the workspace.
    pub fn is_read_only(self) -> bool {
        match self {
            Self::Read | Self::Search | Self::Think | Self::Fetch => true,
            Self::Edit | Self::Delete | Self::Move | Self::Execute | Self::Other => false,
        }
    }
}

/// The status of a tool call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// Announced, not started.
    #[default]
    Pending,
    /// Running.
    InProgress,
    /// Ended successfully.
    Completed,
    /// Ended with an error.
    Failed,
}

impl ToolCallStatus {
    /// Whether the call has ended.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// Why a tool call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// The arguments do not match the tool's schema.
    SchemaValidation,
    /// The tool failed.
    ToolError,
    /// An MCP server failed.
    McpServerError,
    /// The host failed.
    HostBridgeError,
    /// A person or a policy rejected it.
    PermissionDenied,
    /// The agent repeated a rejected call.
    RejectedLoop,
    /// The call could not be parsed.
    ParseAborted,
    /// The call exceeded its time limit.
    Timeout,
    /// The network failed.
    Network,
    /// A resource that it needed was in use.
    ResourceBusy,
    /// The turn was cancelled.
    Cancelled,
    /// The turn ended while the call was open.
    AbandonedAtLoopExit,
    /// Another reason.
    Unknown,
}

/// The party that ran a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolExecutor {
    /// A built-in tool.
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

/// The constant that marks an MCP executor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpServerTag {
    /// Always `mcp_server`.
    #[default]
    McpServer,
}

/// A position in a file that a tool call touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Location {
    /// Absolute path.
    pub path: String,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Output of a tool call, for display.
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
        /// The old text; absent for a new file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// The new text.
        new_text: String,
    },
    /// A terminal of the host, while it exists; never replayed.
    Terminal {
        /// The host's id for it.
        terminal_id: String,
    },
    /// The raw output of the call's command; a front-end renders it for its clients.
    Output(CommandOutput),
}

impl ToolContent {
    /// Text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Content {
            content: ContentBlock::text(text),
        }
    }

    /// Returns the output of a command, if this is one.
    pub fn command_output(&self) -> Option<&CommandOutput> {
        match self {
            Self::Output(output) => Some(output),
            Self::Content { .. } | Self::Diff { .. } | Self::Terminal { .. } => None,
        }
    }

    /// Returns the path, the old text and the new text of a changed file, if this is a change.
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

    /// Returns the approximate number of bytes that this keeps in memory.
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
    /// The name of the tool.
    pub tool_name: String,
    /// The title for people; the tool's name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// Its status.
    #[serde(default)]
    pub status: ToolCallStatus,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub raw_input: Value,
    /// Files it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// Its content so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ToolContent>,
    /// Whether its arguments are still streaming in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsing: Option<bool>,
    /// The mutation session it belongs to; the runtime fills it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Arc<MutationSession>>,
}

impl ToolCall {
    /// Builds a pending call of `tool_name`.
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

    /// Returns the approximate number of bytes that this keeps in memory.
    pub fn weight(&self) -> usize {
        let content = self.content.iter().map(ToolContent::weight);
        value_weight(&self.raw_input) + content.sum::<usize>()
    }
}

/// A change to a tool call. Absent fields stay unchanged; `content` and `locations` replace the earlier values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCallUpdate {
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// The name of the tool.
    pub tool_name: String,
    /// A new title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its new status.
    pub status: ToolCallStatus,
    /// Arguments, once they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// The streamed part of the arguments, while it does not parse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input_partial: Option<String>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
    /// Its content; replaces the earlier content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent>>,
    /// Files it touches; replaces the earlier list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// The error message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The category of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_category: Option<ErrorCategory>,
    /// From announcement to end, in milliseconds; the runtime fills it on the terminal update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// From start to end, in milliseconds; the runtime fills it on the terminal update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_duration_ms: Option<u64>,
    /// The party that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<ToolExecutor>,
    /// Whether its arguments are still streaming in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsing: Option<bool>,
    /// The mutation session it belongs to; the runtime fills it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Arc<MutationSession>>,
}

impl ToolCallUpdate {
    /// Builds an update that changes only the status.
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

    /// Builds a failed terminal update.
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
