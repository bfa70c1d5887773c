//! File system operations, with the differences between platforms. Knows no format.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
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
    #[cfg_attr(not(unix), allow(unused_mut, reason = "the mode is Unix's"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Returns options that create files which only their owner can read.
pub(super) fn private_file() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "the mode is Unix's"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Replaces a file as a whole: a reader finds the old content or the new, never a part. `flush` makes the new
/// content survive a power failure before it replaces the old.
pub(super) fn replace(path: &Path, content: &[u8], flush: bool) -> io::Result<()> {
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
    file.write_all(content)?;
    if flush {
        file.sync_data()?;
    }
    fs::rename(&temporary, path)
}

/// Makes the names in a folder survive a power failure.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    // On other platforms a folder cannot be opened as a file, and names need no separate flush.
    if cfg!(unix) {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

/// Fills `buf` from `offset` without moving the position of appends.
#[cfg(unix)]
pub(super) fn read_exact_at(
    file: &File,
    _path: &Path,
    buf: &mut [u8],
    offset: u64,
) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buf, offset)
}

/// Fills `buf` from `offset` without moving the position of appends.
#[cfg(not(unix))]
pub(super) fn read_exact_at(
    _file: &File,
    path: &Path,
    buf: &mut [u8],
    offset: u64,
) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    let mut own = File::open(path)?;
    own.seek(SeekFrom::Start(offset))?;
    own.read_exact(buf)
}

/// The bytes of a file from the start to `end`, by positional reads.
pub(super) struct FileSpan<'a> {
    file: &'a File,
    path: &'a Path,
    offset: u64,
    end: u64,
}

impl<'a> FileSpan<'a> {
    pub(super) fn new(file: &'a File, path: &'a Path, end: u64) -> Self {
        Self {
            file,
            path,
            offset: 0,
            end,
        }
    }
}

impl Read for FileSpan<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = clamp(self.end - self.offset, buf.len());
        read_exact_at(self.file, self.path, &mut buf[..n], self.offset)?;
        self.offset += n as u64;
        Ok(n)
    }
}

/// Returns `available`, limited to `room`.
pub(super) fn clamp(available: u64, room: usize) -> usize {
    usize::try_from(available).map_or(room, |n| n.min(room))
}
