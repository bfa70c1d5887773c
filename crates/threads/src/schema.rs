//! JSON Schemas of this wire, generated from the types that read and write it.
//!
//! They are kept in `spec/schemas` for client authors; a test tells when the two differ. Only tests generate
//! them: what runs reads [`published`](crate::published), so that no generator is linked into it.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

use crate::wire::{MethodResults, Methods, Notification};

/// The schemas by file name.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "threads-params.schema.json",
            described::<Methods>(
                SchemaSettings::draft2020_12(),
                "The `params` of the thread and turn methods, by method. What is not named here is \
                 ignored, and null counts as unsaid.",
            ),
        ),
        (
            "threads-results.schema.json",
            written::<MethodResults>(
                "The `result` of the thread and turn methods, by method. Clients must ignore what they do \
                 not know.",
            ),
        ),
        (
            "threads-notifications.schema.json",
            written::<Notification>(
                "The `params` of what is told of threads unasked; `notification` is the method. Clients \
                 must ignore what they do not know.",
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
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                properties.values_mut().for_each(forbid_null);
            }
            members.values_mut().for_each(absent_is_not_null);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn forbid_null(property: &mut Value) {
    let Value::Object(property) = property else {
        return;
    };
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|it| it != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            property.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|it| it.get("type").is_none_or(|it| it != "null"));
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            property.remove("anyOf");
            property.extend(one);
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
