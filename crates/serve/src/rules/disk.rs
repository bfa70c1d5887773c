//! Reads and replaces the small text files of rules: plain files only, whole or not at all. A stamp avoids
//! reading an unchanged file again.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use harn_policy::PolicyError;
use harn_tools::{FileStamp, LinkPolicy, none_if_absent, open_regular_file, read_limited};

use super::{now, unusable_error};
use crate::private;

/// A larger file is rejected: no person wrote it by hand.
pub(super) const LARGEST: u64 = 1024 * 1024;

/// Returns the stamp of a file; none if there is no file.
pub(super) fn read_stamp(path: &Path, links: LinkPolicy) -> io::Result<Option<FileStamp>> {
    let found = match links {
        LinkPolicy::Follow => fs::metadata(path),
        LinkPolicy::Refuse => fs::symlink_metadata(path),
    };
    none_if_absent(found.map(|found| FileStamp::from_metadata(&found)))
}

/// Reads a file and its stamp; none if there is no file.
pub(super) fn read(path: &Path, links: LinkPolicy) -> io::Result<Option<(String, FileStamp)>> {
    let Some(file) = none_if_absent(open_regular_file(path, links))? else {
        return Ok(None);
    };
    let stamp = FileStamp::from_metadata(&file.metadata()?);
    let text = String::from_utf8(read_limited(file, LARGEST)?);
    let text = text.map_err(|_| io::Error::other("it is not UTF-8 text"))?;
    Ok(Some((text, stamp)))
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
