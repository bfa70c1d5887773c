//! Plays turns and compares their events.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use expect_test::expect;
use harn_engines::ScriptAgent;
use harn_model::{AgentEvent, Decision, SessionId};
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostError, HostOffers, HostPort, RootedPath, async_trait,
};
use serde_json::{Value, json};

use crate::script::test_session::{Rig, lines};

const EXAMPLE: &str = r#"
name: tour
turns:
  - match: "^slow"
    steps: [{say: "working"}, {await_cancel: {}}, {stop: end_turn}]
  - steps:
      - think: "where is it?"
      - emit: {type: tool_call, tool_call_id: t1, tool_name: look, kind: read, status: pending, raw_input: {path: a.rs}}
      - seam: post_tool_dispatch
      - emit: {type: tool_call_update, tool_call_id: t1, tool_name: look, status: completed, raw_output: {ok: true}}
      - repeat: {times: 3, steps: [{emit: {type: agent_message_chunk, content: "word "}}]}
      - stop: end_turn
"#;

/// Returns a scenario with one turn of these steps.
fn scenario(steps: &str) -> String {
    format!("name: t\nturns:\n- steps: {steps}\n")
}

fn tour() -> ScriptAgent {
    let tour = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/scenarios/tour.yaml"
    );
    ScriptAgent::load(tour).expect("the tour loads")
}

fn is_chunk(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::AgentMessageChunk { .. })
}

async fn answer_next(rig: &mut Rig, option_id: &str) -> String {
    let asked = rig
        .collect_until(|e| matches!(e, AgentEvent::PermissionAsked(_)))
        .await;
    let ask = asked.iter().find_map(|event| match event {
        AgentEvent::PermissionAsked(ask) => Some(ask.ask_id.clone()),
        _ => None,
    });
    let option_id = option_id.to_owned();
    let decision = Decision::Allowed {
        option_id,
        args: None,
    };
    rig.session.answer(ask.expect("an ask"), decision).await;
    lines(&asked)
}

