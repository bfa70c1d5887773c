//! Steering: the params and results of the methods that reach a running turn or its session's clients, and
//! the delivery of injected messages.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    ConformanceRule, MessageFindings, TrafficDirection,
    extensions::{RecordedUpdate, published_schema},
    quote_name,
    requests::RecordedRequest,
    shape::LazySchema,
};
use harn_acp::ext::steering::contract_name;

/// A method of the contract, or an operation of a host, with its schemas.
pub(super) struct ContractMethod {
    pub(super) name: &'static str,
    pub(super) params: LazySchema,
    pub(super) result: LazySchema,
}

macro_rules! methods {
    ($($file:literal $name:literal)*) => {
        [$(ContractMethod {
            name: $name,
            params: LazySchema::extension(|| {
                $crate::steering::method_schema(concat!($file, "-params"), $name)
            }),
            result: LazySchema::extension(|| {
                $crate::steering::method_schema(concat!($file, "-results"), $name)
            }),
        }),*]
    };
}
pub(super) use methods;

static METHODS: [ContractMethod; 14] = methods! {
    "steering" "_session/steering"
    "steering" "agent/resume"
    "live" "session/attach"
    "steering" "session/cancel"
    "live" "session/detach"
    "live" "session/heartbeat"
    "steering" "session/inject"
    "live" "session/live_clients"
    "steering" "session/pending_injections"
    "steering" "session/remind"
    "steering" "session/replace_inject"
    "steering" "session/revoke_inject"
    "steering" "session/revoke_reminder"
    "live" "session/takeover"
};

/// Returns the method of this name; clients send all of them.
pub(super) fn find_method(name: &str) -> Option<&'static ContractMethod> {
    let name = contract_name(name);
    METHODS.iter().find(|method| method.name == name)
}

/// The direction of these methods.
pub(super) const WAY: TrafficDirection = TrafficDirection::ToAgent;

static IDLE: LazySchema = LazySchema::extension(|| published_schema("agent-idle"));

/// Checks the params of `agent/idle`.
pub(super) fn check_idle(params: &Value) -> MessageFindings {
    IDLE.check(params, "params")
}

/// Returns the part of a published schema that describes one method.
pub(super) fn method_schema(file: &str, method: &str) -> Value {
    let whole = published_schema(file);
    let mut part = whole["properties"][method].clone();
    if part.is_null() {
        return Value::Bool(true);
    }
    part["$schema"] = whole["$schema"].clone();
    part["$defs"] = whole["$defs"].clone();
    allow_any_meta(&mut part);
    part
}

/// Allows any member under `_meta`: the schema describes only our part of what a client sends.
fn allow_any_meta(schema: &mut Value) {
    let Some(definitions) = schema["$defs"].as_object_mut() else {
        return;
    };
    for (name, definition) in definitions {
        if matches!(name.as_str(), "RequestMeta" | "SteeringMeta") {
            definition["additionalProperties"] = json!(true);
        }
    }
}

/// Checks an agent event by itself, without the events before it.
pub(super) fn check_event(params: &Value) -> MessageFindings {
    match params["kind"].as_str() {
        Some("control_outcome") => check_outcome(params),
        Some("loop_checkpoint") => {
            let skipped = params["dispatchSkipped"] == true;
            let explained = params.get("skipReason").is_some();
            let there = params["seam"] == "pre_tool_dispatch";
            if skipped == explained && (there || !skipped) {
                return MessageFindings::new();
            }
            let what =
                "`dispatchSkipped` needs `skipReason` and the seam `pre_tool_dispatch`; `skipReason` needs `dispatchSkipped`"
                    .to_owned();
            vec![(ConformanceRule::SkipWrong, what)]
        }
        _ => MessageFindings::new(),
    }
}

fn check_outcome(params: &Value) -> MessageFindings {
    let reason = params.get("reason");
    let what = if params["target"]["sessionId"] != params["sessionId"] {
        "its target is another session"
    } else if reason.is_some() != (params["status"] == "rejected") {
        "it must have a reason if it is rejected, and only then"
    } else if reason.is_some_and(|reason| *reason != params["outcome"]) {
        "its reason must be its outcome"
    } else {
        return MessageFindings::new();
    };
    vec![(ConformanceRule::OutcomeWrong, what.to_owned())]
}

/// The messages that clients injected into a session.
#[derive(Default)]
pub(super) struct InjectedMessages {
    /// The ids in an answer or outcome; an agent may also report messages of its own.
    accepted: HashSet<String>,
    delivered: HashSet<String>,
    revoked: HashSet<String>,
    /// The id of the message whose chunks are arriving.
    coming: Option<String>,
}

impl InjectedMessages {
    /// Checks an update. A replay repeats earlier messages.
    pub(super) fn check_update(
        &mut self,
        update: &RecordedUpdate<'_>,
        replay: bool,
    ) -> MessageFindings {
        let in_pieces = update.name == "user_message_chunk";
        let id = match update.name {
            "user_message" | "user_message_chunk" => update.root["messageId"].as_str(),
            _ => None,
        };
        let more = in_pieces && id.is_some() && self.coming.as_deref() == id;
        self.coming = id.filter(|_| in_pieces).map(str::to_owned);
        let Some(id) = id.filter(|_| !more) else {
            return MessageFindings::new();
        };
        let again = !self.delivered.insert(id.to_owned());
        let mut found = MessageFindings::new();
        if again && !replay && self.accepted.contains(id) {
            let what = format!("the message {} was delivered before", quote_name(id));
            found.push((ConformanceRule::DeliveredTwice, what));
        }
        if self.revoked.contains(id) && !replay {
            let what = format!("the message {} was revoked", quote_name(id));
            found.push((ConformanceRule::DeliveredRevoked, what));
        }
        found
    }

    /// Records the result of a method.
    pub(super) fn record_answer(
        &mut self,
        asked: &RecordedRequest,
        result: &Value,
    ) -> MessageFindings {
        let status = result["status"].as_str();
        match (contract_name(&asked.method), status) {
            ("session/inject", Some("accepted")) => self.record_accepted(&result["messageId"]),
            ("session/revoke_inject", Some("revoked" | "already_revoked")) => {
                self.record_revoked(&result["messageId"]);
                MessageFindings::new()
            }
            _ => MessageFindings::new(),
        }
    }

    /// Records the outcome of a control from an agent event.
    pub(super) fn record_outcome(&mut self, params: &Value, replay: bool) -> MessageFindings {
        if params["kind"] != "control_outcome" || params["status"] == "rejected" || replay {
            return MessageFindings::new();
        }
        let id = &params["target"]["messageId"];
        match params["method"].as_str() {
            Some("session/inject") => self.record_accepted(id),
            Some("session/revoke_inject") => {
                self.record_revoked(id);
                MessageFindings::new()
            }
            _ => MessageFindings::new(),
        }
    }

    fn record_accepted(&mut self, id: &Value) -> MessageFindings {
        let Some(id) = id.as_str() else {
            return MessageFindings::new();
        };
        // The answer and the outcome both report it, in either order.
        let news = self.accepted.insert(id.to_owned());
        if news && self.delivered.contains(id) {
            let what = format!("the message {} has been delivered already", quote_name(id));
            return vec![(ConformanceRule::DeliveredEarly, what)];
        }
        MessageFindings::new()
    }

    fn record_revoked(&mut self, id: &Value) {
        self.revoked.extend(id.as_str().map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_published_and_compiles() {
        assert!(IDLE.is_known());
        for method in &METHODS {
            assert!(method.params.is_known(), "{}", method.name);
            assert!(method.result.is_known(), "{}", method.name);
        }
    }
}
