//! Removes files that redirect git to another configuration, when the command that created them has ended.
//!
//! A mount cannot keep a command from creating one, and no program creates one in the folder of a repository. A process
//! outside the process group removes them, because a `SIGKILL` to the group also ends the supervisor.

use std::{
    fs,
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
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
    /// Starts the process if a file at one of these paths would redirect git. It must not be in the PID namespace of
    /// the command.
    pub(super) fn start(read_only: &[PathBuf]) -> Result<Option<Self>, SetupError> {
        let files = RedirectionFile::find_all(read_only);
        if files.is_empty() {
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
            remove_after_init(numbers, ready, &files).is_none(),
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
    files: &[RedirectionFile],
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
    files.iter().for_each(RedirectionFile::remove_new);
    Some(())
}

/// A file that redirects git.
struct RedirectionFile {
    path: PathBuf,
    /// What told it from others before the command started; nothing if it did not exist.
    before: Option<FileIdentity>,
}

/// The device, the number and the last change of a file. A number is used again for a new file.
type FileIdentity = (u64, u64, i64, i64);

impl RedirectionFile {
    /// Returns the files in folders that exist.
    fn find_all(read_only: &[PathBuf]) -> Vec<Self> {
        let named = read_only.iter().filter(|path| path.ends_with("commondir"));
        let real = named.filter_map(|path| {
            let folder = fs::canonicalize(path.parent()?).ok()?;
            let path = folder.join("commondir");
            let before = identity(&path);
            // One of a work tree belongs to git, which may create it again.
            let is_of_git = before.is_some() && folder.parent()?.ends_with("worktrees");
            (!is_of_git).then_some(Self { path, before })
        });
        real.collect()
    }

    /// Removes the file if it is another one than before. One that was there may be that of another command, which
    /// removes it; then a command could create it again.
    fn remove_new(&self) {
        let now = identity(&self.path);
        if now.is_some() && now != self.before && fs::remove_file(&self.path).is_err() {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<FileIdentity> {
    let found = path.symlink_metadata().ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}
