//! `session/remind`: parsing of a reminder, with an error code for each kind of mistake.

use std::num::NonZeroU64;

use harn_model::{DeliveryMode, PendingReminder, ReminderPropagation, SystemReminder};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{VENDOR, sender::NonBlankName};

/// Members that belong to the request and not to the reminder.
const ENVELOPE: [&str; 4] = ["sessionId", "session_id", "mode", "_harn"];
/// The member that may contain the reminder, instead of the root.
const NESTED: &str = "reminder";
const FIELDS: [&str; 11] = [
    "_meta",
    "body",
    "dedupe_key",
    "fired_at_turn",
    "id",
    "preserve_on_compact",
    "propagate",
    "role_hint",
    "source",
    "tags",
    "ttl_turns",
];

/// The error for an invalid reminder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidReminder {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// The code for an unknown member.
const UNKNOWN_KEY: &str = "HARN-RMD-001";
/// The code for a member that is malformed or missing.
const MALFORMED: &str = "HARN-RMD-002";
const UNKNOWN_PROPAGATE: &str = "HARN-RMD-005";

fn malformed_error(message: impl Into<String>) -> InvalidReminder {
    InvalidReminder {
        code: MALFORMED,
        message: message.into(),
    }
}

/// Parses the params of `session/remind`. A reminder without an id gets an empty one.
pub(crate) fn read(mut params: Map<String, Value>) -> Result<PendingReminder, InvalidReminder> {
    let mut mode = params.remove("mode");
    let fields = match params.remove(NESTED) {
        None => {
            forget_sender(&mut params);
            params
        }
        Some(Value::Object(mut nested)) => {
            let beside = params.keys().find(|key| {
                let key = key.as_str();
                !ENVELOPE.contains(&key) && key != "_meta"
            });
            if let Some(key) = beside {
                return Err(unknown_key(key));
            }
            mode = mode.or(nested.remove("mode"));
            nested
        }
        Some(_) => return Err(malformed_error("`reminder` must be an object")),
    };
    let (mode, sent_mode) = parse_delivery_mode(mode)?;
    Ok(PendingReminder {
        mode,
        sent_mode,
        reminder: parse_reminder(fields)?,
    })
}

/// Removes the sender from `_meta`. At the root, `_meta` describes the request's sender too; the rest belongs
/// to the reminder.
fn forget_sender(params: &mut Map<String, Value>) {
    let Some(Value::Object(meta)) = params.get_mut("_meta") else {
        return;
    };
    if let Some(Value::Object(said)) = meta.get_mut(VENDOR) {
        said.remove("actor");
        if said.is_empty() {
            meta.remove(VENDOR);
        }
    }
}

/// Returns the delivery mode, and the sender's word for it if that is an alias. A misspelt word is rejected:
/// otherwise the reminder would only be recorded, and its sender would not know.
fn parse_delivery_mode(
    mode: Option<Value>,
) -> Result<(DeliveryMode, Option<String>), InvalidReminder> {
    let wrong = || malformed_error("`mode` must be interrupt_immediate, finish_step or audit_only");
    let word = match mode {
        None | Some(Value::Null) => return Ok((DeliveryMode::AuditOnly, None)),
        Some(Value::String(word)) => word,
        Some(_) => return Err(wrong()),
    };
    let mode = match word.as_str() {
        "interrupt_immediate" | "interrupt" => DeliveryMode::InterruptImmediate,
        "finish_step" | "after_current_operation" | "steer" => DeliveryMode::FinishStep,
        "audit_only" | "queue" | "wait_for_completion" => DeliveryMode::AuditOnly,
        _ => return Err(wrong()),
    };
    Ok((mode, Some(word).filter(|word| word != mode.as_str())))
}

fn unknown_key(key: &str) -> InvalidReminder {
    if key == "content" {
        return malformed_error(
            "a reminder has a `body`, not `content`; send a message of the user with \
             session/inject",
        );
    }
    let known = FIELDS.join(", ");
    InvalidReminder {
        code: UNKNOWN_KEY,
        message: format!("unknown key `{key}`; known keys: {known}"),
    }
}

