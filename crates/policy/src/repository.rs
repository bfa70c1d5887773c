//! Whether git may run a program that a repository names. Git obeys the configuration, the hooks and the nested
//! repositories of a workspace, and these may come from a stranger. A git command that no user has seen runs only
//! if a repository has nothing but what is known to be harmless. Reads the disk through a [`PathProbe`] only.
//!
//! The user's own configuration is trusted: git reads it in every folder.

mod config;
mod index;

use std::path::Path;

use crate::{PathEntry, PathProbe};

/// The largest configuration that is read.
const LARGEST_CONFIG: usize = 64 * 1024;
/// The largest index that is read; it has about a hundred bytes for a file.
const LARGEST_INDEX: usize = 16 * 1024 * 1024;
/// The largest `HEAD` that is read.
const LARGEST_HEAD: usize = 1024;

/// Files of a repository, each with its effect. Where one exists, git asks.
const RISKS: [(&str, &str); 4] = [
    ("commondir", "names a repository elsewhere"),
    ("config.worktree", "is more configuration"),
    ("objects/info/alternates", "names objects elsewhere"),
    // Commands that only read refresh the index.
    ("hooks/post-index-change", "is a hook that git runs"),
];

/// Returns the reason why git, run in a folder without links in its path, may run a program or read a repository
/// elsewhere. None if it does not, also where there is no repository.
pub(crate) fn find_risk(folder: &Path, probe: &dyn PathProbe) -> Option<String> {
    let search = RepositorySearch { folder, probe };
    search.check().err()
}

struct RepositorySearch<'a> {
    folder: &'a Path,
    probe: &'a dyn PathProbe,
}

