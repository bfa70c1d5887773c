//! JSON Schemas of what is taken and written, generated from the types; only tests generate them. They are
//! kept in `spec/schemas` for authors of Shells, and [`published`](crate::published) carries them.

use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::SchemaSettings,
    transform::{RecursiveTransform, Transform},
};
use serde_json::{Map, Value};

use crate::{
    ext,
    published::SCHEMAS,
    wire::{Answer, directive::Directive, request},
};

/// The schemas by file name.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "openharness-request.schema.json",
            taken::<request::Request>(
                "A request of OpenHarness v1, as it is taken. Rules that no schema can say are in \
                 docs/openharness.md.",
            ),
        ),
        (
            "openharness-response.schema.json",
            written::<Answer<'_>>(
                "An answer of OpenHarness v1, as it is written, for every status of HTTP. Shells must \
                 ignore what they do not know.",
            ),
        ),
        (
            "openharness-directives.schema.json",
            written::<Directive<'_>>(
                "An item of `response.action_directives`: every `action_type` there is, and its payload.",
            ),
        ),
        (
            "openharness-extension.schema.json",
            taken::<Extension<'_>>(
                "What is ours in the `extensions` of a message: what a request may decide, and what a \
                 response tells of its run.",
            ),
        ),
    ]
}

/// What is under `dev.harn`, by where it stands.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is of use")]
struct Extension<'a> {
    /// `request.context.extensions["dev.harn"]`.
    request: request::Extension,
    /// `response.extensions["dev.harn"]`.
    response: ext::Run<'a>,
}

fn written<T: JsonSchema>(description: &str) -> Value {
    described::<T>(SchemaSettings::draft2020_12().for_serialize(), description)
}

fn taken<T: JsonSchema>(description: &str) -> Value {
    described::<T>(SchemaSettings::draft2020_12(), description)
}

fn described<T: JsonSchema>(settings: SchemaSettings, description: &str) -> Value {
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    RecursiveTransform(absent_is_not_null).transform(&mut schema);
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

/// A member is there, or it is left out: it is never null, neither in what is taken nor in what is written.
fn absent_is_not_null(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
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
}

#[test]
fn the_files_are_those_of_the_types() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/schemas/");
    for (name, schema) in schemas() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        expect_test::expect_file![format!("{folder}{name}")].assert_eq(&text);
        jsonschema::meta::validate(&schema).unwrap();
    }
}

/// The program carries the files, all of them.
#[test]
fn every_schema_is_published() {
    let made = schemas().into_iter().map(|(name, _)| name);
    let published = SCHEMAS.iter().map(|(name, _)| *name);
    assert_eq!(published.collect::<Vec<_>>(), made.collect::<Vec<_>>());
}