fn parse_reminder(mut fields: Map<String, Value>) -> Result<SystemReminder, InvalidReminder> {
    fields.retain(|key, _| !ENVELOPE.contains(&key.as_str()));
    if fields.contains_key("content") {
        return Err(unknown_key("content"));
    }
    let unknown = fields.keys().find(|key| !FIELDS.contains(&key.as_str()));
    if let Some(key) = unknown {
        return Err(unknown_key(key));
    }
    let mut take = |name: &str| fields.remove(name);
    let body = match take("body") {
        Some(Value::String(body)) if !body.trim().is_empty() => body.trim().to_owned(),
        _ => {
            return Err(malformed_error("`body` must be a string that is not blank"));
        }
    };
    let id: Option<NonBlankName> =
        parse_member(take("id"), "`id` must be a string that is not blank")?;
    let id = id.as_ref().map_or("", NonBlankName::as_str);
    let mut reminder = SystemReminder::new(id, body);
    reminder.tags = parse_tags(take("tags"))?;
    let key: Option<Option<String>> =
        parse_member(take("dedupe_key"), "`dedupe_key` must be a string")?;
    reminder.dedupe_key = key.flatten().filter(|key| !key.trim().is_empty());
    let ttl = "`ttl_turns` must be a whole number above 0";
    let ttl: Option<Option<NonZeroU64>> = parse_member(take("ttl_turns"), ttl)?;
    reminder.ttl_turns = ttl.flatten().map(NonZeroU64::get);
    let preserve = "`preserve_on_compact` must be true or false";
    reminder.preserve_on_compact =
        parse_member(take("preserve_on_compact"), preserve)?.unwrap_or(false);
    reminder.propagate = match take("propagate") {
        None => ReminderPropagation::default(),
        Some(word) => serde_json::from_value(word).map_err(|_| InvalidReminder {
            code: UNKNOWN_PROPAGATE,
            message: "`propagate` must be all, session or none".to_owned(),
        })?,
    };
    let role = "`role_hint` must be system, developer, user_block or ephemeral_cache";
    reminder.role_hint = parse_member(take("role_hint"), role)?.unwrap_or_default();
    match take("source") {
        None => {}
        Some(Value::String(source)) if source == "bridge" => {}
        Some(_) => return Err(malformed_error("`source` must be bridge, or left out")),
    }
    let turn = "`fired_at_turn` must be a whole number";
    reminder.fired_at_turn = parse_member(take("fired_at_turn"), turn)?.unwrap_or(0);
    let meta: Option<Option<Map<String, Value>>> =
        parse_member(take("_meta"), "`_meta` must be an object")?;
    reminder.meta = meta.flatten().filter(|meta| !meta.is_empty());
    Ok(reminder)
}

/// Parses a member that may be absent. If null also means absent, `T` is an option.
fn parse_member<T: DeserializeOwned>(
    value: Option<Value>,
    wanted: &str,
) -> Result<Option<T>, InvalidReminder> {
    let read = value.map(serde_json::from_value).transpose();
    read.map_err(|_| malformed_error(wanted))
}