#[tokio::test]
async fn the_example_plays() {
    let mut rig = Rig::new(EXAMPLE).await;
    expect![[r#"
        {"type":"turn_started","message_id":"message-1","prompt":[{"type":"text","text":"where is a.rs?"}]}
        {"type":"agent_thought_chunk","content":"where is it?","message_id":"message-2"}
        {"type":"tool_call","tool_call_id":"t1","tool_name":"look","kind":"read","status":"pending","raw_input":{"path":"a.rs"},"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}}
        {"type":"loop_checkpoint","iteration":0,"seam":"post_tool_dispatch","delivered":0}
        {"type":"tool_call_update","tool_call_id":"t1","tool_name":"look","title":"look","status":"completed","raw_output":{"ok":true},"duration_ms":0,"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"agent_message_chunk","content":"word ","message_id":"message-3"}
        {"type":"agent_message_chunk","content":"word ","message_id":"message-3"}
        {"type":"agent_message_chunk","content":"word ","message_id":"message-3"}
        {"type":"session_info","title":"where is a.rs?"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"end_turn"}
    "#]].assert_eq(&rig.play_turn("where is a.rs?").await);
}

/// Emits every event of the journal fixture: each is written unchanged or is reserved for the runtime.
#[tokio::test]
async fn every_event_can_be_emitted_or_is_refused() {
    let journal = include_str!("../../../../../fixtures/journal/every-event.jsonl");
    let (mut steps, mut given, mut reserved) = (Vec::new(), Vec::new(), BTreeSet::new());
    for line in journal.lines() {
        let envelope: Value = serde_json::from_str(line).expect("a line of JSON");
        let event = &envelope["event"];
        let step = format!("{{emit: {event}}}");
        match ScriptAgent::parse("t.yaml", &scenario(&format!("[{step}]"))) {
            Ok(_) => {
                given.push(event.clone());
                steps.push(step);
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("only the runtime writes"), "{error}");
                reserved.insert(event["type"].to_string());
            }
        }
    }
    let emitted = format!("[{}]", steps.join(", "));
    let turn = Rig::new(&scenario(&emitted)).await.play_turn("go").await;
    // The runtime numbers messages, adds the audit of calls and workers, and adds times.
    let as_given = |mut event: Value| {
        if let Some(fields) = event.as_object_mut() {
            fields.retain(|name, _| !["message_id", "audit"].contains(&name.as_str()));
            // Every session has the runtime's own command.
            if let Some(Value::Array(commands)) = fields.get_mut("commands") {
                commands.retain(|command| command["name"] != "permissions");
            }
            let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
            if let Some(metadata) = metadata {
                metadata.retain(|name, _| name != "audit" && !name.ends_with("_at"));
            }
        }
        event
    };
    let seen = turn.lines().skip(1).map(serde_json::from_str);
    let seen = seen.map(|event| as_given(event.expect("an event")));
    let seen: Vec<_> = seen.take(given.len()).collect();
    let given: Vec<_> = given.into_iter().map(as_given).collect();
    let mut durations = 0;
    for (mut seen, mut given) in seen.iter().cloned().zip(given.iter().cloned()) {
        // Durations that the scenario states are kept; the clock adds those that it leaves out.
        for name in ["duration_ms", "execution_duration_ms"] {
            if given.get(name).is_some_and(Value::is_u64) {
                durations += 1;
            } else if let (Some(seen), Some(given)) = (seen.as_object_mut(), given.as_object_mut())
            {
                seen.remove(name);
                given.remove(name);
            }
        }
        assert_eq!(seen, given);
    }
    assert!(durations > 2, "{durations} durations");
    assert_eq!(seen.len(), given.len());
    assert!(given.len() > 30, "{} events", given.len());
    let reserved = reserved.into_iter().collect::<Vec<_>>().join(" ");
    expect![[r#""config_changed" "control_outcome" "daemon" "grant_revoked" "hitl_responded" "live_session_permission_route" "loop_checkpoint" "mcp_servers" "mode_changed" "pending" "permission_asked" "permission_deny" "permission_escalation" "permission_grant" "permission_resolved" "prompt_queued" "prompt_withdrawn" "recovered" "reminder_lifecycle" "session_closed" "tools_changed" "turn_ended" "turn_started" "worker_call""#]].assert_eq(&reserved);
}

#[tokio::test]
async fn await_cancel_waits_for_the_cancel() {
    let mut rig = Rig::new(EXAMPLE).await;
    let turn = rig.prompt("slow please").await;
    rig.collect_until(is_chunk).await;
    rig.session.cancel(turn).await;
    expect![[r#"
        {"type":"session_info","title":"slow please"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"cancelled"}
    "#]]
    .assert_eq(&rig.finish_turn().await);
}

#[tokio::test]
async fn tour_plays_twice_in_one_session() {
    let mut rig = Rig::from_agent(tour()).await;
    let first = rig.play_turn("go").await;
    assert!(first.contains(r#""tool_call_id":"look-turn-1""#), "{first}");
    let second = rig.play_turn("go").await;
    assert!(
        second.contains(r#""tool_call_id":"look-turn-2""#),
        "{second}"
    );
    assert!(!second.contains("look-turn-1"), "{second}");
}

#[tokio::test]
async fn an_allowed_ask_is_completed_after_its_steps() {
    let mut rig = Rig::from_agent(tour()).await;
    rig.prompt("write it down").await;
    let asked = answer_next(&mut rig, "allow_once").await;
    expect![[r#"
        {"type":"turn_started","message_id":"message-1","prompt":[{"type":"text","text":"write it down"}]}
        {"type":"agent_message_chunk","content":"I would like to leave a note.","message_id":"message-2"}
        {"type":"tool_call","tool_call_id":"call-1","tool_name":"write_file","title":"Write NOTES.md","kind":"edit","status":"pending","raw_input":{"path":"NOTES.md"},"locations":[{"path":"/NOTES.md"}],"content":[{"type":"diff","path":"/NOTES.md","new_text":"Seen on a tour.\n"}],"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}}
        {"type":"permission_escalation","tool_call_id":"call-1","tool_name":"write_file","arguments":{"path":"NOTES.md"},"reason":"the session's mode is ask: the call may change something","escalated":true,"policy_decision":{"type":"harn.permission_policy_decision.v1","action":"ask","reason":"the session's mode is ask: the call may change something","matched_rule":{"source":"mode","action":"ask","id":"ask"},"risk_labels":["approval_required"],"context":{"tool_name":"write_file","tool_kind":"edit","side_effect":null,"paths":[{"input":"NOTES.md","kind":"workspace_relative","normalized":"NOTES.md","workspace_path":"NOTES.md","host_path":"/NOTES.md","recovered_root_drift":false,"reason":null}],"mode":"ask"}}}
        {"type":"permission_asked","ask_id":"ask-1","tool_call":{"tool_call_id":"call-1","tool_name":"write_file","title":"Write NOTES.md","kind":"edit","status":"pending","raw_input":{"path":"NOTES.md"},"locations":[{"path":"/NOTES.md"}],"content":[{"type":"diff","path":"/NOTES.md","new_text":"Seen on a tour.\n"}],"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}},"options":[{"option_id":"allow_once","name":"Allow this once","kind":"allow_once"},{"option_id":"allow_session","name":"Allow write_file NOTES.md for this session","kind":"allow_always","scope":"session"},{"option_id":"reject_once","name":"Reject this once","kind":"reject_once"}],"policy_decision":{"type":"harn.permission_policy_decision.v1","action":"ask","reason":"the session's mode is ask: the call may change something","matched_rule":{"source":"mode","action":"ask","id":"ask"},"risk_labels":["approval_required"],"context":{"tool_name":"write_file","tool_kind":"edit","side_effect":null,"paths":[{"input":"NOTES.md","kind":"workspace_relative","normalized":"NOTES.md","workspace_path":"NOTES.md","host_path":"/NOTES.md","recovered_root_drift":false,"reason":null}],"mode":"ask"}},"judged":{"paths":["NOTES.md"]},"grant":{"id":"g-133fe00b44390cbb","effect":"allow","workspace":"/","tool":"write_file","kind":"edit","paths":["NOTES.md"]},"requested_at":1000,"deadline":1801000}
        {"type":"permission_resolved","ask_id":"ask-1","decision":"allowed","option_id":"allow_once"}
        {"type":"permission_grant","tool_call_id":"call-1","tool_name":"write_file","arguments":{"path":"NOTES.md"},"reason":"the person who was asked allowed it","escalated":true,"policy_decision":{"type":"harn.permission_policy_decision.v1","action":"ask","reason":"the session's mode is ask: the call may change something","matched_rule":{"source":"mode","action":"ask","id":"ask"},"risk_labels":["approval_required"],"context":{"tool_name":"write_file","tool_kind":"edit","side_effect":null,"paths":[{"input":"NOTES.md","kind":"workspace_relative","normalized":"NOTES.md","workspace_path":"NOTES.md","host_path":"/NOTES.md","recovered_root_drift":false,"reason":null}],"mode":"ask"}}}
        {"type":"tool_call_update","tool_call_id":"call-1","tool_name":"write_file","title":"Write NOTES.md","status":"in_progress","audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"agent_message_chunk","content":"Writing.","message_id":"message-3"}
        {"type":"tool_call_update","tool_call_id":"call-1","tool_name":"write_file","title":"Write NOTES.md","status":"completed","raw_output":{"ok":true},"duration_ms":0,"execution_duration_ms":0,"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"session_info","title":"write it down"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"end_turn"}
    "#]].assert_eq(&(asked + &rig.finish_turn().await));
}

#[tokio::test]
async fn rejected_ask_plays_its_on_reject_steps() {
    let mut rig = Rig::from_agent(tour()).await;
    rig.prompt("/write it down").await;
    answer_next(&mut rig, "reject_once").await;
    expect![[r#"
        {"type":"permission_resolved","ask_id":"ask-1","decision":"rejected","option_id":"reject_once"}
        {"type":"permission_deny","tool_call_id":"call-1","tool_name":"write_file","arguments":{"path":"NOTES.md"},"reason":"permission was not granted","escalated":true,"policy_decision":{"type":"harn.permission_policy_decision.v1","action":"ask","reason":"the session's mode is ask: the call may change something","matched_rule":{"source":"mode","action":"ask","id":"ask"},"risk_labels":["approval_required"],"context":{"tool_name":"write_file","tool_kind":"edit","side_effect":null,"paths":[{"input":"NOTES.md","kind":"workspace_relative","normalized":"NOTES.md","workspace_path":"NOTES.md","host_path":"/NOTES.md","recovered_root_drift":false,"reason":null}],"mode":"ask"}}}
        {"type":"tool_call_update","tool_call_id":"call-1","tool_name":"write_file","title":"Write NOTES.md","status":"failed","error":"permission was not granted","error_category":"permission_denied","duration_ms":0,"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"agent_message_chunk","content":"Then I leave it.","message_id":"message-3"}
        {"type":"session_info","title":"/write it down"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"end_turn"}
    "#]].assert_eq(&rig.finish_turn().await);
}

#[tokio::test]
async fn a_cancelled_ask_ends_the_turn() {
    let mut rig = Rig::from_agent(tour()).await;
    let turn = rig.prompt("write it down").await;
    rig.collect_until(|e| matches!(e, AgentEvent::PermissionAsked(_)))
        .await;
    rig.session.cancel(turn).await;
    expect![[r#"
        {"type":"permission_resolved","ask_id":"ask-1","decision":"cancelled"}
        {"type":"tool_call_update","tool_call_id":"call-1","tool_name":"write_file","title":"Write NOTES.md","status":"failed","error":"the turn was cancelled","error_category":"cancelled","duration_ms":0,"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"session_info","title":"write it down"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"cancelled"}
    "#]].assert_eq(&rig.finish_turn().await);
}

#[tokio::test]
async fn a_stop_inside_an_ask_completes_it() {
    let steps = "[{ask: {tool: w, input: {a: 1}, on_allow: [{stop: refusal}]}}, {say: never}]";
    let mut rig = Rig::new(&scenario(steps)).await;
    rig.prompt("go").await;
    let asked = answer_next(&mut rig, "allow_once").await;
    expect![[r#"
        {"type":"turn_started","message_id":"message-1","prompt":[{"type":"text","text":"go"}]}
        {"type":"tool_call","tool_call_id":"call-1","tool_name":"w","kind":"other","status":"pending","raw_input":{"a":1},"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}}
        {"type":"permission_escalation","tool_call_id":"call-1","tool_name":"w","arguments":{"a":1},"reason":"the session's mode is ask: the call may change something","escalated":true,"policy_decision":{"type":"harn.permission_policy_decision.v1","action":"ask","reason":"the session's mode is ask: the call may change something","matched_rule":{"source":"mode","action":"ask","id":"ask"},"risk_labels":["approval_required"],"context":{"tool_name":"w","tool_kind":"other","side_effect":null,"paths":[],"mode":"ask"}}}
        {"type":"permission_asked","ask_id":"ask-1","tool_call":{"tool_call_id":"call-1","tool_name":"w","kind":"other","status":"pending","raw_input":{"a":1},"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}},"options":[{"option_id":"allow_once","name":"Allow this once","kind":"allow_once"},{"option_id":"allow_session","name":"Allow w {\"a\":1} for this session","kind":"allow_always","scope":"session"},{"option_id":"reject_once","name":"Reject this once","kind":"reject_once"}],"policy_decision":{"type":"harn.permission_policy_decision.v1","action":"ask","reason":"the session's mode is ask: the call may change something","matched_rule":{"source":"mode","action":"ask","id":"ask"},"risk_labels":["approval_required"],"context":{"tool_name":"w","tool_kind":"other","side_effect":null,"paths":[],"mode":"ask"}},"grant":{"id":"g-99fc873b6ecb0d2d","effect":"allow","workspace":"/","tool":"w","kind":"other","arguments":{"a":1}},"requested_at":1000,"deadline":1801000}
        {"type":"permission_resolved","ask_id":"ask-1","decision":"allowed","option_id":"allow_once"}
        {"type":"permission_grant","tool_call_id":"call-1","tool_name":"w","arguments":{"a":1},"reason":"the person who was asked allowed it","escalated":true,"policy_decision":{"type":"harn.permission_policy_decision.v1","action":"ask","reason":"the session's mode is ask: the call may change something","matched_rule":{"source":"mode","action":"ask","id":"ask"},"risk_labels":["approval_required"],"context":{"tool_name":"w","tool_kind":"other","side_effect":null,"paths":[],"mode":"ask"}}}
        {"type":"tool_call_update","tool_call_id":"call-1","tool_name":"w","title":"w","status":"in_progress","audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"tool_call_update","tool_call_id":"call-1","tool_name":"w","title":"w","status":"completed","raw_output":{"ok":true},"duration_ms":0,"execution_duration_ms":0,"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"session_info","title":"go"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"refusal"}
    "#]].assert_eq(&(asked + &rig.finish_turn().await));
}

#[tokio::test]
async fn a_turn_can_fail() {
    let mut rig = Rig::from_agent(tour()).await;
    expect![[r#"
        {"type":"turn_started","message_id":"message-1","prompt":[{"type":"text","text":"fail, please"}]}
        {"type":"agent_message_chunk","content":"This will not end well.","message_id":"message-2"}
        {"type":"session_info","title":"fail, please"}
        {"type":"turn_ended","outcome":"failed","message":"the scenario said so"}
    "#]].assert_eq(&rig.play_turn("fail, please").await);
}

#[tokio::test]
async fn a_turn_without_a_stop_ends() {
    let mut rig = Rig::new(&scenario("[{say: done}]")).await;
    expect![[r#"
        {"type":"turn_started","message_id":"message-1","prompt":[{"type":"text","text":"go"}]}
        {"type":"agent_message_chunk","content":"done","message_id":"message-2"}
        {"type":"session_info","title":"go"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"end_turn"}
    "#]]
    .assert_eq(&rig.play_turn("go").await);
}

#[tokio::test]
async fn every_stop_reason_can_be_played() {
    for reason in [
        "end_turn",
        "max_tokens",
        "max_turn_requests",
        "refusal",
        "cancelled",
    ] {
        let steps = format!("[{{repeat: {{times: 9, steps: [{{stop: {reason}}}]}}}}]");
        let turn = Rig::new(&scenario(&steps)).await.play_turn("go").await;
        let end =
            format!(r#"{{"type":"turn_ended","outcome":"stopped","stop_reason":"{reason}"}}"#);
        assert_eq!(turn.lines().last(), Some(end.as_str()));
    }
}

#[tokio::test]
async fn prompt_without_a_matching_turn_gets_the_patterns() {
    let text = "name: narrow\nturns: [{match: '^a', steps: []}, {match: 'b$', steps: []}]";
    let mut rig = Rig::new(text).await;
    expect![[r#"
        {"type":"turn_started","message_id":"message-1","prompt":[{"type":"text","text":"one two three four five six seven eight nine"}]}
        {"type":"agent_message_chunk","content":"The scenario \"narrow\" has no turn for \"one two three four five six seven eight …\". Its turns match `^a`, `b$`.","message_id":"message-2"}
        {"type":"session_info","title":"one two three four five six seven eight nine"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"end_turn"}
    "#]].assert_eq(&rig.play_turn("one two three four five six seven eight nine").await);
}

#[tokio::test(start_paused = true)]
async fn sleep_waits_for_its_duration() {
    let mut rig = Rig::from_agent(tour()).await;
    rig.prompt("wait").await;
    let begin = tokio::time::Instant::now();
    let turn = rig.finish_turn().await;
    assert_eq!(begin.elapsed().as_millis(), 1500);
    assert_eq!(turn.matches("tick ").count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_sleep() {
    let mut rig = Rig::new(&scenario("[{say: a}, {sleep_ms: 3600000}, {say: never}]")).await;
    let begin = tokio::time::Instant::now();
    let turn = rig.prompt("go").await;
    rig.collect_until(is_chunk).await;
    rig.session.cancel(turn).await;
    let rest = rig.finish_turn().await;
    assert!(begin.elapsed() < Duration::from_secs(1));
    expect![[r#"
        {"type":"session_info","title":"go"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"cancelled"}
    "#]]
    .assert_eq(&rest);
}

#[tokio::test(start_paused = true)]
async fn only_the_deadline_stops_steps_after_await_cancel() {
    let steps = "[{say: a}, {await_cancel: {}}, {seam: turn_end}, {sleep_ms: 1000}, {say: bye}, \
                 {sleep_ms: 3600000}, {say: never}]";
    let mut rig = Rig::new(&scenario(steps)).await;
    let turn = rig.prompt("go").await;
    rig.collect_until(is_chunk).await;
    let begin = tokio::time::Instant::now();
    rig.session.cancel(turn).await;
    let rest = rig.finish_turn().await;
    assert_eq!(begin.elapsed().as_secs(), 5);
    expect![[r#"
        {"type":"agent_message_chunk","content":"bye","message_id":"message-2"}
        {"type":"session_info","title":"go"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"cancelled"}
    "#]]
    .assert_eq(&rest);
}

#[tokio::test]
async fn repeats_nest_and_keep_count() {
    let steps =
        "[{repeat: {times: 3, steps: [{say: a}, {repeat: {times: 2, steps: [{say: b}]}}]}}]";
    let turn = Rig::new(&scenario(steps)).await.play_turn("go").await;
    assert_eq!(turn.matches(r#""content":"a""#).count(), 3);
    assert_eq!(turn.matches(r#""content":"b""#).count(), 6);
}

#[tokio::test]
async fn a_long_repeat_arrives_whole_and_a_cancel_ends_it() {
    let steps = "[{repeat: {times: 20000, steps: [{say: w}]}}]";
    let turn = Rig::new(&scenario(steps)).await.play_turn("go").await;
    assert_eq!(turn.matches(r#""content":"w""#).count(), 20_000);

    let steps =
        "[{repeat: {times: 10000000, steps: [{repeat: {times: 10000000, steps: [{say: w}]}}]}}]";
    let mut rig = Rig::new(&scenario(steps)).await;
    let turn = rig.prompt("go").await;
    rig.collect_until(is_chunk).await;
    rig.session.cancel(turn).await;
    let end = rig.finish_turn().await;
    let end = end.lines().last().unwrap_or_default();
    assert_eq!(
        end,
        r#"{"type":"turn_ended","outcome":"stopped","stop_reason":"cancelled"}"#
    );
}

#[tokio::test]
async fn a_host_tool_is_a_visible_call() {
    let steps = "[{host_tool: {name: add, kind: read, args: {a: 1}}}, \
                 {host_tool: {name: break, kind: read}}, {say: done}]";
    let mut rig = Rig::new(&scenario(steps)).await;
    rig.session.set_host(Arc::new(ToolHost));
    expect![[r#"
        {"type":"turn_started","message_id":"message-1","prompt":[{"type":"text","text":"go"}]}
        {"type":"tool_call","tool_call_id":"call-1","tool_name":"add","kind":"read","status":"in_progress","raw_input":{"a":1},"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}}
        {"type":"tool_call_update","tool_call_id":"call-1","tool_name":"add","title":"add","status":"completed","raw_output":{"echo":{"a":1}},"duration_ms":0,"execution_duration_ms":0,"executor":"host_bridge","audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"tool_call","tool_call_id":"call-2","tool_name":"break","kind":"read","status":"in_progress","audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}}
        {"type":"tool_call_update","tool_call_id":"call-2","tool_name":"break","title":"break","status":"failed","error":"the host answered: it broke","error_category":"host_bridge_error","duration_ms":0,"execution_duration_ms":0,"executor":"host_bridge","audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"agent_message_chunk","content":"done","message_id":"message-2"}
        {"type":"session_info","title":"go"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"end_turn"}
    "#]].assert_eq(&rig.play_turn("go").await);
}

#[tokio::test]
async fn a_host_without_tools_fails_the_call_not_the_turn() {
    let mut rig = Rig::new(&scenario(
        "[{host_tool: {name: add, kind: read}}, {say: done}]",
    ))
    .await;
    expect![[r#"
        {"type":"turn_started","message_id":"message-1","prompt":[{"type":"text","text":"go"}]}
        {"type":"tool_call","tool_call_id":"call-1","tool_name":"add","kind":"read","status":"in_progress","audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}}
        {"type":"tool_call_update","tool_call_id":"call-1","tool_name":"add","title":"add","status":"failed","error":"the host does not offer tools","error_category":"host_bridge_error","duration_ms":0,"execution_duration_ms":0,"executor":"host_bridge","audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"agent_message_chunk","content":"done","message_id":"message-2"}
        {"type":"session_info","title":"go"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"end_turn"}
    "#]].assert_eq(&rig.play_turn("go").await);
}

#[tokio::test]
async fn a_host_call_is_a_visible_call_too() {
    let op = "process.list_shells";
    let steps = format!(
        "[{{host_call: {{op: {op}, args: {{a: 1}}}}}}, {{host_call: {{op: gone, kind: read}}}}]"
    );
    let mut rig = Rig::new(&scenario(&steps)).await;
    rig.session.set_host(Arc::new(ToolHost));
    expect![[r#"
        {"type":"turn_started","message_id":"message-1","prompt":[{"type":"text","text":"go"}]}
        {"type":"tool_call","tool_call_id":"call-1","tool_name":"process.list_shells","kind":"read","status":"in_progress","raw_input":{"a":1},"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}}
        {"type":"tool_call_update","tool_call_id":"call-1","tool_name":"process.list_shells","title":"process.list_shells","status":"completed","raw_output":{"did":"process.list_shells","with":{"a":1}},"duration_ms":0,"execution_duration_ms":0,"executor":"host_bridge","audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"tool_call","tool_call_id":"call-2","tool_name":"gone","kind":"read","status":"in_progress","raw_input":{},"audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace","approval_policy":null}}
        {"type":"tool_call_update","tool_call_id":"call-2","tool_name":"gone","title":"gone","status":"failed","error":"the host answered: there is no such operation","error_category":"host_bridge_error","duration_ms":0,"execution_duration_ms":0,"executor":"host_bridge","audit":{"session_id":"session-1","parent_session_id":null,"run_id":"turn-1","worker_id":null,"execution_kind":"run","mutation_scope":"apply_workspace"}}
        {"type":"session_info","title":"go"}
        {"type":"turn_ended","outcome":"stopped","stop_reason":"end_turn"}
    "#]].assert_eq(&rig.play_turn("go").await);
    let mut rig = Rig::new(&scenario(&steps)).await;
    let turn = rig.play_turn("go").await;
    assert_eq!(
        turn.matches("the host does not offer operations").count(),
        2,
        "{turn}"
    );
}

#[tokio::test]
async fn read_only_mode_refuses_without_a_question() {
    let mut rig = Rig::from_agent(tour()).await;
    let set = rig.session.set_mode("read-only").await;
    set.expect("a mode there is");
    let turn = rig.play_turn("write").await;
    assert!(!turn.contains("permission_asked"), "{turn}");
    assert!(turn.contains("Then I leave it."), "{turn}");
}

/// Returns the calls of a turn, each with whether it asked for permission.
async fn calls_with_questions(steps: &str) -> Vec<(String, bool)> {
    let mut rig = Rig::new(&scenario(steps)).await;
    rig.session.set_host(Arc::new(ToolHost));
    rig.prompt("go").await;
    let mut calls = Vec::new();
    loop {
        let events = rig
            .collect_until(|e| {
                matches!(e, AgentEvent::PermissionAsked(_) | AgentEvent::TurnEnded(_))
            })
            .await;
        for event in events {
            match event {
                AgentEvent::ToolCall(call) => calls.push((call.tool_name, false)),
                AgentEvent::PermissionAsked(ask) => {
                    calls.last_mut().expect("a call is announced first").1 = true;
                    let no = Decision::Rejected {
                        option_id: None,
                        reason: None,
                    };
                    rig.session.answer(ask.ask_id, no).await;
                }
                AgentEvent::TurnEnded(_) => return calls,
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn host_operation_with_side_effects_is_asked_about() {
    let operations = [
        ("process.list_shells", false),
        ("process.get_default_shell", false),
        ("process.shell_invocation", false),
        ("process.set_default_shell", true),
        ("something.else", true),
    ];
    let steps: Vec<_> = operations
        .iter()
        .map(|(op, _)| format!("{{host_call: {{op: {op}}}}}"))
        .collect();
    let seen = calls_with_questions(&format!(
        "[{}, {{host_tool: {{name: dice}}}}]",
        steps.join(", ")
    ))
    .await;
    let expected = operations
        .iter()
        .map(|(op, asks)| ((*op).to_owned(), *asks));
    let expected: Vec<_> = expected.chain([("dice".to_owned(), true)]).collect();
    assert_eq!(seen, expected);
}

/// A host whose tools return their arguments, except one that fails.
struct ToolHost;

#[async_trait]
impl HostPort for ToolHost {
    fn offers(&self) -> HostOffers {
        HostOffers {
            tools: true,
            ..HostOffers::default()
        }
    }

    async fn read_text(&self, _: &SessionId, _: &RootedPath) -> Result<String, HostError> {
        Err(HostError::Unsupported("reading files"))
    }

    async fn write_text(&self, _: &SessionId, _: &RootedPath, _: &str) -> Result<(), HostError> {
        Err(HostError::Unsupported("writing files"))
    }

    async fn run(
        &self,
        _: &SessionId,
        _: CommandSpec,
        _: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        Err(HostError::Unsupported("running commands"))
    }

    async fn call_tool(&self, _: &SessionId, name: &str, args: Value) -> Result<Value, HostError> {
        match name {
            "break" => Err(HostError::Host("it broke".to_owned())),
            _ => Ok(json!({ "echo": args })),
        }
    }

    async fn host_call(&self, _: &SessionId, op: &str, args: Value) -> Result<Value, HostError> {
        match op {
            "gone" => Err(HostError::Host("there is no such operation".to_owned())),
            _ => Ok(json!({ "did": op, "with": args })),
        }
    }
}
