//! One writer per session, across processes and within one.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use harn_journal::{JournalError, JsonlStore, ReadCursor, Store};

use crate::workspace::{ID, Workspace, meta, word_events};

/// Set for the copy of this test program that plays the other process.
const STATE: &str = "HARN_JOURNAL_TEST_LOCK_STATE";

#[test]
fn a_second_open_in_this_process_is_locked_out() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    assert_locked_out(&workspace.store);
    // The rejected open has not disturbed the lock's owner.
    log.append(&word_events(1, 1)).unwrap();
    assert_eq!(
        workspace.store.read(&ID.into()).unwrap().1,
        word_events(1, 1)
    );
    drop(log);

    let opened = workspace.store.open(&ID.into()).unwrap();
    assert_locked_out(&workspace.store);
    drop(opened);
    workspace.store.delete(&ID.into()).unwrap();
}

#[test]
fn a_reader_or_syncer_left_over_does_not_keep_the_lock() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    log.append(&word_events(1, 2)).unwrap();
    let (reader, syncer) = (log.reader(), log.syncer());
    drop(log);
    drop(workspace.store.open(&ID.into()).unwrap());
    syncer().unwrap();
    workspace.store.delete(&ID.into()).unwrap();
    // The reader still reads its log.
    let events = reader.read(&mut ReadCursor::default(), 1 << 20).unwrap();
    assert_eq!(events, word_events(1, 2));
}

#[test]
fn lock_of_another_process_ends_with_that_process() {
    let workspace = Workspace::with_events(&word_events(1, 1));
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "locking::the_other_process", "--nocapture"])
        .env(STATE, workspace.state.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(other.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("holding it") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "the other ended");
    }
    assert_locked_out(&workspace.store);

    // Killed, so that it cannot clean up.
    other.kill().unwrap();
    other.wait().unwrap();
    let opened = workspace.store.open(&ID.into()).unwrap();
    assert_eq!(opened.view.last_seq.0, 2);
}

/// Does something only as the other process of the test above.
#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "how the test above tells its copy what to do"
)]
fn the_other_process() {
    let Some(state) = std::env::var_os(STATE) else {
        return;
    };
    let mut opened = JsonlStore::new(state).open(&ID.into()).unwrap();
    opened.log.append(&word_events(2, 2)).unwrap();
    println!("holding it");
    std::io::stdout().flush().unwrap();
    // Waits until it is killed: this pipe never receives anything.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn hundreds_of_sessions_are_open_at_once() {
    let workspace = Workspace::new();
    let mut logs: Vec<_> = (0..500)
        .map(|n| workspace.store.create(meta(&format!("s{n}"))).unwrap())
        .collect();
    for log in &mut logs {
        log.append(&word_events(1, 1)).unwrap();
    }
    assert_eq!(workspace.store.list().unwrap().sessions.len(), 500);
}

fn assert_locked_out(store: &JsonlStore) {
    for error in [store.open(&ID.into()).err(), store.delete(&ID.into()).err()] {
        assert!(
            matches!(&error, Some(JournalError::Locked(id)) if id.as_str() == ID),
            "{error:?}"
        );
    }
}
