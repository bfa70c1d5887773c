//! Generates the schemas of requests and responses from the types, and compares them with `spec/schemas`.

mod request;

use harn_testkit::schema::{
    NullRule, accepted_schema, check_embedded, check_files, forbid_null_members, written_schema,
};
use schemars::JsonSchema;
use serde_json::Value;

use super::SCHEMAS;
use crate::{
    ext,
    wire::{OpenHarnessResponse, directive::Directive},
};

/// Returns the generated schemas by file name.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "openharness-request.schema.json",
            schema_of_accepted::<request::OpenHarnessRequest>(
                "A request of OpenHarness v1, as it is taken. Rules that no schema can say are in \
                 docs/openharness.md.",
            ),
        ),
        (
            "openharness-response.schema.json",
            schema_of_written::<OpenHarnessResponse<'_>>(
                "An answer of OpenHarness v1, as it is written, for every status of HTTP. Shells must \
                 ignore what they do not know.",
            ),
        ),
        (
            "openharness-directives.schema.json",
            schema_of_written::<Directive<'_>>(
                "An item of `response.action_directives`: every `action_type` there is, and its payload.",
            ),
        ),
        (
            "openharness-extension.schema.json",
            schema_of_accepted::<HarnExtension<'_>>(
                "What is ours in the `extensions` of a message: what a request may decide, and what a \
                 response tells of its run.",
            ),
        ),
    ]
}

/// The value of `dev.harn` in a request and in a response.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is of use")]
#[schemars(rename = "Extension")]
struct HarnExtension<'a> {
    /// `request.context.extensions["dev.harn"]`.
    request: request::HarnRequestExtension,
    /// `response.extensions["dev.harn"]`.
    response: ext::RunExtension<'a>,
}

/// A member is present or left out, never null, in requests and in responses.
const NULL: NullRule = NullRule::AllMembers;

fn schema_of_written<T: JsonSchema>(description: &str) -> Value {
    written_schema::<T>(description, NULL)
}

fn schema_of_accepted<T: JsonSchema>(description: &str) -> Value {
    let mut schema = accepted_schema::<T>(description);
    forbid_null_members(&mut schema, NULL);
    schema
}

#[test]
fn schema_files_match_the_types() {
    let repair = "UPDATE_EXPECT=1 cargo test -p harn-openharness --lib published";
    check_files(&schemas(), repair);
}

/// The program contains all schema files.
#[test]
fn every_schema_is_published() {
    check_embedded(&schemas(), SCHEMAS);
}
