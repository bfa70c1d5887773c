//! The tool calls of a turn, as far as the exit code depends on them.

use agent_client_protocol::v1::schema::SessionUpdate;
use harn_model::{ErrorCategory, ToolCallStatus, Transcript};
use serde_json::Value;

use crate::agent_messages::{activity::tool_meta, call_fold, call_text::escape_line_breaks};

/// The exit code of a shell for a command that it does not find.
const NOT_FOUND: i64 = 127;

#[derive(Debug, Default)]
pub(super) struct TurnCalls {
    /// Whether the prompt is a slash command. Its calls are the user's own, and each failure counts; an agent
    /// may try calls that fail.
    is_command: bool,
    transcript: Transcript<()>,
    problem: Option<String>,
}

impl TurnCalls {
    pub(super) fn for_prompt(prompt: &str) -> Self {
        Self {
            is_command: prompt.starts_with('/'),
            ..Self::default()
        }
    }

    /// Returns the first problem, such as a rejected call, as a sentence.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Records that a permission question was rejected here.
    pub(super) fn record_rejection(&mut self, title: &str) {
        self.record_problem("a call was refused", title);
    }

    pub(super) fn apply_update(&mut self, update: &SessionUpdate) {
        let (ended, meta, output) = match update {
            SessionUpdate::ToolCall(call) => {
                let ended = call_fold::announce(&mut self.transcript, call);
                (ended, &call.meta, &call.raw_output)
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let ended = call_fold::update(&mut self.transcript, update);
                (ended, &update.meta, &update.fields.raw_output)
            }
            _ => return,
        };
        if let Some(call) = ended
            && call.status == ToolCallStatus::Failed
        {
            let category = tool_meta(meta.as_ref()).error_category;
            self.record_failure(call.title(), category, output.as_ref());
        }
    }

    fn record_failure(
        &mut self,
        title: &str,
        category: Option<ErrorCategory>,
        output: Option<&Value>,
    ) {
        let exit_code = output.and_then(|output| output.get("exit_code")?.as_i64());
        let problem = match category {
            Some(ErrorCategory::PermissionDenied | ErrorCategory::RejectedLoop) => {
                "a call was refused"
            }
            // The exit code already states that the turn ended early.
            Some(ErrorCategory::Cancelled | ErrorCategory::AbandonedAtLoopExit) => return,
            _ if exit_code == Some(NOT_FOUND) => "a command was not found",
            _ if self.is_command => "a call failed",
            _ => return,
        };
        self.record_problem(problem, title);
    }

    fn record_problem(&mut self, problem: &str, title: &str) {
        let problem = || format!("{problem}: {}", escape_line_breaks(title));
        self.problem.get_or_insert_with(problem);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(prompt: &str, category: &str, output: Value) -> Option<String> {
        let mut calls = TurnCalls::for_prompt(prompt);
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Look"});
        let end = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed",
                         "rawOutput": output, "_meta": {"harn": {"errorCategory": category}}});
        for update in [call, end] {
            calls.apply_update(&serde_json::from_value(update).unwrap());
        }
        calls.problem().map(str::to_owned)
    }

    #[test]
    fn rejected_and_missing_calls_are_problems_as_are_all_failures_of_a_command() {
        let none = || json!({});
        let refused = Some("a call was refused: Look".to_owned());
        assert_eq!(problem("look", "permission_denied", none()), refused);
        assert_eq!(problem("/read x", "permission_denied", none()), refused);
        assert_eq!(problem("look", "tool_error", none()), None);
        let failed = Some("a call failed: Look".to_owned());
        assert_eq!(problem("/read x", "tool_error", none()), failed);
        let missing = Some("a command was not found: Look".to_owned());
        let output = json!({"exit_code": 127});
        assert_eq!(problem("look", "tool_error", output), missing);
        assert_eq!(problem("look", "tool_error", json!({"exit_code": 1})), None);
        assert_eq!(problem("/run x", "cancelled", none()), None);
    }
}
