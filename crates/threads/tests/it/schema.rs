//! Compares `spec/schemas` with the schemas of the types, and the fixtures with the schemas.

use std::{fs, path::Path};

use harn_testkit::schema::{
    NullRule, accepted_schema, check_embedded, check_files, written_schema,
};
use harn_threads::{
    published_schemas::SCHEMAS,
    wire::{
        ApprovalRespondParams, InitializeParams, InitializeResult, OkResult, ThreadCreateParams,
        ThreadGetParams, ThreadGetResult, ThreadListParams, ThreadListResult, ThreadNotification,
        ThreadResult, TurnCancelParams, TurnStartParams, TurnStartResult,
    },
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

const REPAIR: &str = "UPDATE_EXPECT=1 cargo test -p harn-threads --test it schema";

fn repository(folder: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder)
}

/// The params of each method; other members are ignored.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it is what its schema says")]
struct Methods {
    #[schemars(rename = "initialize")]
    initialize: Option<InitializeParams>,
    #[schemars(rename = "thread.create")]
    thread_create: Option<ThreadCreateParams>,
    #[schemars(rename = "thread.list")]
    thread_list: Option<ThreadListParams>,
    #[schemars(rename = "thread.get")]
    thread_get: Option<ThreadGetParams>,
    #[schemars(rename = "turn.start")]
    turn_start: Option<TurnStartParams>,
    #[schemars(rename = "turn.cancel")]
    turn_cancel: Option<TurnCancelParams>,
    #[schemars(rename = "approval.respond")]
    approval_respond: Option<ApprovalRespondParams>,
}

/// The result of each method.
#[derive(Serialize, JsonSchema)]
#[allow(dead_code, reason = "it is what its schema says")]
struct MethodResults {
    #[serde(rename = "initialize", skip_serializing_if = "Option::is_none")]
    initialize: Option<InitializeResult>,
    #[serde(rename = "thread.create", skip_serializing_if = "Option::is_none")]
    thread_create: Option<ThreadResult>,
    #[serde(rename = "thread.list", skip_serializing_if = "Option::is_none")]
    thread_list: Option<ThreadListResult>,
    #[serde(rename = "thread.get", skip_serializing_if = "Option::is_none")]
    thread_get: Option<ThreadGetResult>,
    #[serde(rename = "turn.start", skip_serializing_if = "Option::is_none")]
    turn_start: Option<TurnStartResult>,
    #[serde(rename = "turn.cancel", skip_serializing_if = "Option::is_none")]
    turn_cancel: Option<OkResult>,
    #[serde(rename = "approval.respond", skip_serializing_if = "Option::is_none")]
    approval_respond: Option<OkResult>,
}

/// Returns the schemas by file name.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "threads-params.schema.json",
            accepted_schema::<Methods>(
                "The `params` of the thread and turn methods, by method. What is not named here is \
                 ignored, and null counts as unsaid.",
            ),
        ),
        (
            "threads-results.schema.json",
            build_written_schema::<MethodResults>(
                "The `result` of the thread and turn methods, by method. Clients must ignore what they do \
                 not know.",
            ),
        ),
        (
            "threads-notifications.schema.json",
            build_written_schema::<ThreadNotification>(
                "The `params` of a notification about a thread; `notification` is the method. Clients \
                 must ignore what they do not know.",
            ),
        ),
    ]
}

fn build_written_schema<T: JsonSchema>(description: &str) -> Value {
    written_schema::<T>(description, NullRule::AllMembers)
}

#[test]
fn schemas_match_the_types() {
    check_files(&schemas(), REPAIR);
}

/// The program embeds all schema files.
#[test]
fn every_schema_is_published() {
    check_embedded(&schemas(), SCHEMAS);
}

#[test]
fn fixtures_fit_the_schemas() {
    let all = schemas();
    let of = |at: usize| jsonschema::validator_for(&all[at].1).unwrap();
    let (params, results, notifications) = (of(0), of(1), of(2));
    let mut checked = 0;
    for file in fs::read_dir(repository("fixtures/threads")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|it| it != "jsonl") {
            continue;
        }
        let mut asked = std::collections::HashMap::new();
        // Its requests are malformed on purpose.
        let refusals = path.ends_with("refusals.jsonl");
        for line in fs::read_to_string(&path).unwrap().lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let mut message = line["message"].take();
            let say = |what: &str, problem: String| panic!("{}: {what}: {problem}", path.display());
            let id = message["id"].to_string();
            if let Some(method) = message["method"].as_str().map(str::to_owned) {
                let told = message["params"].take();
                if line["to"] == "client" {
                    notifications
                        .validate(&told)
                        .unwrap_or_else(|e| say(&method, e.to_string()));
                    checked += 1;
                } else if !refusals && !told.is_null() {
                    params
                        .validate(&json!({&method: told}))
                        .unwrap_or_else(|e| say(&method, e.to_string()));
                }
                asked.insert(id, method);
            } else if let Some(method) = asked.get(&id)
                && !message["result"].is_null()
                && line["to"] == "client"
            {
                results
                    .validate(&json!({method: message["result"]}))
                    .unwrap_or_else(|e| say(method, e.to_string()));
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "only {checked} messages were looked at");
}
