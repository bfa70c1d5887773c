//! Permission requests: the contract's members are where the client reads them, and both copies agree.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    ConformanceRule, MessageFindings,
    extensions::{published_schema, without_members},
    list_names,
    shape::LazySchema,
};
use harn_acp::ext::VENDOR;

pub(super) const METHOD: &str = "session/request_permission";

/// The schema of `_meta.harn`.
pub(super) static META: LazySchema = LazySchema::extension(meta_schema);
/// The schema of the contract's members beside ACP's.
static BESIDE: LazySchema = LazySchema::extension(members_schema);

/// The members that the contract adds beside ACP's in the profile `harn`.
const NAMES: [&str; 4] = [
    "approvalRequest",
    "declaredPaths",
    "mutation",
    "policyDecision",
];

/// Where a client expects the contract's members.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberPlacement {
    /// The agent's answer to `initialize` is unknown, or it does not implement the contract.
    Anything,
    UnderMeta,
    /// Under `_meta`, and optionally beside ACP's members.
    Either,
    /// Under `_meta` and beside ACP's members.
    Beside,
}

/// The pointer to the profile `harn` in the published schema, which has all profiles.
const REQUEST: &str = "/$defs/HarnPermissionRequest/properties";

/// Returns the schema of `_meta.harn`. The published schema describes the whole request; ACP's own schema
/// checks the rest.
fn meta_schema() -> Value {
    let whole = published_schema("permission-request");
    let schema = whole.pointer(&format!("{REQUEST}/_meta/properties/{VENDOR}"));
    schema.map_or(Value::Bool(true), |schema| {
        with_definitions(schema.clone(), &whole)
    })
}

fn members_schema() -> Value {
    let whole = published_schema("permission-request");
    let Some(Value::Object(members)) = whole.pointer(REQUEST) else {
        return Value::Bool(true);
    };
    let ours = members.iter().filter(|(name, _)| is_ours(name));
    let ours: Map<_, _> = ours.map(|(name, it)| (name.clone(), it.clone())).collect();
    let required = ours.keys().filter(|name| *name != "policyDecision");
    let schema = serde_json::json!({
        "type": "object",
        "required": required.collect::<Vec<_>>(),
        "properties": ours,
    });
    with_definitions(schema, &whole)
}

fn with_definitions(mut schema: Value, whole: &Value) -> Value {
    if let (Value::Object(schema), Some(definitions)) = (&mut schema, whole.get("$defs")) {
        schema.insert("$defs".to_owned(), definitions.clone());
    }
    schema
}

fn is_ours(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Returns the params without the contract's members.
pub(super) fn without_contract_members(params: &Value) -> Cow<'_, Value> {
    let mut params = without_members(params, &NAMES);
    let call = params.get("toolCall");
    if call.is_some_and(|call| call.get("toolName").is_some())
        && let Some(Value::Object(call)) = params.to_mut().get_mut("toolCall")
    {
        call.remove("toolName");
    }
    params
}

pub(super) fn check(params: &Value, expected: MemberPlacement) -> MessageFindings {
    let mut found = MessageFindings::new();
    // Questions and escalations have no approval record.
    let call = params.pointer("/toolCall/toolCallId");
    let of_person =
        |id: &str| id.starts_with("hitl_question_") || id.starts_with("hitl_escalation_");
    if call.and_then(Value::as_str).is_some_and(of_person) {
        return found;
    }
    let members = params.as_object().into_iter().flatten();
    let beside: Map<_, _> = members
        .filter(|(name, _)| is_ours(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let beside = Some(Value::Object(beside)).filter(|it| *it != Value::Object(Map::new()));
    let harn = params.pointer("/_meta/harn");
    let mut lacks = |what: &str| found.push((ConformanceRule::ApprovalLacking, what.to_owned()));
    match (expected, &beside) {
        (MemberPlacement::Beside, None) => {
            lacks("`params` lacks the contract's members beside ACP's")
        }
        (MemberPlacement::UnderMeta, Some(_)) => {
            let what = "`params` has members beside ACP's, and the client did not ask for them";
            found.push((ConformanceRule::NotAdvertised, what.to_owned()));
        }
        (_, None | Some(_)) if expected != MemberPlacement::Anything && harn.is_none() => {
            lacks("`params` lacks `_meta/harn`");
        }
        (_, None | Some(_)) => {}
    }
    if let Some(beside) = &beside {
        found.extend(BESIDE.check(beside, "params"));
    }
    if let (Some(beside), Some(harn)) = (&beside, harn) {
        // The schemas report missing members; only the receipt is optional.
        let differs = |name: &&&str| match (beside.get(**name), harn.get(**name)) {
            (Some(one), Some(other)) => one != other,
            (one, other) => **name == "policyDecision" && one != other,
        };
        let different: Vec<_> = NAMES.iter().filter(differs).copied().collect();
        if !different.is_empty() {
            let names = list_names(different);
            let what = format!("`params` and `params/_meta/harn` differ in {names}");
            found.push((ConformanceRule::ApprovalDiffers, what));
        }
    }
    let places = [beside.as_ref(), harn].into_iter().flatten();
    let requests = places.filter_map(|place| place.get("approvalRequest"));
    let requests: Vec<_> = requests.filter(|request| request.is_object()).collect();
    let of_other = |request: &&Value| request.get("id").is_some_and(|id| Some(id) != call);
    if requests.iter().any(of_other) {
        let what = "`approvalRequest/id` is not the id of the call".to_owned();
        found.push((ConformanceRule::ApprovalDiffers, what));
    }
    if requests.iter().any(|it| it.get("deadline").is_none()) {
        let what = "`approvalRequest` lacks `deadline`".to_owned();
        found.push((ConformanceRule::NoDeadline, what));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_published_and_compiles() {
        for shape in [&META, &BESIDE] {
            assert!(shape.is_known(), "one is not published any more");
        }
    }
}
