//! Generates JSON Schemas like those in `spec/schemas` from types, in the order and form that readers expect.
//!
//! Only tests generate schemas. Programs embed the files, so that they link no generator.

use std::path::Path;

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

use crate::{golden, must};

/// The members of an object that must not be null in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullRule {
    /// Members that may be left out, except those with these names.
    OptionalMembersExcept(&'static [&'static str]),
    /// All members.
    AllMembers,
}

/// Returns the schema of values that a program writes: a member that is always present is required, and a member
/// that is omitted when empty is never null.
pub fn written_schema<T: JsonSchema>(description: &str, null: NullRule) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = generate_schema::<T>(settings, description);
    forbid_null_members(&mut schema, null);
    schema
}

/// Returns the schema of values that a program accepts, with null where the type accepts it.
pub fn accepted_schema<T: JsonSchema>(description: &str) -> Value {
    generate_schema::<T>(SchemaSettings::draft2020_12(), description)
}

/// Removes null from the members of every object in a schema, as far as the rule covers them.
pub fn forbid_null_members(schema: &mut Value, null: NullRule) {
    match schema {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| forbid_null_members(item, null)),
        Value::Object(members) => {
            let required = members.get("required").and_then(Value::as_array).cloned();
            let is_covered = |name: &str| match null {
                NullRule::AllMembers => true,
                NullRule::OptionalMembersExcept(exceptions) => {
                    !exceptions.contains(&name) && !required.iter().flatten().any(|it| it == name)
                }
            };
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                let covered = properties.iter_mut().filter(|(name, _)| is_covered(name));
                covered.for_each(|(_, property)| forbid_null(property));
            }
            members
                .values_mut()
                .for_each(|member| forbid_null_members(member, null));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn forbid_null(property: &mut Value) {
    let Value::Object(property) = property else {
        return;
    };
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
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

fn generate_schema<T: JsonSchema>(settings: SchemaSettings, description: &str) -> Value {
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    // The title and the description come first, for people who open the file.
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

/// Moves a reference that has properties beside it into `allOf`: validators treat both the same, but type
/// generators ignore one of the two.
pub fn separate_references(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(separate_references),
        Value::Object(members) => {
            if members.contains_key("properties")
                && let Some(reference) = members.remove("$ref")
            {
                let apart = Map::from_iter([("$ref".to_owned(), reference)]);
                let all = Value::Array(vec![Value::Object(apart)]);
                members.insert("allOf".to_owned(), all);
            }
            members.values_mut().for_each(separate_references);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Compares the schemas by file name with the files in `spec/schemas`.
pub fn check_files(made: &[(&str, Value)], repair: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/schemas");
    for (name, schema) in made {
        golden::check(&folder.join(name), &format!("{schema:#}\n"), repair);
        let draft = "https://json-schema.org/draft/2020-12/schema";
        assert_eq!(schema["$schema"], draft, "{name}");
        must(jsonschema::meta::validate(schema), name);
    }
}

/// Checks that the program embeds all of these files, in this order.
pub fn check_embedded(made: &[(&str, Value)], carried: &[(&str, &str)]) {
    let made: Vec<_> = made.iter().map(|it| it.0).collect();
    let carried: Vec<_> = carried.iter().map(|it| it.0).collect();
    assert_eq!(carried, made);
}
