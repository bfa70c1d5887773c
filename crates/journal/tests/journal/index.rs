//! Pages of listings from the index: they equal a listing that reads every session, whatever other processes and people
//! did to the files.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use harn_journal::{JsonlStore, MetaChange, SessionSummary, Store};

use crate::workspace::{Workspace, folder, meta, word_events};

/// Long enough ago that a session is trusted until something marks it.
const AGO: Duration = Duration::from_secs(100);

struct IndexedSessions {
    workspace: Workspace,
}

impl IndexedSessions {
    /// Creates closed sessions `s00`, `s01` and so on; the index knows them and trusts them.
    fn new(count: usize) -> Self {
        let sessions = Self {
            workspace: Workspace::new(),
        };
        for number in 0..count {
            let id = format!("s{number:02}");
            let mut log = sessions.store().create(meta(&id)).unwrap();
            log.append(&word_events(1, 1)).unwrap();
            drop(log);
            sessions.set_age(&id, AGO + Duration::from_secs(number as u64));
        }
        sessions.check();
        sessions
    }

    fn state(&self) -> &Path {
        self.workspace.state.path()
    }

    fn index(&self) -> PathBuf {
        self.state().join("sessions.index")
    }

    fn store(&self) -> &JsonlStore {
        &self.workspace.store
    }

    /// Sets when the files of a session changed, and when the folder of all sessions did.
    #[allow(
        clippy::disallowed_methods,
        reason = "the index compares the times of files with the clock"
    )]
    fn set_age(&self, id: &str, age: Duration) {
        let time = SystemTime::now() - age;
        for name in ["events.jsonl", "meta.json"] {
            let file = fs::File::options()
                .append(true)
                .open(folder(self.state(), id).join(name));
            file.unwrap().set_modified(time).unwrap();
        }
        let threads = fs::File::open(self.state().join("threads")).unwrap();
        threads.set_modified(time).unwrap();
    }

    /// Checks that this process and a new one list the same as the files; returns the ids.
    #[track_caller]
    fn check(&self) -> Vec<String> {
        let truth = self.store().list().unwrap().sessions;
        assert_eq!(pages(self.store()), truth, "in this process");
        assert_eq!(
            pages(&JsonlStore::new(self.state())),
            truth,
            "in a new process"
        );
        assert_eq!(pages(self.store()), truth, "after the new process");
        truth
            .into_iter()
            .map(|row| row.meta.thread_id.to_string())
            .collect()
    }
}

/// Lists all sessions in pages of three, and again if a row was wrong.
fn pages(store: &JsonlStore) -> Vec<SessionSummary> {
    let mut rows: Vec<SessionSummary> = Vec::new();
    let mut wrong = 0;
    loop {
        let after = rows
            .last()
            .map(|row| (row.updated, row.meta.thread_id.clone()));
        let mut page = Vec::new();
        let problems = store.for_each_listed(after, &mut |row| {
            page.push(row);
            page.len() < 3
        });
        assert_eq!(problems.unwrap().len(), 0);
        if page.is_empty() {
            return rows;
        }
        rows.extend(page.iter().cloned());
        if !page.iter().all(|row| store.is_still_listed(row)) {
            wrong += 1;
            assert_eq!(wrong, 1, "the index was not built again");
            rows.clear();
        }
    }
}

#[test]
fn pages_equal_the_whole_listing() {
    let sessions = IndexedSessions::new(10);
    assert_eq!(sessions.check().len(), 10);
    assert!(sessions.index().exists());
}

#[test]
fn appends_and_changes_of_an_open_session_are_listed() {
    let sessions = IndexedSessions::new(5);
    let other = JsonlStore::new(sessions.state());
    for store in [sessions.store(), &other] {
        let mut log = store.open(&"s04".into()).unwrap().log;
        sessions.check();
        let last = log
            .reader()
            .read(&mut Default::default(), 1 << 20)
            .unwrap()
            .len() as u64;
        log.append(&word_events(last + 1, last + 1)).unwrap();
        assert_eq!(sessions.check()[0], "s04");
        log.append(&word_events(last + 2, last + 2)).unwrap();
        log.amend(MetaChange::Title(format!("title {last}")))
            .unwrap();
        assert_eq!(sessions.check()[0], "s04");
        drop(log);
        sessions.check();
        sessions.set_age("s04", AGO + Duration::from_secs(9));
        sessions.check();
    }
}

#[test]
fn created_and_deleted_sessions_are_listed_at_once() {
    let sessions = IndexedSessions::new(3);
    let other = JsonlStore::new(sessions.state());
    drop(other.create(meta("new")).unwrap());
    assert_eq!(sessions.check().len(), 4);
    other.delete(&"s01".into()).unwrap();
    assert_eq!(sessions.check().len(), 3);
    // The same id again, with other content.
    other.delete(&"s00".into()).unwrap();
    let titled = harn_journal::SessionMeta {
        title: "again".to_owned(),
        ..meta("s00")
    };
    drop(other.create(titled).unwrap());
    assert_eq!(sessions.check().len(), 3);
}

