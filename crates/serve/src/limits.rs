//! Process limits. Each open session has an open file, so the usual soft limit of 1024 is too low.

/// Raises the limit on open files as far as it is useful. Without it, fewer sessions can be open at once.
#[cfg(unix)]
pub(crate) fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Child processes inherit the limit, and some close every possible descriptor: a billion would take too long.
    const ENOUGH: u64 = 65_536;
    // macOS rejects more than this, whatever its hard limit is.
    const MAC_OPEN_MAX: u64 = 10_240;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    for wanted in [ENOUGH, MAC_OPEN_MAX] {
        let wanted = maximum.map_or(wanted, |hard| hard.min(wanted));
        if current.is_none_or(|soft| soft >= wanted) {
            return;
        }
        let raised = Rlimit {
            current: Some(wanted),
            maximum,
        };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return;
        }
    }
}

/// Does nothing: this system has no such limit.
#[cfg(not(unix))]
pub(crate) fn raise_open_files() {}
