//! Sessions outside of the state directory: which files the store creates, when, and which paths it rejects.

#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt, symlink};

use harn_journal::META_VERSION;
use tempfile::TempDir;

use super::*;

fn options_and_storage(dir: &TempDir) -> (ServeOptions, SessionStorage) {
    let options = ServeOptions {
        sessions_dir: Some(dir.path().join("work/.harness")),
        ..ServeOptions::new(dir.path().join("state"))
    };
    fs::create_dir_all(dir.path().join("work")).unwrap();
    let kept = select_storage(&options);
    (options, kept)
}

fn meta(id: &str) -> SessionMeta {
    SessionMeta {
        v: META_VERSION,
        thread_id: id.into(),
        title: String::new(),
        directory: "/work".into(),
        additional_directories: Vec::new(),
        created: 0,
        parent: None,
        worker: None,
        principal: None,
        failed: false,
        archived: false,
    }
}

fn error_text<T>(done: Result<T, JournalError>) -> String {
    done.err().unwrap().to_string()
}

#[test]
fn first_session_creates_the_folder_and_its_gitignore() {
    let dir = TempDir::new().unwrap();
    let (options, SessionStorage { store, believed }) = options_and_storage(&dir);
    let root = dir.path().join("work/.harness");
    assert!(!believed);
    check(&options).unwrap();
    assert!(store.list().unwrap().sessions.is_empty());
    assert!(store.open(&"s1".into()).is_err());
    assert!(!root.exists(), "reading makes nothing");

    drop(store.create(meta("s1")).unwrap());
    let mode = |path: &str| {
        let found = root.join(path).metadata().unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!([mode(""), mode("threads"), mode("threads/s1")], [0o700; 3]);
    let files = [
        "threads/s1/meta.json",
        "threads/s1/events.jsonl",
        ".gitignore",
    ];
    assert_eq!(files.map(mode), [0o600; 3]);
    let ignored = fs::read_to_string(root.join(".gitignore")).unwrap();
    assert_eq!(ignored, "*\n");

    // A user who wants sessions in version control deletes the file, and it stays deleted.
    fs::remove_file(root.join(".gitignore")).unwrap();
    drop(store.create(meta("s2")).unwrap());
    assert!(!root.join(".gitignore").exists());
    assert_eq!(store.list().unwrap().sessions.len(), 2);
}

#[test]
fn store_rejects_a_link_or_file_in_place_of_a_folder() {
    for broken in [".harness", ".harness/threads"] {
        for link in [true, false] {
            let dir = TempDir::new().unwrap();
            let (options, SessionStorage { store, .. }) = options_and_storage(&dir);
            let elsewhere = dir.path().join("elsewhere");
            fs::create_dir(&elsewhere).unwrap();
            let place = dir.path().join("work").join(broken);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            match link {
                true => symlink(&elsewhere, &place).unwrap(),
                false => fs::write(&place, "").unwrap(),
            }
            let words = match link {
                true => "it is a link",
                false => "it is not a folder",
            };
            let id = SessionId::from("s1");
            let at_start = check(&options).unwrap_err().to_string();
            for told in [
                at_start,
                error_text(store.create(meta("s1"))),
                error_text(store.open(&id)),
                error_text(store.read(&id)),
                error_text(store.meta(&id)),
                error_text(store.list()),
                error_text(store.ids()),
                error_text(store.check_log(&id)),
                error_text(store.repair_log(&id)),
                error_text(store.delete(&id)),
            ] {
                assert!(told.contains(words), "{told}");
                assert!(told.starts_with(place.to_str().unwrap()), "{told}");
            }
            assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        }
    }
}

#[test]
fn trailing_slash_does_not_hide_a_link() {
    let dir = TempDir::new().unwrap();
    let (mut options, _) = options_and_storage(&dir);
    symlink(dir.path(), dir.path().join("work/.harness")).unwrap();
    for name in ["work/.harness/", "work/.harness//", "work/.harness/."] {
        options.sessions_dir = Some(dir.path().join(name));
        let told = check(&options).unwrap_err().to_string();
        assert!(told.contains("it is a link"), "{name}: {told}");
    }
}

#[test]
fn store_follows_no_link_in_a_session() {
    for name in ["events.jsonl", "meta.json", "meta.tmp", "files", ""] {
        let dir = TempDir::new().unwrap();
        let (_, SessionStorage { store, .. }) = options_and_storage(&dir);
        drop(store.create(meta("s1")).unwrap());
        let folder = dir.path().join("work/.harness/threads/s1");
        // No newline at the end: opening a journal cuts off a torn last line.
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let place = folder.join(name);
        match name {
            "" => {
                let place = dir.path().join("work/.harness/threads/s1");
                fs::rename(&place, dir.path().join("moved")).unwrap();
                symlink(dir.path().join("moved"), &place).unwrap();
            }
            _ => {
                let _ = fs::remove_file(&place);
                symlink(&victim, &place).unwrap();
            }
        }
        let id = SessionId::from("s1");
        for told in [
            error_text(store.open(&id)),
            error_text(store.read(&id)),
            error_text(store.meta(&id)),
            error_text(store.list()),
            error_text(store.check_log(&id)),
            error_text(store.repair_log(&id)),
        ] {
            assert!(told.contains("it is a link"), "{name}: {told}");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{name}");
    }
}

#[test]
fn state_directory_under_another_name_is_trusted() {
    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    let named = |sessions: PathBuf| {
        let options = ServeOptions {
            sessions_dir: Some(sessions),
            ..ServeOptions::new(&state)
        };
        select_storage(&options).believed
    };
    assert!(named(state.clone()), "before it exists");
    assert!(!named(dir.path().join("other")));
    fs::create_dir_all(dir.path().join("state")).unwrap();
    assert!(named(dir.path().join("state/../state")));
    symlink(&state, dir.path().join("link")).unwrap();
    for link in ["link", "link/", "link/."] {
        assert!(!named(dir.path().join(link)), "{link}");
    }
    assert!(select_storage(&ServeOptions::new(&state)).believed);
}
