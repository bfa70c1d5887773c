//! Recordings of clients that receive event ids.

use serde_json::json;

use super::{rule_cases::BrokenCase, *};

fn thought_update(id: &str) -> String {
    let update = json!({
        "sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "So"},
    });
    let meta = json!({"harn": {"eventId": id}});
    let params = json!({"sessionId": "s", "update": update, "_meta": meta});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string()
}

fn turn_event(kind: &str, members: Value) -> String {
    let mut params = json!({"sessionId": "s", "kind": kind, "turnId": "t"});
    let all = params.as_object_mut().unwrap();
    all.extend(members.as_object().unwrap().clone());
    event(params)
}

fn load(id: u64, last: &str) -> String {
    let params = json!({"sessionId": "s", "cwd": "/", "mcpServers": [], "lastEventId": last});
    request(id, "session/load", params)
}

pub(super) fn cases() -> Vec<BrokenCase> {
    let again = |last: &str, after: &str| {
        vec![
            thought_update("5"),
            load(7, "2"),
            thought_update("6"),
            thought_update("3"),
            answer(7, json!({})),
            thought_update(last),
            thought_update(after),
        ]
    };
    vec![
        (
            ConformanceRule::EventIdsOutOfOrder,
            2,
            vec![thought_update("5"), thought_update("5")],
        ),
        (
            ConformanceRule::EventIdsOutOfOrder,
            2,
            vec![thought_update("5"), thought_update("5.1")],
        ),
        (
            ConformanceRule::EventIdsOutOfOrder,
            2,
            vec![thought_update("10"), thought_update("9")],
        ),
        // Once the session is open, its ids do not begin again.
        (ConformanceRule::EventIdsOutOfOrder, 7, again("7", "7")),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![turn_event("turn_ended", json!({"stopReason": "tired"}))],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![turn_event("turn_started", json!({}))],
        ),
    ]
}

#[test]
fn growing_event_ids_break_no_rule() {
    let lines = [
        thought_update("4.0"),
        thought_update("4"),
        turn_event(
            "turn_started",
            json!({"messageId": "m", "_meta": {"harn": {"eventId": "5"}}}),
        ),
        thought_update("9"),
        load(7, "2"),
        thought_update("10"),
        thought_update("3"),
        answer(7, json!({})),
        thought_update("11"),
        turn_event(
            "turn_ended",
            json!({"error": "no", "_meta": {"harn": {"eventId": "12"}}}),
        ),
    ];
    assert_eq!(findings(lines.iter().map(String::as_str)), []);
}
