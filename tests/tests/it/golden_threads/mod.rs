//! Conversations pinned byte for byte in `fixtures/threads`: the messages between a client and the server.
//!
//! Each test is one transcript, played over an in-memory pair with a fake clock and counted ids.

mod approval;
mod behaviour;
mod full_disk;
mod handshake;
mod random;
mod refusals;
mod restart;
mod threads;
mod turn;

use std::fs;

use harn_testkit::{Recorder, golden};
use harn_tests::{REPAIR, repository_path};

/// Every transcript; the test below fails when a file is not in this list.
const TRANSCRIPTS: &[&str] = &[
    "approval-always",
    "approval-once",
    "approval-reject",
    "busy",
    "cancel",
    "crash-and-get",
    "create-list-get",
    "failed-turn",
    "file-input",
    "handshake",
    "question",
    "refusals",
    "restart-and-get",
    "settings",
    "side-by-side",
    "thought",
    "tool",
    "turn",
];

#[test]
fn every_file_has_its_test() {
    if golden::is_updating() {
        // The other tests are writing them.
        return;
    }
    let files = fs::read_dir(repository_path("fixtures/threads")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names, TRANSCRIPTS);
}

/// Compares the recorded messages with `fixtures/threads/<name>.jsonl`.
#[track_caller]
fn check_transcript(name: &str, recorder: &Recorder) {
    let path = repository_path("fixtures/threads").join(format!("{name}.jsonl"));
    golden::check(&path, &recorder.transcript(), REPAIR);
}
