//! Process ids across the PID namespace of the sandbox.

use std::fs;

/// Returns the id, as the calling test sees it, of a process that `server` started and whose own view of its id is
/// `inner`; `inner` itself if the server's commands have no namespace, or the process has ended.
#[must_use]
pub fn outer_pid(server: u32, inner: u32) -> u32 {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut same = pids.filter(|pid| innermost_id(*pid) == Some(inner) && descends(*pid, server));
    same.next().unwrap_or(inner)
}

fn status_line(pid: u32, name: &str) -> Option<Vec<u32>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(
        line.split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect(),
    )
}

fn innermost_id(pid: u32) -> Option<u32> {
    status_line(pid, "NSpid:")?.last().copied()
}

fn descends(pid: u32, server: u32) -> bool {
    let parent = |pid: &u32| status_line(*pid, "PPid:")?.first().copied();
    std::iter::successors(Some(pid), parent).any(|above| above == server)
}
