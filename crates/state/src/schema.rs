//! JSON Schemas of this wire, generated from the types that read and write it.
//!
//! They are kept in `spec/schemas` for client authors; a test tells when the two differ. Only tests generate
//! them: what runs reads [`published`](crate::published), so that no generator is linked into it.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

use crate::wire::{ClientMessage, ListingMessage, ServerMessage, TimelinePage};

/// The schemas by file name.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "state-frames.schema.json",
            written::<ServerMessage<'_>>(
                "What a client of `/ws` is sent, with the whole document. Clients must ignore what they do \
                 not know.",
            ),
        ),
        (
            "state-commands.schema.json",
            described::<ClientMessage>(
                SchemaSettings::draft2020_12(),
                "What a client of `/ws` may send. What is not named here is ignored, and null counts as \
                 unsaid.",
            ),
        ),
        (
            "state-sessions.schema.json",
            written::<ListingMessage<'_>>(
                "What a client of `/ws/sessions` is sent. Clients must ignore what they do not know.",
            ),
        ),
        (
            "state-timeline.schema.json",
            written::<TimelinePage>(
                "The answer to `GET /state/timeline`. Clients must ignore what they do not know.",
            ),
        ),
    ]
}

/// What is written, not what would be accepted: a field that is always there is required, and one that is
/// left out when there is nothing to say is never null.
fn written<T: JsonSchema>(description: &str) -> Value {
    let mut schema = described::<T>(SchemaSettings::draft2020_12().for_serialize(), description);
    absent_is_not_null(&mut schema);
    schema
}

fn absent_is_not_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(absent_is_not_null),
        Value::Object(members) => {
            let required = members.get("required").and_then(Value::as_array).cloned();
            let always = |name: &str| required.iter().flatten().any(|it| it == name);
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                for (name, property) in properties {
                    // Whoever says something may have no name, which is something else than that nobody did.
                    if !always(name) && name != "author" {
                        forbid_null(property);
                    }
                }
            }
            members.values_mut().for_each(absent_is_not_null);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn forbid_null(property: &mut Value) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|it| it != "null");
        if let [one] = types.as_slice() {
            property["type"] = one.clone();
        }
    }
}

fn described<T: JsonSchema>(settings: SchemaSettings, description: &str) -> Value {
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    // What it is comes first, for people who open the file.
    let mut ordered = Map::new();
    for key in ["$schema", "title"] {
        if let Some(value) = schema.remove(key) {
            ordered.insert(key.to_owned(), value);
        }
    }
    schema.remove("description");
    ordered.insert("description".to_owned(), description.into());
    if let Value::Object(rest) = Value::from(schema) {
        ordered.extend(rest);
    }
    Value::Object(ordered)
}
