//! What Harn adds to `tool_call` and `tool_call_update`: timing, failure, executor, audit.

use harn_model::{ErrorCategory, MutationSession, ToolCallUpdate, ToolExecutor};
use schemars::JsonSchema;
use serde::Serialize;

/// `_meta.harn` of a tool call or its update. Nothing is written empty.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ToolLifecycleMeta", deny_unknown_fields)]
pub(crate) struct ToolMeta<'a> {
    /// The mutation session the call belongs to, snake_case inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audit: Option<&'a MutationSession>,
    /// From announcement to end; on the terminal update only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'a str>,
    /// Which sort of wrong; only with `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error_category: Option<ErrorCategory>,
    /// From start to end; on the terminal update only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) execution_duration_ms: Option<u64>,
    /// Who ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) executor: Option<Executor<'a>>,
    /// Whether its arguments are still streaming in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parsing: Option<bool>,
    /// Arguments as far as they streamed, while they do not parse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_input_partial: Option<&'a str>,
}

/// The names of [`ToolMeta`]'s fields, advertised at `initialize`.
pub(crate) const FIELDS: [&str; 8] = [
    "audit",
    "durationMs",
    "error",
    "errorCategory",
    "executionDurationMs",
    "executor",
    "parsing",
    "rawInputPartial",
];

/// Who ran a tool: a word, or an MCP server by name.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Executor<'a> {
    Word(&'static str),
    #[serde(rename_all = "camelCase")]
    Server {
        kind: &'static str,
        server_name: &'a str,
    },
}

impl<'a> From<&'a ToolExecutor> for Executor<'a> {
    fn from(executor: &'a ToolExecutor) -> Self {
        match executor {
            ToolExecutor::HarnBuiltin => Self::Word("harn_builtin"),
            ToolExecutor::HostBridge => Self::Word("host_bridge"),
            ToolExecutor::ProviderNative => Self::Word("provider_native"),
            ToolExecutor::McpServer { server_name, .. } => Self::Server {
                kind: "mcp_server",
                server_name,
            },
        }
    }
}

impl<'a> ToolMeta<'a> {
    pub(crate) fn of_call(call: &'a harn_model::ToolCall) -> Option<Self> {
        let meta = Self {
            audit: call.audit.as_deref(),
            parsing: call.parsing,
            ..Self::default()
        };
        (meta.audit.is_some() || meta.parsing.is_some()).then_some(meta)
    }

    pub(crate) fn of_update(update: &'a ToolCallUpdate) -> Option<Self> {
        let failed = update.status == harn_model::ToolCallStatus::Failed;
        let meta = Self {
            audit: update.audit.as_deref(),
            duration_ms: update.duration_ms,
            error: update.error.as_deref(),
            error_category: update.error_category.filter(|_| failed),
            execution_duration_ms: update.execution_duration_ms,
            executor: update.executor.as_ref().map(Executor::from),
            parsing: update.parsing,
            // Mutually exclusive with the parsed arguments.
            raw_input_partial: update
                .raw_input_partial
                .as_deref()
                .filter(|_| update.raw_input.is_none()),
        };
        let empty = meta.audit.is_none()
            && meta.duration_ms.is_none()
            && meta.error.is_none()
            && meta.error_category.is_none()
            && meta.execution_duration_ms.is_none()
            && meta.executor.is_none()
            && meta.parsing.is_none()
            && meta.raw_input_partial.is_none();
        (!empty).then_some(meta)
    }
}
