//! stdout belongs to the protocol: the real one is moved aside, and what prints goes to stderr.

use std::io;

#[cfg(unix)]
pub(super) type RealStdout = std::fs::File;
#[cfg(not(unix))]
pub(super) type RealStdout = io::Stdout;

/// Takes the real stdout and points its descriptor at stderr, so that neither a library nor a child can
/// print into the protocol. Children do not inherit the real one.
#[cfg(unix)]
pub(super) fn move_aside() -> io::Result<RealStdout> {
    // Above the three descriptors everyone knows.
    let real = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(real.into())
}

/// Takes stdout as it is; there is no way to move it aside here.
#[cfg(not(unix))]
pub(super) fn move_aside() -> io::Result<RealStdout> {
    Ok(io::stdout())
}
