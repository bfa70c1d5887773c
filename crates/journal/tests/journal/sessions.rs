//! Creating, opening, titling, listing and deleting sessions.

use std::{fs, path::Path, time::Duration, time::UNIX_EPOCH};

use harn_journal::{JournalError, JsonlStore, MetaChange, SessionMeta, Store};
use harn_model::{Seq, SessionId};

use crate::workspace::{ID, Workspace, folder, meta, word_events};

#[test]
fn store_creates_nothing_before_the_first_session() {
    let state = tempfile::tempdir().unwrap();
    let under = state.path().join("not/yet");
    let store = JsonlStore::new(&under);
    assert_eq!(store.list().unwrap().sessions, []);
    assert!(matches!(
        store.open(&"s1".into()),
        Err(JournalError::NotFound(_))
    ));
    assert!(matches!(
        store.read(&"s1".into()),
        Err(JournalError::NotFound(_))
    ));
    assert!(matches!(
        store.delete(&"s1".into()),
        Err(JournalError::NotFound(_))
    ));
    assert!(!state.path().join("not").exists());

    store.create(meta("s1")).unwrap();
    assert!(under.join("threads/s1/events.jsonl").is_file());
}

#[test]
fn invalid_id_is_rejected_by_every_method() {
    let outside = tempfile::tempdir().unwrap();
    let store = JsonlStore::new(outside.path().join("state"));
    let long = "a".repeat(129);
    for id in [
        "", ".", "..", "../x", "a/b", "/etc", "a\\b", "-a", "_a", ".a", "a b", "a\0", "a\n", "é",
        "aé", "a.b", "a:b", &long,
    ] {
        let id = SessionId::from(id);
        let refused = [
            store.create(meta(id.as_str())).err(),
            store.open(&id).err(),
            store.read(&id).err(),
            store.delete(&id).err(),
        ];
        for error in refused {
            assert!(
                matches!(error, Some(JournalError::InvalidId)),
                "{id:?}: {error:?}"
            );
        }
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);

    for id in ["a", "0", "A-_9", &long[..128]] {
        store.create(meta(id)).unwrap();
    }
}

#[test]
fn create_rejects_an_existing_session() {
    let workspace = Workspace::with_events(&word_events(1, 2));
    let before = workspace.text();
    assert!(matches!(
        workspace.store.create(meta(ID)),
        Err(JournalError::Exists(id)) if id.as_str() == ID
    ));
    assert_eq!(workspace.text(), before);
}

#[test]
fn meta_is_written_as_readable_json() {
    let workspace = Workspace::new();
    let mut log = workspace
        .store
        .create(SessionMeta {
            v: 0,
            additional_directories: vec!["/home/ada/notes".into()],
            parent: Some("s0".into()),
            ..meta(ID)
        })
        .unwrap();
    log.amend(MetaChange::Title("Counting \"lines\"".to_owned()))
        .unwrap();
    assert_eq!(
        fs::read_to_string(workspace.folder().join("meta.json")).unwrap(),
        r#"{
  "v": 1,
  "threadId": "s1",
  "title": "Counting \"lines\"",
  "directory": "/home/ada/engine",
  "additionalDirectories": [
    "/home/ada/notes"
  ],
  "created": 1700000000000,
  "parent": "s0",
  "time": {
    "created": 1700000000000,
    "updated": 1700000000000
  }
}
"#
    );
    drop(log);
    let opened = workspace.store.open(&ID.into()).unwrap();
    assert_eq!(opened.meta.title, "Counting \"lines\"");
    assert_eq!(opened.meta.parent, Some("s0".into()));
    let names = names_in(&workspace.folder());
    assert_eq!(names, ["events.jsonl", "meta.json"]);
}

