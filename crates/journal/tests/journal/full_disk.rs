//! A full disk: acknowledged events stay, the failed batch is gone, and appending works again later.
//!
//! A copy of this test program runs under a file size limit, which has the effect of a full disk on a write: part
//! of it fits, the rest fails.
#![cfg(unix)]

use std::process::Command;

use harn_journal::{JournalError, JsonlStore, ReadCursor, Store};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::workspace::{ID, Workspace, word_events};

const STATE: &str = "HARN_JOURNAL_TEST_DISK_STATE";
const ROOM: u64 = 4096;

#[test]
fn full_disk_loses_only_the_failed_batch() {
    let workspace = Workspace::with_events(&word_events(1, 10));
    // The signal for the limit would end the process; the child inherits that it is ignored.
    let output = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "full_disk::under_a_limit", "--nocapture"])
        .env(STATE, workspace.state.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    // 10 from before, 5 that fit, 5 after the limit was lifted.
    let opened = workspace.store.open(&ID.into()).unwrap();
    assert_eq!(opened.torn_bytes, 0);
    drop(opened);
    assert_eq!(
        workspace.store.read(&ID.into()).unwrap().1,
        word_events(1, 20)
    );
}

/// Does something only as the copy that the test above runs.
#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "how the test above tells its copy what to do"
)]
fn under_a_limit() {
    let Some(state) = std::env::var_os(STATE) else {
        return;
    };
    let store = JsonlStore::new(state);
    let mut log = store.open(&ID.into()).unwrap().log;
    log.append(&word_events(11, 15)).unwrap();

    let before = getrlimit(Resource::Fsize);
    let limit = Rlimit {
        current: Some(ROOM),
        ..before
    };
    setrlimit(Resource::Fsize, limit).unwrap();
    for _ in 0..3 {
        // Far more than fits: the first bytes reach the file, then the limit applies.
        let error = log.append(&word_events(16, 500)).unwrap_err();
        assert!(matches!(error, JournalError::Io { .. }), "{error}");
        assert_eq!(store.read(&ID.into()).unwrap().1, word_events(1, 15));
        let mut cursor = ReadCursor::default();
        let seen = log.reader().read(&mut cursor, 1 << 20).unwrap();
        assert_eq!(seen, word_events(1, 15));
    }
    // A smaller batch still fits.
    log.append(&word_events(16, 16)).unwrap();
    log.append(&word_events(17, 500)).unwrap_err();
    setrlimit(Resource::Fsize, before).unwrap();
    log.append(&word_events(17, 20)).unwrap();
}
