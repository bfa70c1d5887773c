//! Conversations pinned byte for byte in `fixtures/state`: the messages between a client and the server.
//!
//! Each test is one transcript, played over an in-memory WebSocket with a fake clock and counted ids. The clock
//! advances only when no task can run, so that the frames have the same borders in every run.

mod agent;
mod control;
mod crash;
mod decisions;
mod input;
mod sessions;
mod turns;

use std::fs;

use harn_testkit::{Recorder, golden};
use harn_tests::{REPAIR, repository_path};

/// Every transcript; the test below fails when a file is not in this list.
const TRANSCRIPTS: &[&str] = &[
    "approval-approved",
    "approval-denied",
    "bad-input",
    "cancel",
    "configure",
    "connect-empty",
    "questions",
    "queue",
    "reconnect",
    "restart",
    "resume",
    "run-error-and-next",
    "sessions",
    "steer",
    "submit-and-stream",
    "takeover",
    "tools",
];

#[test]
fn every_file_has_its_test() {
    if golden::is_updating() {
        // The other tests are writing them.
        return;
    }
    let files = fs::read_dir(repository_path("fixtures/state")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names, TRANSCRIPTS);
}

/// The folder's README has a row for each transcript.
#[test]
fn readme_has_a_row_for_every_transcript() {
    let readme = fs::read_to_string(repository_path("fixtures/state/README.md")).unwrap();
    let rows = readme.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut named: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
    named.sort_unstable();
    assert_eq!(named, TRANSCRIPTS);
}

/// The examples in `docs/state.md` occur in the transcripts.
#[test]
fn examples_are_from_the_transcripts() {
    let page = fs::read_to_string(repository_path("docs/state.md")).unwrap();
    let transcripts = TRANSCRIPTS.iter().map(|name| {
        fs::read_to_string(repository_path("fixtures/state").join(format!("{name}.jsonl"))).unwrap()
    });
    let transcripts: String = transcripts.collect();
    let mut blocks = page.split("```json\n");
    blocks.next();
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    let examples: Vec<_> = blocks.flat_map(str::lines).collect();
    assert!(examples.len() >= 4, "{examples:?}");
    for example in examples {
        let message = format!("\"message\":{example}}}\n");
        assert!(transcripts.contains(&message), "{example}");
    }
}

/// Compares the recorded messages with `fixtures/state/<name>.jsonl`.
#[track_caller]
fn check_transcript(name: &str, recorder: &Recorder) {
    let path = repository_path("fixtures/state").join(format!("{name}.jsonl"));
    golden::check(&path, &recorder.transcript(), REPAIR);
}
