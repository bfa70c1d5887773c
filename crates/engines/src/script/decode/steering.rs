//! Decodes the steps that wait for input, and the agent's own reminders.

use std::time::Duration;

use harn_model::SystemReminder;
use harn_tools::yaml::{YamlFault, YamlNode, YamlValue};

use super::{
    super::{scenario::ScenarioStep, steering::IdleStep, typed_yaml::parse_typed},
    MapFields, count, flag, non_empty_text, number,
};

/// Decodes `idle`. `{}` and no value wait for any input.
pub(super) fn idle(node: &YamlNode) -> Result<ScenarioStep, YamlFault> {
    if matches!(node.data, YamlValue::Null) {
        return Ok(ScenarioStep::Idle(IdleStep::default()));
    }
    let fields = MapFields::parse(node, "idle", "every_ms, until_ms, watchdog")?;
    let time = |node: &YamlNode, what: &str| {
        let millis = number(node, what, 0, u64::MAX);
        millis.map(Duration::from_millis)
    };
    Ok(ScenarioStep::Idle(IdleStep {
        every: fields.optional("every_ms", time)?,
        until: fields.optional("until_ms", time)?,
        watchdog: fields.optional("watchdog", count)?,
    }))
}

/// Decodes `remind`. A file cannot set the source and the time of a reminder.
pub(super) fn remind(node: &YamlNode) -> Result<ScenarioStep, YamlFault> {
    let names =
        "body, id, tags, dedupe_key, ttl_turns, preserve_on_compact, propagate, role_hint, meta";
    let fields = MapFields::parse(node, "remind", names)?;
    let body = fields.required("body", non_empty_text)?;
    let preserve = fields.optional("preserve_on_compact", flag)?;
    let reminder = SystemReminder {
        tags: fields.parse_list("tags", non_empty_text)?,
        dedupe_key: fields.optional("dedupe_key", non_empty_text)?,
        ttl_turns: fields.optional("ttl_turns", count)?,
        preserve_on_compact: preserve.unwrap_or_default(),
        propagate: fields
            .optional("propagate", parse_typed)?
            .unwrap_or_default(),
        role_hint: fields
            .optional("role_hint", parse_typed)?
            .unwrap_or_default(),
        meta: fields.optional("meta", parse_typed)?,
        // The runtime assigns an id if there is none.
        ..SystemReminder::new(
            fields.optional("id", non_empty_text)?.unwrap_or_default(),
            body,
        )
    };
    Ok(ScenarioStep::Remind(Box::new(reminder)))
}
