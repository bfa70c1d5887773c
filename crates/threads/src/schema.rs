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
    let read = SchemaSettings::draft2020_12;
    let written = || read().for_serialize();
    vec![
        (
            "threads-params.schema.json",
            described::<Methods>(
                read(),
                "The `params` of the thread and turn methods, by method. What is not named here is \
                 ignored, and null counts as unsaid.",
            ),
        ),
        (
            "threads-results.schema.json",
            described::<MethodResults>(
                written(),
                "The `result` of the thread and turn methods, by method. Clients must ignore what they do \
                 not know.",
            ),
        ),
        (
            "threads-notifications.schema.json",
            described::<Notification>(
                written(),
                "The `params` of what is told of threads unasked; `notification` is the method. Clients \
                 must ignore what they do not know.",
            ),
        ),
    ]
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
