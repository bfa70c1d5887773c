//! The translation of events that the conversations in `fixtures/threads` do not contain.

use expect_test::{Expect, expect};
use harn_model::{
    CommandOutput, Decision, PermissionAsked, PermissionOption, PermissionOptionKind,
    PermissionResolved, Resource, Seq, ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent,
    TurnEnded, TurnRecovered, TurnStarted,
};
use serde_json::json;

use super::*;

/// Compares the notifications of these events, one per line, without the members that every line has.
fn check(events: Vec<AgentEvent>, expect: Expect) {
    let mut projector = ThreadProjector::new("t".into());
    let mut told = Vec::new();
    for (at, event) in (1..).zip(events) {
        let envelope = Envelope {
            seq: Seq(at),
            at,
            turn: Some("turn".into()),
            event,
        };
        projector.project(&envelope, &mut told);
    }
    let line = |notification: &ThreadNotification| {
        let mut line = serde_json::to_string(notification).unwrap();
        for same in [r#""threadId":"t""#, r#""turnId":"turn""#] {
            line = line.replace(&format!("{same},"), "");
            line = line.replace(&format!(",{same}"), "");
        }
        line + "\n"
    };
    let lines: String = told.iter().map(line).collect();
    expect.assert_eq(&lines);
}

fn turn_started_event(prompt: Vec<ContentBlock>) -> AgentEvent {
    AgentEvent::TurnStarted(Box::new(TurnStarted {
        message_id: "m".into(),
        prompt,
        live_session: None,
    }))
}

fn chunk(id: &str, content: &str) -> AgentEvent {
    AgentEvent::AgentMessageChunk {
        content: content.to_owned(),
        message_id: Some(id.into()),
    }
}

fn turn_ended_event() -> AgentEvent {
    let outcome = TurnOutcome::stopped(StopReason::EndTurn);
    AgentEvent::TurnEnded(Box::new(TurnEnded { outcome }))
}

fn permission_asked_event() -> AgentEvent {
    let option = PermissionOption {
        option_id: "yes".to_owned(),
        name: "Yes".to_owned(),
        kind: PermissionOptionKind::AllowOnce,
        scope: harn_model::GrantScope::Once,
    };
    let call = ToolCall::new("call", "look");
    let ask = PermissionAsked::new("ask".into(), call, vec![option]);
    AgentEvent::PermissionAsked(Box::new(ask))
}

