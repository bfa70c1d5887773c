//! Opens and reads files that somebody else may have put there: regular files only, never waiting, up to a limit.
//!
//! A pipe, a device or a socket in place of a file must not block a thread, nor may opening it have an effect.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;

use crate::probe::is_absent;

/// What to do when the last name of a path is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPolicy {
    /// The link may lead anywhere.
    Follow,
    /// A link could lead to a file that another user controls.
    Refuse,
}

/// Opens a regular file for reading.
pub fn open_regular_file(path: &Path, links: LinkPolicy) -> io::Result<File> {
    let found = match links {
        LinkPolicy::Follow => fs::metadata(path),
        LinkPolicy::Refuse => fs::symlink_metadata(path),
    }?;
    // Check first, because opening a device can have effects, and opening a socket fails.
    check_regular_file(&found)?;
    // Something else may have replaced the file since: a pipe without a writer, a terminal.
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == LinkPolicy::Refuse {
        flags |= OFlags::NOFOLLOW;
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    check_regular_file(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file of at most `limit` bytes.
pub fn read_regular_file(path: &Path, links: LinkPolicy, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular_file(path, links)?;
    match file.metadata()?.len() > limit {
        true => Err(too_large(limit)),
        false => read_limited(file, limit),
    }
}

/// Reads the rest of a file; a file with more than `limit` bytes is an error.
pub fn read_limited(file: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // The size of the file can change meanwhile; one byte above the limit is enough to detect that it is too large.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// Checks that the metadata is that of a regular file.
pub fn check_regular_file(found: &Metadata) -> io::Result<()> {
    let wrong = if found.is_file() {
        return Ok(());
    } else if found.is_symlink() {
        "it is a link; put the file itself there"
    } else if found.is_dir() {
        "it is a folder, not a file"
    } else {
        "it is not a regular file"
    };
    Err(io::Error::other(wrong))
}

fn too_large(limit: u64) -> io::Error {
    let kind = io::ErrorKind::FileTooLarge;
    match limit >> 20 {
        0 => io::Error::new(kind, format!("it is larger than {} KiB", limit >> 10)),
        mib => io::Error::new(kind, format!("it is larger than {mib} MiB")),
    }
}

/// Returns nothing for a file that does not exist.
pub fn none_if_absent<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::{fs::symlink, net::UnixListener},
        path::PathBuf,
    };

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_are_read_and_nothing_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("text"), "1234").unwrap();
        fs::create_dir(at("folder")).unwrap();
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        symlink("text", at("link")).unwrap();
        symlink("pipe", at("to-pipe")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        let read = |path: PathBuf, links| {
            let read = read_regular_file(&path, links, 4);
            read.map_err(|error| error.to_string())
        };
        let (follow, refuse) = (LinkPolicy::Follow, LinkPolicy::Refuse);
        assert_eq!(read(at("text"), refuse).unwrap(), b"1234");
        assert_eq!(read(at("link"), follow).unwrap(), b"1234");
        for (name, links, wrong) in [
            ("link", refuse, "it is a link; put the file itself there"),
            ("folder", follow, "it is a folder, not a file"),
            ("pipe", follow, "it is not a regular file"),
            ("to-pipe", follow, "it is not a regular file"),
            ("socket", refuse, "it is not a regular file"),
            ("endless", follow, "it is not a regular file"),
        ] {
            assert_eq!(read(at(name), links).unwrap_err(), wrong, "{name}");
        }
        let none = none_if_absent(read_regular_file(&at("none"), follow, 4));
        assert!(none.unwrap().is_none());
    }

    #[test]
    fn read_has_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large");
        File::create(&path).unwrap().set_len(3 << 20).unwrap();
        for (limit, wrong) in [
            (2 << 20, "it is larger than 2 MiB"),
            (1 << 10, "it is larger than 1 KiB"),
        ] {
            let error = read_regular_file(&path, LinkPolicy::Refuse, limit).unwrap_err();
            assert_eq!(error.to_string(), wrong);
        }
    }
}
