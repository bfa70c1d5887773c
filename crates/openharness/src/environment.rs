//! The surroundings of a request: hints, the Shell and its environment, as one resource for the agent. This
//! module drops secrets; no later code sees them.

use harn_model::Resource;
use serde_json::{Map, Value, json};

use crate::{error::OpenHarnessError, from_wire::MessageObject, shell};

/// The URI of that resource.
pub(crate) const URI: &str = "openharness:context";

const TIER: &str = "privacy_tier";

/// Returns all surroundings that an agent may receive.
pub(crate) fn background(
    context: &MessageObject<'_>,
) -> Result<Option<Resource>, OpenHarnessError> {
    let known = join_parts([
        ("environment_state", environment_state(context)?),
        ("shell", shell::identity(context)?),
        ("task_hint", hint(context)?),
    ]);
    Ok(known.map(|known| Resource {
        uri: URI.to_owned(),
        mime_type: Some("application/json".to_owned()),
        text: Some(known),
        blob: None,
    }))
}

/// Returns the task of a request without text as JSON: its hint, or the workflow that its continuation names.
pub(crate) fn task(context: &MessageObject<'_>) -> Result<Option<String>, OpenHarnessError> {
    let workflow = match context.object("continuation")? {
        Some(continuation) => continuation.text("sop_id")?,
        None => None,
    };
    let workflow = workflow.filter(|name| !name.trim().is_empty());
    let workflow = workflow.map(|name| json!({ "sop_id": name }));
    Ok(join_parts([
        ("continuation", workflow),
        ("task_hint", hint(context)?),
    ]))
}

/// Returns an object as JSON for the agent, without its secrets; none if nothing is left.
pub(crate) fn as_text(object: &MessageObject<'_>) -> Option<String> {
    to_value_unless_secret(object).map(to_sorted_json)
}

fn hint(context: &MessageObject<'_>) -> Result<Option<Value>, OpenHarnessError> {
    let hint = context.object_with_texts("task_hint", &["sop_id", "plugin_id", "business_key"])?;
    Ok(hint.as_ref().and_then(to_value_unless_secret))
}

/// Returns these parts as one JSON text; none if all are missing.
fn join_parts<const N: usize>(parts: [(&str, Option<Value>); N]) -> Option<String> {
    let parts = parts.into_iter();
    let known = parts.filter_map(|(name, part)| Some((name.to_owned(), part?)));
    non_empty_object(known.collect()).map(to_sorted_json)
}

