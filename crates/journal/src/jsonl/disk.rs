//! File system operations. Knows no format.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::Path,
};

use crate::JournalError;

/// Adds the path to an error of the file system.
pub(super) fn error_at(path: &Path) -> impl FnOnce(io::Error) -> JournalError {
    move |source| JournalError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Returns a builder of folders that only their owner can enter.
pub(super) fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Returns options that create files which only their owner can read.
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Replaces a file as a whole: a reader finds the old content or the new, never a part. `flush` makes the new
/// content survive a power failure before it replaces the old.
pub(super) fn replace(path: &Path, mut content: impl Read, flush: bool) -> io::Result<()> {
    // One writer has the session's lock, so a fixed name is enough. An existing file, such as one left by a crash,
    // is removed and not written to: it may be a link to another file.
    let temporary = path.with_extension("tmp");
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = private_file()
        .write(true)
        .create_new(true)
        .open(&temporary)?;
    io::copy(&mut content, &mut file)?;
    if flush {
        file.sync_data()?;
    }
    fs::rename(&temporary, path)
}

/// Makes the names in a folder survive a power failure.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The bytes of a file from the start to `end`, by positional reads.
pub(super) struct FileSpan<'a> {
    file: &'a File,
    offset: u64,
    end: u64,
}

impl<'a> FileSpan<'a> {
    pub(super) fn new(file: &'a File, end: u64) -> Self {
        Self {
            file,
            offset: 0,
            end,
        }
    }
}

impl Read for FileSpan<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = clamp(self.end - self.offset, buf.len());
        self.file.read_exact_at(&mut buf[..n], self.offset)?;
        self.offset += n as u64;
        Ok(n)
    }
}

/// Returns `available`, limited to `room`.
pub(super) fn clamp(available: u64, room: usize) -> usize {
    usize::try_from(available).map_or(room, |n| n.min(room))
}
