//! Probes this machine's disk one path at a time. Opens only small regular files, and never waits for one.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::Path,
};

use harn_policy::{PathEntry, PathProbe};

use crate::{LinkPolicy, read_regular_file};

/// A [`PathProbe`] for this machine's disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskProbe;

impl PathProbe for DiskProbe {
    fn read_entry(&self, path: &Path) -> io::Result<PathEntry> {
        let look = fs::symlink_metadata(path).and_then(|meta| {
            Ok(if meta.is_symlink() {
                PathEntry::Link(fs::read_link(path)?)
            } else if meta.is_dir() {
                PathEntry::Dir
            } else {
                PathEntry::File
            })
        });
        match look {
            Err(error) if is_absent(&error) => Ok(PathEntry::Absent),
            look => look,
        }
    }

    fn find_case_variant(&self, path: &Path) -> io::Result<Option<OsString>> {
        let (Some(folder), Some(wanted)) = (path.parent(), path.file_name()) else {
            return Ok(None);
        };
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            if name != wanted && differs_in_case_only(&name, wanted) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn read_file(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        read_regular_file(path, LinkPolicy::Refuse, limit as u64)
    }
}

/// Returns whether an error means that nothing exists at a path.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn differs_in_case_only(name: &OsStr, wanted: &OsStr) -> bool {
    if name.is_ascii() && wanted.is_ascii() {
        return name.eq_ignore_ascii_case(wanted);
    }
    let lower = |name: &OsStr| name.to_string_lossy().to_lowercase();
    lower(name) == lower(wanted)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn probe_reads_small_regular_files_only() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("small"), "1234").unwrap();
        fs::write(at("large"), "12345").unwrap();
        symlink("small", at("link")).unwrap();
        let read = |path: &Path| DiskProbe.read_file(path, 4).ok();
        assert_eq!(read(&at("small")).as_deref(), Some(&b"1234"[..]));
        for path in [
            at("large"),
            at("link"),
            at("none"),
            dir.path().to_owned(),
            "/dev/zero".into(),
        ] {
            assert_eq!(read(&path), None, "{}", path.display());
        }
    }

    #[test]
    fn probe_finds_entries_and_names_that_differ_in_case() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("Größe"), "x").unwrap();
        symlink("nowhere", at("link")).unwrap();
        for (name, expected) in [
            ("folder", PathEntry::Dir),
            ("Größe", PathEntry::File),
            ("link", PathEntry::Link("nowhere".into())),
            ("none", PathEntry::Absent),
            ("none/below", PathEntry::Absent),
            ("Größe/below", PathEntry::Absent),
        ] {
            assert_eq!(DiskProbe.read_entry(&at(name)).unwrap(), expected, "{name}");
        }
        assert!(DiskProbe.read_entry(&at(&"x".repeat(300))).is_err());
        for (name, expected) in [
            ("FOLDER", Some("folder")),
            ("GRÖSSE", None),
            ("GRÖßE", Some("Größe")),
            ("folder", None),
            ("folder2", None),
        ] {
            let got = DiskProbe.find_case_variant(&at(name)).unwrap();
            assert_eq!(got.as_deref(), expected.map(OsStr::new), "{name}");
        }
    }
}
