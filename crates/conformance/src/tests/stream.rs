//! Recordings of clients that receive event ids.

use serde_json::json;

use super::{broken::BrokenCase, *};

fn said(id: &str) -> String {
    let update = json!({
        "sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "So"},
    });
    let meta = json!({"harn": {"eventId": id}});
    let params = json!({"sessionId": "s", "update": update, "_meta": meta});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string()
}

fn turn(kind: &str, members: Value) -> String {
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
            said("5"),
            load(7, "2"),
            said("6"),
            said("3"),
            answer(7, json!({})),
            said(last),
            said(after),
        ]
    };
    vec![
        (
            ConformanceRule::EventIdsOutOfOrder,
            2,
            vec![said("5"), said("5")],
        ),
        (
            ConformanceRule::EventIdsOutOfOrder,
            2,
            vec![said("5"), said("5.1")],
        ),
        (
            ConformanceRule::EventIdsOutOfOrder,
            2,
            vec![said("10"), said("9")],
        ),
        // Once the session is open, its ids do not begin again.
        (ConformanceRule::EventIdsOutOfOrder, 7, again("7", "7")),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![turn("turn_ended", json!({"stopReason": "tired"}))],
        ),
        (
            ConformanceRule::WrongExtension,
            1,
            vec![turn("turn_started", json!({}))],
        ),
    ]
}

#[test]
fn growing_event_ids_break_no_rule() {
    let lines = [
        said("4.0"),
        said("4"),
        turn(
            "turn_started",
            json!({"messageId": "m", "_meta": {"harn": {"eventId": "5"}}}),
        ),
        said("9"),
        load(7, "2"),
        said("10"),
        said("3"),
        answer(7, json!({})),
        said("11"),
        turn(
            "turn_ended",
            json!({"error": "no", "_meta": {"harn": {"eventId": "12"}}}),
        ),
    ];
    assert_eq!(findings(lines.iter().map(String::as_str)), []);
}
