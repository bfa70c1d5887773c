//! Tool calls from their announcement to their end, and questions about them.

use harn_model::{
    AgentEvent, CommandOutput, Decision, ErrorCategory, Location, McpServerTag, PermissionOption,
    PermissionOptionKind, ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent, ToolExecutor,
    ToolKind,
};
use harn_runtime::Question;
use serde_json::json;

use super::{Ask, Step, Subject, ask, emit};

const PATH: &str = "/home/ada/engine/src/limit.rs";

pub(super) fn calls() -> Vec<Step> {
    let parts = [
        edited(),
        streamed(),
        never_parsed(),
        failed(),
        refused(),
        brief(),
        of_workers(),
    ];
    parts.into_iter().flatten().collect()
}

/// Everything a call can show, asked for and allowed.
fn edited() -> Vec<Step> {
    let edit = ToolCall {
        title: Some("Edit src/limit.rs".to_owned()),
        kind: Some(ToolKind::Edit),
        raw_input: json!({"path": PATH, "tokens": 3}),
        locations: vec![location(Some(12))],
        content: vec![ToolContent::Diff {
            path: PATH.to_owned(),
            old_text: Some("tokens += 1;\n".to_owned()),
            new_text: "tokens = tokens.min(cap);\n".to_owned(),
        }],
        ..ToolCall::new("call-edit", "edit_file")
    };
    let allowed = Decision::Allowed {
        option_id: "once".to_owned(),
        args: None,
    };
    let running = update("call-edit", "edit_file", ToolCallStatus::InProgress);
    let shown = ToolCallUpdate {
        content: Some(vec![ToolContent::Terminal {
            terminal_id: "term-1".to_owned(),
        }]),
        ..running.clone()
    };
    let done = ToolCallUpdate {
        title: Some("Edited src/limit.rs".to_owned()),
        raw_output: Some(json!({"bytes": 26, "ratio": 0.5})),
        content: Some(vec![
            ToolContent::text("1 line changed"),
            ToolContent::Diff {
                path: "/home/ada/engine/src/cap.rs".to_owned(),
                old_text: None,
                new_text: "pub const CAP: u32 = 8;\n".to_owned(),
            },
        ]),
        locations: Some(vec![location(None)]),
        executor: Some(ToolExecutor::HostBridge),
        ..update("call-edit", "edit_file", ToolCallStatus::Completed)
    };
    vec![
        called(edit.clone()),
        ask(question(edit), Some(allowed)),
        updated(running),
        updated(shown),
        updated(done),
    ]
}

/// Its arguments stream in before they parse.
fn streamed() -> Vec<Step> {
    let of = |status| update("call-streamed", "read_file", status);
    let call = ToolCall {
        kind: Some(ToolKind::Read),
        parsing: Some(true),
        ..ToolCall::new("call-streamed", "read_file")
    };
    vec![
        called(call),
        updated(ToolCallUpdate {
            raw_input_partial: Some("{\"path\": \"/ho".to_owned()),
            parsing: Some(true),
            ..of(ToolCallStatus::Pending)
        }),
        updated(ToolCallUpdate {
            raw_input: Some(json!({"path": PATH})),
            parsing: Some(false),
            ..of(ToolCallStatus::Pending)
        }),
        updated(ToolCallUpdate {
            executor: Some(ToolExecutor::HarnBuiltin),
            ..of(ToolCallStatus::InProgress)
        }),
        updated(ToolCallUpdate {
            raw_output: Some(json!("pub struct Bucket;\n")),
            executor: Some(ToolExecutor::HarnBuiltin),
            ..of(ToolCallStatus::Completed)
        }),
    ]
}

fn never_parsed() -> Vec<Step> {
    let call = ToolCall {
        parsing: Some(true),
        ..ToolCall::new("call-garbled", "edit_file")
    };
    let aborted = ToolCallUpdate {
        parsing: Some(false),
        ..failure(
            "call-garbled",
            "edit_file",
            "the arguments are no JSON",
            ErrorCategory::ParseAborted,
        )
    };
    vec![called(call), updated(aborted)]
}

/// Failures: of a server, and one that still has something to show.
fn failed() -> Vec<Step> {
    let ticket = ToolCall {
        kind: Some(ToolKind::Other),
        ..ToolCall::new("call-ticket", "close_ticket")
    };
    let server_failed = ToolCallUpdate {
        executor: Some(ToolExecutor::McpServer {
            kind: McpServerTag::McpServer,
            server_name: "tickets".to_owned(),
        }),
        ..failure(
            "call-ticket",
            "close_ticket",
            "the server closed the connection",
            ErrorCategory::McpServerError,
        )
    };
    let tests = ToolCall {
        title: Some("cargo test".to_owned()),
        kind: Some(ToolKind::Execute),
        status: ToolCallStatus::InProgress,
        raw_input: json!({"command": "cargo test"}),
        ..ToolCall::new("call-tests", "run_command")
    };
    let too_slow = ToolCallUpdate {
        raw_output: Some(json!({"exit_code": null})),
        content: Some(vec![
            ToolContent::Output(CommandOutput {
                text: "running 12 tests\n".to_owned(),
                start: 57,
                incomplete: false,
            }),
            ToolContent::text("its 60000 ms were over\n"),
        ]),
        ..failure(
            "call-tests",
            "run_command",
            "it took longer than a minute",
            ErrorCategory::Timeout,
        )
    };
    vec![
        called(ticket),
        updated(server_failed),
        called(tests),
        updated(too_slow),
    ]
}

