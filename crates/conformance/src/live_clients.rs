//! Live clients: whether the reported list of clients is consistent.

use std::collections::HashSet;

use serde_json::Value;

use super::{ConformanceRule, MessageFindings, extensions::RecordedUpdate, quote_name};
use harn_acp::ext::steering::contract_name;

/// Checks an update; `live_session_client` has a list of clients.
pub(super) fn check_update(update: &RecordedUpdate<'_>) -> MessageFindings {
    match update.name {
        "live_session_client" => update
            .field("state")
            .map_or_else(MessageFindings::new, check),
        _ => MessageFindings::new(),
    }
}

/// Checks the result of a method; those about live clients have the same list.
pub(super) fn check_result(method: &str, result: &Value) -> MessageFindings {
    match contract_name(method) {
        "session/attach" | "session/detach" | "session/heartbeat" | "session/takeover" => {
            check(result)
        }
        _ => MessageFindings::new(),
    }
}

fn check(state: &Value) -> MessageFindings {
    let active = &state["active_controller_id"];
    let clients = state["clients"].as_array().map_or(&[][..], Vec::as_slice);
    let mut names = HashSet::new();
    let wrong = clients.iter().find_map(|client| {
        let name = client["client_id"].as_str()?;
        let drives = client["mode"] == "controller";
        let has = |flag: &str| client[flag] == true;
        let what = if !names.insert(name) {
            "is listed twice"
        } else if drives && active != name {
            "is a controller, but not the active one"
        } else if !drives && active == name {
            "is the active controller, but only observes"
        } else if !drives && (has("prompt_injection") || has("permission_routing")) {
            "only observes, but may inject messages or receives questions"
        } else {
            return None;
        };
        Some(format!("the client {} {what}", quote_name(name)))
    });
    let told = &state["client"];
    let absent = || !told.is_null() && !clients.contains(told);
    let wrong = wrong
        .or_else(|| absent().then(|| "`client` differs from its entry in `clients`".to_owned()));
    let found = wrong.map(|what| (ConformanceRule::RosterWrong, what));
    found.into_iter().collect()
}
