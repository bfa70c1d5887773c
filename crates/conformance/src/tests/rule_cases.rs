//! For every rule, the shortest recordings that break it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use harn_acp::transport::STDIO_LINE_LIMIT;

/// The rule, the number of the line that breaks it, and the recording.
pub(super) type BrokenCase = (ConformanceRule, usize, Vec<String>);

#[test]
fn every_case_breaks_only_its_rule() {
    let mut shown = BTreeSet::new();
    let groups = [
        messages(),
        shapes(),
        sessions(),
        tools(),
        turns(),
        permissions(),
        activity(),
        compositions(),
        bridge::cases(),
        steering::cases(),
        live_clients::cases(),
        stream::cases(),
    ];
    for (rule, line, recording) in groups.into_iter().flatten() {
        let found = findings(recording.iter().map(String::as_str));
        let tail: Vec<String> = recording
            .iter()
            .map(|line| line.chars().take(300).collect())
            .collect();
        assert_eq!(found, [(line, rule)], "{rule}: {tail:#?}");
        shown.insert(rule);
    }
    let missing: Vec<_> = ConformanceRule::ALL
        .iter()
        .filter(|rule| !shown.contains(rule))
        .collect();
    assert!(
        missing.is_empty(),
        "no recording breaks {missing:?}; add one above"
    );
}

/// Opens a session in lines 1 and 2, then adds `lines`.
fn with_open_session(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let open = [
        request(1, "session/new", json!({"cwd": "/w", "mcpServers": []})),
        answer(1, json!({"sessionId": "s"})),
    ];
    open.into_iter().chain(lines).collect()
}

