//! `spec/schemas` says what the code reads and writes: generated from its types, and compared with them here;
//! and what is in the fixtures is what the schemas say.

use std::{fs, path::Path};

use harn_testkit::golden;
use harn_threads::{published::SCHEMAS, schema::schemas};
use serde_json::{Value, json};

const REPAIR: &str = "UPDATE_EXPECT=1 cargo test -p harn-threads --test it schema";

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

#[test]
fn the_fixtures_are_what_the_schemas_say() {
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
        // What is refused there is refused for what it is.
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
