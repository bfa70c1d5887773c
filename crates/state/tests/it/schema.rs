//! Compares `spec/schemas` with the schemas of the types, and the fixtures with the schemas.

use std::{fs, path::Path};

use harn_state::{
    Document, DocumentChanges,
    published_schemas::SCHEMAS,
    wire::{ClientMessage, ListingMessage, ServerMessage, SessionFacts, TimelinePage},
};
use harn_testkit::{
    every_event,
    schema::{NullRule, accepted_schema, check_embedded, check_files, written_schema},
};
use schemars::JsonSchema;
use serde_json::{Value, json};

const REPAIR: &str = "UPDATE_EXPECT=1 cargo test -p harn-state --test it schema";

fn repository(folder: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder)
}

/// Returns the schemas by file name.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "state-frames.schema.json",
            build_written_schema::<ServerMessage<'_>>(
                "What a client of `/ws` is sent, with the whole document. Clients must ignore what they do \
                 not know.",
            ),
        ),
        (
            "state-commands.schema.json",
            accepted_schema::<ClientMessage>(
                "What a client of `/ws` may send. What is not named here is ignored, and null counts as \
                 unsaid.",
            ),
        ),
        (
            "state-sessions.schema.json",
            build_written_schema::<ListingMessage<'_>>(
                "What a client of `/ws/sessions` is sent. Clients must ignore what they do not know.",
            ),
        ),
        (
            "state-timeline.schema.json",
            build_written_schema::<TimelinePage>(
                "The answer to `GET /state/timeline`. Clients must ignore what they do not know.",
            ),
        ),
    ]
}

fn build_written_schema<T: JsonSchema>(description: &str) -> Value {
    // An author without a name is null, which differs from a message without an author.
    written_schema::<T>(description, NullRule::OptionalMembersExcept(&["author"]))
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

fn validator(name: &str) -> jsonschema::Validator {
    let all = schemas();
    let (_, schema) = all.iter().find(|(file, _)| *file == name).unwrap();
    jsonschema::validator_for(schema).unwrap()
}

#[test]
fn fixtures_fit_the_schemas() {
    let frames = validator("state-frames.schema.json");
    let sessions = validator("state-sessions.schema.json");
    let commands = validator("state-commands.schema.json");
    let mut checked = 0;
    for file in fs::read_dir(repository("fixtures/state")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|it| it != "jsonl") {
            continue;
        }
        // Its commands are malformed on purpose.
        let bad = path.ends_with("bad-input.jsonl");
        let listing = path.ends_with("sessions.jsonl");
        for line in fs::read_to_string(&path).unwrap().lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let message = line["message"].take();
            let fits = match line["to"].as_str() {
                Some("client") => {
                    frames.is_valid(&message) || listing && sessions.is_valid(&message)
                }
                Some("agent") => bad || commands.is_valid(&message),
                _ => continue,
            };
            assert!(fits, "{}: {message}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 150, "only {checked} messages were looked at");
}

/// Checks the document after every event.
#[test]
fn every_document_fits_its_schema() {
    let frames = validator("state-frames.schema.json");
    let mut document = Document::new(SessionFacts::default());
    for envelope in every_event() {
        let mut changes = DocumentChanges::default();
        document.apply(&envelope, &mut changes);
        let state = json!({"type": "state", "state": document.state()});
        frames.validate(&state).unwrap();
        let operations = changes.operations().unwrap_or_default();
        let delta = json!({"type": "delta", "operations": operations});
        frames.validate(&delta).unwrap();
    }
}

/// The schemas are strict enough to reject malformed messages.
#[test]
fn malformed_messages_do_not_fit() {
    let frames = validator("state-frames.schema.json");
    let document = Document::new(SessionFacts::default());
    let right = json!({"type": "state", "state": document.state()});
    assert!(frames.is_valid(&right));
    for (pointer, value) in [
        ("/state/status", json!("busy")),
        ("/state/messages", json!([{"id": "m"}])),
        ("/state/error", Value::Null),
        ("/state/session/createdAt", json!("now")),
        ("/type", json!("snapshot")),
    ] {
        let mut wrong = right.clone();
        match wrong.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => wrong["state"]["error"] = value,
        }
        assert!(!frames.is_valid(&wrong), "{pointer}");
    }
    let commands = validator("state-commands.schema.json");
    for command in [
        json!({}),
        json!({"type": "rewind"}),
        json!({"type": "submit"}),
        json!({"type": "approve", "toolCallId": 7}),
        json!({"type": "configure", "config": "fast"}),
    ] {
        let frame = json!({"type": "commands", "commands": [command]});
        assert!(!commands.is_valid(&frame), "{frame}");
    }
}
