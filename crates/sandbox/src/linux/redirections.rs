//! Removes files that redirect git to another configuration, when the command that created them has ended.
//!
//! A mount cannot keep a command from creating one, and no program creates one in the folder of a repository. A process
//! outside the process group removes them, because a `SIGKILL` to the group also ends the supervisor.

use std::{
    fs,
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    path::PathBuf,
    process::exit,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open, setpgid},
};

use super::{SetupError, failed, fork, supervisor::release_stdio, wait_for_end};

/// The process that removes what a command created.
pub(super) struct RedirectionRemover {
    process: Pid,
    /// Takes the number of the init.
    init: PipeWriter,
    /// Has a byte as soon as the process watches the init.
    readiness: PipeReader,
}

impl RedirectionRemover {
    /// Starts the process if one of these paths could redirect git and does not exist. It must not be in the PID
    /// namespace of the command.
    pub(super) fn start(read_only: &[PathBuf]) -> Result<Option<Self>, SetupError> {
        let absent = absent_redirections(read_only);
        if absent.is_empty() {
            return Ok(None);
        }
        let pipe = || io::pipe().map_err(failed("cannot create a pipe"));
        let (numbers, init) = pipe()?;
        let (readiness, ready) = pipe()?;
        if let Some(process) = fork()? {
            return Ok(Some(Self {
                process,
                init,
                readiness,
            }));
        }
        drop((init, readiness));
        exit(i32::from(
            remove_after_init(numbers, ready, &absent).is_none(),
        ));
    }

    /// Returns the pipe on which the init waits before it starts the command.
    pub(super) fn into_readiness(self) -> PipeReader {
        self.readiness
    }

    /// Names the init to the process.
    pub(super) fn watch(&mut self, init: Pid) -> Result<(), SetupError> {
        let number = init.as_raw_nonzero().get().to_ne_bytes();
        self.init
            .write_all(&number)
            .map_err(failed("cannot watch the files of git"))
    }

    /// Waits until the files are removed. The init has ended.
    pub(super) fn finish(self) -> Result<(), SetupError> {
        wait_for_end(self.process).map(drop)
    }
}

/// Does the work of the process. Returns nothing if it never watched the init; the command does not start then.
fn remove_after_init(
    mut numbers: PipeReader,
    mut ready: PipeWriter,
    absent: &[PathBuf],
) -> Option<()> {
    setpgid(None, None).ok()?;
    release_stdio();
    let mut number = [0; 4];
    numbers.read_exact(&mut number).ok()?;
    let init = Pid::from_raw(i32::from_ne_bytes(number))?;
    let init = pidfd_open(init, PidfdFlags::empty()).ok()?;
    ready.write_all(&[0]).ok()?;
    // The kernel reports the end of the init after it has killed the rest of the namespace.
    let mut end = [PollFd::new(&init, PollFlags::IN)];
    while let Ok(_) | Err(Errno::INTR) = poll(&mut end, None) {
        if !end[0].revents().is_empty() {
            break;
        }
    }
    for path in absent {
        if fs::remove_file(path).is_err() {
            let _ = fs::remove_dir(path);
        }
    }
    Some(())
}

/// Returns the files that redirect git and do not exist, in folders that do.
fn absent_redirections(read_only: &[PathBuf]) -> Vec<PathBuf> {
    let named = read_only.iter().filter(|path| path.ends_with("commondir"));
    let real =
        named.filter_map(|path| Some(fs::canonicalize(path.parent()?).ok()?.join("commondir")));
    real.filter(|path| path.symlink_metadata().is_err())
        .collect()
}
