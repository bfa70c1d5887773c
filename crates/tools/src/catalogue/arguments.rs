//! Checks arguments against a tool's JSON Schema and describes the problems. Fetches nothing, and repeats no value:
//! an argument may be a secret.

use std::sync::OnceLock;

use jsonschema::{
    PatternOptions, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
    paths::{Location, LocationSegment},
};
use serde_json::Value;

use super::bounds;

/// The most problems in one message.
const TOLD: usize = 4;
/// The most valid values or names in one message.
const LISTED: usize = 20;
/// The backtracking limit of a pattern in a schema.
const BACKTRACKS: usize = 100_000;
/// The largest compiled pattern, in bytes.
const PATTERN_BYTES: usize = 1024 * 1024;

/// The validator of a schema, compiled on first use.
#[derive(Debug, Default)]
pub(super) struct ArgumentChecker(OnceLock<Result<Validator, String>>);

impl ArgumentChecker {
    /// Checks arguments against the schema; the error describes the problems.
    pub(super) fn check(&self, schema: Option<&Value>, arguments: &Value) -> Result<(), String> {
        if !arguments.is_object() {
            let given = kind_of(arguments);
            return Err(format!("they must be a JSON object, not {given}"));
        }
        // Some sources send a null schema for none.
        let Some(schema) = schema.filter(|schema| !schema.is_null()) else {
            return Ok(());
        };
        let compiled = self.0.get_or_init(|| compile(schema));
        let validator = compiled.as_ref().map_err(|problem| {
            format!("the tool's own schema is wrong, so it cannot be called: {problem}")
        })?;
        bounds::check_arguments(schema, arguments)?;
        let mut wrong = validator.iter_errors(arguments);
        let told: Vec<_> = wrong
            .by_ref()
            .take(TOLD)
            .map(|error| describe_problem(&error, schema))
            .collect();
        if told.is_empty() {
            return Ok(());
        }
        let more = match wrong.count() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Err(told.join("; ") + &more)
    }
}

fn compile(schema: &Value) -> Result<Validator, String> {
    bounds::check_schema(schema)?;
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACKS)
        .size_limit(PATTERN_BYTES);
    jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| match error.kind() {
            ValidationErrorKind::Referencing(_) => {
                "it refers to a schema elsewhere, which is not fetched".to_owned()
            }
            _ => error.masked().to_string(),
        })
}

fn describe_problem(error: &ValidationError<'_>, schema: &Value) -> String {
    let at = format_location(error.instance_path());
    let of = |name: &str| match at.as_str() {
        "" => format!("`{name}`"),
        at => format!("`{at}.{name}`"),
    };
    let whole = || match at.as_str() {
        "" => "they".to_owned(),
        at => format!("`{at}`"),
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!("{} is missing", of(name))
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names: Vec<_> = unexpected.iter().take(TOLD).map(|name| of(name)).collect();
            let verb = if names.len() == 1 { "is" } else { "are" };
            let known = match at.as_str() {
                "" => list_arguments(schema),
                _ => String::new(),
            };
            format!("{} {verb} not expected{known}", names.join(", "))
        }
        ValidationErrorKind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(several) => {
                    let several: Vec<_> = several.iter().map(|one| one.to_string()).collect();
                    several.join(" or ")
                }
            };
            let given = kind_of(error.instance());
            format!("{} must be of the type {wanted}, not {given}", whole())
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let shown: Vec<_> = options.iter().take(LISTED).map(Value::to_string).collect();
            format!("{} must be one of {}", whole(), shown.join(", "))
        }
        // The library's message, without the value.
        _ => match at.as_str() {
            "" => error.masked_with("they").to_string(),
            at => format!("`{at}`: {}", error.masked_with("it")),
        },
    }
}

/// Lists the arguments that the schema defines.
fn list_arguments(schema: &Value) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties
        .into_iter()
        .flat_map(|properties| properties.keys());
    let mut names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    names.sort_unstable();
    names.truncate(LISTED);
    if names.is_empty() {
        return String::new();
    }
    format!("; known arguments: {}", names.join(", "))
}

/// Formats a position in the arguments as code does: `edits[0].old_text`.
fn format_location(location: &Location) -> String {
    let mut place = String::new();
    for segment in location {
        match segment {
            LocationSegment::Property(name) => {
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(&name);
            }
            LocationSegment::Index(at) => place.push_str(&format!("[{at}]")),
        }
    }
    place
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
