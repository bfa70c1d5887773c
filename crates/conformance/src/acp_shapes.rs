//! The schemas of ACP's messages, from `acp-shapes.json`, which a test generates from the types of the SDK.
//!
//! The file avoids a schema generator in the program. It has one definition per line.

use std::{collections::BTreeSet, sync::LazyLock};

use serde_json::{Map, Value, json};

static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    // The test that compiles every schema fails if this is not JSON.
    serde_json::from_str(include_str!("acp-shapes.json")).unwrap_or_default()
});

/// Returns the definition of this name; it may refer to others.
pub(super) fn definition(name: &str) -> Option<&'static Value> {
    DEFINITIONS.get(name)
}

/// Returns a self-contained schema: the definition and all definitions it refers to.
pub(super) fn document(name: &'static str) -> Option<Value> {
    let mut needed = BTreeSet::new();
    let mut waiting = vec![name];
    while let Some(name) = waiting.pop() {
        if needed.insert(name) {
            collect_references(definition(name)?, &mut waiting);
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

fn collect_references(schema: &'static Value, names: &mut Vec<&'static str>) {
    match schema {
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_references(item, names)),
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            names.extend(reference.and_then(|it| it.strip_prefix(PREFIX)));
            members
                .values()
                .for_each(|it| collect_references(it, names));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
