//! The steps that wait for more to do, and the agent's own reminders.

use std::time::Duration;

use harn_model::SystemReminder;
use harn_tools::yaml::{Data, Fault, Node};

use super::{
    super::{scenario::Step, steering::Wait, typed::typed},
    each, fields, filled, number, required, wrong,
};

/// `{}` and no value wait for whatever comes.
pub(super) fn idle(node: &Node) -> Result<Step, Fault> {
    if matches!(node.data, Data::Null) {
        return Ok(Step::Idle(Wait::default()));
    }
    let names = ["every_ms", "until_ms", "watchdog"];
    let [every, until, watchdog] = fields(node, "idle", names)?;
    let time = |node: Option<&Node>, name| {
        let time = node.map(|node| number(node, name, 0, u64::MAX)).transpose();
        time.map(|time| time.map(Duration::from_millis))
    };
    let attempts = watchdog.map(|node| number(node, "watchdog", 1, u64::MAX));
    Ok(Step::Idle(Wait {
        every: time(every, "every_ms")?,
        until: time(until, "until_ms")?,
        watchdog: attempts.transpose()?,
    }))
}

/// Who made it and when are not for a file to say.
pub(super) fn remind(node: &Node) -> Result<Step, Fault> {
    let what = "remind";
    let names = [
        "body",
        "id",
        "tags",
        "dedupe_key",
        "ttl_turns",
        "preserve_on_compact",
        "propagate",
        "role_hint",
        "meta",
    ];
    let [
        body,
        id,
        tags,
        dedupe_key,
        ttl_turns,
        preserve,
        propagate,
        role_hint,
        meta,
    ] = fields(node, what, names)?;
    let word = |node: Option<&Node>, name| node.map(|node| filled(node, name)).transpose();
    let ttl = ttl_turns.map(|node| number(node, "ttl_turns", 1, u64::MAX));
    let body = filled(required(node, what, "body", body)?, "body")?;
    let reminder = SystemReminder {
        tags: each(tags, "tags", |tag| filled(tag, "tags"))?,
        dedupe_key: word(dedupe_key, "dedupe_key")?,
        ttl_turns: ttl.transpose()?,
        preserve_on_compact: preserve.map_or(Ok(false), |node| match node.data {
            Data::Bool(flag) => Ok(flag),
            _ => Err(wrong(node, "preserve_on_compact", "true or false")),
        })?,
        propagate: propagate.map_or(Ok(Default::default()), |node| typed(node, "propagate"))?,
        role_hint: role_hint.map_or(Ok(Default::default()), |node| typed(node, "role_hint"))?,
        meta: meta.map(|node| typed(node, "meta")).transpose()?,
        // Without an id the runtime gives it one.
        ..SystemReminder::new(word(id, "id")?.unwrap_or_default(), body)
    };
    Ok(Step::Remind(Box::new(reminder)))
}
