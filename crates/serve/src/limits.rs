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

/// Returns the number of clients that may be connected, at most `wanted`. Clients take at most half of the files that
/// the process may open, because sessions need files too.
#[cfg(unix)]
pub(crate) fn clients_within_open_files(wanted: usize) -> usize {
    use rustix::process::{Resource, getrlimit};
    let open_files = getrlimit(Resource::Nofile).current;
    let half = open_files.map(|files| usize::try_from(files / 2).unwrap_or(usize::MAX));
    half.map_or(wanted, |half| half.min(wanted))
}

/// Returns `wanted`: this system has no limit on open files.
#[cfg(not(unix))]
pub(crate) fn clients_within_open_files(wanted: usize) -> usize {
    wanted
}