/// The time of the last change is written with the next sync, and only then: nothing waits for it.
#[test]
fn sync_updates_the_time_in_meta() {
    let workspace = Workspace::with_events(&word_events(1, 2));
    let path = workspace.folder().join("meta.json");
    let time = || {
        let text = fs::read_to_string(&path).unwrap();
        let meta: serde_json::Value = serde_json::from_str(&text).unwrap();
        meta["time"].clone()
    };
    let created = meta(ID).created;
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    opened.log.set_updated(created + 5);
    assert_eq!(time()["updated"], created);
    opened.log.syncer()().unwrap();
    assert_eq!(
        time(),
        serde_json::json!({"created": created, "updated": created + 5})
    );
    // A link that a crash left at the temporary path is not written through.
    #[cfg(unix)]
    {
        let elsewhere = workspace.state.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        let temporary = path.with_extension("tmp");
        std::os::unix::fs::symlink(&elsewhere, &temporary).unwrap();
        opened.log.set_updated(created + 6);
        opened.log.syncer()().unwrap();
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
        assert_eq!(time()["updated"], created + 6);
    }
    // A failure of the disk is reported; the log continues to work.
    let temporary = path.with_extension("tmp");
    fs::create_dir(&temporary).unwrap();
    opened.log.set_updated(created + 7);
    let error = opened.log.syncer()().unwrap_err().to_string();
    assert!(error.contains("meta.json"), "{error}");
    opened.log.append(&word_events(3, 3)).unwrap();
    fs::remove_dir(&temporary).unwrap();
    drop(opened);
    assert_eq!(workspace.store.read(&ID.into()).unwrap().0, meta(ID));
    assert_eq!(names_in(&workspace.folder()), ["events.jsonl", "meta.json"]);
}

/// A file that was written before `meta.json` had times.
#[test]
fn meta_without_times_is_read() {
    let workspace = Workspace::with_events(&word_events(1, 1));
    let path = workspace.folder().join("meta.json");
    let mut written: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    written.as_object_mut().unwrap().remove("time").unwrap();
    fs::write(&path, written.to_string()).unwrap();
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    assert_eq!(opened.meta, meta(ID));
    let named = MetaChange::Title("Named".to_owned());
    opened.log.amend(named).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(written["time"]["created"], meta(ID).created);
    assert_eq!(
        written["time"]["updated"].as_u64(),
        Some(opened.view.updated_at.max(meta(ID).created))
    );
}

/// Flags that are not set are omitted, as in a file that was written before flags existed.
#[test]
fn flags_of_meta_survive_a_reopening() {
    let workspace = Workspace::with_events(&word_events(1, 1));
    let written = || fs::read_to_string(workspace.folder().join("meta.json")).unwrap();
    let before = written();
    assert!(!before.contains("failed") && !before.contains("archived"));
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    opened.log.amend(MetaChange::Failed(true)).unwrap();
    opened.log.amend(MetaChange::Archived(true)).unwrap();
    drop(opened);
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    assert!(opened.meta.failed && opened.meta.archived);
    let listed = workspace.store.list().unwrap().sessions.remove(0).meta;
    assert_eq!(listed, opened.meta);
    opened.log.amend(MetaChange::Failed(false)).unwrap();
    opened.log.amend(MetaChange::Archived(false)).unwrap();
    drop(opened);
    assert_eq!(workspace.store.meta(&ID.into()).unwrap(), meta(ID));
    let flags = written().contains("failed") || written().contains("archived");
    assert!(!flags);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let outside = tempfile::tempdir().unwrap();
    let state = outside.path().join("state");
    let store = JsonlStore::new(&state);
    let mut log = store.create(meta(ID)).unwrap();
    log.amend(MetaChange::Title("private".to_owned())).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let session = folder(&state, ID);
    assert_eq!(mode(&state), 0o700);
    assert_eq!(mode(&state.join("threads")), 0o700);
    assert_eq!(mode(&session), 0o700);
    assert_eq!(mode(&session.join("meta.json")), 0o600);
    assert_eq!(mode(&session.join("events.jsonl")), 0o600);
}

