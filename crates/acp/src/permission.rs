//! `session/request_permission`: the question as a client needs to see it, and what its answer means.

use agent_client_protocol::Error;
use harn_model::{Decision, PermissionAsked, PermissionOption, SessionId, ToolCallStatus};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    ext::{HarnMeta, permission::PermissionMeta, tool::ToolMeta},
    wire::{ToolCall, ToolContents},
};

pub(crate) const METHOD: &str = "session/request_permission";

/// The whole call is repeated: a bare id would leave the client nothing to show.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PermissionRequest", deny_unknown_fields)]
pub(crate) struct Request<'a> {
    /// The session that is asked about; for a call of a worker, the one that the person talks to.
    session_id: &'a str,
    /// What waits for the decision.
    tool_call: ToolCall<'a>,
    /// What may be answered.
    options: Vec<OptionWire<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<HarnMeta<PermissionMeta<'a>>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PermissionOption", deny_unknown_fields)]
struct OptionWire<'a> {
    option_id: &'a str,
    name: &'a str,
    kind: harn_model::PermissionOptionKind,
}

pub(crate) fn request<'a>(session: &'a SessionId, ask: &'a PermissionAsked) -> Request<'a> {
    let call = &ask.tool_call;
    Request {
        session_id: session.as_str(),
        tool_call: ToolCall {
            tool_call_id: call.tool_call_id.as_str(),
            title: Some(call.title.as_deref().unwrap_or(&call.tool_name)),
            kind: Some(call.kind.unwrap_or_default()),
            status: ToolCallStatus::Pending,
            content: (!call.content.is_empty()).then_some(ToolContents::Given {
                contents: &call.content,
                terminals: true,
            }),
            locations: (!call.locations.is_empty()).then_some(call.locations.as_slice()),
            raw_input: (!call.raw_input.is_null()).then_some(&call.raw_input),
            raw_output: None,
            meta: ToolMeta::of_call(call).map(HarnMeta::new),
        },
        options: ask.options.iter().map(option).collect(),
        meta: PermissionMeta::of(&ask.lineage).map(HarnMeta::new),
    }
}

fn option(option: &PermissionOption) -> OptionWire<'_> {
    OptionWire {
        option_id: &option.option_id,
        name: &option.name,
        kind: option.kind,
    }
}

/// What the client's answer means. Only a selected option that allows is a grant; anything that does not
/// read as an answer is none.
pub(crate) fn decision(ask: &PermissionAsked, answer: Result<Value, Error>) -> Decision {
    let unavailable = |reason: &str| Decision::Unavailable {
        reason: reason.to_owned(),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            return Decision::Unavailable {
                reason: format!("the client could not be asked: {}", error.message),
            };
        }
    };
    let outcome = &answer["outcome"];
    match outcome["outcome"].as_str() {
        Some("cancelled") => Decision::Cancelled,
        Some("selected") => {
            let chosen = outcome["optionId"].as_str();
            match ask
                .options
                .iter()
                .find(|o| Some(o.option_id.as_str()) == chosen)
            {
                Some(option) if option.kind.allows() => Decision::Allowed {
                    option_id: option.option_id.clone(),
                    args: None,
                },
                Some(option) => Decision::Rejected {
                    option_id: Some(option.option_id.clone()),
                    reason: None,
                },
                None => unavailable("the client chose an option that was not offered"),
            }
        }
        _ => unavailable("the client's answer was not understood"),
    }
}

#[cfg(test)]
mod tests {
    use harn_model::PermissionOptionKind;
    use serde_json::json;

    use super::*;

    fn ask() -> PermissionAsked {
        let option = |id: &str, kind| PermissionOption {
            option_id: id.to_owned(),
            name: id.to_owned(),
            kind,
            scope: harn_model::GrantScope::Once,
        };
        PermissionAsked {
            ask_id: "a".into(),
            tool_call: harn_model::ToolCall::new("t", "write_file"),
            lineage: Vec::new(),
            policy_decision: None,
            grant: None,
            requested_at: 0,
            deadline: None,
            options: vec![
                option("yes", PermissionOptionKind::AllowOnce),
                option("no", PermissionOptionKind::RejectOnce),
            ],
        }
    }

    #[test]
    fn the_workers_a_question_came_through_are_told() {
        let id = SessionId::from("root");
        let mut ask = ask();
        let plain = serde_json::to_value(request(&id, &ask)).unwrap();
        assert_eq!(plain.get("_meta"), None);
        ask.lineage = vec![harn_model::Lineage {
            worker_id: "w-1".into(),
            worker_name: "reviewer".to_owned(),
            session_id: "child".into(),
        }];
        let lineage =
            &serde_json::to_value(request(&id, &ask)).unwrap()["_meta"]["harn"]["lineage"];
        assert_eq!(
            *lineage,
            json!([{"workerId": "w-1", "workerName": "reviewer", "sessionId": "child"}])
        );
    }

    #[test]
    fn only_an_offered_option_that_allows_is_a_grant() {
        let answers = [
            (
                json!({"outcome": {"outcome": "selected", "optionId": "yes"}}),
                true,
            ),
            (
                json!({"outcome": {"outcome": "selected", "optionId": "no"}}),
                false,
            ),
            (
                json!({"outcome": {"outcome": "selected", "optionId": "other"}}),
                false,
            ),
            (json!({"outcome": {"outcome": "selected"}}), false),
            (json!({"outcome": {"outcome": "cancelled"}}), false),
            (json!({"outcome": "selected"}), false),
            (
                json!({"outcome": {"outcome": "yes", "optionId": "yes"}}),
                false,
            ),
            (json!(null), false),
            (json!([]), false),
        ];
        for (answer, granted) in answers {
            let decision = decision(&ask(), Ok(answer.clone()));
            assert_eq!(decision.allows(), granted, "{answer}");
        }
        assert!(!decision(&ask(), Err(Error::method_not_found())).allows());
    }
}
