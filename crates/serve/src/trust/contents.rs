//! Copies of trusted texts, named by their hashes, to show the difference to a changed file. Nothing depends on them.

use std::{
    collections::BTreeSet,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use harn_tools::{ContentHash, LinkPolicy, read_regular_file};

use crate::private;

/// The folder's name in the state directory.
const FOLDER: &str = "trusted";
/// Larger files are compared by their hashes only.
const LARGEST: u64 = 256 * 1024;

#[derive(Debug)]
pub(super) struct TrustedContents {
    folder: PathBuf,
}

impl TrustedContents {
    /// Uses a folder in the state directory. Touches nothing.
    pub(super) fn new(state_dir: &Path) -> Self {
        Self {
            folder: state_dir.join(FOLDER),
        }
    }

    /// Copies a file that has this hash. Other files and large ones are left out.
    pub(super) fn save(&self, file: &Path, hash: ContentHash) {
        let Ok(content) = read_regular_file(file, LinkPolicy::Follow, LARGEST) else {
            return;
        };
        if ContentHash::of(&content) == hash
            && let Err(error) = self.write(hash, &content)
        {
            tracing::debug!(%error, "no copy of a trusted file is stored");
        }
    }

    fn write(&self, hash: ContentHash, content: &[u8]) -> io::Result<()> {
        let path = self.path(hash);
        if path.exists() {
            return Ok(());
        }
        private::make_folder(&self.folder)?;
        // A reader ignores a partial copy, because it checks the hash.
        let mut file = private::file_options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        file.write_all(content)
    }

    /// Returns the text with this hash.
    pub(super) fn load(&self, hash: ContentHash) -> Option<String> {
        let content = read_regular_file(&self.path(hash), LinkPolicy::Refuse, LARGEST).ok()?;
        let whole = ContentHash::of(&content) == hash;
        String::from_utf8(content).ok().filter(|_| whole)
    }

    /// Deletes the copies that no workspace uses.
    pub(super) fn retain(&self, in_use: &BTreeSet<ContentHash>) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let hash = name.to_str().and_then(ContentHash::from_hex);
            // A copy that stays only takes space.
            if hash.is_some_and(|hash| !in_use.contains(&hash)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn path(&self, hash: ContentHash) -> PathBuf {
        self.folder.join(hash.to_string())
    }
}
