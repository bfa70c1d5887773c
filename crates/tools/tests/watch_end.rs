//! A dropped watch leaves no threads and no handles. Alone in its process, because it counts threads.

#![allow(
    clippy::unwrap_used,
    reason = "a test says what went wrong by panicking"
)]
#![cfg(target_os = "linux")]

use std::{fs, path::Path, time::Duration};

use harn_tools::FileWatch;

/// Returns the names of this process's watch threads, and its open handles of the system's watcher.
fn watch_leftovers() -> Vec<String> {
    let entries = |dir: &str| fs::read_dir(dir).unwrap().flatten();
    let threads = entries("/proc/self/task")
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.starts_with("harn-watch") || name.starts_with("notify"));
    let handles = entries("/proc/self/fd")
        .filter_map(|fd| fs::read_link(fd.path()).ok())
        .filter(|target| target == Path::new("anon_inode:inotify"))
        .map(|target| target.display().to_string());
    threads.chain(handles).collect()
}

#[tokio::test]
async fn dropped_watch_leaves_no_threads_or_handles() {
    assert_eq!(watch_leftovers(), [""; 0]);
    let dir = tempfile::tempdir().unwrap();
    let watches: Vec<_> = (0..3)
        .map(|_| FileWatch::start(dir.path(), "**").unwrap())
        .collect();
    // A thread sets its name only when it runs.
    wait_for_leftovers(9).await;
    // A change for the watches to report.
    fs::write(dir.path().join("a"), "").unwrap();
    drop(watches);
    wait_for_leftovers(0).await;
}

/// Waits until there are `count` of them; only a failing test reaches the time limit.
async fn wait_for_leftovers(count: usize) {
    let reached = async {
        while watch_leftovers().len() != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(30), reached).await;
    assert!(reached.is_ok(), "{:?}", watch_leftovers());
}
