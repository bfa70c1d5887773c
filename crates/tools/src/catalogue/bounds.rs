//! Limits on the work that a schema causes, by itself and in a validation. A server or a host supplies the schema,
//! and the code that walks it recurses: one that is too deep would overflow the stack, one that is too wide would
//! never finish.
//!
//! Checks sizes only; the validator checks the values.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::length::json_length;

/// The longest schema, serialized, in bytes.
const SCHEMA_BYTES: u64 = 256 * 1024;
/// The most values in a schema.
const SCHEMA_NODES: u64 = 20_000;
/// The deepest nesting of a schema.
const SCHEMA_DEPTH: usize = 64;
/// The longest chain of references.
const LINKS: usize = 64;
/// The most values in a schema after each reference is replaced by its target.
const EXPANDED: u64 = 100_000;
/// The deepest nesting of arguments.
const ARGUMENT_DEPTH: usize = 128;
/// The longest arguments, serialized, in bytes.
const ARGUMENT_BYTES: u64 = 16 * 1024 * 1024;
/// The most pairs of a schema and a value in one validation.
const STEPS: usize = 500_000;
/// The deepest nesting of schemas in one validation.
const AT_WORK: usize = 256;

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
const ELSEWHERE: &str = "it refers to a schema elsewhere, which is not fetched";
const TOO_MUCH: &str = "checking them against the tool's schema would take too long";

/// Checks that a schema can be compiled; the error states why not.
pub(super) fn check_schema(schema: &Value) -> Result<(), String> {
    if exceeds_depth(schema, SCHEMA_DEPTH) {
        return Err(format!("it is nested deeper than {SCHEMA_DEPTH}"));
    }
    if json_length(schema) > SCHEMA_BYTES {
        return Err(format!("it is longer than {SCHEMA_BYTES} bytes"));
    }
    let mut walk = SchemaScan {
        schema,
        nodes: 0,
        refers: false,
        renames: None,
    };
    walk.scan(schema);
    if walk.nodes > SCHEMA_NODES {
        return Err(format!("it has more than {SCHEMA_NODES} values"));
    }
    // These keywords can change the target of a reference.
    if let (true, Some(keyword)) = (walk.refers, walk.renames) {
        return Err(format!(
            "it defines names with `{keyword}`; refer to `#/$defs/NAME` instead"
        ));
    }
    let mut expansion = SchemaExpansion {
        schema,
        known: HashMap::new(),
        path: 0,
    };
    if expansion.measure(schema)?.nodes > EXPANDED {
        return Err(format!(
            "its references expand it to more than {EXPANDED} values"
        ));
    }
    Ok(())
}

/// Checks that a validation of these arguments finishes. The schema must be within its own limits.
pub(super) fn check_arguments(schema: &Value, arguments: &Value) -> Result<(), String> {
    if exceeds_depth(arguments, ARGUMENT_DEPTH) {
        return Err(format!("they are nested deeper than {ARGUMENT_DEPTH}"));
    }
    if json_length(arguments) > ARGUMENT_BYTES {
        return Err(format!("they are longer than {ARGUMENT_BYTES} bytes"));
    }
    let mut rehearsal = ValidationCost { schema, steps: 0 };
    rehearsal
        .count_schema(schema, arguments, 0)
        .ok_or_else(|| TOO_MUCH.to_owned())
}

/// The counts and keywords found in a schema.
struct SchemaScan<'a> {
    schema: &'a Value,
    nodes: u64,
    /// Whether it contains a reference.
    refers: bool,
    /// A keyword that gives a part of the schema its own name.
    renames: Option<&'static str>,
}

impl SchemaScan<'_> {
    fn scan(&mut self, at: &Value) {
        self.nodes += 1;
        if let Value::Object(object) = at {
            self.refers |= references(object).next().is_some();
            let is_root = std::ptr::eq(at, self.schema);
            let names = ["$anchor", "$dynamicAnchor", "$recursiveAnchor", "$id", "id"];
            let ours = names.into_iter().find(|name| match *name {
                "$id" => !is_root && object.get(*name).is_some_and(Value::is_string),
                // A keyword only in draft 4; an ordinary word in later drafts.
                "id" => {
                    !is_root && self.is_draft_4() && object.get(*name).is_some_and(Value::is_string)
                }
                name => object.get(name).is_some_and(|it| !it.is_object()),
            });
            self.renames = self.renames.or(ours);
        }
        for child in children(at) {
            self.scan(child);
        }
    }

    fn is_draft_4(&self) -> bool {
        let draft = self.schema.get("$schema").and_then(Value::as_str);
        draft.is_some_and(|draft| draft.contains("draft-04"))
    }
}

/// The size of a part of a schema with its references replaced.
#[derive(Clone, Copy, Default)]
struct SchemaSize {
    nodes: u64,
    /// The longest chain of references in the part.
    links: usize,
}

/// Computes sizes, once for each target of a reference.
struct SchemaExpansion<'a> {
    schema: &'a Value,
    /// Sizes by the address of the target. A target in progress has size zero, which ends a cycle.
    known: HashMap<*const Value, SchemaSize>,
    /// The number of references on the path to the current position.
    path: usize,
}