#[test]
fn folders_changed_by_hand_are_noticed() {
    let sessions = IndexedSessions::new(4);
    let copy = folder(sessions.state(), "copy");
    fs::remove_dir_all(folder(sessions.state(), "s02")).unwrap();
    fs::create_dir(&copy).unwrap();
    let of_copy = fs::read_to_string(folder(sessions.state(), "s01").join("meta.json")).unwrap();
    fs::write(copy.join("meta.json"), of_copy.replace("s01", "copy")).unwrap();
    fs::copy(
        folder(sessions.state(), "s01").join("events.jsonl"),
        copy.join("events.jsonl"),
    )
    .unwrap();
    assert_eq!(sessions.check().len(), 4);
    fs::remove_dir_all(sessions.state().join("threads")).unwrap();
    assert_eq!(pages(sessions.store()), []);
}

/// No mark says that these files changed: the row is found wrong when it is listed, and then all rows are compared.
#[test]
fn row_that_is_wrong_is_found_when_it_is_listed() {
    let sessions = IndexedSessions::new(6);
    for (id, age) in [("s00", 50), ("s05", 10)] {
        let meta = folder(sessions.state(), id).join("meta.json");
        let changed = fs::read_to_string(&meta)
            .unwrap()
            .replace("engine", "other");
        fs::write(&meta, changed).unwrap();
        sessions.set_age(id, Duration::from_secs(age));
    }
    let store = JsonlStore::new(sessions.state());
    let mut rows = Vec::new();
    store
        .for_each_listed(None, &mut |row| {
            rows.push(row);
            true
        })
        .unwrap();
    assert!(!rows.iter().all(|row| store.is_still_listed(row)));
    assert_eq!(sessions.check()[0], "s05");
}

#[test]
fn missing_or_damaged_index_is_built_again() {
    let sessions = IndexedSessions::new(4);
    let whole = fs::read(sessions.index()).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x80;
        fs::write(sessions.index(), &damaged).unwrap();
        sessions.check();
        fs::write(sessions.index(), &whole[..at]).unwrap();
        sessions.check();
    }
    fs::remove_file(sessions.index()).unwrap();
    sessions.check();
    fs::remove_file(sessions.index()).unwrap();
    fs::create_dir(sessions.index()).unwrap();
    sessions.check();
}

/// A process that ended without closing its sessions leaves their marks.
#[test]
fn session_of_a_killed_process_is_looked_at() {
    let sessions = IndexedSessions::new(3);
    let other = JsonlStore::new(sessions.state());
    let mut log = other.open(&"s02".into()).unwrap().log;
    log.append(&word_events(2, 2)).unwrap();
    std::mem::forget(log);
    sessions.set_age("s02", AGO);
    sessions.check();
    sessions.set_age("s02", Duration::from_secs(3));
    assert_eq!(sessions.check()[0], "s02");
}

#[test]
fn replaced_index_keeps_the_marks_of_open_sessions() {
    let sessions = IndexedSessions::new(3);
    let other = JsonlStore::new(sessions.state());
    let mut log = other.open(&"s01".into()).unwrap().log;
    log.append(&word_events(2, 2)).unwrap();
    fs::remove_file(sessions.index()).unwrap();
    sessions.set_age("s01", AGO);
    sessions.check();
    // The next sync marks the session in the new index.
    log.append(&word_events(3, 3)).unwrap();
    log.syncer()().unwrap();
    assert_eq!(sessions.check()[0], "s01");
    sessions.set_age("s01", AGO);
    sessions.check();
    log.append(&word_events(4, 4)).unwrap();
    assert_eq!(sessions.check()[0], "s01");
}

#[test]
fn damaged_and_incomplete_sessions_are_problems_every_time() {
    let sessions = IndexedSessions::new(2);
    fs::create_dir(folder(sessions.state(), "empty")).unwrap();
    let broken = folder(sessions.state(), "broken");
    fs::create_dir(&broken).unwrap();
    fs::write(broken.join("meta.json"), "{").unwrap();
    for store in [sessions.store(), &JsonlStore::new(sessions.state())] {
        for _ in 0..2 {
            let mut listed = 0;
            let problems = store
                .for_each_listed(None, &mut |_| {
                    listed += 1;
                    true
                })
                .unwrap();
            assert_eq!(listed, 2);
            assert_eq!(problems.len(), 1);
            assert!(
                problems[0].to_string().contains("broken"),
                "{}",
                problems[0]
            );
        }
    }
}
