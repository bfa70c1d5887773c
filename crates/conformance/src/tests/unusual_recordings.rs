//! Recordings without directions, and unusual but allowed recordings.

use serde_json::json;

use super::*;
use crate::TrafficDirection;

fn check_lines(lines: &[String]) -> Vec<(usize, ConformanceRule)> {
    findings(lines.iter().map(String::as_str))
}

#[test]
fn recording_of_the_agent_alone_is_checked() {
    let hello = json!({"protocolVersion": 1, "agentCapabilities": {}});
    let found = check_lines(&[
        answer(1, hello),
        answer(2, json!({"sessionId": "s"})),
        extension("progress", json!({"phase": "p", "message": "m"})),
        call("c", serde_json::Value::Null),
        answer(3, json!({"stopReason": "end_turn"})),
    ]);
    assert_eq!(
        found,
        [
            (3, ConformanceRule::NotAdvertised),
            (5, ConformanceRule::CallLeftOpen)
        ]
    );
}

#[test]
fn replay_without_a_request_may_repeat_events() {
    let text = json!({"type": "text", "text": "go on"});
    let asked = || update(json!({"sessionUpdate": "user_message_chunk", "content": text}));
    let turn = || {
        [
            call("c", json!({"parsing": true})),
            call_update("c", "failed", json!({"parsing": false})),
            worker_update("WorkerSpawned", "running", false),
            worker_update("WorkerFailed", "failed", true),
            composition_event("composition_start", HASH),
            composition_event("composition_finish", HASH),
        ]
    };
    let recording: Vec<_> = turn().into_iter().chain([asked()]).chain(turn()).collect();
    assert_eq!(check_lines(&recording), []);
    let doubled: Vec<_> = turn().into_iter().chain(turn()).collect();
    assert_eq!(check_lines(&doubled).len(), 5);
}

#[test]
fn both_sides_may_use_the_same_ids() {
    let ask = json!({"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": []});
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    let found = check_lines(&[
        request(1, "session/new", json!({"cwd": "/w", "mcpServers": []})),
        answer(1, json!({"sessionId": "s"})),
        prompt(1),
        call("c", Value::Null),
        request(1, "session/request_permission", ask),
        answer(1, outcome),
        call_update("c", "failed", Value::Null),
        end_turn(1),
    ]);
    assert_eq!(found, []);
}

#[test]
fn given_direction_takes_precedence() {
    let mut checker = Checker::new();
    let logout = json!({"jsonrpc": "2.0", "id": 1, "method": "logout"});
    assert_eq!(
        checker.check_message(Some(TrafficDirection::ToAgent), &logout),
        []
    );
    let odd = checker.check_message(Some(TrafficDirection::ToClient), &logout);
    assert_eq!(odd[0].rule, ConformanceRule::UnknownMethod);
    assert_eq!(odd[0].direction, Some(TrafficDirection::ToClient));
    assert_eq!(odd[0].line, 2);
}

#[test]
fn custom_methods_and_extra_envelope_members_are_accepted() {
    let found = check_lines(&[
        request(1, "_other/thing", json!({"a": 1})),
        answer(1, json!({"b": 2})),
        r#"{"jsonrpc":"2.0","type":"notification","method":"session/cancel","params":{"sessionId":"s"}}"#.into(),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#.into(),
    ]);
    assert_eq!(found, []);
}

#[test]
fn a_carried_extension_counts_like_one_with_its_own_discriminator() {
    let carried = |harn| extension("session_info_update", harn);
    let skill = json!({"sessionUpdate": "skill_deactivated", "skillName": "k", "iteration": 1});
    let on = json!({"sessionUpdate": "skill_activated", "skillName": "k", "iteration": 1, "reason": "r"});
    let found = check_lines(&[carried(on), carried(skill.clone()), carried(skill)]);
    assert_eq!(found, [(3, ConformanceRule::SkillNotActive)]);
}

#[test]
fn contract_members_beside_acp_are_accepted() {
    let mut ask = permission_params();
    ask["toolCall"]["toolName"] = json!("look");
    let mut misspelt = ask.clone();
    misspelt["aprovalRequest"] = json!({});
    let message = json!([{"type": "text", "text": "and then?"}]);
    let found = check_lines(&[
        request(1, "session/request_permission", ask),
        request(2, "session/request_permission", misspelt),
        update(json!({"sessionUpdate": "user_message", "messageId": "m", "content": message})),
        extension(
            "progress",
            json!({"phase": "p", "message": "m", "replayed": true}),
        ),
    ]);
    assert_eq!(found, [(2, ConformanceRule::UnknownMember)]);
}

#[test]
fn every_form_of_a_permission_answer_is_accepted() {
    let selected = json!({"outcome": "selected", "optionId": "allow_once", "_meta": {"a": 1}});
    let recorded = json!({"permissionDecision": {"schema": "s", "outcome": "approved"}});
    let answers = [
        json!({"outcome": selected}),
        json!({"outcome": {"outcome": "selected"}}),
        json!({"outcome": {"outcome": "cancelled"}}),
        json!({"granted": true}),
        json!({"granted": true, "args": {"path": "a"}}),
        json!({"granted": false, "reason": "no"}),
        json!({"outcome": selected, "granted": true, "_meta": {"harn": recorded, "other": 1}}),
    ];
    for form in answers {
        let found = check_lines(&[
            request(1, "session/request_permission", permission_params()),
            answer(1, form.clone()),
        ]);
        assert_eq!(found, [], "{form}");
    }
}