#[test]
fn prompts_of_other_wires_become_parts() {
    let blocks = vec![
        ContentBlock::text("Look"),
        ContentBlock::Image {
            mime_type: "image/png".to_owned(),
            data: "AAAA".to_owned(),
            uri: None,
        },
        ContentBlock::Audio {
            mime_type: "audio/wav".to_owned(),
            data: "BBBB".to_owned(),
        },
        ContentBlock::Resource(Resource {
            uri: "file:///a/b.rs".to_owned(),
            mime_type: None,
            text: Some("fn b() {}".to_owned()),
            blob: None,
        }),
    ];
    check(
        vec![turn_started_event(blocks)],
        expect![[r#"
            {"notification":"turn.started","time":1,"turn":{"status":"running","time":{"started":1}}}
            {"notification":"item.started","item":{"itemId":"itm_m","type":"user_message","data":{"parts":[{"type":"text","text":"Look"},{"type":"file","url":"data:image/png;base64,AAAA","filename":"image","mime":"image/png"},{"type":"file","url":"data:audio/wav;base64,BBBB","filename":"audio","mime":"audio/wav"},{"type":"file","url":"file:///a/b.rs","filename":"b.rs"}]}}}
            {"notification":"item.completed","itemId":"itm_m"}
        "#]],
    );
}

#[test]
fn a_resumed_message_is_another_item() {
    let events = vec![
        turn_started_event(Vec::new()),
        chunk("a", "one"),
        chunk("b", ""),
        chunk("a", "two"),
        turn_ended_event(),
    ];
    check(
        events,
        expect![[r#"
            {"notification":"turn.started","time":1,"turn":{"status":"running","time":{"started":1}}}
            {"notification":"item.started","item":{"itemId":"itm_m","type":"user_message","data":{"parts":[]}}}
            {"notification":"item.completed","itemId":"itm_m"}
            {"notification":"item.started","item":{"itemId":"itm_a","type":"assistant_message","data":{"partId":"a"}}}
            {"notification":"item.delta","itemId":"itm_a","type":"assistant_message","delta":"one"}
            {"notification":"item.completed","itemId":"itm_a","type":"assistant_message","data":{"partId":"a","text":"one"}}
            {"notification":"item.started","item":{"itemId":"itm_b","type":"assistant_message","data":{"partId":"b"}}}
            {"notification":"item.completed","itemId":"itm_b","type":"assistant_message","data":{"partId":"b","text":""}}
            {"notification":"item.started","item":{"itemId":"itm_a.2","type":"assistant_message","data":{"partId":"a"}}}
            {"notification":"item.delta","itemId":"itm_a.2","type":"assistant_message","delta":"two"}
            {"notification":"item.completed","itemId":"itm_a.2","type":"assistant_message","data":{"partId":"a","text":"two"}}
            {"notification":"turn.completed","status":"completed","time":5,"stopReason":"end_turn","turn":{"status":"completed","time":{"started":1,"completed":5}}}
        "#]],
    );
}

#[test]
fn open_items_end_with_their_turn() {
    let events = vec![
        turn_started_event(Vec::new()),
        AgentEvent::ToolCall(Box::new(ToolCall::new("call", "look"))),
        permission_asked_event(),
        chunk("a", "one"),
        AgentEvent::Recovered(Box::new(TurnRecovered {
            interrupted_calls: Vec::new(),
            withdrawn_asks: Vec::new(),
            torn_bytes: 0,
        })),
        // After the end of a turn, nothing of it is notified.
        chunk("a", "two"),
        turn_ended_event(),
    ];
    check(
        events,
        expect![[r#"
            {"notification":"turn.started","time":1,"turn":{"status":"running","time":{"started":1}}}
            {"notification":"item.started","item":{"itemId":"itm_m","type":"user_message","data":{"parts":[]}}}
            {"notification":"item.completed","itemId":"itm_m"}
            {"notification":"item.started","item":{"itemId":"itm_call","type":"tool_exec","data":{"callId":"call","tool":"look","status":"pending"}}}
            {"notification":"item.started","item":{"itemId":"itm_ask","type":"approval","data":{"requestId":"ask","permission":"look","patterns":[],"metadata":{}}}}
            {"notification":"approval.requested","itemId":"itm_ask","requestId":"ask","permission":"look","patterns":[],"metadata":{},"tool":{"messageID":"m","callID":"call"}}
            {"notification":"item.started","item":{"itemId":"itm_a","type":"assistant_message","data":{"partId":"a"}}}
            {"notification":"item.delta","itemId":"itm_a","type":"assistant_message","delta":"one"}
            {"notification":"item.completed","itemId":"itm_a","type":"assistant_message","data":{"partId":"a","text":"one"}}
            {"notification":"item.completed","itemId":"itm_ask","type":"approval","data":{"reply":"reject","reason":"the process ended in the middle of this turn"}}
            {"notification":"item.completed","itemId":"itm_call","type":"tool_exec","data":{"callId":"call","tool":"look","error":"the process ended in the middle of this turn"}}
            {"notification":"turn.error","status":"error","error":"the process ended in the middle of this turn","time":5,"turn":{"status":"error","time":{"started":1,"completed":5}}}
        "#]],
    );
}

#[test]
fn a_decision_that_does_not_allow_is_a_rejection() {
    let resolved = |decision| {
        let resolved = PermissionResolved {
            ask_id: "ask".into(),
            decision,
            remembered: None,
        };
        AgentEvent::PermissionResolved(Box::new(resolved))
    };
    let reason = "too late".to_owned();
    let events = vec![
        turn_started_event(Vec::new()),
        permission_asked_event(),
        resolved(Decision::Unavailable { reason }),
        permission_asked_event(),
        resolved(Decision::Cancelled),
        // It is settled already.
        resolved(Decision::Cancelled),
    ];
    check(
        events,
        expect![[r#"
            {"notification":"turn.started","time":1,"turn":{"status":"running","time":{"started":1}}}
            {"notification":"item.started","item":{"itemId":"itm_m","type":"user_message","data":{"parts":[]}}}
            {"notification":"item.completed","itemId":"itm_m"}
            {"notification":"item.started","item":{"itemId":"itm_ask","type":"approval","data":{"requestId":"ask","permission":"look","patterns":[],"metadata":{}}}}
            {"notification":"approval.requested","itemId":"itm_ask","requestId":"ask","permission":"look","patterns":[],"metadata":{},"tool":{"messageID":"m","callID":"call"}}
            {"notification":"item.completed","itemId":"itm_ask","type":"approval","data":{"reply":"reject","reason":"too late"}}
            {"notification":"item.started","item":{"itemId":"itm_ask.2","type":"approval","data":{"requestId":"ask","permission":"look","patterns":[],"metadata":{}}}}
            {"notification":"approval.requested","itemId":"itm_ask.2","requestId":"ask","permission":"look","patterns":[],"metadata":{},"tool":{"messageID":"m","callID":"call"}}
            {"notification":"item.completed","itemId":"itm_ask.2","type":"approval","data":{"reply":"reject","reason":"the request was cancelled before a decision"}}
        "#]],
    );
}

#[test]
fn a_call_notifies_its_output_and_changes() {
    let diff = ToolContent::Diff {
        path: "/a.rs".to_owned(),
        old_text: Some("a".to_owned()),
        new_text: "b".to_owned(),
    };
    let mut call = ToolCall::new("call", "edit");
    call.content = vec![diff.clone()];
    let update = |status| ToolCallUpdate::new("call", "edit", status);
    let mut input = update(ToolCallStatus::InProgress);
    input.raw_input = Some(json!({"path": "/a.rs"}));
    let mut done = update(ToolCallStatus::Completed);
    done.content = Some(vec![diff, ToolContent::text("1 change")]);
    done.title = Some("Edited".to_owned());
    let mut at_once = ToolCall::new("other", "look");
    at_once.status = ToolCallStatus::Completed;
    let events = vec![
        turn_started_event(Vec::new()),
        AgentEvent::ToolCall(Box::new(call)),
        AgentEvent::ToolCallUpdate(Box::new(update(ToolCallStatus::InProgress))),
        AgentEvent::ToolCallUpdate(Box::new(input)),
        AgentEvent::ToolCallUpdate(Box::new(done)),
        AgentEvent::ToolCall(Box::new(at_once)),
    ];
    check(
        events,
        expect![[r#"
            {"notification":"turn.started","time":1,"turn":{"status":"running","time":{"started":1}}}
            {"notification":"item.started","item":{"itemId":"itm_m","type":"user_message","data":{"parts":[]}}}
            {"notification":"item.completed","itemId":"itm_m"}
            {"notification":"item.started","item":{"itemId":"itm_call","type":"tool_exec","data":{"callId":"call","tool":"edit","status":"pending"}}}
            {"notification":"item.delta","itemId":"itm_call","type":"tool_log","delta":"/a.rs","data":{"callId":"call","tool":"edit"}}
            {"notification":"item.delta","itemId":"itm_call","type":"tool_log","data":{"callId":"call","tool":"edit","input":{"path":"/a.rs"}}}
            {"notification":"item.delta","itemId":"itm_call","type":"tool_log","delta":"\n1 change","data":{"callId":"call","tool":"edit"}}
            {"notification":"item.completed","itemId":"itm_call","type":"tool_exec","data":{"callId":"call","tool":"edit","output":"/a.rs\n1 change","title":"Edited","diffs":[{"path":"/a.rs","oldText":"a","newText":"b"}]}}
            {"notification":"item.started","item":{"itemId":"itm_other","type":"tool_exec","data":{"callId":"other","tool":"look","status":"pending"}}}
            {"notification":"item.completed","itemId":"itm_other","type":"tool_exec","data":{"callId":"other","tool":"look","output":"","title":"look"}}
        "#]],
    );
}

fn command_output(start: u64, text: &str) -> ToolContent {
    ToolContent::Output(CommandOutput {
        text: text.to_owned(),
        start,
        incomplete: false,
    })
}

fn call_update_event(status: ToolCallStatus, content: Vec<ToolContent>) -> AgentEvent {
    let mut update = ToolCallUpdate::new("call", "run", status);
    update.content = Some(content);
    update.raw_output = Some(json!({"exit_code": 0}));
    AgentEvent::ToolCallUpdate(Box::new(update))
}

#[test]
fn each_delta_contains_only_new_output() {
    let running = |content| call_update_event(ToolCallStatus::InProgress, vec![content]);
    let end = vec![
        command_output(10, "x\n"),
        ToolContent::text("exit code 0\n"),
    ];
    let events = vec![
        turn_started_event(Vec::new()),
        AgentEvent::ToolCall(Box::new(ToolCall::new("call", "run"))),
        running(command_output(0, "one\n")),
        running(command_output(0, "one\n")),
        running(command_output(2, "e\ntwo")),
        call_update_event(ToolCallStatus::Completed, end),
        AgentEvent::ToolCall(Box::new(ToolCall::new("call.2", "run"))),
        AgentEvent::ToolCallUpdate(Box::new(ToolCallUpdate {
            content: Some(vec![command_output(0, "")]),
            raw_output: Some(json!({"exit_code": 0})),
            ..ToolCallUpdate::new("call.2", "run", ToolCallStatus::Completed)
        })),
    ];
    check(
        events,
        expect![[r#"
            {"notification":"turn.started","time":1,"turn":{"status":"running","time":{"started":1}}}
            {"notification":"item.started","item":{"itemId":"itm_m","type":"user_message","data":{"parts":[]}}}
            {"notification":"item.completed","itemId":"itm_m"}
            {"notification":"item.started","item":{"itemId":"itm_call","type":"tool_exec","data":{"callId":"call","tool":"run","status":"pending"}}}
            {"notification":"item.delta","itemId":"itm_call","type":"tool_log","delta":"one\n","data":{"callId":"call","tool":"run"}}
            {"notification":"item.delta","itemId":"itm_call","type":"tool_log","delta":"two","data":{"callId":"call","tool":"run"}}
            {"notification":"item.delta","itemId":"itm_call","type":"tool_log","delta":"\n[… 3 bytes are left out …]\nx\n","data":{"callId":"call","tool":"run"}}
            {"notification":"item.completed","itemId":"itm_call","type":"tool_exec","data":{"callId":"call","tool":"run","output":"one\ntwo\n[… 3 bytes are left out …]\nx\n","title":"run"}}
            {"notification":"item.started","item":{"itemId":"itm_call.2","type":"tool_exec","data":{"callId":"call.2","tool":"run","status":"pending"}}}
            {"notification":"item.completed","itemId":"itm_call.2","type":"tool_exec","data":{"callId":"call.2","tool":"run","output":"","title":"run"}}
        "#]],
    );
}

#[test]
fn a_text_that_replaces_another_has_no_delta() {
    let running =
        |text: &str| call_update_event(ToolCallStatus::InProgress, vec![ToolContent::text(text)]);
    let events = vec![
        turn_started_event(Vec::new()),
        AgentEvent::ToolCall(Box::new(ToolCall::new("call", "run"))),
        running("```\none\n```\n"),
        running("```\none\ntwo\n```\n"),
        call_update_event(
            ToolCallStatus::Completed,
            vec![ToolContent::text("```\none\ntwo\n```\n\nexit code 0\n")],
        ),
    ];
    check(
        events,
        expect![[r#"
            {"notification":"turn.started","time":1,"turn":{"status":"running","time":{"started":1}}}
            {"notification":"item.started","item":{"itemId":"itm_m","type":"user_message","data":{"parts":[]}}}
            {"notification":"item.completed","itemId":"itm_m"}
            {"notification":"item.started","item":{"itemId":"itm_call","type":"tool_exec","data":{"callId":"call","tool":"run","status":"pending"}}}
            {"notification":"item.delta","itemId":"itm_call","type":"tool_log","delta":"```\none\n```\n","data":{"callId":"call","tool":"run"}}
            {"notification":"item.completed","itemId":"itm_call","type":"tool_exec","data":{"callId":"call","tool":"run","output":"```\none\ntwo\n```\n\nexit code 0\n","title":"run"}}
        "#]],
    );
}

#[test]
fn a_withdrawn_prompt_is_notified_unless_a_turn_runs() {
    let prompt = |message: &str| {
        Box::new(TurnStarted {
            message_id: message.into(),
            prompt: vec![ContentBlock::text("Go")],
            live_session: None,
        })
    };
    let queued = |message| AgentEvent::PromptQueued(prompt(message));
    let withdrawn = |message| AgentEvent::PromptWithdrawn(prompt(message));
    // The second one during a turn: a notified end would end that turn. The queue itself is not notified.
    let events = vec![
        queued("w"),
        withdrawn("w"),
        turn_started_event(Vec::new()),
        queued("x"),
        withdrawn("x"),
    ];
    check(
        events,
        expect![[r#"
            {"notification":"turn.started","time":2,"turn":{"status":"running","time":{"started":2}}}
            {"notification":"item.started","item":{"itemId":"itm_w","type":"user_message","data":{"parts":[{"type":"text","text":"Go"}]}}}
            {"notification":"item.completed","itemId":"itm_w"}
            {"notification":"turn.error","status":"cancelled","error":"the turn was cancelled before it began","time":2,"turn":{"status":"cancelled","time":{"started":2,"completed":2}}}
            {"notification":"turn.started","time":3,"turn":{"status":"running","time":{"started":3}}}
            {"notification":"item.started","item":{"itemId":"itm_m","type":"user_message","data":{"parts":[]}}}
            {"notification":"item.completed","itemId":"itm_m"}
        "#]],
    );
}
