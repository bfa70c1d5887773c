//! Text files of this machine: read with limits, written completely or not at all.
//!
//! Paths are opened name by name from a directory's handle, and never through a link: a located path contains none,
//! so a link on the way was created after the path was resolved.

use std::{
    ffi::OsStr,
    io::{self, Read, Write},
    path::Component,
    sync::atomic::{AtomicU64, Ordering},
};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions, Permissions},
};
use harn_policy::path::is_protected_name;
use harn_runtime::{HostError, RootedPath};

/// The largest file that is read, in bytes.
const MAX_READ: u64 = 10 * 1024 * 1024;

/// Reads a text file; the error states why it is not one.
pub(super) fn read(file: &RootedPath) -> Result<String, HostError> {
    read_text(file).map_err(|trouble| trouble.into_host_error(file))
}

/// Writes a text file: into a temporary file in the same folder, which then replaces it. Concurrent readers see the
/// old text or the new one. Missing folders are created; permissions are preserved.
pub(super) fn write(file: &RootedPath, text: &str) -> Result<(), HostError> {
    write_text(file, text).map_err(|trouble| trouble.into_host_error(file))
}

fn read_text(place: &RootedPath) -> Result<String, FileError> {
    let (folder, name) = open_parent(place, MissingFolders::IsAnError)?;
    // Check first, because opening a device can have effects, and opening a socket fails.
    check_regular(&folder.symlink_metadata(name)?)?;
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    // A pipe that replaced the file could block forever.
    options.nonblock(true);
    let file = match folder.open_with(name, &options) {
        Err(_) if is_link(&folder, name) => return Err(FileError::Swapped),
        opened => opened?,
    };
    let meta = file.metadata()?;
    check_regular(&meta)?;
    if meta.len() > MAX_READ {
        return Err(too_large_error());
    }
    let mut bytes = Vec::new();
    // The file may have grown since; one byte above the limit is enough to detect that.
    file.take(MAX_READ + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_READ {
        return Err(too_large_error());
    }
    if bytes.contains(&0) {
        return Err(FileError::Refused("this is a binary file".to_owned()));
    }
    String::from_utf8(bytes)
        .map_err(|_| FileError::Refused("the file is not UTF-8 text".to_owned()))
}

fn write_text(place: &RootedPath, text: &str) -> Result<(), FileError> {
    // The policy checks this too; here it applies to every caller.
    if place.inside.iter().any(is_protected_name) {
        return Err(FileError::Refused("this file is never written".to_owned()));
    }
    let (folder, name) = open_parent(place, MissingFolders::IsMade)?;
    let permissions = match folder.symlink_metadata(name) {
        Ok(meta) => {
            check_regular(&meta)?;
            // Replacing a file needs only the folder's permission; respect the file's own as well.
            if meta.permissions().readonly() {
                return Err(FileError::Refused("the file is read-only".to_owned()));
            }
            Some(meta.permissions())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let (file, temporary) = TemporaryFile::create(&folder)?;
    fill(file, text, permissions)?;
    // A rename replaces a link that was created meanwhile, and does not follow it.
    Ok(temporary.replace(name)?)
}

/// What to do about missing folders in a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFolders {
    IsAnError,
    IsMade,
}

/// Opens the folder of a file; also returns the file's name.
fn open_parent(place: &RootedPath, missing: MissingFolders) -> Result<(Dir, &OsStr), FileError> {
    let mut folder = Dir::open_ambient_dir(&place.root, ambient_authority())?;
    let mut names = place.inside.components().map(|component| match component {
        Component::Normal(name) => Ok(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            Err(FileError::Refused(
                "this is not a path to a file".to_owned(),
            ))
        }
    });
    let Some(mut name) = names.next().transpose()? else {
        return Err(directory_error());
    };
    for next in names {
        folder = enter(&folder, name, missing)?;
        name = next?;
    }
    Ok((folder, name))
}

fn enter(folder: &Dir, name: &OsStr, missing: MissingFolders) -> Result<Dir, FileError> {
    let error = match folder.open_dir_nofollow(name) {
        Ok(inner) => return Ok(inner),
        Err(error) => error,
    };
    if error.kind() == io::ErrorKind::NotFound && missing == MissingFolders::IsMade {
        match folder.create_dir(name) {
            // Another process created it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        return enter(folder, name, MissingFolders::IsAnError);
    }
    if is_link(folder, name) {
        return Err(FileError::Swapped);
    }
    Err(error.into())
}

fn is_link(folder: &Dir, name: &OsStr) -> bool {
    folder
        .symlink_metadata(name)
        .is_ok_and(|meta| meta.is_symlink())
}

fn check_regular(meta: &Metadata) -> Result<(), FileError> {
    if meta.is_symlink() {
        return Err(FileError::Swapped);
    }
    if meta.is_dir() {
        return Err(directory_error());
    }
    if !meta.is_file() {
        return Err(FileError::Refused("this is not a regular file".to_owned()));
    }
    Ok(())
}

fn fill(mut file: File, text: &str, permissions: Option<Permissions>) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    // Without this a power loss could leave the new name with no content.
    file.sync_all()
}

/// A temporary file, deleted on drop unless it replaced another.
struct TemporaryFile<'d> {
    folder: &'d Dir,
    name: String,
    kept: bool,
}

impl<'d> TemporaryFile<'d> {
    fn create(folder: &'d Dir) -> io::Result<(File, Self)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".harn-{}-{number}.tmp", std::process::id());
            match folder.open_with(&name, &options) {
                Ok(file) => {
                    let kept = false;
                    return Ok((file, Self { folder, name, kept }));
                }
                // Left behind by a killed process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn replace(mut self, target: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, target)?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // It may already be gone; either way nothing remains to do.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// The reason why a file was not read or written.
enum FileError {
    Io(io::Error),
    /// A link has replaced a path component.
    Swapped,
    Refused(String),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl FileError {
    fn into_host_error(self, file: &RootedPath) -> HostError {
        let path = file.absolute();
        let path = path.display();
        HostError::Failed(match self {
            Self::Refused(what) => format!("{path}: {what}"),
            Self::Swapped => {
                format!("{path}: a link replaced it; it changed while the permission was pending")
            }
            Self::Io(error) => match error.kind() {
                io::ErrorKind::NotFound => format!("{path}: the file does not exist"),
                io::ErrorKind::PermissionDenied => format!("{path}: permission denied"),
                io::ErrorKind::NotADirectory => format!("{path}: a folder on the way is a file"),
                _ => format!("{path}: {error}"),
            },
        })
    }
}

fn directory_error() -> FileError {
    FileError::Refused("this is a directory, not a file".to_owned())
}

fn too_large_error() -> FileError {
    let limit = MAX_READ / (1024 * 1024);
    FileError::Refused(format!(
        "the file is larger than {limit} MiB, which is the limit"
    ))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
        path::Path,
    };

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T, HostError>) -> String {
        result.unwrap_err().to_string()
    }

    fn rooted_path(root: &Path, inside: &str) -> RootedPath {
        RootedPath {
            root: root.to_owned(),
            inside: inside.into(),
        }
    }

    #[test]
    fn a_read_error_states_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let file = |name: &str| rooted_path(dir.path(), name);
        fs::write(at("text"), "größer\n").unwrap();
        fs::write(at("binary"), b"a\0b").unwrap();
        fs::write(at("latin"), b"gr\xf6\xdfer").unwrap();
        fs::create_dir(at("folder")).unwrap();
        let large = fs::File::create(at("large")).unwrap();
        large.set_len(MAX_READ + 1).unwrap();
        let largest = fs::File::create(at("largest")).unwrap();
        largest.set_len(MAX_READ).unwrap();
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();

        assert_eq!(read(&file("text")).unwrap(), "größer\n");
        for (name, expected) in [
            ("none", "the file does not exist"),
            ("none/below", "the file does not exist"),
            ("", "this is a directory"),
            ("folder", "this is a directory"),
            ("binary", "this is a binary file"),
            ("latin", "not UTF-8 text"),
            ("large", "larger than 10 MiB"),
            ("largest", "this is a binary file"),
            ("text/below", "a folder on the way is a file"),
            ("pipe", "not a regular file"),
            ("../x", "not a path to a file"),
            ("folder/../../x", "not a path to a file"),
            ("/etc/hostname", "not a path to a file"),
        ] {
            let got = message(read(&file(name)));
            assert!(got.contains(expected), "{name}: {got}");
        }
        let device = message(read(&rooted_path(Path::new("/"), "dev/null")));
        assert!(device.contains("not a regular file"), "{device}");
    }

    #[test]
    fn writing_makes_folders_and_keeps_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let file = rooted_path(dir.path(), "deep/er/script.sh");
        let path = file.absolute();
        write(&file, "one").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        write(&file, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "no temporary file stays: {left:?}");
    }

    #[test]
    fn writing_leaves_read_only_files_and_folders_alone() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let file = |name: &str| rooted_path(dir.path(), name);
        fs::write(at("fixed"), "old").unwrap();
        fs::set_permissions(at("fixed"), fs::Permissions::from_mode(0o444)).unwrap();
        assert!(message(write(&file("fixed"), "new")).contains("read-only"));
        assert_eq!(fs::read_to_string(at("fixed")).unwrap(), "old");

        fs::write(at("real"), "old").unwrap();
        assert!(message(write(&file(""), "x")).contains("a directory"));
        let below = message(write(&file("real/below"), "x"));
        assert!(below.contains("a folder on the way is a file"), "{below}");
        assert!(message(write(&file("../x"), "x")).contains("not a path to a file"));
    }

    #[test]
    fn a_link_in_a_located_path_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        let at = |name: &str| root.join(name);
        let file = |name: &str| rooted_path(&root, name);
        fs::create_dir_all(at(".git/hooks")).unwrap();
        fs::create_dir(at("src")).unwrap();
        fs::write(at("src/real"), "old").unwrap();
        fs::create_dir(dir.path().join("out")).unwrap();
        fs::write(dir.path().join("out/file"), "old").unwrap();
        // Targets outside the directory, and a target that the policy protects.
        symlink("../out/file", at("file")).unwrap();
        symlink("../out", at("folder")).unwrap();
        symlink("src/real", at("near")).unwrap();
        symlink(".git/hooks", at("hooks")).unwrap();
        for name in [
            "file",
            "folder/file",
            "folder/new",
            "near",
            "hooks/pre-commit",
        ] {
            for got in [
                message(write(&file(name), "new")),
                message(read(&file(name))),
            ] {
                let expected = "changed while the permission was pending";
                assert!(got.contains(expected), "{name}: {got}");
            }
        }
        assert_eq!(fs::read_to_string(at("src/real")).unwrap(), "old");
        let out = fs::read_to_string(dir.path().join("out/file")).unwrap();
        assert_eq!(out, "old");
        assert_eq!(fs::read_dir(dir.path().join("out")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(at(".git/hooks")).unwrap().count(), 0);
    }

    #[test]
    fn protected_names_are_read_and_never_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| rooted_path(dir.path(), name);
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join(".git/config"), "old").unwrap();
        assert_eq!(read(&file(".git/config")).unwrap(), "old");
        for name in [".git/config", "new/.GIT/config", ".harn/policy.toml"] {
            let got = message(write(&file(name), "new"));
            assert!(got.contains("never written"), "{name}: {got}");
        }
        assert_eq!(
            fs::read_to_string(dir.path().join(".git/config")).unwrap(),
            "old"
        );
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "no folder was made"
        );
    }
}
