//! For every rule a recording that breaks it and no other; good transcripts, and variants of them with a line
//! lost, doubled or moved.

mod altered_transcripts;
mod bridge;
mod live_clients;
mod rule_cases;
mod shapes;
mod steering;
mod stream;
mod unusual_recordings;

use serde_json::{Value, json};

use super::{Checker, ConformanceRule};

/// Returns the rules that the lines break, with the line numbers.
fn findings<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<(usize, ConformanceRule)> {
    let mut checker = Checker::new();
    let findings = lines.into_iter().flat_map(|line| checker.check_line(line));
    findings
        .map(|finding| (finding.line, finding.rule))
        .collect()
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn answer(id: u64, result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

fn prompt(id: u64) -> String {
    let prompt = json!([{"type": "text", "text": "go on"}]);
    request(
        id,
        "session/prompt",
        json!({"sessionId": "s", "prompt": prompt}),
    )
}

fn end_turn(id: u64) -> String {
    answer(id, json!({"stopReason": "end_turn"}))
}

fn update(update: Value) -> String {
    let params = json!({"sessionId": "s", "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string()
}

fn extension(name: &str, harn: Value) -> String {
    update(json!({"sessionUpdate": name, "_meta": {"harn": harn}}))
}

fn call(id: &str, harn: Value) -> String {
    let mut call = json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "Look", "status": "pending"});
    if !harn.is_null() {
        call["_meta"]["harn"] = harn;
    }
    update(call)
}

fn call_update(id: &str, status: &str, harn: Value) -> String {
    let mut call = json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status});
    if !harn.is_null() {
        call["_meta"]["harn"] = harn;
    }
    update(call)
}

fn worker_update(event: &str, status: &str, terminal: bool) -> String {
    let metadata = json!({
        "task": "t", "mode": "delegated_stage", "started_at": "0193", "finished_at": null,
        "awaiting_started_at": null, "child_run_id": null, "child_run_path": null, "snapshot_path": null,
        "audit": null, "error": null,
    });
    let fields = json!({
        "workerId": "w", "workerName": "n", "workerTask": "t", "workerMode": "delegated_stage",
        "event": event, "status": status, "terminal": terminal, "metadata": metadata,
    });
    extension("worker_update", fields)
}

const HASH: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn composition_event(kind: &str, hash: &str) -> String {
    event(json!({
        "sessionId": "s", "kind": kind, "runId": "r", "language": "typescript", "snippetHash": hash,
        "bindingManifestHash": HASH, "requestedSideEffectCeiling": "read_only", "stdout": null,
        "stderr": null, "artifacts": [], "result": null, "failureCategory": null, "error": null,
        "durationMs": null, "metadata": {},
    }))
}

fn composition_child_event(kind: &str) -> String {
    let common = json!({
        "sessionId": "s", "kind": kind, "runId": "r", "toolCallId": "c", "toolName": "list",
        "operationIndex": 0,
    });
    let own = match kind {
        "composition_child_call" => json!({
            "annotations": null, "requestedSideEffectLevel": "read_only", "policyContext": {},
            "rawInput": {},
        }),
        _ => json!({
            "status": "completed", "rawOutput": null, "error": null, "errorCategory": null,
            "executor": null, "durationMs": 1, "executionDurationMs": 1,
        }),
    };
    let (Value::Object(mut params), Value::Object(own)) = (common, own) else {
        unreachable!("both are objects");
    };
    params.extend(own);
    event(Value::Object(params))
}

/// The params of a permission request as a host of the contract reads it.
fn permission_params() -> Value {
    let approval = json!({
        "id": "c", "action": "look", "args": null, "principal": "s", "deadline": "2026-01-01T00:30:00.000Z",
        "requested_at": "2026-01-01T00:00:00.000Z", "approvers_required": 1, "evidence_refs": [],
        "undo_metadata": null, "capabilities_requested": ["tool.look"],
    });
    let ours = json!({"approvalRequest": approval, "mutation": null, "declaredPaths": []});
    let mut params = json!({"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": []});
    let members = params.as_object_mut().unwrap();
    members.extend(ours.as_object().unwrap().clone());
    params["_meta"]["harn"] = ours;
    params["_meta"]["harn"]["options"] = json!([]);
    params
}

fn event(params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": "_harn/agentEvent", "params": params}).to_string()
}
