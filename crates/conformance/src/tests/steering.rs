//! Recordings of steered turns: one that breaks no rule, and for each rule those that break it.

use serde_json::{Value, json};

use super::{rule_cases::BrokenCase, *};

fn inject(id: u64) -> String {
    let params = json!({"sessionId": "s", "mode": "steer", "content": "Look up."});
    request(id, "session/inject", params)
}

fn actor() -> Value {
    json!({"clientId": "host", "role": "host_owner", "source": "acp"})
}

fn accept_answer(id: u64) -> String {
    let harn = json!({"actor": actor(), "pendingCount": 1});
    answer(
        id,
        json!({"messageId": "m", "status": "accepted", "_meta": {"harn": harn}}),
    )
}

fn revoke(id: u64) -> [String; 2] {
    let params = json!({"sessionId": "s", "messageId": "m"});
    [
        request(id, "session/revoke_inject", params),
        answer(id, json!({"messageId": "m", "status": "revoked"})),
    ]
}

fn user_message() -> String {
    let content = json!([{"type": "text", "text": "Look up."}]);
    update(json!({"sessionUpdate": "user_message", "messageId": "m", "content": content}))
}

fn user_message_chunk(text: &str) -> String {
    let content = json!({"type": "text", "text": text});
    update(json!({"sessionUpdate": "user_message_chunk", "messageId": "m", "content": content}))
}

/// The outcome of a control; `members` replace the defaults.
fn outcome(method: &str, members: Value) -> String {
    let mut params = json!({
        "sessionId": "s", "kind": "control_outcome", "controlId": "c-1", "method": method,
        "outcome": "accepted", "status": "accepted", "actor": actor(),
        "target": {"sessionId": "s", "messageId": "m"},
    });
    let all = params.as_object_mut().unwrap();
    all.extend(members.as_object().unwrap().clone());
    event(params)
}

fn checkpoint(members: Value) -> String {
    let mut params = json!({
        "sessionId": "s", "kind": "loop_checkpoint", "iteration": 1, "seam": "pre_tool_dispatch",
        "delivered": 1,
    });
    let all = params.as_object_mut().unwrap();
    all.extend(members.as_object().unwrap().clone());
    event(params)
}

fn idle(backoff_ms: Value) -> String {
    let params = json!({"sessionId": "s", "iteration": 1, "backoff_ms": backoff_ms});
    json!({"jsonrpc": "2.0", "method": "agent/idle", "params": params}).to_string()
}

fn idle_event(backoff_ms: Value) -> String {
    event(json!({
        "sessionId": "s", "kind": "agent_idle", "iteration": 1, "backoffMs": backoff_ms,
    }))
}

fn watchdog_event() -> String {
    event(json!({
        "sessionId": "s", "kind": "daemon_watchdog_tripped", "attempts": 3, "elapsedMs": 600,
    }))
}

/// Opens and prompts a session in lines 1 to 3, then adds `lines`.
fn with_prompt(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let open = [
        request(1, "session/new", json!({"cwd": "/w", "mcpServers": []})),
        answer(1, json!({"sessionId": "s"})),
        prompt(2),
    ];
    open.into_iter().chain(lines).collect()
}

fn steer(id: u64, meta: Value) -> String {
    let prompt = json!([{"type": "text", "text": "Look up."}]);
    let params = json!({"sessionId": "s", "prompt": prompt, "_meta": meta});
    request(id, "_session/steering", params)
}

