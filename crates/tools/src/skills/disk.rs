//! Small files and folders, looked at with limits: a stamp tells whether one changed, and what belongs to a
//! workspace is opened from its root's handle, so that no link leads out of it.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};

use crate::{FileStamp, probe::is_absent};

/// A larger file is refused: nobody wrote it by hand.
pub(super) const LARGEST: u64 = 1024 * 1024;

/// How far a look may reach.
#[derive(Debug)]
pub(super) enum ReadBoundary {
    /// Wherever links lead: a person named the place.
    Anywhere,
    /// Only what lies in this folder: the workspace says where to look, and not everybody trusts it.
    Within {
        /// The folder, as paths name it.
        root: PathBuf,
        dir: Dir,
    },
}

impl ReadBoundary {
    /// Only what lies in a folder.
    pub(super) fn within(root: &Path) -> io::Result<Self> {
        Ok(Self::Within {
            root: root.to_owned(),
            dir: Dir::open_ambient_dir(root, ambient_authority())?,
        })
    }

    /// The stamp of a file or folder; none where there is nothing.
    pub(super) fn stamp(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        let found = match self {
            Self::Anywhere => fs::metadata(path),
            Self::Within { .. } => self.open(path).and_then(|file| file.metadata()),
        };
        present(found.map(|found| FileStamp::of(&found)))
    }

    /// The folders in a folder, links that may lead to one included, sorted.
    pub(super) fn folders(&self, path: &Path) -> io::Result<Option<Vec<OsString>>> {
        let entries = match self {
            Self::Anywhere => {
                Dir::open_ambient_dir(path, ambient_authority()).and_then(|folder| folder.entries())
            }
            Self::Within { dir, .. } => self.inside(path).and_then(|inside| dir.read_dir(inside)),
        };
        present(entries.and_then(|entries| {
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

    /// What a file says, and its stamp when it was read; none where there is no file.
    pub(super) fn read(&self, path: &Path) -> io::Result<Option<(String, FileStamp)>> {
        let Some(file) = present(self.open(path))? else {
            return Ok(None);
        };
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        let mut bytes = Vec::new();
        // One byte more than allowed is enough to know.
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other("it holds more than 1 MiB"));
        }
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| io::Error::other("it is not UTF-8 text"))?;
        Ok(Some((text, FileStamp::of(&found))))
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        // A pipe must not keep us waiting for a writer.
        options.read(true).nonblock(true);
        let file = match self {
            Self::Anywhere => {
                cap_std::fs::File::open_ambient_with(path, &options, ambient_authority())
            }
            Self::Within { dir, .. } => dir.open_with(self.inside(path)?, &options),
        };
        Ok(file?.into_std())
    }

    /// The path from the root.
    fn inside<'p>(&self, path: &'p Path) -> io::Result<&'p Path> {
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

/// Whether an error says that something leads out of the ground.
pub(super) fn leads_out(error: &io::Error) -> bool {
    // The system says the same of what may not be read, and adds its number.
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

fn present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
