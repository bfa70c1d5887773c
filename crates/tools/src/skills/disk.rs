//! Reads small files and folders with limits. A stamp shows whether one changed. Files of a workspace are opened from
//! the handle of its root, so that no link leads out of it.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};

use crate::{
    FileStamp,
    regular_file::{
        LinkPolicy, check_regular_file, none_if_absent, open_regular_file, read_limited,
    },
};

/// The largest file that is read, in bytes; people write no larger ones by hand.
pub(super) const LARGEST: u64 = 1024 * 1024;

/// The limit on where files may be read.
#[derive(Debug)]
pub(super) enum ReadBoundary {
    /// Follows links anywhere: a person named the path.
    Anywhere,
    /// Only inside this folder: the workspace chooses the paths, and it may not be trusted.
    Within {
        /// The folder, as a prefix of paths.
        root: PathBuf,
        dir: Dir,
    },
}

impl ReadBoundary {
    /// Limits reading to a folder.
    pub(super) fn open_root(root: &Path) -> io::Result<Self> {
        Ok(Self::Within {
            root: root.to_owned(),
            dir: Dir::open_ambient_dir(root, ambient_authority())?,
        })
    }

    /// Returns the stamp of a file or folder; `None` if it does not exist.
    pub(super) fn stamp(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        let found = match self {
            Self::Anywhere => fs::metadata(path),
            Self::Within { .. } => self.open(path).and_then(|file| file.metadata()),
        };
        none_if_absent(found.map(|found| FileStamp::from_metadata(&found)))
    }

    /// Returns the names of the folders in a folder, sorted, with links that may lead to folders.
    pub(super) fn list_folders(&self, path: &Path) -> io::Result<Option<Vec<OsString>>> {
        let entries = match self {
            Self::Anywhere => {
                Dir::open_ambient_dir(path, ambient_authority()).and_then(|folder| folder.entries())
            }
            Self::Within { dir, .. } => self
                .relative_path(path)
                .and_then(|inside| dir.read_dir(inside)),
        };
        none_if_absent(entries.and_then(|entries| {
            let mut names = Vec::new();
            for entry in entries {
                let entry = entry?;
                let kind = entry.file_type();
                if kind.map_or(true, |kind| kind.is_dir() || kind.is_symlink()) {
                    names.push(entry.file_name());
                }
            }
            names.sort();
            Ok(names)
        }))
    }

    /// Returns the entries of a folder, sorted by name.
    pub(super) fn list_entries(&self, path: &Path) -> io::Result<Vec<(OsString, EntryKind)>> {
        let entries = match self {
            Self::Anywhere => Dir::open_ambient_dir(path, ambient_authority())?.entries()?,
            Self::Within { dir, .. } => dir.read_dir(self.relative_path(path)?)?,
        };
        let mut all = Vec::new();
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            let kind = if kind.is_dir() {
                EntryKind::Folder
            } else if kind.is_symlink() {
                EntryKind::Link
            } else if kind.is_file() {
                EntryKind::File
            } else {
                EntryKind::Special
            };
            all.push((entry.file_name(), kind));
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }

    /// Returns the target of a link; none if the path is no link.
    pub(super) fn read_link(&self, path: &Path) -> Option<PathBuf> {
        match self {
            Self::Anywhere => fs::read_link(path).ok(),
            Self::Within { dir, .. } => {
                let inside = self.relative_path(path).ok()?;
                // `read_link` rejects absolute targets.
                dir.read_link_contents(inside).ok()
            }
        }
    }

    /// Returns the text of a file and its stamp at that time; `None` if it does not exist.
    pub(super) fn read(&self, path: &Path) -> io::Result<Option<(String, FileStamp)>> {
        let Some(file) = none_if_absent(self.open(path))? else {
            return Ok(None);
        };
        let found = file.metadata()?;
        check_regular_file(&found)?;
        let bytes = read_limited(file, LARGEST)?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| io::Error::other("it is not UTF-8 text"))?;
        Ok(Some((text, FileStamp::from_metadata(&found))))
    }

    /// Opens a file or a folder.
    pub(super) fn open(&self, path: &Path) -> io::Result<File> {
        let dir = match self {
            Self::Anywhere => return open_regular_file(path, LinkPolicy::Follow),
            Self::Within { dir, .. } => dir,
        };
        let inside = self.relative_path(path)?;
        let found = dir.metadata(inside)?;
        if !found.is_file() && !found.is_dir() {
            // Opening a device can have effects.
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut options = OpenOptions::new();
        // A named pipe may have replaced it; opening one must not block until there is a writer.
        options.read(true).nonblock(true);
        Ok(dir.open_with(inside, &options)?.into_std())
    }

    /// Returns the path relative to the root.
    fn relative_path<'p>(&self, path: &'p Path) -> io::Result<&'p Path> {
        let root = match self {
            Self::Anywhere => return Ok(path),
            Self::Within { root, .. } => root,
        };
        match path.strip_prefix(root) {
            Ok(inside) if inside.as_os_str().is_empty() => Ok(Path::new(".")),
            Ok(inside) => Ok(inside),
            Err(_) => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        }
    }
}

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    Link,
    /// A pipe, a device or a socket.
    Special,
}

/// Whether the error means that a path leads out of the boundary.
pub(super) fn is_outside_boundary(error: &io::Error) -> bool {
    // The system uses the same kind for files without read permission, but with an error number.
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Whether the error means that a file exists that this user may not read.
pub(super) fn is_unreadable(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_some()
}