#[test]
fn opened_log_appends_after_its_last_event() {
    let workspace = Workspace::with_events(&word_events(1, 3));
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    assert_eq!(opened.torn_bytes, 0);
    assert_eq!(opened.view.last_seq, Seq(3));
    opened.log.append(&word_events(4, 5)).unwrap();
    opened.log.syncer()().unwrap();
    opened.log.syncer()().unwrap();
    drop(opened);
    assert_eq!(
        workspace.store.read(&ID.into()).unwrap(),
        (meta(ID), word_events(1, 5))
    );
}

#[test]
fn batch_out_of_order_is_rejected_as_a_whole() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    log.append(&word_events(1, 2)).unwrap();
    let before = workspace.text();
    let mut gap = word_events(3, 5);
    gap.remove(1);
    for batch in [word_events(2, 3), word_events(4, 4), word_events(0, 0), gap] {
        let error = log.append(&batch).unwrap_err();
        assert!(error.to_string().contains("events have no gaps"), "{error}");
        assert_eq!(workspace.text(), before);
    }
    log.append(&[]).unwrap();
    log.append(&word_events(3, 3)).unwrap();
    drop(log);
    assert_eq!(
        workspace.store.read(&ID.into()).unwrap().1,
        word_events(1, 3)
    );
}

#[test]
fn list_returns_sessions_newest_first_and_damaged_ones_as_problems() {
    let workspace = Workspace::new();
    let state = workspace.state.path();
    for (id, seconds) in [("old", 10), ("b", 20), ("a", 20), ("new", 30)] {
        let mut log = workspace.store.create(meta(id)).unwrap();
        log.append(&word_events(1, 1)).unwrap();
        drop(log);
        let events = fs::File::options()
            .append(true)
            .open(folder(state, id).join("events.jsonl"))
            .unwrap();
        events
            .set_modified(UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7))
            .unwrap();
    }
    // Each of these is wrong in a different way.
    let threads = state.join("threads");
    fs::write(threads.join("file"), "x").unwrap();
    fs::create_dir(threads.join("empty")).unwrap();
    for (id, text) in [
        (
            "renamed",
            fs::read(folder(state, "old").join("meta.json")).unwrap(),
        ),
        ("broken", b"{".to_vec()),
        (
            ".hidden",
            fs::read(folder(state, "old").join("meta.json")).unwrap(),
        ),
        (
            "newer",
            br#"{"v":2,"threadId":"newer","title":"","directory":"/","created":1}"#.to_vec(),
        ),
    ] {
        fs::create_dir(threads.join(id)).unwrap();
        fs::write(threads.join(id).join("meta.json"), text).unwrap();
        fs::write(threads.join(id).join("events.jsonl"), "").unwrap();
    }
    fs::create_dir(threads.join("logless")).unwrap();
    fs::write(
        threads.join("logless/meta.json"),
        r#"{"v":1,"threadId":"logless","title":"","directory":"/","created":1}"#,
    )
    .unwrap();

    let listing = workspace.store.list().unwrap();
    let listed: Vec<_> = listing
        .sessions
        .into_iter()
        .map(|row| (row.meta.thread_id.to_string(), row.updated))
        .collect();
    assert_eq!(
        listed,
        [
            ("new".to_owned(), 30_007),
            ("a".to_owned(), 20_007),
            ("b".to_owned(), 20_007),
            ("old".to_owned(), 10_007),
        ]
    );
    let problems: Vec<_> = listing.problems.iter().map(ToString::to_string).collect();
    let expected = [
        ("broken/meta.json:1: ", "it does not describe a session"),
        ("logless/events.jsonl: ", ""),
        ("newer/meta.json:1: ", "format version 2"),
        ("renamed/meta.json:1: ", "it describes another session"),
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, (place, reason)) in problems.iter().zip(expected) {
        let place = threads.join(place);
        assert!(problem.starts_with(place.to_str().unwrap()), "{problem}");
        assert!(problem.contains(reason), "{problem}");
    }
}