fn messages() -> Vec<BrokenCase> {
    let logout = || request(7, "logout", json!({}));
    vec![
        (
            ConformanceRule::NotJson,
            1,
            vec![r#"{"jsonrpc":"2.0","#.into()],
        ),
        (ConformanceRule::NotJson, 1, vec!["[".repeat(100_000)]),
        (
            ConformanceRule::NotJson,
            2,
            vec![
                String::new(),
                r#"{"to":"client","rawBytes":"\\xff"}"#.into(),
            ],
        ),
        (
            ConformanceRule::LineTooLong,
            1,
            vec!["x".repeat(STDIO_LINE_LIMIT + 1)],
        ),
        (ConformanceRule::NotAMessage, 1, vec!["[]".into()]),
        (ConformanceRule::NotAMessage, 1, vec!["7".into()]),
        (
            ConformanceRule::NotAMessage,
            1,
            vec![r#"{"method":"logout","id":1}"#.into()],
        ),
        (
            ConformanceRule::NotAMessage,
            1,
            vec![r#"{"jsonrpc":"2.0","method":"logout","id":{}}"#.into()],
        ),
        (
            ConformanceRule::NotAMessage,
            1,
            vec![r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#.into()],
        ),
        (
            ConformanceRule::NotAMessage,
            1,
            vec![r#"{"jsonrpc":"2.0","result":{}}"#.into()],
        ),
        (ConformanceRule::IdInUse, 2, vec![logout(), logout()]),
        (
            ConformanceRule::AnswerWithoutRequest,
            2,
            vec![
                logout(),
                format!(r#"{{"to":"client","message":{}}}"#, answer(8, json!({}))),
            ],
        ),
        (
            ConformanceRule::AnsweredTwice,
            3,
            vec![logout(), answer(7, json!({})), answer(7, json!({}))],
        ),
        (
            ConformanceRule::UnknownMethod,
            1,
            vec![request(1, "session/teleport", json!({}))],
        ),
        (
            ConformanceRule::UnknownMethod,
            1,
            vec![format!(r#"{{"to":"client","message":{}}}"#, logout())],
        ),
    ]
}

fn shapes() -> Vec<BrokenCase> {
    let initialized = |harn: Value| {
        let mut capabilities = json!({});
        if !harn.is_null() {
            capabilities["_meta"]["harn"] = harn;
        }
        let result = json!({"protocolVersion": 1, "agentCapabilities": capabilities});
        vec![
            request(0, "initialize", json!({"protocolVersion": 1})),
            answer(0, result),
        ]
    };
    let after = |mut hello: Vec<String>, lines: Vec<String>| {
        hello.extend(with_open_session(lines));
        hello
    };
    let text = |harn: Value| {
        let content = json!({"type": "text", "text": "hi", "_meta": {"harn": harn}});
        update(json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    };
    let progress = || extension("progress", json!({"phase": "p", "message": "m"}));
    let mut meta_only = vec![request(
        0,
        "initialize",
        json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"harn": {"profile": "meta"}}}}),
    )];
    meta_only.push(initialized(json!({"schemaCompatibility": "x", "toolLifecycleExtensionFields": [], "sessionUpdateExtensions": ["progress"]})).remove(1));
    vec![
        (
            ConformanceRule::WrongShape,
            1,
            vec![request(
                1,
                "session/prompt",
                json!({"sessionId": "s", "prompt": "hi"}),
            )],
        ),
        (
            ConformanceRule::WrongShape,
            2,
            vec![prompt(1), answer(1, json!({"stopReason": "bored"}))],
        ),
        (
            ConformanceRule::WrongShape,
            1,
            vec![update(
                json!({"sessionUpdate": "plan", "entries": [{"content": "c", "priority": "urgent", "status": "pending"}]}),
            )],
        ),
        (
            ConformanceRule::WrongShape,
            1,
            vec![update(
                json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "smell"}}),
            )],
        ),
        (
            ConformanceRule::WrongShape,
            1,
            vec![r#"{"jsonrpc":"2.0","id":null,"error":{"code":"E1","message":"no"}}"#.into()],
        ),
        (
            ConformanceRule::UnknownMember,
            1,
            vec![update(
                json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask", "modeId": "ask"}),
            )],
        ),
        (
            ConformanceRule::UnknownMember,
            1,
            vec![update(
                json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x", "txet": "x"}}),
            )],
        ),
        (
            ConformanceRule::UnknownMember,
            1,
            vec![extension(
                "progress",
                json!({"phase": "p", "message": "m", "mesage": "m"}),
            )],
        ),
        (
            ConformanceRule::UnknownUpdate,
            1,
            vec![update(json!({"sessionUpdate": "mind_reading"}))],
        ),
        (
            ConformanceRule::UnknownUpdate,
            1,
            vec![event(json!({"sessionId": "s", "kind": "mind_reading"}))],
        ),
        (
            ConformanceRule::UnknownUpdate,
            1,
            vec![extension(
                "session_info_update",
                json!({"sessionUpdate": "mind_reading"}),
            )],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![extension("progress", json!({"phase": "p"}))],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![extension(
                "session_info_update",
                json!({"sessionUpdate": "progress", "phase": "p"}),
            )],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![call("c", json!({"parsing": "yes"}))],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![event(
                json!({"sessionId": "s", "kind": "composition_start", "runId": "r"}),
            )],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![update(
                json!({"sessionUpdate": "plan", "entries": [], "_meta": {"harn": {"plan": 7}}}),
            )],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![text(json!({"visible_text": 7, "visible_delta": ""}))],
        ),
        (
            ConformanceRule::WrongExtension,
            2,
            initialized(json!({"schemaCompatibility": 7, "toolLifecycleExtensionFields": []})),
        ),
        (
            ConformanceRule::UnknownMember,
            1,
            vec![request(
                0,
                "initialize",
                json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"harn": {"profil": "meta"}}}}),
            )],
        ),
        (
            ConformanceRule::NotAdvertised,
            5,
            after(initialized(Value::Null), vec![progress()]),
        ),
        (
            ConformanceRule::NotAdvertised,
            5,
            after(
                initialized(Value::Null),
                vec![composition_event("composition_start", HASH)],
            ),
        ),
        (
            ConformanceRule::NotAdvertised,
            5,
            after(
                initialized(Value::Null),
                vec![call("c", json!({"parsing": true}))],
            ),
        ),
        (
            ConformanceRule::NotAdvertised,
            5,
            after(
                initialized(Value::Null),
                vec![text(json!({"visible_text": "hi", "visible_delta": "hi"}))],
            ),
        ),
        (
            ConformanceRule::NotAdvertised,
            5,
            after(meta_only, vec![progress()]),
        ),
    ]
}

