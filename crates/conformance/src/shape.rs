//! Schemas, made strict and compiled on first use.
//!
//! ACP lets receivers ignore unknown members, so its schemas accept them. The checker reports them, because
//! no receiver reads a misspelt member.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::{ConformanceRule, MessageFindings, acp_shapes, explain};

/// A schema that is compiled on first use.
pub(super) struct LazySchema {
    source: SchemaSource,
    /// The rule that a value breaks if it does not match.
    rule: ConformanceRule,
    compiled: OnceLock<Option<Validator>>,
}

impl LazySchema {
    /// Creates one of our schemas.
    pub(super) const fn extension(document: fn() -> Value) -> Self {
        Self::new(
            SchemaSource::Made(document),
            ConformanceRule::WrongExtension,
        )
    }

    /// Creates one of our schemas for a message of ACP.
    pub(super) const fn contract(document: fn() -> Value) -> Self {
        Self::new(SchemaSource::Made(document), ConformanceRule::WrongShape)
    }

    /// Creates the ACP schema of this name.
    pub(super) const fn acp(name: &'static str) -> Self {
        Self::new(SchemaSource::Acp(name), ConformanceRule::WrongShape)
    }

    const fn new(source: SchemaSource, rule: ConformanceRule) -> Self {
        Self {
            source,
            rule,
            compiled: OnceLock::new(),
        }
    }

    /// Returns where `value` does not match; `place` is its path in the message.
    pub(super) fn check(&self, value: &Value, place: &str) -> MessageFindings {
        // The test that compiles all schemas fails for one that does not compile.
        let Some(validator) = self.validator() else {
            return MessageFindings::new();
        };
        if validator.is_valid(value) {
            return MessageFindings::new();
        }
        explain::explain_errors(validator.iter_errors(value), place, self.rule)
    }

    pub(super) fn fits(&self, value: &Value) -> bool {
        self.validator().is_some_and(|it| it.is_valid(value))
    }

    fn validator(&self) -> Option<&Validator> {
        let compiled = self.compiled.get_or_init(|| {
            let mut document = match self.source {
                SchemaSource::Made(document) => document(),
                SchemaSource::Acp(name) => acp_shapes::document(name)?,
            };
            tighten(&mut document);
            jsonschema::validator_for(&document).ok()
        });
        compiled.as_ref()
    }

    /// Returns whether the schema exists, compiles and rejects some value.
    #[cfg(test)]
    pub(super) fn is_known(&self) -> bool {
        self.validator().is_some() && !self.fits(&Value::from("anything"))
    }
}

enum SchemaSource {
    Made(fn() -> Value),
    Acp(&'static str),
}

/// Returns the tag values of a schema whose variants have a tag.
pub(super) fn tag_values(schema: &Value, tag: &str) -> Vec<String> {
    let variants = schema.get("oneOf").and_then(Value::as_array);
    let words = variants.into_iter().flatten().filter_map(|variant| {
        let word = variant.get("properties")?.get(tag)?.get("const")?;
        word.as_str().map(str::to_owned)
    });
    words.collect()
}

/// Forbids members that no part of the schema describes, in every complete value. A schema that is part of
/// another (`$ref`, `oneOf`, …) stays as it is: it does not see the members of the other parts.
fn tighten(document: &mut Value) {
    let definitions = document.get("$defs").cloned().unwrap_or_default();
    tighten_whole(document, &definitions);
}

const PARTS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

fn tighten_whole(schema: &mut Value, definitions: &Value) {
    tighten_part(schema, definitions);
    if classify_members(schema, definitions, 0) == SchemaMembers::Described
        && let Value::Object(schema) = schema
    {
        schema.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    }
}

fn tighten_part(schema: &mut Value, definitions: &Value) {
    let Value::Object(schema) = schema else {
        return;
    };
    for (keyword, inner) in schema.iter_mut() {
        match (keyword.as_str(), inner) {
            ("properties", Value::Object(all)) => {
                all.values_mut()
                    .for_each(|one| tighten_whole(one, definitions));
            }
            ("items" | "additionalProperties", one) => tighten_whole(one, definitions),
            ("prefixItems", Value::Array(all)) => {
                all.iter_mut()
                    .for_each(|one| tighten_whole(one, definitions));
            }
            ("$defs", Value::Object(all)) => {
                all.values_mut()
                    .for_each(|one| tighten_part(one, definitions));
            }
            (word, Value::Array(all)) if PARTS.contains(&word) => {
                all.iter_mut()
                    .for_each(|one| tighten_part(one, definitions));
            }
            _ => {}
        }
    }
}

/// Which members of an object a schema allows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SchemaMembers {
    /// The schema is for strings, numbers and other non-objects.
    None,
    Described,
    /// Any member is allowed.
    Free,
}

fn classify_members(schema: &Value, definitions: &Value, depth: usize) -> SchemaMembers {
    // No chain of references is this deep, so it is a cycle.
    let (Value::Object(schema), true) = (schema, depth < 16) else {
        return SchemaMembers::Free;
    };
    let own = match (schema.contains_key("properties"), allows_objects(schema)) {
        (true, _) => Some(SchemaMembers::Described),
        (false, Some(true)) => Some(SchemaMembers::Free),
        (false, Some(false)) => Some(SchemaMembers::None),
        (false, None) => None,
    };
    let referred = schema.get("$ref").and_then(Value::as_str).map(|name| {
        let definition = name
            .strip_prefix("#/$defs/")
            .and_then(|name| definitions.get(name));
        definition.map_or(SchemaMembers::Free, |it| {
            classify_members(it, definitions, depth + 1)
        })
    });
    let parts = PARTS
        .iter()
        .filter_map(|word| schema.get(*word)?.as_array());
    let parts = parts
        .flatten()
        .map(|it| classify_members(it, definitions, depth + 1));
    let all = parts.chain(referred).chain(own);
    // A bare `type: object` beside a reference neither describes nor allows a member.
    let has_more = referred.is_some() || PARTS.iter().any(|word| schema.contains_key(*word));
    let all = all.filter(|it| !(has_more && own == Some(SchemaMembers::Free) && Some(*it) == own));
    all.max().unwrap_or(SchemaMembers::Free)
}

/// Returns whether `type`, `const` or `enum` allow an object; none if the schema has none of them.
fn allows_objects(schema: &Map<String, Value>) -> Option<bool> {
    match schema.get("type") {
        Some(Value::String(one)) => Some(one == "object"),
        Some(Value::Array(several)) => Some(several.iter().any(|one| one == "object")),
        _ if schema.contains_key("const") || schema.contains_key("enum") => Some(false),
        _ => None,
    }
}