#[test]
fn steered_turn_breaks_no_rule() {
    let pending = json!({"sessionId": "s"});
    let remind = json!({"sessionId": "s", "body": "Look up.", "mode": "finish_step"});
    let cancel = json!({"sessionId": "s", "_harn": {"actor": actor()}, "_meta": {"trace": "t"}});
    let cancelled = json!({
        "sessionId": "s", "status": "cancelled", "_meta": {"harn": {"actor": actor()}},
    });
    let recording = with_prompt([
        inject(3),
        outcome("session/inject", json!({})),
        accept_answer(3),
        request(4, "session/pending_injections", pending),
        request(5, "session/remind", remind),
        answer(5, json!({"reminderId": "r"})),
        checkpoint(json!({"dispatchSkipped": true, "skipReason": "interrupt_immediate"})),
        user_message(),
        idle(json!(100)),
        idle(json!(500)),
        idle_event(json!(1000)),
        request(6, "agent/resume", json!({"sessionId": "s"})),
        answer(6, json!({})),
        steer(7, json!({"steering": {"idleBehavior": "promptRequired"}})),
        answer(7, json!({"outcome": "injected"})),
        user_message_chunk("in "),
        user_message_chunk("pieces"),
        watchdog_event(),
        request(8, "session/cancel", cancel),
        answer(8, cancelled),
        end_turn(2),
    ]);
    // The chunks belong to another message.
    let recording: Vec<_> = recording
        .iter()
        .map(|line| match line.contains("user_message_chunk") {
            true => line.replace("\"m\"", "\"n\""),
            false => line.clone(),
        })
        .collect();
    assert_eq!(findings(recording.iter().map(String::as_str)), []);
}

/// A replay repeats messages that were delivered.
#[test]
fn replay_does_not_count_as_delivery() {
    let load = json!({"sessionId": "s", "cwd": "/w", "mcpServers": []});
    let mut recording = with_prompt([inject(3), accept_answer(3), user_message(), end_turn(2)]);
    recording.extend([
        request(4, "session/load", load),
        outcome("session/inject", json!({})),
        user_message(),
        answer(4, json!({})),
    ]);
    assert_eq!(findings(recording.iter().map(String::as_str)), []);
}

pub(super) fn cases() -> Vec<BrokenCase> {
    let mut cases = deliveries();
    cases.extend(shapes());
    cases.extend(idle_cases());
    cases
}

fn deliveries() -> Vec<BrokenCase> {
    let revoked = outcome(
        "session/revoke_inject",
        json!({"outcome": "revoked", "status": "accepted"}),
    );
    let [asks, is_revoked] = revoke(4);
    let text = json!({"type": "text", "text": "Well."});
    let said = update(json!({"sessionUpdate": "agent_message_chunk", "content": text}));
    vec![
        (
            ConformanceRule::DeliveredEarly,
            6,
            with_prompt([inject(3), user_message(), accept_answer(3)]),
        ),
        (
            ConformanceRule::DeliveredEarly,
            5,
            with_prompt([user_message(), outcome("session/inject", json!({}))]),
        ),
        (
            ConformanceRule::DeliveredTwice,
            7,
            with_prompt([inject(3), accept_answer(3), user_message(), user_message()]),
        ),
        (
            ConformanceRule::DeliveredTwice,
            8,
            with_prompt([
                inject(3),
                accept_answer(3),
                user_message_chunk("Look"),
                said,
                user_message_chunk(" up."),
            ]),
        ),
        (
            ConformanceRule::DeliveredRevoked,
            8,
            with_prompt([
                inject(3),
                accept_answer(3),
                asks,
                is_revoked,
                user_message(),
            ]),
        ),
        (
            ConformanceRule::DeliveredRevoked,
            7,
            with_prompt([inject(3), accept_answer(3), revoked, user_message()]),
        ),
    ]
}

