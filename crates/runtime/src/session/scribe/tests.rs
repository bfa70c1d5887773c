//! Event sequences as agents get them wrong, and the events that are written instead.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use expect_test::{Expect, expect};
use harn_model::{
    ApprovalPolicy, ChildCall, ChildResult, CompositionRun, ErrorCategory, ExecutionKind,
    HitlOutcome, MutationScope, TurnStarted, WorkerEvent,
};
use serde_json::{Value, json};

use super::*;
use crate::{
    IdKind,
    session::settlement::{LeftoverCause, settle},
};

struct SequentialIds(AtomicU64);

impl IdSource for SequentialIds {
    fn mint(&self, _: IdKind) -> String {
        format!("id-{}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A scribe with its session state; every event comes 10 ms after the previous one.
struct ScribeRig {
    scribe: EventScribe,
    view: SessionView,
    ids: SequentialIds,
    turn: TurnId,
    now: Timestamp,
    written: Vec<Envelope>,
}

impl ScribeRig {
    fn new() -> Self {
        let mut desk = Self {
            scribe: EventScribe::new("s".into()),
            view: SessionView::default(),
            ids: SequentialIds(AtomicU64::new(0)),
            turn: "t".into(),
            now: 0,
            written: Vec::new(),
        };
        desk.start();
        desk
    }

    fn start(&mut self) {
        self.enter(AgentEvent::TurnStarted(Box::new(TurnStarted {
            message_id: "m".into(),
            prompt: Vec::new(),
            live_session: None,
        })));
    }

    fn enter(&mut self, event: AgentEvent) {
        self.now += 10;
        let (view, turn) = (&mut self.view, Some(&self.turn));
        let mut events = vec![event];
        EventScribe::hash(&mut events);
        let batch = self.scribe.enter(view, turn, events, self.now, &self.ids);
        self.written.extend(batch);
    }

    /// Enters an event in journal form.
    fn emit(&mut self, event: Value) {
        self.enter(serde_json::from_value(event).unwrap());
    }

    fn settle(&mut self, how: LeftoverCause) {
        for event in settle(&self.view, how) {
            self.enter(event);
        }
    }

    /// Compares the events since the turn started, one line each, without irrelevant fields.
    fn check(&self, expected: Expect) {
        const SILENT: [&str; 6] = [
            "artifacts",
            "metadata",
            "tool_name",
            "worker_mode",
            "worker_name",
            "worker_task",
        ];
        let shown = self.written.iter().skip(1).map(|envelope| {
            let event: BTreeMap<String, Value> =
                serde_json::from_value(serde_json::to_value(&envelope.event).unwrap()).unwrap();
            let told = event
                .into_iter()
                .filter(|(key, value)| !value.is_null() && !SILENT.contains(&key.as_str()));
            let told: BTreeMap<_, _> = told.collect();
            format!("{}\n", serde_json::to_string(&told).unwrap())
        });
        expected.assert_eq(&shown.collect::<String>());
    }
}

fn call(id: &str) -> Value {
    json!({"type": "tool_call", "tool_call_id": id, "tool_name": "look", "status": "pending"})
}

fn update(id: &str, status: &str) -> Value {
    json!({"type": "tool_call_update", "tool_call_id": id, "tool_name": "look", "status": status})
}

#[test]
fn scribe_announces_a_call_before_its_first_update() {
    let mut desk = ScribeRig::new();
    desk.emit(update("a", "in_progress"));
    desk.emit(update("a", "completed"));
    desk.check(expect![[r#"
        {"status":"in_progress","tool_call_id":"a","type":"tool_call"}
        {"status":"in_progress","title":"look","tool_call_id":"a","type":"tool_call_update"}
        {"duration_ms":10,"execution_duration_ms":10,"status":"completed","title":"look","tool_call_id":"a","type":"tool_call_update"}
    "#]]);
}

#[test]
fn scribe_drops_updates_of_ended_calls_and_renames_used_ids() {
    let mut desk = ScribeRig::new();
    desk.emit(call("a"));
    desk.emit(update("a", "completed"));
    desk.emit(update("a", "failed"));
    desk.emit(call("a"));
    desk.emit(update("a", "completed"));
    desk.start();
    desk.emit(update("a", "completed"));
    desk.emit(call("a"));
    desk.emit(update("a", "completed"));
    desk.check(expect![[r#"
        {"status":"pending","tool_call_id":"a","type":"tool_call"}
        {"duration_ms":10,"status":"completed","title":"look","tool_call_id":"a","type":"tool_call_update"}
        {"status":"pending","tool_call_id":"a~2","type":"tool_call"}
        {"duration_ms":10,"status":"completed","title":"look","tool_call_id":"a~2","type":"tool_call_update"}
        {"message_id":"m","prompt":[],"type":"turn_started"}
        {"status":"pending","tool_call_id":"a~3","type":"tool_call"}
        {"duration_ms":10,"status":"completed","title":"look","tool_call_id":"a~3","type":"tool_call_update"}
    "#]]);
}

#[test]
fn second_announcement_updates_the_call_and_keeps_its_title() {
    let mut desk = ScribeRig::new();
    let mut first = call("a");
    first["title"] = json!("Look at a.rs");
    desk.emit(first);
    let mut second = call("a");
    second["raw_input"] = json!({"path": "a.rs"});
    desk.emit(second);
    desk.emit(update("a", "completed"));
    desk.check(expect![[r#"
        {"status":"pending","title":"Look at a.rs","tool_call_id":"a","type":"tool_call"}
        {"raw_input":{"path":"a.rs"},"status":"pending","title":"Look at a.rs","tool_call_id":"a","type":"tool_call_update"}
        {"duration_ms":20,"status":"completed","title":"Look at a.rs","tool_call_id":"a","type":"tool_call_update"}
    "#]]);
}

#[test]
fn scribe_removes_fields_that_do_not_apply() {
    let mut desk = ScribeRig::new();
    let mut streamed = call("a");
    streamed["parsing"] = json!(true);
    desk.emit(streamed);
    let mut partial = update("a", "pending");
    partial["raw_input_partial"] = json!("{\"pa");
    partial["duration_ms"] = json!(7);
    partial["error_category"] = json!("network");
    desk.emit(partial);
    let mut parsed = update("a", "pending");
    parsed["raw_input_partial"] = json!("{}");
    parsed["raw_input"] = json!({});
    desk.emit(parsed);
    desk.emit(update("a", "failed"));
    let mut never = call("b");
    never["parsing"] = json!(true);
    desk.emit(never);
    desk.settle(LeftoverCause::Abandoned);
    desk.check(expect![[r#"
        {"parsing":true,"status":"pending","tool_call_id":"a","type":"tool_call"}
        {"raw_input_partial":"{\"pa","status":"pending","title":"look","tool_call_id":"a","type":"tool_call_update"}
        {"parsing":false,"raw_input":{},"status":"pending","title":"look","tool_call_id":"a","type":"tool_call_update"}
        {"duration_ms":30,"error":"the tool failed","error_category":"unknown","status":"failed","title":"look","tool_call_id":"a","type":"tool_call_update"}
        {"parsing":true,"status":"pending","tool_call_id":"b","type":"tool_call"}
        {"duration_ms":10,"error":"its arguments did not arrive","error_category":"parse_aborted","parsing":false,"status":"failed","title":"look","tool_call_id":"b","type":"tool_call_update"}
    "#]]);
}

#[test]
fn durations_that_an_agent_states_are_kept() {
    let mut desk = ScribeRig::new();
    let stated = |id: &str, took: Option<u64>, ran: Option<u64>| {
        let mut update = update(id, "completed");
        update["duration_ms"] = json!(took);
        update["execution_duration_ms"] = json!(ran);
        update
    };
    for (id, took, ran) in [
        ("a", Some(700), Some(500)),
        ("b", Some(5), None),
        ("c", None, Some(500)),
        ("d", Some(5), Some(500)),
    ] {
        desk.emit(update(id, "in_progress"));
        desk.emit(stated(id, took, ran));
    }
    let ends = desk.written.iter().filter_map(|e| match &e.event {
        AgentEvent::ToolCallUpdate(end) if end.status.is_terminal() => {
            Some((end.duration_ms.unwrap(), end.execution_duration_ms.unwrap()))
        }
        _ => None,
    });
    // No call runs longer than its duration, whatever its agent states.
    assert!(ends.eq([(700, 500), (5, 5), (500, 500), (5, 5)]));
}

fn worker(event: &str) -> Value {
    json!({
        "type": "worker_update", "worker_id": "w", "worker_name": "tester", "worker_task": "test",
        "worker_mode": "sub_agent", "event": event,
    })
}

#[test]
fn scribe_starts_worker_cycles_and_ends_a_worker_once() {
    let mut desk = ScribeRig::new();
    for event in [
        "WorkerProgressed",
        "WorkerWaitingForInput",
        "WorkerWaitingForInput",
        "WorkerProgressed",
        "WorkerSpawned",
        "WorkerSpawned",
        "WorkerCompleted",
        "WorkerFailed",
        "WorkerSpawned",
    ] {
        desk.emit(worker(event));
    }
    desk.check(expect![[r#"
        {"cycle":1,"event":"WorkerSpawned","type":"worker_update","worker_id":"w"}
        {"cycle":1,"event":"WorkerWaitingForInput","type":"worker_update","worker_id":"w"}
        {"cycle":1,"event":"WorkerProgressed","type":"worker_update","worker_id":"w"}
        {"cycle":2,"event":"WorkerSpawned","type":"worker_update","worker_id":"w"}
        {"cycle":2,"event":"WorkerCompleted","type":"worker_update","worker_id":"w"}
    "#]]);
}

#[test]
fn scribe_sets_the_times_of_a_worker() {
    let mut desk = ScribeRig::new();
    desk.emit(worker("WorkerSpawned"));
    desk.emit(worker("WorkerWaitingForInput"));
    desk.emit(worker("WorkerStopped"));
    let last = &desk.view.workers[&harn_model::WorkerId::from("w")];
    expect![[r#"
        {
          "task": "test",
          "mode": "sub_agent",
          "started_at": "1970-01-01T00:00:00.020Z",
          "finished_at": "1970-01-01T00:00:00.040Z",
          "awaiting_started_at": "1970-01-01T00:00:00.030Z",
          "child_run_id": null,
          "child_run_path": null,
          "snapshot_path": null,
          "audit": null,
          "error": null
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&last.metadata).unwrap());
}

#[test]
fn settle_closes_everything_a_turn_leaves_open() {
    for how in [LeftoverCause::Cancelled, LeftoverCause::Crashed] {
        let mut desk = ScribeRig::new();
        desk.emit(call("a"));
        desk.emit(worker("WorkerSpawned"));
        desk.emit(json!({"type": "composition_start", "run_id": "r", "language": "lua"}));
        desk.emit(json!({"type": "composition_child_call", "run_id": "r", "tool_call_id": "c", "tool_name": "look"}));
        desk.emit(
            json!({"type": "hitl_requested", "request_id": "q", "kind": "question", "payload": {}}),
        );
        let before = desk.written.len();
        if how == LeftoverCause::Crashed {
            desk.scribe = EventScribe::for_recovery("s".into());
        }
        desk.settle(how);
        desk.written.drain(1..before);
        match how {
            LeftoverCause::Cancelled => desk.check(expect![[r#"
                {"kind":"question","outcome":"cancelled","request_id":"q","type":"hitl_resolved"}
                {"duration_ms":60,"error":"the turn was cancelled","error_category":"cancelled","status":"failed","title":"look","tool_call_id":"a","type":"tool_call_update"}
                {"duration_ms":40,"error":"the composition ended before this tool did","error_category":"abandoned_at_loop_exit","operation_index":0,"run_id":"r","status":"failed","tool_call_id":"c","type":"composition_child_result"}
                {"binding_manifest_hash":"sha256:fee58419a8d9da1d74d3a93c9203e2fc9199b5c51c45e1ef3b5e872b929f8608","duration_ms":50,"error":"the turn was cancelled","failure_category":"cancelled","language":"lua","requested_side_effect_ceiling":"read_only","run_id":"r","snippet_hash":"sha256:5ebd6898b2b4271939d805254f119005a0005bc5c1ecad2b2a187b678748ea06","type":"composition_error"}
                {"cycle":1,"event":"WorkerCancelled","type":"worker_update","worker_id":"w"}
            "#]]),
            LeftoverCause::Abandoned | LeftoverCause::Crashed => desk.check(expect![[r#"
                {"kind":"question","outcome":"cancelled","request_id":"q","type":"hitl_resolved"}
                {"error":"interrupted: the agent stopped before this tool ended; it may have had effects","error_category":"cancelled","status":"failed","title":"look","tool_call_id":"a","type":"tool_call_update"}
                {"error":"the composition ended before this tool did","error_category":"abandoned_at_loop_exit","operation_index":0,"run_id":"r","status":"failed","tool_call_id":"c","type":"composition_child_result"}
                {"binding_manifest_hash":"sha256:fee58419a8d9da1d74d3a93c9203e2fc9199b5c51c45e1ef3b5e872b929f8608","error":"interrupted: the agent stopped","failure_category":"cancelled","language":"lua","requested_side_effect_ceiling":"read_only","run_id":"r","snippet_hash":"sha256:5ebd6898b2b4271939d805254f119005a0005bc5c1ecad2b2a187b678748ea06","type":"composition_error"}
                {"cycle":1,"event":"WorkerFailed","type":"worker_update","worker_id":"w"}
            "#]]),
        }
    }
}

#[test]
fn scribe_hashes_a_composition_and_repeats_its_fields_at_the_end() {
    let mut desk = ScribeRig::new();
    let run = |id: &str| CompositionRun {
        run_id: id.to_owned(),
        language: "lua".to_owned(),
        snippet: "return 1".to_owned(),
        snippet_hash: "sha256:forged".to_owned(),
        binding_manifest_hash: "sha256:forged".to_owned(),
        ..CompositionRun::default()
    };
    let child = |id: &str| ChildCall {
        run_id: "r".to_owned(),
        tool_call_id: id.to_owned(),
        tool_name: "look".to_owned(),
        operation_index: 0,
        annotations: None,
        requested_side_effect_level: harn_model::SideEffectLevel::ReadOnly,
        policy_context: serde_json::Map::new(),
        raw_input: Value::Null,
    };
    let result = |id: &str| ChildResult {
        run_id: "r".to_owned(),
        tool_call_id: id.to_owned(),
        tool_name: "forged".to_owned(),
        operation_index: 9,
        status: harn_model::ToolCallStatus::Completed,
        raw_output: None,
        error: None,
        error_category: None::<ErrorCategory>,
        executor: None,
        duration_ms: None,
        execution_duration_ms: None,
    };
    desk.enter(AgentEvent::CompositionChildCall(Box::new(child("early"))));
    desk.enter(AgentEvent::CompositionStart(Box::new(run("r"))));
    desk.enter(AgentEvent::CompositionStart(Box::new(run("r"))));
    desk.enter(AgentEvent::CompositionChildCall(Box::new(child("c"))));
    desk.enter(AgentEvent::CompositionChildResult(Box::new(result("c"))));
    desk.enter(AgentEvent::CompositionChildResult(Box::new(result("c"))));
    let mut end = run("r");
    "ruby".clone_into(&mut end.language);
    desk.enter(AgentEvent::CompositionFinish(Box::new(end)));
    desk.enter(AgentEvent::CompositionError(Box::new(run("r"))));
    desk.enter(AgentEvent::CompositionStart(Box::new(run("r"))));
    desk.check(expect![[r#"
        {"binding_manifest_hash":"sha256:fee58419a8d9da1d74d3a93c9203e2fc9199b5c51c45e1ef3b5e872b929f8608","language":"lua","requested_side_effect_ceiling":"none","run_id":"r","snippet":"return 1","snippet_hash":"sha256:7c90cf9699a51c98a42ebfdfca722c6cd1f3eaaab076f654a2c674a95fe67e66","type":"composition_start"}
        {"operation_index":0,"policy_context":{},"requested_side_effect_level":"read_only","run_id":"r","tool_call_id":"c","type":"composition_child_call"}
        {"duration_ms":10,"operation_index":0,"run_id":"r","status":"completed","tool_call_id":"c","type":"composition_child_result"}
        {"binding_manifest_hash":"sha256:fee58419a8d9da1d74d3a93c9203e2fc9199b5c51c45e1ef3b5e872b929f8608","duration_ms":50,"language":"lua","requested_side_effect_ceiling":"none","run_id":"r","snippet_hash":"sha256:7c90cf9699a51c98a42ebfdfca722c6cd1f3eaaab076f654a2c674a95fe67e66","type":"composition_finish"}
        {"binding_manifest_hash":"sha256:fee58419a8d9da1d74d3a93c9203e2fc9199b5c51c45e1ef3b5e872b929f8608","language":"lua","requested_side_effect_ceiling":"none","run_id":"r~2","snippet":"return 1","snippet_hash":"sha256:7c90cf9699a51c98a42ebfdfca722c6cd1f3eaaab076f654a2c674a95fe67e66","type":"composition_start"}
    "#]]);
}

#[test]
fn scribe_drops_ends_without_a_start() {
    let mut desk = ScribeRig::new();
    let resolved = || AgentEvent::HitlResolved {
        request_id: "q".to_owned(),
        kind: "question".to_owned(),
        outcome: HitlOutcome::Answered,
    };
    desk.enter(resolved());
    desk.emit(
        json!({"type": "hitl_requested", "request_id": "q", "kind": "question", "payload": {}}),
    );
    desk.enter(resolved());
    desk.enter(resolved());
    let skill = |word: &str| json!({"type": word, "skill_name": "tidy", "iteration": 1, "reason": "asked for"});
    desk.emit(skill("skill_deactivated"));
    desk.emit(skill("skill_activated"));
    desk.emit(skill("skill_deactivated"));
    desk.emit(skill("skill_deactivated"));
    desk.check(expect![[r#"
        {"kind":"question","payload":{},"request_id":"q","type":"hitl_requested"}
        {"kind":"question","outcome":"answered","request_id":"q","type":"hitl_resolved"}
        {"iteration":1,"reason":"asked for","skill_name":"tidy","type":"skill_activated"}
        {"iteration":1,"skill_name":"tidy","type":"skill_deactivated"}
    "#]]);
}

#[test]
fn scribe_replaces_an_audit_that_the_agent_sets() {
    let mut desk = ScribeRig::new();
    let audit = MutationSession {
        session_id: "s".into(),
        parent_session_id: None,
        run_id: Some("t".into()),
        worker_id: None,
        execution_kind: Some(ExecutionKind::Run),
        mutation_scope: MutationScope::ApplyWorkspace,
        approval_policy: ApprovalPolicy::None,
    };
    desk.scribe.set_audit(Some(Arc::new(audit.clone())));
    let mut forged = call("a");
    forged["audit"] = json!({"session_id": "another"});
    desk.emit(forged.clone());
    desk.emit(worker("WorkerSpawned"));
    desk.scribe.set_audit(None);
    forged["tool_call_id"] = json!("b");
    desk.emit(forged);
    let audits = desk.written.iter().filter_map(|e| match &e.event {
        AgentEvent::ToolCall(call) => Some(call.audit.as_deref().cloned()),
        AgentEvent::WorkerUpdate(worker) => {
            assert_eq!(worker.event, WorkerEvent::WorkerSpawned);
            assert_eq!(worker.audit, worker.metadata.audit);
            Some(worker.audit.as_deref().cloned())
        }
        _ => None,
    });
    let delegated = audit.delegate_to(None, &"w".into());
    assert_eq!(delegated.parent_session_id, Some("s".into()));
    assert_eq!(
        audits.collect::<Vec<_>>(),
        [Some(audit), Some(delegated), None]
    );
}