impl RepositorySearch<'_> {
    /// Finds the repository as git does, in this folder or one above, and checks it.
    fn check(&self) -> Result<(), String> {
        for folder in self.folder.ancestors() {
            let path = folder.join(".git");
            match self.entry(&path)? {
                PathEntry::Absent => {}
                PathEntry::Dir => return self.check_repository(&path),
                PathEntry::File => return Err(self.risk(&path, "names a repository elsewhere")),
                PathEntry::Link(_) => return Err(self.risk(&path, "is a link")),
            }
            // Git takes a folder of any name for a repository, if it looks like one.
            let head = folder.join("HEAD");
            if self.entry(&head)? != PathEntry::Absent {
                return Err(self.risk(&head, "may make its folder a repository"));
            }
        }
        Ok(())
    }

    fn check_repository(&self, repository: &Path) -> Result<(), String> {
        for (name, effect) in RISKS {
            let path = repository.join(name);
            if self.entry(&path)? != PathEntry::Absent {
                return Err(self.risk(&path, effect));
            }
        }
        self.check_complete(repository)?;
        let path = repository.join("config");
        if let Some(bytes) = self.read(&path, LARGEST_CONFIG)? {
            config::find_risk(&bytes).map_or(Ok(()), |why| Err(self.risk(&path, &why)))?;
        }
        let path = repository.join("index");
        if let Some(bytes) = self.read(&path, LARGEST_INDEX)? {
            index::find_risk(&bytes).map_or(Ok(()), |why| Err(self.risk(&path, why)))?;
        }
        Ok(())
    }

    /// Checks that git takes the folder for a repository. Otherwise it looks for another one.
    fn check_complete(&self, repository: &Path) -> Result<(), String> {
        let incomplete = || self.risk(repository, "is no complete repository");
        for name in ["objects", "refs"] {
            let folder = repository.join(name);
            if self.entry(&folder)? != PathEntry::Dir {
                return Err(incomplete());
            }
            // It has to be accessible, too.
            self.entry(&folder.join("info"))?;
        }
        let head = self.read(&repository.join("HEAD"), LARGEST_HEAD)?;
        let head = head.and_then(|bytes| String::from_utf8(bytes).ok());
        let is_head = |head: String| {
            let id = head.trim_end();
            let is_id = id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_id || head.starts_with("ref: refs/")
        };
        head.is_some_and(is_head)
            .then_some(())
            .ok_or_else(incomplete)
    }

    fn entry(&self, path: &Path) -> Result<PathEntry, String> {
        let entry = self.probe.read_entry(path);
        entry.map_err(|_| self.risk(path, "cannot be accessed"))
    }

    /// Returns the content of a file; none if there is no entry.
    fn read(&self, path: &Path, limit: usize) -> Result<Option<Vec<u8>>, String> {
        if self.entry(path)? == PathEntry::Absent {
            return Ok(None);
        }
        let read = self.probe.read_file(path, limit);
        let unread = |_| {
            let limit = limit / 1024;
            self.risk(path, &format!("is no readable file of at most {limit} KiB"))
        };
        read.map(Some).map_err(unread)
    }

    /// Puts a risk into words, with the path from the folder.
    fn risk(&self, path: &Path, why: &str) -> String {
        let path = path.strip_prefix(self.folder).unwrap_or(path);
        format!("{} {why}", path.display())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, io};

    use super::*;

    /// A disk with these files, each with its content, and the folders above them.
    #[derive(Clone)]
    struct Files(BTreeMap<&'static str, &'static str>);

    impl Files {
        /// Returns a disk with a harmless repository in `/w/app`.
        fn with(more: &[(&'static str, &'static str)]) -> Self {
            let mut files = BTreeMap::from([
                ("/w/app/.git/HEAD", "ref: refs/heads/main\n"),
                ("/w/app/.git/config", "[core]\n\tbare = false\n"),
                ("/w/app/.git/objects/info/packs", ""),
                ("/w/app/.git/refs/heads/main", ""),
            ]);
            files.extend(more.iter().copied());
            Self(files)
        }

        fn without(mut self, path: &str) -> Self {
            self.0.retain(|name, _| !name.starts_with(path));
            self
        }

        fn risk(&self, folder: &str) -> String {
            find_risk(Path::new(folder), self).unwrap_or_default()
        }
    }

    impl PathProbe for Files {
        fn read_entry(&self, path: &Path) -> io::Result<PathEntry> {
            let name = path.to_str().unwrap_or_default();
            Ok(match self.0.get(name) {
                Some(&"denied") => return Err(io::ErrorKind::PermissionDenied.into()),
                Some(&"link") => PathEntry::Link("elsewhere".into()),
                Some(_) => PathEntry::File,
                None if self.0.keys().any(|key| Path::new(key).starts_with(path)) => PathEntry::Dir,
                None => PathEntry::Absent,
            })
        }

        fn read_file(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
            let text = self.0.get(path.to_str().unwrap_or_default());
            let text = text.filter(|text| text.len() <= limit);
            text.map(|text| text.as_bytes().to_vec())
                .ok_or(io::ErrorKind::InvalidInput.into())
        }
    }

    #[test]
    fn repository_is_found_as_git_finds_it() {
        let hostile = ("/w/app/.git/config", "[core]\nfsmonitor = x");
        let table = [
            (Files::with(&[]), "/w/app", ""),
            (Files::with(&[]), "/w/app/src/deep", ""),
            (Files::with(&[]), "/elsewhere", ""),
            (
                Files::with(&[hostile]),
                "/w/app",
                ".git/config sets core.fsmonitor",
            ),
            (
                Files::with(&[hostile]),
                "/w/app/src",
                "/w/app/.git/config sets core.fsmonitor",
            ),
            (Files::with(&[hostile]), "/w", ""),
            (
                Files::with(&[hostile, ("/w/app/src/.git", "gitdir: x")]),
                "/w/app/src",
                ".git names a repository elsewhere",
            ),
            (
                Files::with(&[("/w/app/src/.git", "link")]),
                "/w/app/src",
                ".git is a link",
            ),
            (
                Files::with(&[("/w/app/src/.git", "denied")]),
                "/w/app/src",
                ".git cannot be accessed",
            ),
            (
                Files::with(&[("/w/app/src/HEAD", "x")]),
                "/w/app/src",
                "HEAD may make its folder a repository",
            ),
            (
                Files::with(&[("/w/HEAD", "x")]).without("/w/app/.git"),
                "/w/app",
                "/w/HEAD may make its folder a repository",
            ),
            // A complete repository precedes what is beside it.
            (Files::with(&[("/w/app/HEAD", "x")]), "/w/app", ""),
        ];
        for (files, folder, expected) in table {
            assert_eq!(files.risk(folder), expected, "{folder}");
        }
    }

    #[test]
    fn part_of_a_repository_that_is_not_harmless_is_a_risk() {
        let incomplete = ".git is no complete repository";
        let unread = ".git/config is no readable file of at most 64 KiB";
        let id = "0123456789abcdef0123456789abcdef01234567\n";
        let table = [
            (Files::with(&[("/w/app/.git/HEAD", id)]), ""),
            (
                Files::with(&[("/w/app/.git/HEAD", "0123456789abcdef")]),
                incomplete,
            ),
            (
                Files::with(&[(
                    "/w/app/.git/HEAD",
                    "x123456789abcdef0123456789abcdef01234567",
                )]),
                incomplete,
            ),
            (Files::with(&[("/w/app/.git/HEAD", "ref: x")]), incomplete),
            (Files::with(&[]).without("/w/app/.git/HEAD"), incomplete),
            (Files::with(&[]).without("/w/app/.git/objects"), incomplete),
            (Files::with(&[]).without("/w/app/.git/refs"), incomplete),
            (Files::with(&[("/w/app/.git/refs", "link")]), incomplete),
            (
                Files::with(&[("/w/app/.git/objects/info", "denied")]),
                ".git/objects/info cannot be accessed",
            ),
            (Files::with(&[("/w/app/.git/HEAD", "link")]), incomplete),
            (Files::with(&[]).without("/w/app/.git/config"), ""),
            (
                Files::with(&[("/w/app/.git/config", "[x")]),
                ".git/config has a form that is not parsed here",
            ),
            (
                Files::with(&[("/w/app/.git/index", "DIRC")]),
                ".git/index has a form that is not parsed here",
            ),
            (
                Files::with(&[("/w/app/.git/commondir", "x")]),
                ".git/commondir names a repository elsewhere",
            ),
            (
                Files::with(&[("/w/app/.git/config.worktree", "")]),
                ".git/config.worktree is more configuration",
            ),
            (
                Files::with(&[("/w/app/.git/objects/info/alternates", "x")]),
                ".git/objects/info/alternates names objects elsewhere",
            ),
            (
                Files::with(&[("/w/app/.git/hooks/post-index-change", "x")]),
                ".git/hooks/post-index-change is a hook that git runs",
            ),
            (Files::with(&[("/w/app/.git/hooks/pre-commit", "x")]), ""),
        ];
        for (files, expected) in table {
            assert_eq!(files.risk("/w/app"), expected);
        }
        let mut folder = Files::with(&[("/w/app/.git/config/x", "")]);
        folder.0.remove("/w/app/.git/config");
        assert_eq!(folder.risk("/w/app"), unread);
        let lines: &'static str = Box::leak("# x\n".repeat(LARGEST_CONFIG / 4).into_boxed_str());
        assert_eq!(
            Files::with(&[("/w/app/.git/config", lines)]).risk("/w/app"),
            ""
        );
        let more: &'static str = Box::leak(format!("{lines}#").into_boxed_str());
        assert_eq!(
            Files::with(&[("/w/app/.git/config", more)]).risk("/w/app"),
            unread
        );
    }
}