fn shapes() -> Vec<BrokenCase> {
    let refused = |members| outcome("session/revoke_inject", members);
    let steering = json!({"steering": {"idleBehavior": "sleep"}});
    let offered = json!({
        "inject": {"modes": ["queue", "steer"], "pending": {"replace": "perhaps"}},
        "remind": {"modes": ["audit_only"], "pending": {"list": true, "revoke": true}},
    });
    vec![
        // A mode that does not exist, a member that does not exist, and an incomplete answer.
        (
            ConformanceRule::WrongExtension,
            1,
            vec![request(
                1,
                "session/inject",
                json!({"sessionId": "s", "mode": "shout", "content": "Look up."}),
            )],
        ),
        (
            ConformanceRule::UnknownMember,
            1,
            vec![request(
                1,
                "session/inject",
                json!({"sessionId": "s", "mode": "steer", "content": "Look up.", "when": "now"}),
            )],
        ),
        (
            ConformanceRule::WrongExtension,
            2,
            vec![inject(3), answer(3, json!({"status": "accepted"}))],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![request(
                1,
                "session/revoke_inject",
                json!({"sessionId": "s"}),
            )],
        ),
        (ConformanceRule::WrongExtension, 1, vec![steer(1, steering)]),
        (
            ConformanceRule::WrongExtension,
            2,
            vec![steer(1, json!({})), answer(1, json!({"outcome": "maybe"}))],
        ),
        (
            ConformanceRule::WrongExtension,
            2,
            vec![
                request(0, "initialize", json!({"protocolVersion": 1})),
                answer(
                    0,
                    json!({"protocolVersion": 1, "agentCapabilities": {"session": offered}}),
                ),
            ],
        ),
        (
            ConformanceRule::UnknownMethod,
            1,
            vec![format!(
                r#"{{"to":"client","message":{}}}"#,
                steer(1, json!({}))
            )],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![idle(json!("soon"))],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![idle_event(json!("soon"))],
        ),
        // The same method under its other name.
        (
            ConformanceRule::WrongExtension,
            1,
            vec![request(1, "_session/inject", json!({"sessionId": "s"}))],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![outcome("session/inject", json!({"status": "perhaps"}))],
        ),
        (
            ConformanceRule::OutcomeWrong,
            1,
            vec![refused(
                json!({"outcome": "already_delivered", "status": "rejected"}),
            )],
        ),
        (
            ConformanceRule::OutcomeWrong,
            1,
            vec![refused(json!({
                "outcome": "already_delivered", "status": "rejected", "reason": "already_revoked",
            }))],
        ),
        (
            ConformanceRule::OutcomeWrong,
            1,
            vec![refused(json!({"reason": "accepted"}))],
        ),
        (
            ConformanceRule::OutcomeWrong,
            1,
            vec![refused(json!({"target": {"sessionId": "t"}}))],
        ),
        (
            ConformanceRule::SkipWrong,
            1,
            vec![checkpoint(json!({"dispatchSkipped": true}))],
        ),
        (
            ConformanceRule::SkipWrong,
            1,
            vec![checkpoint(json!({"skipReason": "interrupt_immediate"}))],
        ),
        (
            ConformanceRule::SkipWrong,
            1,
            vec![checkpoint(json!({
                "seam": "turn_end", "dispatchSkipped": true, "skipReason": "interrupt_immediate",
            }))],
        ),
    ]
}

fn idle_cases() -> Vec<BrokenCase> {
    let hello = |harn: Value| {
        let capabilities = json!({"_meta": {"harn": harn}});
        [
            request(0, "initialize", json!({"protocolVersion": 1})),
            answer(
                0,
                json!({"protocolVersion": 1, "agentCapabilities": capabilities}),
            ),
        ]
    };
    let plain = hello(json!({"schemaCompatibility": "x", "toolLifecycleExtensionFields": []}));
    let unheard_of = plain.into_iter().chain(with_prompt([idle(json!(100))]));
    vec![
        (
            ConformanceRule::WorkOutsideTurn,
            5,
            with_prompt([end_turn(2), idle(json!(100))]),
        ),
        (
            ConformanceRule::WorkOutsideTurn,
            5,
            with_prompt([end_turn(2), idle_event(json!(100))]),
        ),
        (
            ConformanceRule::WorkOutsideTurn,
            5,
            with_prompt([end_turn(2), watchdog_event()]),
        ),
        (ConformanceRule::SessionNotOpen, 2, {
            let logout = request(1, "logout", json!({}));
            vec![logout, idle(json!(100))]
        }),
        (ConformanceRule::NotAdvertised, 6, unheard_of.collect()),
    ]
}
