//! Reads and replaces the small text files of rules: plain files only, whole or not at all. A stamp avoids
//! reading an unchanged file again.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};

use harn_policy::PolicyError;
use harn_tools::FileStamp;

use super::{now, unusable_error};
use crate::private;

/// A larger file is rejected: no person wrote it by hand.
pub(super) const LARGEST: u64 = 1024 * 1024;
/// What to do when the path is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkPolicy {
    /// The person who named the file may have named a link.
    Follow,
    /// A link could lead to a file that another user controls.
    Refuse,
}

/// Returns the stamp of a file; none if there is no file.
pub(super) fn read_stamp(path: &Path, links: LinkPolicy) -> io::Result<Option<FileStamp>> {
    let found = match links {
        LinkPolicy::Follow => fs::metadata(path),
        LinkPolicy::Refuse => fs::symlink_metadata(path),
    };
    match found {
        Ok(found) => Ok(Some(FileStamp::from_metadata(&found))),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file and its stamp; none if there is no file.
pub(super) fn read(path: &Path, links: LinkPolicy) -> io::Result<Option<(String, FileStamp)>> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // Opening a pipe must not wait for a writer.
        let mut flags = OFlags::NONBLOCK;
        if links == LinkPolicy::Refuse {
            flags |= OFlags::NOFOLLOW;
        }
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(_) if links == LinkPolicy::Refuse && path.is_symlink() => {
            return Err(io::Error::other("it is a link; put the file itself there"));
        }
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    // One byte more than allowed shows that the file is too large.
    file.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(Some((text, FileStamp::from_metadata(&found))))
}

/// A file as it was last read, with the value parsed from it.
#[derive(Debug)]
pub(super) struct KnownFile<T> {
    stamp: FileStamp,
    /// Whether any later change changes the stamp.
    settled: bool,
    text: String,
    value: T,
}

/// Returns the current value of a file, parsed again only if the text changed; none if there is no file.
pub(super) fn read_if_changed<'k, T>(
    known: &'k mut Option<KnownFile<T>>,
    path: &Path,
    links: LinkPolicy,
    parse: impl FnOnce(&str) -> Result<T, PolicyError>,
) -> Result<Option<&'k T>, PolicyError> {
    let failed = |error| unusable_error(path, error);
    let found = read_stamp(path, links).map_err(failed)?;
    let is_same = |known: &KnownFile<T>| known.settled && Some(&known.stamp) == found.as_ref();
    if !known.as_ref().is_some_and(is_same) {
        let at = now();
        let read = match found {
            Some(_) => read(path, links).map_err(failed)?,
            None => None,
        };
        let before = known.take();
        let Some((text, stamp)) = read else {
            return Ok(None);
        };
        let value = match before {
            Some(before) if before.text == text => before.value,
            _ => parse(&text)?,
        };
        *known = Some(KnownFile {
            settled: stamp.is_settled(at),
            stamp,
            text,
            value,
        });
    }
    Ok(known.as_ref().map(|known| &known.value))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Opens or creates a file that only its owner can read.
pub(super) fn private_file(path: &Path, truncate: bool) -> io::Result<File> {
    let mut options = private::file_options();
    options.write(true).create(true).truncate(truncate);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nofollow);
    }
    options.open(path)
}

/// Replaces a file atomically and durably: a reader finds the old text or the new one, also after a loss of power.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    // The writer has the lock, so a fixed name is enough; a leftover file is reused.
    let temporary = path.with_extension("tmp");
    let written = private_file(&temporary, true).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, path)) {
        // Remove the partial file; if that fails, the next writer truncates it.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    if cfg!(unix)
        && let Some(folder) = path.parent()
    {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
