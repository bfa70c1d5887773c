//! Checking sessions for damage, and cutting a damaged log to its intact part.

use std::fs;

use harn_journal::{JournalError, LogCheck, Store};

use crate::workspace::{ID, Workspace, folder, meta, word_events};

/// A session with events 1 to 5, whose third line was changed. Also returns the damaged text.
fn damaged_session() -> (Workspace, Vec<u8>) {
    let workspace = Workspace::with_events(&word_events(1, 5));
    let text = String::from_utf8(workspace.text()).unwrap();
    let text = text.replace("word 3", "ward 3").into_bytes();
    fs::write(workspace.events(), &text).unwrap();
    (workspace, text)
}

#[test]
fn check_counts_events_and_those_without_a_checksum() {
    let old = r#"{"v":1,"seq":1,"at":5,"event":{"type":"agent_message_chunk","content":"one"}}"#;
    let workspace = Workspace::with_text(format!("{old}\n").as_bytes());
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    opened.log.append(&word_events(2, 4)).unwrap();
    let whole = LogCheck {
        events: 4,
        without_checksum: 1,
        torn_bytes: 0,
    };
    // The session is open: nothing is locked.
    assert_eq!(workspace.store.check_log(&ID.into()).unwrap(), whole);
    drop(opened);
    let mut text = workspace.text();
    text.extend(b"{\"v\":2");
    fs::write(workspace.events(), &text).unwrap();
    let torn = LogCheck {
        torn_bytes: 6,
        ..whole
    };
    assert_eq!(workspace.store.check_log(&ID.into()).unwrap(), torn);
    assert!(workspace.store.repair_log(&ID.into()).unwrap().is_none());
    assert_eq!(workspace.text(), text);
}

#[test]
fn check_reports_a_missing_log_and_damaged_meta() {
    let (workspace, _) = damaged_session();
    let check = || {
        workspace
            .store
            .check_log(&ID.into())
            .unwrap_err()
            .to_string()
    };
    assert!(check().contains("events.jsonl:3: the journal is damaged"));
    fs::remove_file(workspace.events()).unwrap();
    assert!(check().contains("events.jsonl: "), "{}", check());
    fs::write(workspace.folder().join("meta.json"), "{").unwrap();
    assert!(check().contains("meta.json:1: "), "{}", check());
    fs::remove_file(workspace.folder().join("meta.json")).unwrap();
    let unknown = workspace.store.check_log(&ID.into());
    assert!(matches!(unknown, Err(JournalError::NotFound(_))));
}

#[test]
fn repair_keeps_the_damaged_file_and_the_intact_lines() {
    let (workspace, damaged) = damaged_session();
    let repaired = workspace.store.repair_log(&ID.into()).unwrap().unwrap();
    assert!(
        matches!(&repaired.damage, JournalError::Corrupt { path, line: 3, .. } if *path == workspace.events())
    );
    let intact = workspace.text();
    assert_eq!((repaired.events, repaired.lost_lines), (2, 3));
    assert_eq!(repaired.lost_bytes as usize, damaged.len() - intact.len());
    assert!(damaged.starts_with(&intact));
    let kept = workspace.folder().join("events.jsonl.damaged-1");
    assert_eq!(repaired.damaged_file, kept);
    assert_eq!(fs::read(&kept).unwrap(), damaged);
    let temporary = workspace.folder().join("events.tmp");
    assert!(!temporary.exists());

    // The session continues.
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    opened.log.append(&word_events(3, 3)).unwrap();
    drop(opened);
    assert_eq!(
        workspace.store.read(&ID.into()).unwrap().1,
        word_events(1, 3)
    );
    assert!(workspace.store.repair_log(&ID.into()).unwrap().is_none());

    // Another damage gets another number, and only the owner can read the new file.
    let mut text = workspace.text();
    text[10] ^= 1;
    fs::write(workspace.events(), &text).unwrap();
    let repaired = workspace.store.repair_log(&ID.into()).unwrap().unwrap();
    assert_eq!((repaired.events, repaired.lost_lines), (0, 3));
    let second = workspace.folder().join("events.jsonl.damaged-2");
    assert_eq!(repaired.damaged_file, second);
    assert_eq!(fs::read(&kept).unwrap(), damaged);
    assert_eq!(workspace.text(), b"");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(workspace.events()).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

/// The line whose newline was changed counts as lost, with the bytes behind it.
#[test]
fn repair_counts_a_line_without_its_end() {
    let workspace = Workspace::with_events(&word_events(1, 2));
    let mut text = workspace.text();
    *text.last_mut().unwrap() = b'*';
    fs::write(workspace.events(), &text).unwrap();
    let repaired = workspace.store.repair_log(&ID.into()).unwrap().unwrap();
    assert_eq!((repaired.events, repaired.lost_lines), (1, 1));
}

#[test]
fn open_session_is_not_repaired() {
    let workspace = Workspace::with_events(&word_events(1, 3));
    let opened = workspace.store.open(&ID.into()).unwrap();
    let mut text = workspace.text();
    text[10] ^= 1;
    fs::write(workspace.events(), &text).unwrap();
    let locked = workspace.store.repair_log(&ID.into());
    assert!(matches!(locked, Err(JournalError::Locked(_))));
    assert_eq!(workspace.text(), text);
    drop(opened);
    workspace.store.repair_log(&ID.into()).unwrap().unwrap();
}

#[test]
fn failed_repair_leaves_the_log_as_it_was() {
    let (workspace, damaged) = damaged_session();
    let temporary = workspace.folder().join("events.tmp");
    fs::create_dir(&temporary).unwrap();
    let error = workspace.store.repair_log(&ID.into()).unwrap_err();
    assert!(matches!(error, JournalError::Io { .. }), "{error}");
    assert_eq!(workspace.text(), damaged);
    let beside = workspace.folder().join("events.jsonl.damaged-1");
    assert!(!beside.exists());
    fs::remove_dir(&temporary).unwrap();
    workspace.store.repair_log(&ID.into()).unwrap().unwrap();
}

#[test]
fn ids_are_those_of_all_sessions() {
    let (workspace, _) = damaged_session();
    let worker = harn_journal::SessionMeta {
        parent: Some(ID.into()),
        worker: Some("w1".into()),
        ..meta("a-worker")
    };
    drop(workspace.store.create(worker).unwrap());
    drop(workspace.store.create(meta("z")).unwrap());
    let state = workspace.state.path();
    fs::write(folder(state, "z").join("meta.json"), "{").unwrap();
    fs::write(folder(state, "file"), "").unwrap();
    fs::create_dir(folder(state, ".hidden")).unwrap();
    let ids = workspace.store.ids().unwrap();
    assert_eq!(ids, ["a-worker".into(), ID.into(), "z".into()]);
}