fn sessions() -> Vec<BrokenCase> {
    let mode = || update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}));
    let resume = json!({"sessionId": "s", "cwd": "/w"});
    let close = || {
        let params = json!({"sessionId": "s"});
        [request(2, "session/close", params), answer(2, json!({}))]
    };
    let early = |method: &str, params: Value| {
        vec![
            request(1, method, params),
            mode(),
            answer(1, json!({"sessionId": "s"})),
        ]
    };
    let new = json!({"cwd": "/w", "mcpServers": []});
    let mut early_resume = early("session/resume", resume);
    early_resume[2] = answer(1, json!({}));
    vec![
        (
            ConformanceRule::SessionNotOpen,
            2,
            early("session/new", new),
        ),
        (
            ConformanceRule::SessionNotOpen,
            2,
            early("session/fork", json!({"sessionId": "t", "cwd": "/w"})),
        ),
        (
            ConformanceRule::SessionNotOpen,
            4,
            with_open_session([
                request(9, "initialize", json!({"protocolVersion": 1})),
                mode(),
            ]),
        ),
        (ConformanceRule::SessionNotOpen, 2, early_resume),
        (
            ConformanceRule::SessionNotOpen,
            5,
            with_open_session(close().into_iter().chain([mode()])),
        ),
    ]
}

fn tools() -> Vec<BrokenCase> {
    let none = Value::Null;
    let in_turn = |lines: Vec<String>| {
        let all = [prompt(5)].into_iter().chain(lines).chain([end_turn(5)]);
        with_open_session(all)
    };
    let done = |harn| call_update("c", "completed", harn);
    let mut raw: Value = serde_json::from_str(&call("c", json!({"rawInputPartial": "{"}))).unwrap();
    raw["params"]["update"]["rawInput"] = json!({});
    vec![
        (
            ConformanceRule::UpdateBeforeCall,
            4,
            in_turn(vec![done(none.clone())]),
        ),
        (
            ConformanceRule::CallAnnouncedTwice,
            5,
            in_turn(vec![
                call("c", none.clone()),
                call("c", none.clone()),
                done(none.clone()),
            ]),
        ),
        (
            ConformanceRule::UpdateAfterEnd,
            6,
            in_turn(vec![
                call("c", none.clone()),
                done(none.clone()),
                done(none.clone()),
            ]),
        ),
        (
            ConformanceRule::CallLeftOpen,
            5,
            in_turn(vec![call("c", none.clone())]),
        ),
        (
            ConformanceRule::CallLeftOpen,
            2,
            vec![call("c", none.clone()), end_turn(9)],
        ),
        (
            ConformanceRule::CallOutsideTurn,
            5,
            with_open_session([prompt(5), end_turn(5), call("c", none.clone())]),
        ),
        (
            ConformanceRule::DurationBeforeEnd,
            5,
            in_turn(vec![
                call("c", none.clone()),
                call_update("c", "in_progress", json!({"durationMs": 1})),
                done(none.clone()),
            ]),
        ),
        (
            ConformanceRule::DurationBeforeEnd,
            4,
            in_turn(vec![
                call("c", json!({"executionDurationMs": 1})),
                done(none.clone()),
            ]),
        ),
        (
            ConformanceRule::CategoryWithoutFailure,
            5,
            in_turn(vec![
                call("c", none.clone()),
                done(json!({"error": "e", "errorCategory": "timeout"})),
            ]),
        ),
        (
            ConformanceRule::CategoryWithoutFailure,
            5,
            in_turn(vec![
                call("c", none.clone()),
                call_update("c", "failed", json!({"errorCategory": "timeout"})),
            ]),
        ),
        (ConformanceRule::TwoRawInputs, 1, vec![raw.to_string()]),
        (
            ConformanceRule::ParsingOutOfOrder,
            5,
            in_turn(vec![
                call("c", json!({"parsing": true})),
                done(none.clone()),
            ]),
        ),
        (
            ConformanceRule::ParsingOutOfOrder,
            5,
            in_turn(vec![
                call("c", none.clone()),
                done(json!({"parsing": false})),
            ]),
        ),
        (
            ConformanceRule::ParsingOutOfOrder,
            5,
            in_turn(vec![
                call("c", none.clone()),
                call_update("c", "pending", json!({"parsing": true})),
                done(none),
            ]),
        ),
    ]
}

