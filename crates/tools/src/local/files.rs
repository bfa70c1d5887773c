//! Text files of this machine: read with limits, written whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use harn_runtime::HostError;

/// The largest file that is read.
const MAX_READ: u64 = 10 * 1024 * 1024;

/// Reads a text file, or says what it is instead.
pub(super) fn read(path: &Path) -> Result<String, HostError> {
    let failed = |error: io::Error| failure(path, &error);
    let refused = |what: &str| HostError::Failed(format!("{}: {what}", path.display()));
    let meta = fs::metadata(path).map_err(failed)?;
    if meta.is_dir() {
        return Err(refused("this is a directory, not a file"));
    }
    // Opening a pipe or a device could block for ever.
    if !meta.is_file() {
        return Err(refused("this is not a regular file"));
    }
    let too_large = || {
        let limit = MAX_READ / (1024 * 1024);
        refused(&format!(
            "the file is larger than {limit} MiB, which is the most that is read"
        ))
    };
    if meta.len() > MAX_READ {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // It may have grown since; one byte more than allowed is enough to know.
    let mut file = File::open(path).map_err(failed)?.take(MAX_READ + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_READ {
        return Err(too_large());
    }
    if bytes.contains(&0) {
        return Err(refused("this is a binary file"));
    }
    String::from_utf8(bytes).map_err(|_| refused("the file is not UTF-8 text"))
}

/// Writes a text file: into a temporary file beside it, which then takes its place. Whoever reads
/// meanwhile sees the old text or the new one. Missing folders are made; permissions are kept.
pub(super) fn write(path: &Path, text: &str) -> Result<(), HostError> {
    let failed = |error: io::Error| failure(path, &error);
    let refused = |what: &str| HostError::Failed(format!("{}: {what}", path.display()));
    // A link stays a link: what it leads to is what gets written.
    let target = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => fs::canonicalize(path).map_err(failed)?,
        _ => path.to_owned(),
    };
    let permissions = match fs::metadata(&target) {
        Ok(meta) if meta.is_dir() => return Err(refused("this is a directory, not a file")),
        Ok(meta) if !meta.is_file() => return Err(refused("this is not a regular file")),
        // Replacing a file needs the folder's permission only; the file's own still counts.
        Ok(meta) if meta.permissions().readonly() => return Err(refused("the file is read-only")),
        Ok(meta) => Some(meta.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let folder = target
        .parent()
        .ok_or_else(|| refused("this is not a path to a file"))?;
    fs::create_dir_all(folder).map_err(failed)?;
    let (file, temporary) = Temporary::create(folder).map_err(failed)?;
    fill(file, text, permissions).map_err(failed)?;
    temporary.take_the_place_of(&target).map_err(failed)
}

fn fill(mut file: File, text: &str, permissions: Option<fs::Permissions>) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    // Without this a power loss could leave the new name with no content.
    file.sync_all()
}

/// A file that goes away unless it takes another's place.
struct Temporary {
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    fn create(folder: &Path) -> io::Result<(File, Self)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".harn-{}-{number}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((file, Self { path, kept: false })),
                // Left behind by a process of the same id that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take_the_place_of(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // It may be gone already; either way there is nothing more to do.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn failure(path: &Path, error: &io::Error) -> HostError {
    let path = path.display();
    HostError::Failed(match error.kind() {
        io::ErrorKind::NotFound => format!("{path}: there is no such file"),
        io::ErrorKind::PermissionDenied => format!("{path}: permission denied"),
        io::ErrorKind::NotADirectory => format!("{path}: a folder on the way is a file"),
        _ => format!("{path}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T, HostError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn reading_says_what_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("text"), "größer\n").unwrap();
        fs::write(at("binary"), b"a\0b").unwrap();
        fs::write(at("latin"), b"gr\xf6\xdfer").unwrap();
        let large = File::create(at("large")).unwrap();
        large.set_len(MAX_READ + 1).unwrap();
        let largest = File::create(at("largest")).unwrap();
        largest.set_len(MAX_READ).unwrap();

        assert_eq!(read(&at("text")).unwrap(), "größer\n");
        for (name, expected) in [
            ("none", "there is no such file"),
            ("", "this is a directory"),
            ("binary", "this is a binary file"),
            ("latin", "not UTF-8 text"),
            ("large", "larger than 10 MiB"),
            ("largest", "this is a binary file"),
            ("text/below", "a folder on the way is a file"),
        ] {
            let got = message(read(&at(name)));
            assert!(got.contains(expected), "{name}: {got}");
        }
        let device = message(read(Path::new("/dev/null")));
        assert!(device.contains("not a regular file"), "{device}");
    }

    #[test]
    fn writing_makes_folders_and_keeps_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/er/script.sh");
        write(&path, "one").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "no temporary file stays: {left:?}");
    }

    #[test]
    fn writing_leaves_links_and_read_only_files_alone() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("real"), "old").unwrap();
        symlink("real", at("link")).unwrap();
        write(&at("link"), "new").unwrap();
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(at("real")).unwrap(), "new");

        fs::write(at("fixed"), "old").unwrap();
        fs::set_permissions(at("fixed"), fs::Permissions::from_mode(0o444)).unwrap();
        assert!(message(write(&at("fixed"), "new")).contains("read-only"));
        assert_eq!(fs::read_to_string(at("fixed")).unwrap(), "old");

        assert!(message(write(dir.path(), "x")).contains("a directory"));
        assert!(message(write(&at("real/below"), "x")).contains("real/below"));
    }
}
