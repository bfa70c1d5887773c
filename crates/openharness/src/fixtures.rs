//! The messages of `fixtures/openharness/messages`, and the schemas that tests validate them with.

use std::path::PathBuf;

use jsonschema::Validator;
use serde_json::Value;

use crate::published::SCHEMAS;

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/openharness/messages"
    ))
}

pub(crate) fn message(name: &str) -> Value {
    let text = std::fs::read(folder().join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Returns the names of all messages, sorted.
pub(crate) fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .collect();
    names.sort();
    names
}

/// Returns the schema with this word in its name.
pub(crate) fn schema(word: &str) -> Validator {
    let file = format!("openharness-{word}.schema.json");
    let (_, text) = SCHEMAS.iter().find(|(name, _)| *name == file).unwrap();
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}