fn turns() -> Vec<BrokenCase> {
    let of_session = |more: Value| {
        let mut params = json!({"sessionId": "s"});
        let members = params.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        params
    };
    let ask = json!({"toolCall": {"toolCallId": "c"}, "options": []});
    let write = json!({"path": "/w/a", "content": "a"});
    let wanted = [
        ("session/request_permission", ask.clone()),
        ("fs/read_text_file", json!({"path": "/w/a"})),
        ("fs/write_text_file", write.clone()),
        ("terminal/create", json!({"command": "ls"})),
        ("terminal/output", json!({"terminalId": "t"})),
        ("terminal/wait_for_exit", json!({"terminalId": "t"})),
        (
            "host/call",
            json!({"name": "process.list_shells", "args": {}}),
        ),
        ("host/capabilities", json!({})),
    ];
    let late = wanted.map(|(method, more)| {
        let wanted = request(9, method, of_session(more));
        let recording = with_open_session([prompt(5), end_turn(5), wanted]);
        (ConformanceRule::RequestOutsideTurn, 5, recording)
    });
    let cancelled = |id| answer(id, json!({"stopReason": "cancelled"}));
    let spawned = || worker_update("WorkerSpawned", "running", false);
    let start = || composition_event("composition_start", HASH);
    let refused = json!({"jsonrpc": "2.0", "id": 6, "error": {"code": -32602, "message": "no"}});
    let mut cases = Vec::from(late);
    cases.extend([
        (
            ConformanceRule::SessionNotOpen,
            3,
            with_open_session([request(9, "fs/write_text_file", {
                let mut params = of_session(write.clone());
                params["sessionId"] = json!("another");
                params
            })]),
        ),
        (
            ConformanceRule::RequestOutsideTurn,
            7,
            with_open_session([
                prompt(5),
                end_turn(5),
                prompt(6),
                refused.to_string(),
                request(9, "fs/write_text_file", of_session(write)),
            ]),
        ),
        (
            ConformanceRule::WorkOutsideTurn,
            6,
            with_open_session([
                prompt(5),
                spawned(),
                cancelled(5),
                worker_update("WorkerCancelled", "cancelled", true),
            ]),
        ),
        (
            ConformanceRule::WorkOutsideTurn,
            6,
            with_open_session([
                prompt(5),
                start(),
                end_turn(5),
                composition_event("composition_finish", HASH),
            ]),
        ),
    ]);
    cases
}

fn permissions() -> Vec<BrokenCase> {
    let ask = |params: Value| request(9, "session/request_permission", params);
    let spoilt = |spoil: fn(&mut Value)| {
        let mut params = permission_params();
        spoil(&mut params);
        vec![ask(params)]
    };
    let without = |params: &mut Value, names: &[&str]| {
        let members = params.as_object_mut().unwrap();
        members.retain(|name, _| !names.contains(&name.as_str()));
    };
    let beside = ["approvalRequest", "mutation", "declaredPaths"];
    let told = json!({"schemaCompatibility": "x", "toolLifecycleExtensionFields": ["audit"], "sessionUpdateExtensions": ["progress"]});
    let to = |profile: &str, params: Value| {
        let wish = json!({"_meta": {"harn": {"profile": profile}}});
        let result =
            json!({"protocolVersion": 1, "agentCapabilities": {"_meta": {"harn": told.clone()}}});
        let hello = [
            request(
                0,
                "initialize",
                json!({"protocolVersion": 1, "clientCapabilities": wish}),
            ),
            answer(0, result),
        ];
        let lines = with_open_session([prompt(5), call("c", Value::Null), ask(params)]);
        hello.into_iter().chain(lines).collect::<Vec<_>>()
    };
    let mut bare = permission_params();
    without(
        &mut bare,
        &["_meta", "approvalRequest", "mutation", "declaredPaths"],
    );
    let mut under_meta = permission_params();
    without(&mut under_meta, &beside);
    let answered = |result: Value| vec![ask(permission_params()), answer(9, result)];
    let resumed = json!({"sessionId": "s", "cwd": "/w", "mcpServers": []});
    vec![
        (ConformanceRule::ApprovalLacking, 7, to("meta", bare)),
        (ConformanceRule::ApprovalLacking, 7, to("harn", under_meta)),
        (
            ConformanceRule::NotAdvertised,
            7,
            to("meta", permission_params()),
        ),
        (
            ConformanceRule::AskBeforeCall,
            4,
            with_open_session([prompt(5), ask(permission_params())]),
        ),
        (
            ConformanceRule::AskBeforeCall,
            6,
            with_open_session([
                prompt(5),
                call("c", Value::Null),
                call_update("c", "completed", Value::Null),
                ask(permission_params()),
            ]),
        ),
        // A client that resumes a session during a call did not receive the announcement.
        (
            ConformanceRule::AskBeforeCall,
            3,
            vec![
                request(1, "session/resume", resumed.clone()),
                answer(1, json!({})),
                ask(permission_params()),
            ],
        ),
        (
            ConformanceRule::ApprovalDiffers,
            1,
            spoilt(|params| params["declaredPaths"] = json!(["a"])),
        ),
        (
            ConformanceRule::ApprovalDiffers,
            1,
            spoilt(|params| params["_meta"]["harn"]["approvalRequest"]["args"] = json!({})),
        ),
        (
            ConformanceRule::ApprovalDiffers,
            1,
            spoilt(|params| params["toolCall"]["toolCallId"] = json!("other")),
        ),
        (
            ConformanceRule::NoDeadline,
            1,
            spoilt(|params| {
                for pointer in ["/approvalRequest", "/_meta/harn/approvalRequest"] {
                    let request = params.pointer_mut(pointer).unwrap().as_object_mut();
                    request.unwrap().remove("deadline");
                }
            }),
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            spoilt(|params| drop(params.as_object_mut().unwrap().remove("mutation"))),
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            spoilt(|params| {
                drop(
                    params["_meta"]["harn"]
                        .as_object_mut()
                        .unwrap()
                        .remove("options"),
                )
            }),
        ),
        (ConformanceRule::WrongShape, 2, answered(json!({}))),
        (
            ConformanceRule::WrongShape,
            2,
            answered(json!({"granted": "yes"})),
        ),
        (
            ConformanceRule::WrongShape,
            2,
            answered(json!({"outcome": "selected"})),
        ),
        (
            ConformanceRule::UnknownMember,
            2,
            answered(json!({"granted": true, "arguments": {}})),
        ),
    ]
}

