//! The ignore rules of folders: `.ignore`, `.gitignore` and `.git/info/exclude`, also those of the folders above.
//!
//! The crate `ignore` has the same rules, and opens their files without a limit: a pipe of that name would block the
//! thread. Here it only matches the lines.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::GIT;
use crate::regular_file::{LinkPolicy, read_regular_file};

/// The largest file of rules; the rules of a larger one do not apply.
const LARGEST: u64 = 256 * 1024;
/// The most bytes of rules that one walk reads: thousands of large files would take minutes.
const ALL_RULES: u64 = 16 * 1024 * 1024;
/// How many folders are remembered.
const MOST_FOLDERS: usize = 4096;

/// What to do with entries whose names begin with a dot. A rule such as `!.github` includes them in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenFiles {
    LeftOut,
    Included,
}

/// Decides which entries below a folder a walk leaves out. Reads the rules of a folder once, when an entry in it is
/// checked.
#[derive(Debug)]
pub(crate) struct IgnoreRules {
    /// The folder, as its entries name it.
    start: PathBuf,
    /// Its path without links, so that the folders above it are the real ones.
    real: PathBuf,
    hidden: HiddenFiles,
    folders: HashMap<PathBuf, Option<Arc<FolderRules>>>,
    reader: RuleReader,
}

/// Reads files of rules, up to a limit for all of them.
#[derive(Debug)]
struct RuleReader {
    /// How many more bytes may be read.
    room: u64,
}

/// The rules of a folder that has some.
#[derive(Debug)]
struct FolderRules {
    /// Those of the nearest folder above with rules.
    above: Option<Arc<FolderRules>>,
    /// By precedence: `.ignore`, `.gitignore`, `.git/info/exclude`.
    files: [Gitignore; 3],
}

impl IgnoreRules {
    /// Uses the rules that apply in a folder. Reads only its path.
    pub(crate) fn new(start: &Path, hidden: HiddenFiles) -> Self {
        Self {
            start: start.to_owned(),
            real: start.canonicalize().unwrap_or_else(|_| start.to_owned()),
            hidden,
            folders: HashMap::new(),
            reader: RuleReader { room: ALL_RULES },
        }
    }

    /// Whether the rules leave out an entry, a path below the start. Its folders are not checked.
    pub(crate) fn leaves_out(&mut self, path: &Path, is_folder: bool) -> bool {
        let inside = path.strip_prefix(&self.start).unwrap_or(path);
        self.leaves_out_inside(inside, is_folder)
    }

    /// Whether the rules leave out an entry or a folder on the way to it. The path is relative to the start.
    pub(crate) fn leaves_out_with_folders(&mut self, inside: &Path, is_folder: bool) -> bool {
        let mut at = PathBuf::new();
        let mut names = inside.iter().peekable();
        while let Some(name) = names.next() {
            at.push(name);
            if self.leaves_out_inside(&at, is_folder || names.peek().is_some()) {
                return true;
            }
        }
        false
    }

    fn leaves_out_inside(&mut self, inside: &Path, is_folder: bool) -> bool {
        let path = self.real.join(inside);
        let Some(name) = inside.file_name() else {
            return false;
        };
        let rules = path.parent().and_then(|folder| self.folder_rules(folder));
        match rules.map_or(Match::None, |rules| rules.find(&path, is_folder)) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => {
                self.hidden == HiddenFiles::LeftOut && name.as_encoded_bytes().starts_with(b".")
            }
        }
    }

    /// Returns the rules that apply to the entries of a folder: its own, else those of a folder above.
    fn folder_rules(&mut self, folder: &Path) -> Option<Arc<FolderRules>> {
        let mut missing = Vec::new();
        let mut rules = None;
        for at in folder.ancestors() {
            if let Some(known) = self.folders.get(at) {
                rules = known.clone();
                break;
            }
            missing.push(at);
        }
        if self.folders.len() + missing.len() > MOST_FOLDERS {
            self.folders.clear();
        }
        for at in missing.into_iter().rev() {
            rules = self.reader.read_folder(at, rules);
            self.folders.insert(at.to_owned(), rules.clone());
        }
        rules
    }
}

impl FolderRules {
    /// Returns the decision of the nearest rule, of the file with the highest precedence.
    fn find(&self, path: &Path, is_folder: bool) -> Match<()> {
        for kind in 0..self.files.len() {
            let mut at = Some(self);
            while let Some(rules) = at {
                let found = rules.files[kind].matched(path, is_folder).map(drop);
                if !found.is_none() {
                    return found;
                }
                at = rules.above.as_deref();
            }
        }
        Match::None
    }
}

impl RuleReader {
    /// Reads the rules of a folder; returns those above if it has none.
    fn read_folder(
        &mut self,
        folder: &Path,
        above: Option<Arc<FolderRules>>,
    ) -> Option<Arc<FolderRules>> {
        let files = [
            self.read_rules(folder, &folder.join(".ignore")),
            self.read_rules(folder, &folder.join(".gitignore")),
            match self.find_git_folder(folder) {
                Some(git) => self.read_rules(folder, &git.join("info/exclude")),
                None => Gitignore::empty(),
            },
        ];
        if files.iter().all(Gitignore::is_empty) {
            return above;
        }
        Some(Arc::new(FolderRules { above, files }))
    }

    /// Reads a file of rules up to the first line that is no text; a file that cannot be read has none.
    fn read_rules(&mut self, folder: &Path, path: &Path) -> Gitignore {
        let Some(text) = self.read_if_there(path) else {
            return Gitignore::empty();
        };
        let mut builder = GitignoreBuilder::new(folder);
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        for line in text.split(|byte| *byte == b'\n') {
            let Ok(line) = std::str::from_utf8(line) else {
                break;
            };
            // A line that is no pattern matches nothing; the others still apply.
            let _ = builder.add_line(None, line.strip_suffix('\r').unwrap_or(line));
        }
        builder.build().unwrap_or_else(|error| {
            tracing::debug!(path = %path.display(), %error, "no ignore rule of this file applies");
            Gitignore::empty()
        })
    }

    /// Returns the folder of the repository with its worktree in `folder`. In a linked worktree, `.git` is a file
    /// that names it.
    fn find_git_folder(&mut self, folder: &Path) -> Option<PathBuf> {
        let git = folder.join(GIT);
        if fs::metadata(&git).ok()?.is_dir() {
            return Some(git);
        }
        let text = self.read_if_there(&git)?;
        let named = folder.join(first_line(&text)?.strip_prefix("gitdir: ")?);
        let common = self.read_if_there(&named.join("commondir"))?;
        Some(named.join(first_line(&common)?))
    }

    fn read_if_there(&mut self, path: &Path) -> Option<Vec<u8>> {
        // Most folders have none, and this is quicker than opening it.
        fs::metadata(path).ok()?;
        match read_regular_file(path, LinkPolicy::Follow, LARGEST.min(self.room)) {
            Ok(text) => {
                self.room -= text.len() as u64;
                Some(text)
            }
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "the file is not read for ignore rules");
                None
            }
        }
    }
}

fn first_line(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok()?.lines().next()
}

#[cfg(test)]
mod tests;
