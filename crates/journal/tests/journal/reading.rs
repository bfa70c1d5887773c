//! Readers that fell behind: any cursor, any size, while the log grows.

use std::sync::atomic::{AtomicBool, Ordering};

use harn_journal::{JournalError, ReadCursor, Store};
use harn_model::{AgentEvent, Envelope, Seq};

use crate::workspace::{ID, Workspace, envelopes, word_events};

#[test]
fn an_empty_log_has_nothing_to_read() {
    let workspace = Workspace::new();
    let log = workspace.create();
    let mut cursor = ReadCursor::default();
    assert_eq!(log.reader().read(&mut cursor, 100).unwrap(), []);
    assert_eq!(cursor, ReadCursor::default());
}

#[test]
fn page_has_at_most_max_bytes_or_one_event() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    let all = word_events(1, 1000);
    log.append(&all).unwrap();
    let reader = log.reader();
    for max_bytes in [0, 1, 100, 5000, 64 * 1024, usize::MAX] {
        let mut cursor = ReadCursor::default();
        let mut read = Vec::new();
        loop {
            let before = cursor.offset.unwrap_or(0);
            let page = reader.read(&mut cursor, max_bytes).unwrap();
            if page.is_empty() {
                break;
            }
            let size = cursor.offset.unwrap() - before;
            assert!(size <= max_bytes as u64 || page.len() == 1, "{size}");
            read.extend(page);
            assert_eq!(cursor.after, read.last().unwrap().seq);
        }
        assert_eq!(read, all);
        // The cursor is at the end of the log.
        assert_eq!(cursor.offset, Some(workspace.text().len() as u64));
    }
}

#[test]
fn reader_returns_events_appended_later() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    let reader = log.reader();
    let mut cursor = ReadCursor::default();
    for n in 1..=600 {
        log.append(&word_events(n, n)).unwrap();
        assert_eq!(reader.read(&mut cursor, 1000).unwrap(), word_events(n, n));
        assert_eq!(reader.read(&mut cursor, 1000).unwrap(), []);
    }
}

#[test]
fn cursor_without_an_offset_finds_its_event() {
    for reopen in [false, true] {
        let workspace = Workspace::new();
        let mut log = workspace.create();
        log.append(&word_events(1, 300)).unwrap();
        log.append(&word_events(301, 900)).unwrap();
        if reopen {
            drop(log);
            log = workspace.store.open(&ID.into()).unwrap().log;
        }
        for after in (0..=900).chain([901, u64::MAX]) {
            let mut cursor = ReadCursor {
                after: Seq(after),
                offset: None,
            };
            let page = log.reader().read(&mut cursor, 200).unwrap();
            assert_eq!(
                page.first().map(|e| e.seq.0),
                (after < 900).then(|| after + 1)
            );
        }
    }
}

#[test]
fn wrong_offset_is_ignored() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    let all = word_events(1, 9);
    log.append(&all).unwrap();
    let len = workspace.text().len() as u64;
    for after in [0, 4, 8] {
        for offset in (0..len + 3).chain([u64::MAX]) {
            let mut cursor = ReadCursor {
                after: Seq(after),
                offset: Some(offset),
            };
            let page = log.reader().read(&mut cursor, usize::MAX).unwrap();
            assert_eq!(page, all[after as usize..], "{after} {offset}");
            assert_eq!(cursor.offset, Some(len));
        }
    }
}

#[test]
fn a_line_may_be_longer_than_any_page() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    let long = "\u{1F600}\n".repeat(700_000);
    let all = envelopes(
        1,
        [
            AgentEvent::message("before"),
            AgentEvent::message(long),
            AgentEvent::message("after"),
        ],
    );
    log.append(&all).unwrap();
    drop(log);
    let opened = workspace.store.open(&ID.into()).unwrap();
    let reader = opened.log.reader();
    let mut cursor = ReadCursor::default();
    for event in &all {
        let page = reader.read(&mut cursor, 1).unwrap();
        assert_eq!(page, std::slice::from_ref(event));
    }
    // The long line can be skipped.
    let mut cursor = ReadCursor {
        after: Seq(2),
        offset: None,
    };
    assert_eq!(reader.read(&mut cursor, 1).unwrap(), all[2..]);
}

#[test]
fn damage_in_an_open_log_is_reported_after_the_good_events() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    log.append(&word_events(1, 5)).unwrap();
    let text = String::from_utf8(workspace.text()).unwrap();
    std::fs::write(workspace.events(), text.replace(r#""seq":4"#, r#""seq":9"#)).unwrap();
    let reader = log.reader();
    let mut cursor = ReadCursor::default();
    assert_eq!(
        reader.read(&mut cursor, 1 << 20).unwrap(),
        word_events(1, 3)
    );
    let error = reader.read(&mut cursor, 1 << 20).unwrap_err();
    assert!(
        matches!(&error, JournalError::Corrupt { path, line: 4, .. } if *path == workspace.events()),
        "{error}"
    );
}

#[test]
fn readers_keep_up_with_a_writer_on_another_thread() {
    let workspace = Workspace::new();
    let mut log = workspace.create();
    let total = 5000;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for max_bytes in [1, 300, 64 * 1024] {
            let (reader, done) = (log.reader(), &done);
            scope.spawn(move || {
                let mut cursor = ReadCursor::default();
                let mut read: Vec<Envelope> = Vec::new();
                loop {
                    // Loaded first, so that an empty page afterwards means the end.
                    let ended = done.load(Ordering::Acquire);
                    let page = reader.read(&mut cursor, max_bytes).unwrap();
                    if page.is_empty() && ended {
                        break;
                    }
                    read.extend(page);
                }
                assert_eq!(read, word_events(1, total));
            });
        }
        let mut next = 1;
        let mut outcome = Ok(());
        while next <= total && outcome.is_ok() {
            let to = (next + next % 40).min(total);
            outcome = log.append(&word_events(next, to));
            next = to + 1;
        }
        // Stored before the check, so that a failure does not leave the readers waiting.
        done.store(true, Ordering::Release);
        outcome.unwrap();
    });
}
