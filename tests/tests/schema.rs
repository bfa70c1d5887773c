//! `spec/schemas` says what the code writes: generated from its types, and compared with them here.

use harn_testkit::golden;
use harn_tests::{REPAIR, repository};

#[test]
fn schemas_are_those_of_the_code() -> anyhow::Result<()> {
    for (name, schema) in harn_acp::ext::schema::schemas() {
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
