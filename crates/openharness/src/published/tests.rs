//! `spec/schemas` says what is taken and written: generated from the types, and compared with them here.

mod request;

use harn_testkit::schema::{
    NullRule, accepted_schema, check_carried, check_files, forbid_null_members, written_schema,
};
use schemars::JsonSchema;
use serde_json::Value;

use super::SCHEMAS;
use crate::{
    ext,
    wire::{OpenHarnessResponse, directive::Directive},
};

/// The schemas by file name.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "openharness-request.schema.json",
            taken::<request::OpenHarnessRequest>(
                "A request of OpenHarness v1, as it is taken. Rules that no schema can say are in \
                 docs/openharness.md.",
            ),
        ),
        (
            "openharness-response.schema.json",
            written::<OpenHarnessResponse<'_>>(
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
            taken::<HarnExtension<'_>>(
                "What is ours in the `extensions` of a message: what a request may decide, and what a \
                 response tells of its run.",
            ),
        ),
    ]
}

/// What is under `dev.harn`, by where it stands.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is of use")]
#[schemars(rename = "Extension")]
struct HarnExtension<'a> {
    /// `request.context.extensions["dev.harn"]`.
    request: request::HarnRequestExtension,
    /// `response.extensions["dev.harn"]`.
    response: ext::RunExtension<'a>,
}

/// A member is there, or it is left out: it is never null, neither in what is taken nor in what is written.
const NULL: NullRule = NullRule::AllMembers;

fn written<T: JsonSchema>(description: &str) -> Value {
    written_schema::<T>(description, NULL)
}

fn taken<T: JsonSchema>(description: &str) -> Value {
    let mut schema = accepted_schema::<T>(description);
    forbid_null_members(&mut schema, NULL);
    schema
}

#[test]
fn the_files_are_those_of_the_types() {
    let repair = "UPDATE_EXPECT=1 cargo test -p harn-openharness --lib published";
    check_files(&schemas(), repair);
}

/// The program carries the files, all of them.
#[test]
fn every_schema_is_published() {
    check_carried(&schemas(), SCHEMAS);
}