#[test]
fn turns_of_other_clients_and_unrecorded_history_are_accepted() {
    let text = json!({"type": "text", "text": "theirs"});
    let theirs = update(json!({"sessionUpdate": "user_message_chunk", "content": text}));
    let none = serde_json::Value::Null;
    let found = check_lines(&[
        request(1, "session/resume", json!({"sessionId": "s", "cwd": "/w"})),
        answer(1, json!({})),
        call_update("before", "completed", none.clone()),
        worker_update("WorkerCompleted", "completed", true),
        extension(
            "skill_deactivated",
            json!({"skillName": "k", "iteration": 1}),
        ),
        prompt(2),
        end_turn(2),
        theirs,
        call("c", none.clone()),
        call_update("c", "completed", none.clone()),
        prompt(3),
        call_update("unheard", "completed", none),
        end_turn(3),
    ]);
    assert_eq!(found, [(12, ConformanceRule::UpdateBeforeCall)]);
}

/// Messages that may follow the answer to a prompt: another client's turn runs, or the message is not work.
#[test]
fn work_in_turns_of_other_clients_is_accepted() {
    let text = json!({"type": "text", "text": "theirs"});
    let theirs = || update(json!({"sessionUpdate": "user_message_chunk", "content": text}));
    let read = |id| {
        let params = json!({"sessionId": "s", "path": "/w/a"});
        [
            request(id, "fs/read_text_file", params),
            answer(id, json!({"content": ""})),
        ]
    };
    let load = json!({"sessionId": "s", "cwd": "/w", "mcpServers": []});
    let release = json!({"sessionId": "s", "terminalId": "t"});
    let open = [
        request(1, "session/new", json!({"cwd": "/w", "mcpServers": []})),
        answer(1, json!({"sessionId": "s"})),
        prompt(2),
        worker_update("WorkerSpawned", "running", false),
        worker_update("WorkerWaitingForInput", "awaiting_input", false),
        end_turn(2),
        request(91, "terminal/release", release),
        answer(91, json!({})),
    ];
    let of_another = |head: Vec<String>| {
        let tail = [worker_update("WorkerProgressed", "progressed", false)];
        let tail = tail.into_iter().chain(read(92));
        let all: Vec<_> = open.iter().cloned().chain(head).chain(tail).collect();
        check_lines(&all)
    };
    // Without any of these, the checker reports both.
    let missed = [
        (9, ConformanceRule::WorkOutsideTurn),
        (10, ConformanceRule::RequestOutsideTurn),
    ];
    assert_eq!(of_another(vec![]), missed);
    assert_eq!(of_another(vec![theirs()]), []);
    let inject = json!({"sessionId": "s", "mode": "queue", "content": "theirs"});
    assert_eq!(of_another(vec![request(3, "session/inject", inject)]), []);
    // A cancelled prompt that waited for their turn does not end it.
    let gave_up = answer(4, json!({"stopReason": "cancelled"}));
    assert_eq!(of_another(vec![theirs(), prompt(4), gave_up]), []);
    // A replay may repeat earlier events.
    let spawned = worker_update("WorkerSpawned", "running", false);
    assert_eq!(
        of_another(vec![request(4, "session/load", load), spawned]),
        []
    );
}

#[test]
fn session_may_be_loaded_again_during_its_turn() {
    let none = serde_json::Value::Null;
    let load = json!({"sessionId": "s", "cwd": "/w", "mcpServers": []});
    let found = check_lines(&[
        request(1, "session/new", json!({"cwd": "/w", "mcpServers": []})),
        answer(1, json!({"sessionId": "s"})),
        prompt(2),
        call("c", none.clone()),
        request(3, "session/load", load),
        call_update("c", "in_progress", none.clone()),
        call("c", none.clone()),
        call_update("c", "in_progress", none.clone()),
        answer(3, json!({})),
        call_update("c", "completed", none),
        end_turn(2),
    ]);
    assert_eq!(found, []);
}

#[test]
fn lone_messages_are_checked_against_schemas_only() {
    let mut checker = Checker::for_lone_messages();
    let none = serde_json::Value::Null;
    assert_eq!(checker.check_line(&call_update("c", "completed", none)), []);
    assert_eq!(checker.check_line(&end_turn(4)), []);
    let odd = checker.check_line(&extension("progress", json!({"phase": "p"})));
    assert_eq!(odd[0].rule, ConformanceRule::WrongExtension);
    assert_eq!(checker.messages(), 3);
}

#[test]
fn findings_repeat_no_text_of_a_message() {
    let mut checker = Checker::new();
    let secret = "hunter2";
    let odd = [
        update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": secret, "text": secret}}),
        ),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": 7, "status": secret}),
        ),
        request(
            1,
            "session/prompt",
            json!({"sessionId": "s", "prompt": secret}),
        ),
        answer(1, json!({"stopReason": secret})),
        worker_update("WorkerSpawned", secret, false),
        composition_event("composition_start", secret),
    ];
    let findings: Vec<_> = odd
        .iter()
        .flat_map(|line| checker.check_line(line))
        .collect();
    assert!(findings.len() >= odd.len(), "{findings:#?}");
    for finding in findings {
        assert!(!finding.to_string().contains(secret), "{finding}");
    }
}

/// The finding names the vendor field beside the discriminator, and nothing else.
#[test]
fn finding_names_only_the_misplaced_member() {
    let mut message: serde_json::Value =
        serde_json::from_str(&worker_update("WorkerSpawned", "running", false)).unwrap();
    message["params"]["update"]["workerId"] = json!("w");
    let found = Checker::for_lone_messages().check_value(message);
    let found: Vec<_> = found.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(found, ["`params/update` must not have `workerId`"]);
}
