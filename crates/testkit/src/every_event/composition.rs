//! Composition runs: one that ends well, one that does not, and one that nobody ends.

use std::collections::BTreeMap;

use harn_model::{
    AgentEvent, ChildCall, ChildResult, CompositionRun, ErrorCategory, FailureCategory,
    SideEffectLevel, ToolAnnotations, ToolCallStatus, ToolExecutor, ToolKind,
};
use serde_json::{Map, Value, json};

use super::{Step, emit, strings};

pub(super) fn runs() -> Vec<Step> {
    let mut steps = finished();
    steps.extend(denied());
    steps
}

/// Three children, each with annotations of its own or none.
fn finished() -> Vec<Step> {
    let start = run("run-finished", "await list_files({root: 'src'})");
    let finish = CompositionRun {
        stdout: Some("2 files\n".to_owned()),
        stderr: Some(String::new()),
        artifacts: vec![json!({"artifact_id": "artifact-3"})],
        result: Some(json!({"files": 2})),
        metadata: object(&json!({"cached": false})),
        ..start.clone()
    };
    let list = ChildCall {
        annotations: Some(ToolAnnotations {
            kind: ToolKind::Search,
            side_effect_level: SideEffectLevel::ReadOnly,
            arg_schema: Some(json!({"path_params": ["root"]})),
            capabilities: BTreeMap::from([("fs".to_owned(), strings(&["list"]))]),
            emits_artifacts: Some(true),
            result_readers: vec!["read_file".to_owned()],
            inline_result: Some(false),
        }),
        requested_side_effect_level: SideEffectLevel::ReadOnly,
        policy_context: object(&json!({"mode": "ask"})),
        raw_input: json!({"root": "src"}),
        ..child("run-finished", 0, "list_files")
    };
    let write = ChildCall {
        annotations: Some(ToolAnnotations {
            kind: ToolKind::Edit,
            side_effect_level: SideEffectLevel::WorkspaceWrite,
            ..ToolAnnotations::default()
        }),
        requested_side_effect_level: SideEffectLevel::WorkspaceWrite,
        raw_input: json!({"path": "src/notes.txt"}),
        ..child("run-finished", 1, "write_file")
    };
    let fetch = ChildCall {
        requested_side_effect_level: SideEffectLevel::Network,
        ..child("run-finished", 2, "fetch_page")
    };
    let listed = ChildResult {
        raw_output: Some(json!(["limit.rs", "lib.rs"])),
        executor: Some(ToolExecutor::HarnBuiltin),
        execution_duration_ms: Some(4),
        ..result(&list)
    };
    let written = ChildResult {
        executor: Some(ToolExecutor::HostBridge),
        ..result(&write)
    };
    let unreachable = ChildResult {
        status: ToolCallStatus::Failed,
        error: Some("no route to the host".to_owned()),
        error_category: Some(ErrorCategory::Network),
        ..result(&fetch)
    };
    vec![
        emit(AgentEvent::CompositionStart(Box::new(start))),
        called(list),
        called(write),
        ended(listed),
        ended(written),
        called(fetch),
        ended(unreachable),
        emit(AgentEvent::CompositionFinish(Box::new(finish))),
    ]
}

fn denied() -> Vec<Step> {
    let start = CompositionRun {
        binding_manifest: Value::Null,
        requested_side_effect_ceiling: SideEffectLevel::None,
        ..run("run-denied", "await delete_files({root: '/'})")
    };
    let error = CompositionRun {
        failure_category: Some(FailureCategory::PolicyDenied),
        error: Some("it wanted to reach further than it may".to_owned()),
        ..start.clone()
    };
    vec![
        emit(AgentEvent::CompositionStart(Box::new(start))),
        emit(AgentEvent::CompositionError(Box::new(error))),
    ]
}

/// A run and a child of it, at work.
pub(super) fn left_open(run_id: &str) -> Vec<Step> {
    let start = run(run_id, "await wait_for_rain()");
    vec![
        emit(AgentEvent::CompositionStart(Box::new(start))),
        called(child(run_id, 0, "wait_for_rain")),
    ]
}

fn run(run_id: &str, snippet: &str) -> CompositionRun {
    CompositionRun {
        run_id: run_id.to_owned(),
        language: "typescript".to_owned(),
        snippet: snippet.to_owned(),
        binding_manifest: json!({"list_files": {"root": "string"}}),
        requested_side_effect_ceiling: SideEffectLevel::Network,
        ..CompositionRun::default()
    }
}

fn child(run_id: &str, operation_index: u64, tool: &str) -> ChildCall {
    ChildCall {
        run_id: run_id.to_owned(),
        tool_call_id: format!("{run_id}-{operation_index}"),
        tool_name: tool.to_owned(),
        operation_index,
        annotations: None,
        requested_side_effect_level: SideEffectLevel::None,
        policy_context: Map::new(),
        raw_input: Value::Null,
    }
}

fn result(of: &ChildCall) -> ChildResult {
    ChildResult {
        run_id: of.run_id.clone(),
        tool_call_id: of.tool_call_id.clone(),
        tool_name: of.tool_name.clone(),
        operation_index: of.operation_index,
        status: ToolCallStatus::Completed,
        raw_output: None,
        error: None,
        error_category: None,
        executor: None,
        duration_ms: None,
        execution_duration_ms: None,
    }
}

fn called(call: ChildCall) -> Step {
    emit(AgentEvent::CompositionChildCall(Box::new(call)))
}

fn ended(result: ChildResult) -> Step {
    emit(AgentEvent::CompositionChildResult(Box::new(result)))
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