#[test]
fn a_deleted_session_is_gone_and_its_id_free() {
    let workspace = Workspace::with_events(&word_events(1, 2));
    workspace.store.delete(&ID.into()).unwrap();
    assert_eq!(names_in(&workspace.state.path().join("threads")), [""; 0]);
    assert_eq!(workspace.store.list().unwrap().sessions, []);
    assert!(matches!(
        workspace.store.delete(&ID.into()),
        Err(JournalError::NotFound(_))
    ));
    drop(workspace.create());
    workspace.store.delete(&ID.into()).unwrap();
}

#[test]
fn interrupted_deletion_or_creation_can_be_finished() {
    let workspace = Workspace::with_events(&word_events(1, 2));
    let threads = workspace.state.path().join("threads");

    // Interrupted after the rename: not listed, and the next deletion removes the rest.
    fs::rename(workspace.folder(), threads.join(".s1.deleted")).unwrap();
    assert_nothing_listed(&workspace);
    workspace.store.delete(&ID.into()).unwrap();
    assert_eq!(names_in(&threads), [""; 0]);

    // The same, with a new session of that id.
    drop(workspace.create());
    fs::create_dir(threads.join(".s1.deleted")).unwrap();
    fs::write(threads.join(".s1.deleted/events.jsonl"), "rest").unwrap();
    workspace.store.delete(&ID.into()).unwrap();
    assert_eq!(names_in(&threads), [""; 0]);

    // A creation interrupted before there was a log.
    fs::create_dir(workspace.folder()).unwrap();
    assert_nothing_listed(&workspace);
    workspace.store.delete(&ID.into()).unwrap();
    assert_eq!(names_in(&threads), [""; 0]);
}

#[cfg(unix)]
#[test]
fn failed_creation_leaves_no_folder() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let workspace = Workspace::new();
    let error = workspace
        .store
        .create(SessionMeta {
            directory: OsStr::from_bytes(b"/not/\xff/unicode").into(),
            ..meta(ID)
        })
        .err()
        .unwrap();
    assert!(matches!(error, JournalError::Io { .. }), "{error}");
    assert!(!workspace.folder().exists());
}

fn assert_nothing_listed(workspace: &Workspace) {
    let listing = workspace.store.list().unwrap();
    assert_eq!(listing.sessions, []);
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn worker_sessions_are_not_listed_and_are_deleted_with_their_parent() {
    let workspace = Workspace::new();
    let create = |id: &str, parent: Option<&str>, worker: Option<&str>| {
        let meta = SessionMeta {
            parent: parent.map(Into::into),
            worker: worker.map(Into::into),
            ..meta(id)
        };
        drop(workspace.store.create(meta).unwrap());
    };
    create("top", None, None);
    create("below", Some("top"), Some("w1"));
    create("deep", Some("below"), Some("w1"));
    create("fork", Some("top"), None);
    create("other", Some("fork"), Some("w1"));
    let listed = || -> Vec<_> {
        let sessions = workspace.store.list().unwrap().sessions;
        let mut ids: Vec<_> = sessions.into_iter().map(|s| s.meta.thread_id).collect();
        ids.sort();
        ids
    };
    assert_eq!(listed(), ["fork".into(), "top".into()]);
    assert!(workspace.store.read(&"deep".into()).is_ok());

    let held = workspace.store.open(&"deep".into()).unwrap();
    let refused = workspace.store.delete(&"top".into());
    assert!(matches!(refused, Err(JournalError::Locked(id)) if id.as_str() == "deep"));
    assert_eq!(listed(), ["fork".into(), "top".into()]);
    drop(held);
    workspace.store.delete(&"top".into()).unwrap();
    assert_eq!(listed(), ["fork".into()]);
    assert_eq!(
        names_in(&workspace.state.path().join("threads")),
        ["fork", "other"]
    );
}