/// Sorts the members, so that equal values give equal texts.
fn to_sorted_json(mut value: Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

/// Returns the content of an object, unless its tier makes it secret.
fn to_value_unless_secret(object: &MessageObject<'_>) -> Option<Value> {
    match object.members().any(marks_secret) {
        true => None,
        false => non_empty_object(open_members(object)),
    }
}

fn environment_state(context: &MessageObject<'_>) -> Result<Option<Value>, OpenHarnessError> {
    let Some(state) =
        context.object_with_texts("environment_state", &["os", "active_window", "screen_hash"])?
    else {
        return Ok(None);
    };
    match state.text(TIER)? {
        None | Some("public" | "restricted") => Ok(non_empty_object(open_members(&state))),
        Some("secret") => Ok(None),
        Some(_) => Err(state.wrong_member(TIER, "must be `public`, `restricted` or `secret`")),
    }
}

/// Returns all members, without the tier and without the parts whose tier makes them secret.
fn open_members(object: &MessageObject<'_>) -> Map<String, Value> {
    let members = object.members().filter(|(name, _)| *name != TIER);
    members
        .filter_map(|(name, value)| Some((name.to_owned(), without_secrets(value)?)))
        .collect()
}

/// Returns whether a member forbids passing on its object. In a part, an unknown tier does so too: it may be
/// another spelling of "secret".
fn marks_secret((name, value): (&str, &Value)) -> bool {
    name == TIER && value != "public" && value != "restricted"
}

fn without_secrets(value: &Value) -> Option<Value> {
    match value {
        Value::Object(members) if members.iter().any(|(name, it)| marks_secret((name, it))) => None,
        Value::Object(members) => {
            let open = members
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), without_secrets(value)?)));
            Some(Value::Object(open.collect()))
        }
        Value::Array(items) => Some(items.iter().filter_map(without_secrets).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

fn non_empty_object(members: Map<String, Value>) -> Option<Value> {
    (!members.is_empty()).then_some(Value::Object(members))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(context: Value) -> Option<String> {
        background(&MessageObject::root(&context).unwrap())
            .unwrap()?
            .text
    }

    #[test]
    fn hints_shell_and_environment_become_one_resource() {
        let context = json!({
            "task_hint": {"sop_id": "s", "business_key": "deal_42", "team": 3},
            "shell": {"shell_kind": "im_bot", "locale": "zh-CN", "unknown": 1},
            "environment_state": {"privacy_tier": "restricted", "os": "macOS", "battery": {"b": 2, "a": 1}},
        });
        let expected = r#"{"environment_state":{"battery":{"a":1,"b":2},"os":"macOS"},"shell":{"locale":"zh-CN","shell_kind":"im_bot"},"task_hint":{"business_key":"deal_42","sop_id":"s","team":3}}"#;
        assert_eq!(text(context).as_deref(), Some(expected));
        assert_eq!(text(json!({})), None);
        assert_eq!(text(json!({"shell": {}, "task_hint": {}})), None);
    }

    #[test]
    fn secrets_are_dropped_whole_or_in_part() {
        let secret = json!({"privacy_tier": "secret", "os": "macOS", "clipboard": "canary"});
        assert_eq!(text(json!({ "environment_state": secret })), None);
        let part = json!({"os": "macOS", "seen": [{"privacy_tier": "secret", "text": "canary"}]});
        let expected = r#"{"environment_state":{"os":"macOS","seen":[]}}"#;
        assert_eq!(
            text(json!({ "environment_state": part })).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn part_with_an_unknown_tier_is_dropped() {
        for tier in [
            json!("Secret"),
            json!("confidential"),
            json!(null),
            json!(["secret"]),
        ] {
            let part = json!({"privacy_tier": tier, "text": "canary"});
            let context = json!({"environment_state": {"os": "macOS", "seen": part}});
            let expected = r#"{"environment_state":{"os":"macOS"}}"#;
            assert_eq!(text(context).as_deref(), Some(expected), "{tier}");
        }
        let part = json!({"privacy_tier": "restricted", "text": "kept"});
        let kept = text(json!({"environment_state": {"seen": part}}));
        assert!(kept.is_some_and(|kept| kept.contains("kept")));
    }

    #[test]
    fn task_is_read_from_a_hint_or_a_workflow() {
        let text = |context: Value| task(&MessageObject::root(&context).unwrap()).unwrap();
        let hinted = json!({"task_hint": {"sop_id": "onboard", "business_key": "deal_42"}});
        let expected = r#"{"task_hint":{"business_key":"deal_42","sop_id":"onboard"}}"#;
        assert_eq!(text(hinted).as_deref(), Some(expected));
        let named = json!({"continuation": {"sop_id": "onboard"}, "task_hint": {}});
        let expected = r#"{"continuation":{"sop_id":"onboard"}}"#;
        assert_eq!(text(named).as_deref(), Some(expected));
        for nothing in [
            json!({}),
            json!({"task_hint": {}, "continuation": {"sop_id": " "}}),
            json!({"task_hint": {"privacy_tier": "secret", "sop_id": "canary"}}),
        ] {
            assert_eq!(text(nothing), None);
        }
    }

    #[test]
    fn secret_hints_are_dropped() {
        let secret = json!({"privacy_tier": "secret", "sop_id": "canary"});
        assert_eq!(text(json!({ "task_hint": secret })), None);
    }
}
