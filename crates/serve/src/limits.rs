//! Limits of the process. Each open session holds a file, so the usual soft limit of 1024 is raised.

/// Raises the limit on open files as far as it is useful. A refusal costs nothing but sessions.
#[cfg(unix)]
pub(crate) fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Children inherit the limit, and some close every file they could have: not a billion of them.
    const ENOUGH: u64 = 65_536;
    // macOS refuses more than this, whatever its hard limit says.
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

/// There is no such limit here.
#[cfg(not(unix))]
pub(crate) fn raise_open_files() {}
