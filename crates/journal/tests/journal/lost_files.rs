//! The state directory, or a part of it, is removed or replaced under an open log: the next append fails.

use std::{fs, path::Path};

use harn_journal::{JournalError, MetaChange, SessionLog, Store};
use harn_model::Envelope;

use crate::workspace::{ID, Workspace, folder, word_events};

/// Returns an event at a time at which an append looks at the path again.
fn later_event(seq: u64) -> Vec<Envelope> {
    let mut events = word_events(seq, seq);
    events[0].at += 1_000 * seq;
    events
}

fn assert_lost(log: &mut dyn SessionLog, events: &[Envelope], case: &str) {
    let error = log.append(events).unwrap_err();
    let JournalError::Io { path, .. } = &error else {
        panic!("{case}: {error:?}");
    };
    assert!(path.ends_with("threads/s1/events.jsonl"), "{case}");
    let words = error.to_string();
    assert!(words.contains("was removed or replaced"), "{case}: {words}");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

#[test]
fn append_fails_after_the_log_was_removed_or_replaced() {
    type Loss = fn(&Path);
    let losses: &[(&str, Loss)] = &[
        ("the state directory removed", |state| {
            fs::remove_dir_all(state).unwrap();
        }),
        ("the state directory renamed", |state| {
            fs::rename(state, state.with_extension("old")).unwrap();
        }),
        ("the state directory replaced by a copy", |state| {
            let old = state.with_extension("old");
            fs::rename(state, &old).unwrap();
            copy_folder(&folder(&old, ID), &folder(state, ID));
        }),
        ("a file in place of a folder", |state| {
            let threads = state.join("threads");
            fs::rename(&threads, state.join("old")).unwrap();
            fs::write(threads, "").unwrap();
        }),
        ("the log removed", |state| {
            fs::remove_file(folder(state, ID).join("events.jsonl")).unwrap();
        }),
        ("the log replaced", |state| {
            let log = folder(state, ID).join("events.jsonl");
            let copy = log.with_extension("copy");
            fs::copy(&log, &copy).unwrap();
            fs::rename(copy, log).unwrap();
        }),
    ];
    for (case, lose) in losses {
        let outside = tempfile::tempdir().unwrap();
        let state = outside.path().join("state");
        let store = harn_journal::JsonlStore::new(&state);
        let mut log = store.create(crate::workspace::meta(ID)).unwrap();
        log.append(&word_events(1, 2)).unwrap();
        lose(&state);
        let events = folder(&state, ID).join("events.jsonl");
        let there = fs::read(&events).ok();
        assert_lost(&mut *log, &later_event(3), case);
        // Neither log nor listing is written into what is there now.
        let amended = log.amend(MetaChange::Title("new".to_owned()));
        assert!(amended.is_err(), "{case}");
        log.set_updated(9);
        assert!(log.syncer()().is_err(), "{case}");
        assert_eq!(fs::read(&events).ok(), there, "{case}");
        let meta = fs::read_to_string(events.with_file_name("meta.json"));
        assert!(meta.is_err() || meta.is_ok_and(|meta| meta.contains(r#""title": """#)));
        assert_lost(&mut *log, &word_events(3, 3), case);
    }
}

/// A sync looks at the path too, and later appends fail although little time has passed.
#[test]
fn sync_finds_a_removed_log() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    log.append(&word_events(1, 1)).unwrap();
    let elsewhere = workspace.folder().join("elsewhere");
    fs::rename(workspace.events(), &elsewhere).unwrap();
    let error = log.syncer()().unwrap_err().to_string();
    assert!(error.contains("was removed or replaced"), "{error}");
    assert_lost(&mut *log, &word_events(2, 2), "sync");
    // Once it failed, the log stays closed: another process may have used the file meanwhile.
    fs::rename(&elsewhere, workspace.events()).unwrap();
    assert_lost(&mut *log, &later_event(2), "returned");
    drop(log);
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    opened.log.append(&word_events(2, 2)).unwrap();
}

#[test]
fn first_append_after_opening_looks_at_the_path() {
    let workspace = Workspace::with_events(&word_events(1, 1));
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    fs::remove_dir_all(workspace.state.path().join("threads")).unwrap();
    assert_lost(&mut *opened.log, &word_events(2, 2), "opened");
}

/// A look costs more than an append, so appends in quick succession share one.
#[test]
fn append_looks_at_the_path_every_100_milliseconds() {
    for (millis, is_found) in [(0, false), (99, false), (100, true), (101, true)] {
        let workspace = Workspace::new();
        let mut log = workspace.create();
        let mut events = word_events(1, 2);
        log.append(&events[..1]).unwrap();
        fs::remove_file(workspace.events()).unwrap();
        events[1].at = events[0].at + millis;
        let appended = log.append(&events[1..]);
        assert_eq!(appended.is_err(), is_found, "{millis} ms: {appended:?}");
    }
}
