//! `spec/schemas` says what the code reads and writes: generated from its types, and compared with them here;
//! and what is in the fixtures is what the schemas say.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

use std::path::Path;

use harn_state::{published::SCHEMAS, schema::schemas};
use harn_testkit::golden;

const REPAIR: &str = "UPDATE_EXPECT=1 cargo test -p harn-state --test schema";

fn repository(folder: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder)
}

#[test]
fn schemas_are_those_of_the_code() {
    for (name, schema) in schemas() {
        let mut text = serde_json::to_string_pretty(&schema).unwrap();
        text.push('\n');
        golden::check(&repository("spec/schemas").join(name), &text, REPAIR);
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
