//! The shapes of ACP's messages, from `acp-shapes.json`, which a test generates from the types of the SDK.
//!
//! They are kept as a file so that no generator is linked into what runs; each definition is on a line.

use std::{collections::BTreeSet, sync::LazyLock};

use serde_json::{Map, Value, json};

static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    // It is JSON, or the test that compiles every shape fails.
    serde_json::from_str(include_str!("acp-shapes.json")).unwrap_or_default()
});

/// The definition with this name, which refers to others.
pub(super) fn definition(name: &str) -> Option<&'static Value> {
    DEFINITIONS.get(name)
}

/// A schema that stands by itself: the definition and those it needs.
pub(super) fn document(name: &'static str) -> Option<Value> {
    let mut needed = BTreeSet::new();
    let mut waiting = vec![name];
    while let Some(name) = waiting.pop() {
        if needed.insert(name) {
            references(definition(name)?, &mut waiting);
        }
    }
    let needed = needed
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), definition(name)?.clone())));
    Some(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("{PREFIX}{name}"),
        "$defs": Map::from_iter(needed),
    }))
}

const PREFIX: &str = "#/$defs/";

fn references(schema: &'static Value, names: &mut Vec<&'static str>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            names.extend(reference.and_then(|it| it.strip_prefix(PREFIX)));
            members.values().for_each(|it| references(it, names));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