/// Returns the tags trimmed, without duplicates, in their order.
fn parse_tags(tags: Option<Value>) -> Result<Vec<String>, InvalidReminder> {
    let wanted = "`tags` must be a list of strings that are not blank";
    let tags: Option<Option<Vec<NonBlankName>>> = parse_member(tags, wanted)?;
    let mut kept: Vec<String> = Vec::new();
    for tag in tags.flatten().unwrap_or_default() {
        let tag = tag.as_str().trim();
        if !kept.iter().any(|it| it == tag) {
            kept.push(tag.to_owned());
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use harn_model::RoleHint;
    use serde_json::json;

    use super::*;

    fn parse_params(params: Value) -> Result<(DeliveryMode, SystemReminder), InvalidReminder> {
        match params {
            Value::Object(params) => read(params).map(|it| (it.mode, it.reminder)),
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn absent_members_get_their_defaults() {
        let (mode, reminder) = parse_params(json!({"body": " Mind the gap.\n"})).unwrap();
        assert_eq!(mode, DeliveryMode::AuditOnly);
        assert_eq!(reminder, SystemReminder::new("", "Mind the gap."));
        let empty = json!({
            "sessionId": "s", "session_id": "s", "_harn": {}, "mode": null, "body": "b", "tags": null,
            "dedupe_key": " ", "ttl_turns": null, "_meta": null, "source": "bridge",
        });
        assert_eq!(parse_params(empty).unwrap().1, SystemReminder::new("", "b"));
    }

    #[test]
    fn reminder_reads_every_member_at_the_root_or_nested() {
        let fields = json!({
            "id": "rem-1", "body": "b", "tags": [" a ", "b", "a"], "dedupe_key": "k", "ttl_turns": 2,
            "preserve_on_compact": true, "propagate": "all", "role_hint": "user_block",
            "source": "bridge", "fired_at_turn": 7, "_meta": {"ours": 1},
        });
        let root = parse_params(fields.clone()).unwrap();
        let (mode, reminder) = &root;
        assert_eq!(*mode, DeliveryMode::AuditOnly);
        assert_eq!(reminder.id, "rem-1");
        assert_eq!(reminder.tags, ["a", "b"]);
        assert_eq!(reminder.dedupe_key.as_deref(), Some("k"));
        assert_eq!(reminder.ttl_turns, Some(2));
        assert!(reminder.preserve_on_compact);
        assert_eq!(reminder.propagate, ReminderPropagation::All);
        assert_eq!(reminder.role_hint, RoleHint::UserBlock);
        assert_eq!(reminder.fired_at_turn, 7);
        assert_eq!(reminder.meta.as_ref().unwrap()["ours"], 1);
        let nested = json!({"sessionId": "s", "_meta": {"trace": 1}, "reminder": fields});
        assert_eq!(parse_params(nested).unwrap(), root);
    }

    #[test]
    fn actor_at_the_root_is_removed_from_the_reminder() {
        let actor = json!({"harn": {"actor": {"clientId": "desk"}}, "ours": 1});
        let (_, reminder) = parse_params(json!({"body": "b", "_meta": actor})).unwrap();
        assert_eq!(
            reminder.meta,
            Some(Map::from_iter([("ours".to_owned(), 1.into())]))
        );
        let kept = json!({"harn": {"actor": {"clientId": "desk"}, "origin": "file-watcher"}});
        let (_, reminder) = parse_params(json!({"body": "b", "_meta": kept})).unwrap();
        let meta = reminder.meta.map(Value::Object);
        assert_eq!(meta, Some(json!({"harn": {"origin": "file-watcher"}})));
    }

    #[test]
    fn mode_aliases_map_to_delivery_modes() {
        use DeliveryMode::{AuditOnly, FinishStep, InterruptImmediate};
        let modes = [
            ("interrupt_immediate", InterruptImmediate),
            ("interrupt", InterruptImmediate),
            ("finish_step", FinishStep),
            ("after_current_operation", FinishStep),
            ("steer", FinishStep),
            ("audit_only", AuditOnly),
            ("queue", AuditOnly),
            ("wait_for_completion", AuditOnly),
        ];
        for (word, mode) in modes {
            assert_eq!(
                parse_params(json!({"body": "b", "mode": word})).unwrap().0,
                mode,
                "{word}"
            );
            let nested = json!({"reminder": {"body": "b", "mode": word}});
            assert_eq!(parse_params(nested).unwrap().0, mode, "{word}");
        }
    }

    #[test]
    fn invalid_reminders_are_rejected_with_their_code() {
        let cases = [
            (json!({}), "HARN-RMD-002", "`body`"),
            (json!({"body": " "}), "HARN-RMD-002", "`body`"),
            (json!({"body": 1}), "HARN-RMD-002", "`body`"),
            (
                json!({"body": "b", "content": "c"}),
                "HARN-RMD-002",
                "`content`",
            ),
            (
                json!({"content": [], "odd": 1}),
                "HARN-RMD-002",
                "`content`",
            ),
            (json!({"body": "b", "odd": 1}), "HARN-RMD-001", "`odd`"),
            (
                json!({"body": "b", "dedupeKey": "k"}),
                "HARN-RMD-001",
                "`dedupeKey`",
            ),
            (json!({"odd": 1}), "HARN-RMD-001", "`odd`"),
            (
                json!({"reminder": {"body": "b"}, "odd": 1}),
                "HARN-RMD-001",
                "`odd`",
            ),
            (
                json!({"reminder": {"body": "b"}, "content": 1}),
                "HARN-RMD-002",
                "`content`",
            ),
            (
                json!({"reminder": {"body": "b", "odd": 1}}),
                "HARN-RMD-001",
                "`odd`",
            ),
            (json!({"reminder": "b"}), "HARN-RMD-002", "`reminder`"),
            (json!({"reminder": null}), "HARN-RMD-002", "`reminder`"),
            (json!({"body": "b", "mode": 1}), "HARN-RMD-002", "`mode`"),
            (
                json!({"body": "b", "mode": "finish-step"}),
                "HARN-RMD-002",
                "`mode`",
            ),
            (
                json!({"reminder": {"body": "b", "mode": "Interrupt"}}),
                "HARN-RMD-002",
                "`mode`",
            ),
            (json!({"body": "b", "id": 1}), "HARN-RMD-002", "`id`"),
            (json!({"body": "b", "id": " "}), "HARN-RMD-002", "`id`"),
            (json!({"body": "b", "tags": "t"}), "HARN-RMD-002", "`tags`"),
            (json!({"body": "b", "tags": [""]}), "HARN-RMD-002", "`tags`"),
            (json!({"body": "b", "tags": [1]}), "HARN-RMD-002", "`tags`"),
            (
                json!({"body": "b", "dedupe_key": 1}),
                "HARN-RMD-002",
                "`dedupe_key`",
            ),
            (
                json!({"body": "b", "ttl_turns": 0}),
                "HARN-RMD-002",
                "`ttl_turns`",
            ),
            (
                json!({"body": "b", "ttl_turns": -1}),
                "HARN-RMD-002",
                "`ttl_turns`",
            ),
            (
                json!({"body": "b", "ttl_turns": 1.5}),
                "HARN-RMD-002",
                "`ttl_turns`",
            ),
            (
                json!({"body": "b", "ttl_turns": "1"}),
                "HARN-RMD-002",
                "`ttl_turns`",
            ),
            (
                json!({"body": "b", "preserve_on_compact": "yes"}),
                "HARN-RMD-002",
                "`preserve_on_compact`",
            ),
            (
                json!({"body": "b", "propagate": "some"}),
                "HARN-RMD-005",
                "`propagate`",
            ),
            (
                json!({"body": "b", "propagate": 1}),
                "HARN-RMD-005",
                "`propagate`",
            ),
            (
                json!({"body": "b", "role_hint": "user"}),
                "HARN-RMD-002",
                "`role_hint`",
            ),
            (
                json!({"body": "b", "source": "hook"}),
                "HARN-RMD-002",
                "`source`",
            ),
            (
                json!({"body": "b", "fired_at_turn": -1}),
                "HARN-RMD-002",
                "`fired_at_turn`",
            ),
            (
                json!({"body": "b", "_meta": "m"}),
                "HARN-RMD-002",
                "`_meta`",
            ),
        ];
        for (params, code, word) in cases {
            let invalid = parse_params(params.clone()).unwrap_err();
            assert_eq!(invalid.code, code, "{params}");
            assert!(invalid.message.contains(word), "{params}: {invalid:?}");
        }
    }
}
