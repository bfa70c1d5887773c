//! Harn's additions to `tool_call` and `tool_call_update`: timing, failure, executor, audit.

use std::borrow::Cow;

use crate::JsonSchema;
use harn_model::{
    ErrorCategory, MutationSession, ToolCallStatus, ToolCallUpdate, ToolExecutor, WorkerCall,
};
use serde::{Deserialize, Serialize};

use super::lend::Lend;

meta_fields! {
    /// `_meta.harn` of a tool call or its update. It is omitted if it is empty.
    #[derive(Default, PartialEq)]
    #[schemars(rename = "ToolLifecycleMeta", deny_unknown_fields)]
    ToolMeta {
        /// The mutation session of the call, snake_case inside; its policy is on `tool_call` only.
        #[serde(skip_serializing_if = "Option::is_none")]
        audit = "audit": Option<Cow<'a, MutationSession>>,
        /// Milliseconds from announcement to end; on the terminal update only.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms = "durationMs": Option<u64>,
        /// The error message.
        #[serde(skip_serializing_if = "Option::is_none")]
        error = "error": Option<Cow<'a, str>>,
        /// The category of the error; only with `failed`, beside `error`.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_category = "errorCategory": Option<ErrorCategory>,
        /// Milliseconds from start to end; on the terminal update only.
        #[serde(skip_serializing_if = "Option::is_none")]
        execution_duration_ms = "executionDurationMs": Option<u64>,
        /// The executor of the call; absent until one is chosen.
        #[serde(skip_serializing_if = "Option::is_none")]
        executor = "executor": Option<Executor<'a>>,
        /// Whether the arguments are still streaming.
        #[serde(skip_serializing_if = "Option::is_none")]
        parsing = "parsing": Option<bool>,
        /// The streamed part of the arguments, while it does not parse; never beside `rawInput`.
        #[serde(skip_serializing_if = "Option::is_none")]
        raw_input_partial = "rawInputPartial": Option<Cow<'a, str>>,
        /// The worker that makes the call; absent on the session's own calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        worker_id = "workerId": Option<Cow<'a, str>>,
    }
}

/// The executor of a tool: a word, or an MCP server by name.
#[derive(PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Executor<'a> {
    Word(ExecutorWord),
    #[serde(rename_all = "camelCase")]
    Server {
        kind: ServerWord,
        server_name: Cow<'a, str>,
    },
}

/// The executor of a tool, if one word identifies it.
#[derive(PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorWord {
    /// One of the built-in tools.
    HarnBuiltin,
    /// The host, over the bridge.
    HostBridge,
    /// The model's provider.
    ProviderNative,
}

/// The tag of an executor with a name.
#[derive(PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ServerWord {
    McpServer,
}

impl<'a> Lend<'a, Executor<'a>> for ToolExecutor {
    fn lend(&'a self) -> Executor<'a> {
        match self {
            Self::HarnBuiltin => Executor::Word(ExecutorWord::HarnBuiltin),
            Self::HostBridge => Executor::Word(ExecutorWord::HostBridge),
            Self::ProviderNative => Executor::Word(ExecutorWord::ProviderNative),
            Self::McpServer { server_name, .. } => Executor::Server {
                kind: ServerWord::McpServer,
                server_name: server_name.into(),
            },
        }
    }
}

impl<'a> ToolMeta<'a> {
    pub(crate) fn from_call(call: &'a harn_model::ToolCall) -> Option<Self> {
        let meta = Self {
            audit: call.audit.as_deref().map(Cow::Borrowed),
            parsing: call.parsing,
            ..Self::default()
        };
        meta.into_non_empty()
    }

    /// Builds the metadata of a call that a permission request repeats: that request has the policy in
    /// `mutation`.
    pub(crate) fn from_asked_call(call: &'a harn_model::ToolCall) -> Option<Self> {
        let meta = Self {
            audit: call.audit.as_deref().map(strip_policy),
            parsing: call.parsing,
            ..Self::default()
        };
        meta.into_non_empty()
    }

    /// Builds the metadata of an update. It also checks which field fits which status, because an old log may
    /// break those rules.
    pub(crate) fn from_update(update: &'a ToolCallUpdate) -> Option<Self> {
        let ended = update.status.is_terminal();
        let parsed = update.raw_input.as_ref().is_some_and(|it| !it.is_null());
        let failed = update.status == ToolCallStatus::Failed && update.error.is_some();
        let meta = Self {
            audit: update.audit.as_deref().map(strip_policy),
            duration_ms: update.duration_ms.filter(|_| ended),
            error: update.error.as_deref().map(Cow::from),
            error_category: update.error_category.filter(|_| failed),
            execution_duration_ms: update.execution_duration_ms.filter(|_| ended),
            executor: update.executor.lend(),
            parsing: update.parsing,
            raw_input_partial: update
                .raw_input_partial
                .as_deref()
                .filter(|_| !parsed)
                .map(Cow::from),
            ..Self::default()
        };
        meta.into_non_empty()
    }

    /// Adds the worker that makes the call.
    pub(crate) fn with_worker(self, call: &'a WorkerCall) -> Self {
        Self {
            worker_id: call.worker_id().map(|id| id.as_str().into()),
            ..self
        }
    }

    fn into_non_empty(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// Returns the record without its policy. A journal of an earlier version has the policy on updates, too.
fn strip_policy(audit: &MutationSession) -> Cow<'_, MutationSession> {
    match audit.approval_policy.is_omitted() {
        true => Cow::Borrowed(audit),
        false => Cow::Owned(audit.without_policy()),
    }
}

#[cfg(test)]
mod tests {
    use harn_model::ErrorCategory;
    use serde_json::{Value, json};

    use super::*;

    fn check(update: &ToolCallUpdate, expected: Value) {
        let meta = ToolMeta::from_update(update);
        assert_eq!(serde_json::to_value(meta).unwrap(), expected);
    }

    #[test]
    fn meta_fields_appear_only_with_a_fitting_status() {
        let mut update = ToolCallUpdate::new("c", "look", ToolCallStatus::InProgress);
        check(&update, Value::Null);
        update.duration_ms = Some(7);
        update.execution_duration_ms = Some(5);
        update.error_category = Some(ErrorCategory::Timeout);
        check(&update, Value::Null);
        update.raw_input_partial = Some("{\"pa".to_owned());
        check(&update, json!({"rawInputPartial": "{\"pa"}));
        update.raw_input = Some(json!({"path": "a"}));
        update.status = ToolCallStatus::Failed;
        check(&update, json!({"durationMs": 7, "executionDurationMs": 5}));
        update.error = Some("too slow".to_owned());
        check(
            &update,
            json!({"durationMs": 7, "error": "too slow", "errorCategory": "timeout", "executionDurationMs": 5}),
        );
    }

    #[test]
    fn an_executor_is_a_word_or_a_server() {
        let mut update = ToolCallUpdate::new("c", "look", ToolCallStatus::InProgress);
        update.executor = Some(ToolExecutor::HostBridge);
        check(&update, json!({"executor": "host_bridge"}));
        update.executor = Some(ToolExecutor::McpServer {
            kind: harn_model::McpServerTag::McpServer,
            server_name: "files".to_owned(),
        });
        let server = json!({"kind": "mcp_server", "serverName": "files"});
        check(&update, json!({"executor": server}));
    }
}
