//! Reserves stdout for the protocol: the real one moves to another descriptor, and prints go to stderr.

use std::io;

#[cfg(unix)]
pub(super) type RealStdout = std::fs::File;
#[cfg(not(unix))]
pub(super) type RealStdout = io::Stdout;

/// Takes the real stdout and points its descriptor at stderr, so that neither a library nor a child process can
/// print into the protocol. Child processes do not inherit the real one.
#[cfg(unix)]
pub(super) fn move_aside() -> io::Result<RealStdout> {
    // Above the three standard descriptors.
    let real = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(real.into())
}

/// Returns stdout as it is; this system cannot move it aside.
#[cfg(not(unix))]
pub(super) fn move_aside() -> io::Result<RealStdout> {
    Ok(io::stdout())
}