impl SchemaExpansion<'_> {
    fn measure(&mut self, at: &Value) -> Result<SchemaSize, String> {
        let mut size = SchemaSize { nodes: 1, links: 0 };
        if let Value::Object(object) = at {
            for reference in references(object) {
                let target = resolve_reference(self.schema, reference).ok_or(ELSEWHERE)?;
                let target = self.measure_target(target)?;
                size.nodes = size.nodes.saturating_add(target.nodes);
                size.links = size.links.max(target.links + 1);
            }
        }
        for child in children(at) {
            let child = self.measure(child)?;
            size.nodes = size.nodes.saturating_add(child.nodes);
            size.links = size.links.max(child.links);
        }
        if self.path + size.links > LINKS {
            return Err(too_many_links());
        }
        Ok(size)
    }

    fn measure_target(&mut self, target: &Value) -> Result<SchemaSize, String> {
        let key = std::ptr::from_ref(target);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        if self.path == LINKS {
            return Err(too_many_links());
        }
        self.known.insert(key, SchemaSize::default());
        self.path += 1;
        let size = self.measure(target)?;
        self.path -= 1;
        self.known.insert(key, size);
        Ok(size)
    }
}

fn too_many_links() -> String {
    format!("it has a chain of more than {LINKS} references")
}

/// Counts the most steps that a validator could take.
struct ValidationCost<'a> {
    schema: &'a Value,
    steps: usize,
}

impl ValidationCost<'_> {
    /// Counts the validation of a value against a schema; returns `None` above the limit.
    fn count_schema(&mut self, schema: &Value, value: &Value, at_work: usize) -> Option<()> {
        self.add_steps(1)?;
        let Value::Object(keywords) = schema else {
            return Some(());
        };
        if at_work == AT_WORK {
            return None;
        }
        // To find unevaluated values, the validator visits everything again: once for the result and once for the
        // message.
        let left_over = ["unevaluatedProperties", "unevaluatedItems"];
        let left_over = left_over.iter().filter(|it| keywords.contains_key(**it));
        let rounds = 1 + 2 * left_over.count();
        for _ in 0..rounds {
            for (keyword, argument) in keywords {
                self.count_keyword(keywords, keyword, argument, value, at_work + 1)?;
            }
        }
        Some(())
    }

    fn count_keyword(
        &mut self,
        keywords: &Map<String, Value>,
        keyword: &str,
        argument: &Value,
        value: &Value,
        at_work: usize,
    ) -> Option<()> {
        match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                if let Some(reference) = argument.as_str()
                    && let Some(target) = resolve_reference(self.schema, reference)
                {
                    self.count_schema(target, value, at_work)?;
                }
            }
            "allOf" | "anyOf" | "oneOf" | "dependentSchemas" | "dependencies" => {
                for schema in children(argument) {
                    self.count_schema(schema, value, at_work)?;
                }
            }
            "not" | "if" | "then" | "else" => self.count_schema(argument, value, at_work)?,
            "enum" => self.add_steps(children(argument).count())?,
            "properties" => {
                for (name, schema) in argument.as_object().into_iter().flatten() {
                    if let Value::Object(object) = value
                        && let Some(child) = object.get(name)
                    {
                        self.count_schema(schema, child, at_work)?;
                    }
                }
            }
            "additionalProperties" => {
                let known = keywords.get("properties");
                for (name, child) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| known.get(name).is_none()) {
                        self.count_schema(argument, child, at_work)?;
                    }
                }
            }
            "patternProperties" if value.is_object() => {
                for schema in children(argument) {
                    self.count_children(schema, value, at_work)?;
                }
            }
            "unevaluatedProperties" if value.is_object() => {
                self.count_children(argument, value, at_work)?
            }
            // A property name has no children, like null.
            "propertyNames" if value.is_object() => {
                for _ in children(value) {
                    self.count_schema(argument, &Value::Null, at_work)?;
                }
            }
            "items" | "prefixItems" if value.is_array() && argument.is_array() => {
                for (schema, child) in children(argument).zip(children(value)) {
                    self.count_schema(schema, child, at_work)?;
                }
            }
            "items" | "additionalItems" | "unevaluatedItems" | "contains" if value.is_array() => {
                self.count_children(argument, value, at_work)?;
            }
            _ => {}
        }
        Some(())
    }

    fn count_children(&mut self, schema: &Value, value: &Value, at_work: usize) -> Option<()> {
        children(value).try_for_each(|child| self.count_schema(schema, child, at_work))
    }

    fn add_steps(&mut self, steps: usize) -> Option<()> {
        self.steps = self.steps.saturating_add(steps);
        (self.steps <= STEPS).then_some(())
    }
}

/// Returns the part of a schema that a reference points to, or `None` if it points elsewhere.
fn resolve_reference<'a>(schema: &'a Value, reference: &str) -> Option<&'a Value> {
    let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let own = schema.get("$id").and_then(Value::as_str);
    let own = own.map(|own| own.trim_end_matches('#'));
    if !base.is_empty() && Some(base) != own {
        return None;
    }
    schema.pointer(&percent_decode_str(fragment).decode_utf8_lossy())
}

fn references(object: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let given = REFERENCES.into_iter().filter_map(|name| object.get(name));
    given.filter_map(Value::as_str)
}

fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let array = value.as_array().into_iter().flatten();
    let object = value.as_object().into_iter().flat_map(Map::values);
    array.chain(object)
}

fn exceeds_depth(value: &Value, limit: usize) -> bool {
    if limit == 0 {
        return children(value).next().is_some();
    }
    children(value).any(|child| exceeds_depth(child, limit - 1))
}