/// Questions that are not answered with yes.
fn refused() -> Vec<Step> {
    let call = |id: &str| ToolCall {
        title: Some("Delete src/limit.rs".to_owned()),
        kind: Some(ToolKind::Delete),
        raw_input: json!({"path": PATH}),
        ..ToolCall::new(id, "delete_file")
    };
    let denied = |id: &str, why: &str| {
        updated(failure(
            id,
            "delete_file",
            why,
            ErrorCategory::PermissionDenied,
        ))
    };
    let rejected = Decision::Rejected {
        option_id: Some("no".to_owned()),
        reason: Some("not on a Friday".to_owned()),
    };
    let by_rule = Decision::Rejected {
        option_id: None,
        reason: None,
    };
    let unavailable = Decision::Unavailable {
        reason: "nobody is connected".to_owned(),
    };
    let (first, second) = (call("call-rejected"), call("call-unanswered"));
    vec![
        called(first.clone()),
        ask(question(first), Some(rejected)),
        denied("call-rejected", "not on a Friday"),
        called(second.clone()),
        ask(question(second.clone()), Some(unavailable)),
        ask(question(second), Some(by_rule)),
        denied("call-unanswered", "nobody is connected"),
    ]
}

/// No more than an id and a name; and one that had ended when it was announced.
fn brief() -> Vec<Step> {
    let done = ToolCallUpdate {
        executor: Some(ToolExecutor::ProviderNative),
        ..update("call-brief", "web_search", ToolCallStatus::Completed)
    };
    let at_once = ToolCall {
        kind: Some(ToolKind::Think),
        status: ToolCallStatus::Completed,
        ..ToolCall::new("call-at-once", "note_down")
    };
    vec![
        called(ToolCall::new("call-brief", "web_search")),
        updated(done),
        called(at_once),
    ]
}

/// A question that came up from a worker of a worker.
fn of_workers() -> Vec<Step> {
    let call = ToolCall {
        title: Some("Write target/report.txt".to_owned()),
        kind: Some(ToolKind::Edit),
        raw_input: json!({"path": "/home/ada/engine/target/report.txt"}),
        ..ToolCall::new("call-of-worker", "write_file")
    };
    let allowed = Decision::Allowed {
        option_id: "file".to_owned(),
        args: None,
    };
    vec![Step::Ask(Box::new(Ask {
        question: question(call),
        through: &["tester", "reporter"],
        decision: Some(allowed),
    }))]
}

/// Calls under rules: allowed, refused, asked about, remembered; and a person who approves.
pub(super) fn judged() -> Vec<Step> {
    use Step::Judge;
    let allowed = |option: &str, args| {
        Some(Decision::Allowed {
            option_id: option.to_owned(),
            args,
        })
    };
    let rejected = Decision::Rejected {
        option_id: Some("reject_once".to_owned()),
        reason: Some("not today".to_owned()),
    };
    vec![
        Judge(Subject::Path("home/ada/engine/src/limit.rs"), None),
        Judge(Subject::Path("home/ada/engine/.git/config"), None),
        Judge(
            Subject::Command("cargo test"),
            allowed("allow_session", None),
        ),
        Judge(Subject::Command("cargo test"), None),
        Judge(
            Subject::Command("cargo publish"),
            allowed(
                "allow_once",
                Some(json!({"command": "cargo publish --dry-run"})),
            ),
        ),
        Judge(Subject::Command("git push --force"), Some(rejected)),
        Step::Consult("release"),
    ]
}

/// In a mode in which nothing may change.
pub(super) fn without_audit() -> Vec<Step> {
    let look = ToolCall {
        kind: Some(ToolKind::Search),
        ..ToolCall::new("call-look", "grep")
    };
    let found = ToolCallUpdate {
        raw_output: Some(json!([])),
        ..update("call-look", "grep", ToolCallStatus::Completed)
    };
    vec![called(look), updated(found)]
}

/// Every answer there can be.
pub(super) fn question(tool_call: ToolCall) -> Question {
    let option = |option_id: &str, name: &str, kind| PermissionOption {
        option_id: option_id.to_owned(),
        name: name.to_owned(),
        kind,
        scope: harn_model::GrantScope::Once,
    };
    Question {
        tool_call,
        options: vec![
            option("once", "Allow this once", PermissionOptionKind::AllowOnce),
            option(
                "file",
                "Allow for this file",
                PermissionOptionKind::AllowAlways,
            ),
            option("no", "Reject this once", PermissionOptionKind::RejectOnce),
            option(
                "never",
                "Reject from now on",
                PermissionOptionKind::RejectAlways,
            ),
        ],
    }
}

fn called(call: ToolCall) -> Step {
    emit(AgentEvent::ToolCall(Box::new(call)))
}

fn updated(update: ToolCallUpdate) -> Step {
    emit(AgentEvent::ToolCallUpdate(Box::new(update)))
}

fn update(id: &str, tool: &str, status: ToolCallStatus) -> ToolCallUpdate {
    ToolCallUpdate::new(id, tool, status)
}

fn failure(id: &str, tool: &str, error: &str, category: ErrorCategory) -> ToolCallUpdate {
    ToolCallUpdate::failed(id, tool, error, category)
}

fn location(line: Option<u32>) -> Location {
    Location {
        path: PATH.to_owned(),
        line,
    }
}
