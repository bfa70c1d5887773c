//! `spec/schemas` says what the code writes: generated from its types, and compared with them here.

use harn_acp::ext::{published::SCHEMAS, schema::schemas};
use harn_testkit::golden;
use harn_tests::{REPAIR, repository};

#[test]
fn schemas_are_those_of_the_code() -> anyhow::Result<()> {
    for (name, schema) in schemas() {
        let mut text = serde_json::to_string_pretty(&schema)?;
        text.push('\n');
        golden::check(&repository("spec/schemas").join(name), &text, REPAIR);
        assert_eq!(
            schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{name}"
        );
        jsonschema::meta::validate(&schema).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    }
    Ok(())
}

/// The program carries the files, all of them.
#[test]
fn every_schema_is_published() {
    let made = schemas().into_iter().map(|(name, _)| name);
    let published = SCHEMAS.iter().map(|(name, _)| *name);
    assert_eq!(published.collect::<Vec<_>>(), made.collect::<Vec<_>>());
}
