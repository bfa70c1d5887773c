//! Inconsistent lists of live clients.

use serde_json::{Value, json};

use super::{rule_cases::BrokenCase, *};

fn client(name: &str, mode: &str, asked: bool) -> Value {
    json!({
        "client_id": name, "mode": mode, "attached_at": "1", "last_seen_at": "1",
        "prompt_injection": asked, "permission_routing": asked, "metadata": {},
    })
}

fn state(active: Value, clients: &[Value]) -> Value {
    json!({
        "client": clients.first(), "previous_controller_id": null,
        "active_controller_id": active, "clients": clients,
    })
}

fn client_update(state: Value) -> Vec<String> {
    let harn = json!({"action": "attached", "state": state});
    let update = update(json!({"sessionUpdate": "live_session_client", "_meta": {"harn": harn}}));
    vec![update]
}

pub(super) fn cases() -> Vec<BrokenCase> {
    let [pad, desk] = ["pad", "desk"].map(|name| client(name, "controller", true));
    let watching = client("pad", "observer", false);
    let mut other = state(json!("desk"), &[desk.clone(), watching.clone()]);
    other["client"]["metadata"] = json!({"surface": "tv"});
    let wrong = [
        state(json!("desk"), &[desk.clone(), pad.clone()]),
        state(json!(null), std::slice::from_ref(&pad)),
        state(json!("pad"), std::slice::from_ref(&watching)),
        state(json!("pad"), &[pad.clone(), pad]),
        state(json!(null), &[client("pad", "observer", true)]),
        other,
    ];
    let answered = |id, state| {
        let params = json!({"sessionId": "s", "clientId": "desk", "mode": "controller"});
        vec![request(id, "session/attach", params), answer(id, state)]
    };
    let updates = wrong
        .into_iter()
        .map(|state| (ConformanceRule::RosterWrong, 1, client_update(state)));
    let answer = answered(7, state(json!(null), std::slice::from_ref(&desk)));
    updates
        .chain([(ConformanceRule::RosterWrong, 2, answer)])
        .collect()
}

#[test]
fn consistent_client_lists_break_no_rule() {
    let desk = client("desk", "controller", true);
    let watching = client("pad", "observer", false);
    // A controller that is in no list is a connection that opened the session.
    for (active, clients) in [
        (json!("desk"), vec![desk, watching.clone()]),
        (json!("editor-1"), vec![watching.clone()]),
        (json!(null), vec![watching]),
        (json!(null), vec![]),
    ] {
        let lines = client_update(state(active, &clients));
        assert_eq!(findings(lines.iter().map(String::as_str)), []);
    }
}