fn activity() -> Vec<BrokenCase> {
    let spawned = || worker_update("WorkerSpawned", "running", false);
    let skill = json!({"skillName": "k", "iteration": 1});
    let activated = json!({"skillName": "k", "iteration": 1, "reason": "r"});
    let asked = json!({"requestId": "q", "kind": "question", "payload": {}});
    let resolved = json!({"requestId": "q", "kind": "question", "outcome": "answered"});
    let resolved = || extension("hitl_resolved", resolved.clone());
    vec![
        (
            ConformanceRule::WorkerNotSpawned,
            3,
            with_open_session([worker_update("WorkerProgressed", "progressed", false)]),
        ),
        (
            ConformanceRule::WorkerAfterEnd,
            5,
            with_open_session([
                spawned(),
                worker_update("WorkerStopped", "stopped", true),
                spawned(),
            ]),
        ),
        (
            ConformanceRule::WorkerTerminalWrong,
            4,
            with_open_session([
                spawned(),
                worker_update("WorkerCompleted", "completed", false),
            ]),
        ),
        (
            ConformanceRule::WorkerStatusWrong,
            4,
            with_open_session([
                spawned(),
                worker_update("WorkerWaitingForInput", "running", false),
            ]),
        ),
        (
            ConformanceRule::HitlNotAsked,
            3,
            with_open_session([resolved()]),
        ),
        (
            ConformanceRule::HitlNotAsked,
            5,
            with_open_session([extension("hitl_request", asked), resolved(), resolved()]),
        ),
        (
            ConformanceRule::SkillNotActive,
            3,
            with_open_session([extension("skill_deactivated", skill.clone())]),
        ),
        (
            ConformanceRule::SkillNotActive,
            5,
            with_open_session([
                extension("skill_activated", activated),
                extension("skill_deactivated", skill.clone()),
                extension("skill_deactivated", skill),
            ]),
        ),
    ]
}

fn compositions() -> Vec<BrokenCase> {
    let start = || composition_event("composition_start", HASH);
    let finish = || composition_event("composition_finish", HASH);
    let asked = || composition_child_event("composition_child_call");
    let result = || composition_child_event("composition_child_result");
    vec![
        (
            ConformanceRule::CompositionNotOpen,
            3,
            with_open_session([composition_event("composition_error", HASH)]),
        ),
        (
            ConformanceRule::CompositionNotOpen,
            3,
            with_open_session([asked(), result()]),
        ),
        (
            ConformanceRule::CompositionStartedTwice,
            4,
            with_open_session([start(), start()]),
        ),
        (
            ConformanceRule::CompositionAfterEnd,
            5,
            with_open_session([start(), finish(), asked()]),
        ),
        (
            ConformanceRule::CompositionResultWithoutCall,
            4,
            with_open_session([start(), result()]),
        ),
        (
            ConformanceRule::CompositionResultWithoutCall,
            6,
            with_open_session([start(), asked(), result(), result(), finish()]),
        ),
        (
            ConformanceRule::WrongExtension,
            3,
            with_open_session([composition_event("composition_start", "sha256:12ab")]),
        ),
    ]
}
