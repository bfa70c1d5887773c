//! Files with the output of commands that is too long to show. They belong to one session, are private to the user,
//! and are deleted with the session.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use harn_model::ToolCallId;
use harn_runtime::ToolError;

use crate::regular_file::{LinkPolicy, read_regular_file};

/// The most bytes stored of one command.
const MAX_KEPT: u64 = 64 * 1024 * 1024;
/// The session's limit: above it, no new output is stored.
const MAX_ALL: u64 = 8 * MAX_KEPT;

/// The folder with the outputs of a session.
#[derive(Clone, Debug)]
pub(super) struct OutputFolder {
    folder: PathBuf,
}

impl OutputFolder {
    /// Uses the subfolder `outputs` of the session's files.
    pub(super) fn new(files: PathBuf) -> Self {
        Self {
            folder: files.join("outputs"),
        }
    }

    /// Returns whether this is the path of a stored output: a plain name in the folder.
    pub(super) fn contains(&self, path: &Path) -> bool {
        let name = path.file_stem().and_then(|name| name.to_str());
        let plain = name.is_some_and(is_plain);
        plain
            && path.extension().is_some_and(|ending| ending == "txt")
            && path.parent() == Some(&self.folder)
    }

    /// Returns the file for the output of a call, or `None` if its id cannot be a file name.
    pub(super) fn output_path(&self, call: &ToolCallId) -> Option<PathBuf> {
        let name = call.as_str();
        is_plain(name).then(|| self.folder.join(format!("{name}.txt")))
    }

    /// Creates the file of an output.
    pub(super) fn create_file(&self, place: PathBuf) -> io::Result<OutputFile> {
        let mut folder = fs::DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.folder)?;
        if self.total_bytes()? > MAX_ALL {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&place)?;
        let place = place.display().to_string();
        Ok(OutputFile {
            place,
            file: Some(file),
            bytes: 0,
        })
    }

    /// Returns the total size of all outputs.
    fn total_bytes(&self) -> io::Result<u64> {
        let lengths = fs::read_dir(&self.folder)?.map(|entry| Ok(entry?.metadata()?.len()));
        lengths.sum()
    }

    /// Reads a stored output.
    pub(super) async fn read(&self, path: &Path) -> Result<String, ToolError> {
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || read(&path));
        let read = read.await.unwrap_or_else(|error| Err(error.into()));
        read.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ToolError::new("no command stored an output of this name"),
            _ => ToolError::new(format!("the output cannot be read: {error}")),
        })
    }
}

fn read(path: &Path) -> io::Result<String> {
    // Only this process writes there.
    let bytes = read_regular_file(path, LinkPolicy::Refuse, MAX_KEPT)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// An output file that is being written. A write error ends the file early but does not fail the command.
pub(super) struct OutputFile {
    pub(super) place: String,
    /// `None` once writing has stopped.
    file: Option<File>,
    /// The number of bytes written.
    pub(super) bytes: u64,
}

impl OutputFile {
    /// Returns whether the file has the whole output.
    pub(super) fn is_whole(&self) -> bool {
        self.file.is_some()
    }

    /// Appends text. Writes directly and not through a task: output arrives in order and in pieces, and a queue of
    /// pieces would need its own limit.
    pub(super) fn push(&mut self, text: &str) {
        let Some(file) = &mut self.file else {
            return;
        };
        let room = MAX_KEPT.saturating_sub(self.bytes);
        let fits = text.len() as u64 <= room;
        if fits && file.write_all(text.as_bytes()).is_ok() {
            self.bytes += text.len() as u64;
        } else {
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[tokio::test]
    async fn outputs_are_private_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let outputs = OutputFolder::new(dir.path().join("files"));
        let place = outputs.output_path(&ToolCallId::new("call-1")).unwrap();
        assert!(outputs.contains(&place));
        let mut kept = outputs.create_file(place.clone()).unwrap();
        kept.push("one\n");
        kept.push("two\n");
        assert!(kept.is_whole());
        assert_eq!((&*kept.place, kept.bytes), (place.to_str().unwrap(), 8));
        assert_eq!(outputs.read(&place).await.unwrap(), "one\ntwo\n");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place), 0o600);
        assert_eq!(mode(place.parent().unwrap()), 0o700);
        assert!(
            outputs.create_file(place.clone()).is_err(),
            "nothing is written over"
        );

        let folder = place.parent().unwrap();
        symlink("/etc/hostname", folder.join("link.txt")).unwrap();
        assert!(outputs.read(&folder.join("link.txt")).await.is_err());
        let missing = outputs.read(&folder.join("none.txt")).await.unwrap_err();
        assert!(
            missing.message.contains("no command stored an output"),
            "{missing}"
        );
    }

    #[test]
    fn only_plain_names_count_as_outputs() {
        let outputs = OutputFolder::new("/state/files".into());
        for (path, expected) in [
            ("/state/files/outputs/call-1.txt", true),
            ("/state/files/outputs/../secret.txt", false),
            ("/state/files/outputs/a/../b.txt", false),
            ("/state/files/outputs/..txt", false),
            ("/state/files/outputs/call-1", false),
            ("/state/files/call-1.txt", false),
            ("/other/files/outputs/call-1.txt", false),
        ] {
            assert_eq!(outputs.contains(Path::new(path)), expected, "{path}");
        }
        for id in ["", "a/b", "..", "a.b"] {
            assert_eq!(outputs.output_path(&ToolCallId::new(id)), None, "{id:?}");
        }
    }
}
