//! The files of a git repository that make git run programs.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// The most submodules that are protected one by one. Each costs a few mounts for every command.
const MOST: usize = 16;

/// The deepest folder below `modules` that is searched; the name of a submodule may have slashes.
const DEEPEST: usize = 6;

/// The most entries of folders that are searched.
const MOST_ENTRIES: usize = 4096;

/// The longest file that may name a folder.
const LONGEST_NAME: u64 = 8192;

/// Folders of a repository that have no repositories in them, and may have many entries.
const WITHOUT_REPOSITORIES: [&str; 10] = [
    "annex", "branches", "hooks", "info", "lfs", "logs", "objects", "refs", "reftable", "rr-cache",
];

/// The files of a repository. `commondir` makes git read the configuration and the hooks of another folder.
const OF_REPOSITORY: [&str; 4] = ["commondir", "config", "config.worktree", "hooks"];

/// The files of a work tree that shares a repository.
const OF_WORK_TREE: [&str; 2] = ["commondir", "config.worktree"];

/// Returns the paths that make a git command in this folder run programs: the hooks and the configuration of the
/// repository, of its submodules, and of the work trees that share it.
///
/// Some of them may not exist. As `read_only` of a confinement, they also stop a command from creating them.
pub fn protected_git_paths(root: &Path) -> Vec<PathBuf> {
    let git = root.join(".git");
    let mut paths = BTreeSet::new();
    match fs::symlink_metadata(&git) {
        Ok(found) if found.is_dir() => add_repository(&git, &mut paths),
        Ok(_) => {
            // A file, or a link, that names the folder elsewhere.
            let named = named_folder(&git, "gitdir: ").or_else(|| fs::canonicalize(&git).ok());
            paths.insert(git);
            if let Some(folder) = named {
                add_repository(&folder, &mut paths);
            }
        }
        Err(_) => {}
    }
    paths.into_iter().collect()
}

fn add_repository(folder: &Path, paths: &mut BTreeSet<PathBuf>) {
    // A command may have created a `commondir`, so the folder itself counts as a repository, too.
    add_files(folder, &OF_REPOSITORY, paths);
    add_groups(folder, paths);
    // A work tree shares the configuration and the hooks of the repository that it belongs to.
    if let Some(shared) = named_folder(&folder.join("commondir"), "") {
        add_files(&shared, &OF_REPOSITORY, paths);
        add_groups(&shared, paths);
    }
}

/// Adds the submodules and the work trees of a repository.
fn add_groups(repository: &Path, paths: &mut BTreeSet<PathBuf>) {
    let work_trees = repository.join("worktrees");
    for group in [repository.join("modules"), work_trees.clone()] {
        let mut search = SubmoduleSearch::default();
        let is_complete = search.walk(&group, DEEPEST, false);
        if !is_complete || search.found.len() > MOST {
            paths.insert(group);
            continue;
        }
        for found in search.found {
            // Submodules of a work tree are below it.
            let is_work_tree = found.parent() == Some(&work_trees);
            let files = if is_work_tree {
                &OF_WORK_TREE[..]
            } else {
                &OF_REPOSITORY
            };
            add_files(&found, files, paths);
        }
    }
}

/// A search for the repositories below a folder of `.git`.
#[derive(Default)]
struct SubmoduleSearch {
    found: Vec<PathBuf>,
    entries: usize,
}

impl SubmoduleSearch {
    /// Searches a folder. Returns whether it saw everything.
    fn walk(&mut self, folder: &Path, depth: usize, is_repository: bool) -> bool {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return error.kind() == io::ErrorKind::NotFound,
        };
        for entry in entries {
            self.entries += 1;
            if self.entries > MOST_ENTRIES || self.found.len() > MOST {
                return false;
            }
            let Ok((path, kind)) = entry.and_then(|it| Ok((it.path(), it.file_type()?))) else {
                return false;
            };
            // Links are not followed: they could form a circle.
            if !kind.is_dir() {
                continue;
            }
            if has_repository_file(&path) {
                self.found.push(path.clone());
            } else if is_repository && WITHOUT_REPOSITORIES.iter().any(|it| path.ends_with(it)) {
                continue;
            }
            // A command may have made a folder above repositories look like one.
            let is_repository = self.found.last() == Some(&path);
            if depth == 0 || !self.walk(&path, depth - 1, is_repository) {
                return false;
            }
        }
        true
    }
}

/// Returns whether a folder has a file of a repository. A command may remove `HEAD`, but neither of the others.
fn has_repository_file(folder: &Path) -> bool {
    ["HEAD", "config", "commondir"].iter().any(|name| {
        let found = fs::symlink_metadata(folder.join(name));
        found.is_ok_and(|found| !found.is_dir())
    })
}

fn add_files(folder: &Path, names: &[&str], paths: &mut BTreeSet<PathBuf>) {
    paths.extend(names.iter().map(|name| folder.join(name)));
}

/// Returns the folder that a small file names, relative to its own folder.
fn named_folder(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = String::from_utf8(read_small(file, LONGEST_NAME).ok()??).ok()?;
    let name = text.strip_prefix(prefix)?.trim_end_matches(['\n', '\r']);
    fs::canonicalize(file.parent()?.join(name)).ok()
}

/// Reads a regular file; nothing if it is longer than this. Never waits for the writer of a pipe.
pub(crate) fn read_small(file: &Path, longest: u64) -> io::Result<Option<Vec<u8>>> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(file)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = Vec::new();
    file.take(longest + 1).read_to_end(&mut text)?;
    Ok((text.len() as u64 <= longest).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_submodules_are_protected_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        let add = |name: String| {
            fs::create_dir_all(git.join("modules").join(&name)).unwrap();
            fs::write(git.join("modules").join(&name).join("HEAD"), "").unwrap();
        };
        (0..MOST).for_each(|number| add(format!("deep/{number}")));
        let paths = protected_git_paths(folder.path());
        assert_eq!(paths.len(), (MOST + 1) * OF_REPOSITORY.len());
        assert!(paths.contains(&git.join("modules/deep/3/hooks")));
        add("one/modules/inner".to_owned());
        let paths = protected_git_paths(folder.path());
        assert_eq!(paths.len(), 1 + OF_REPOSITORY.len());
        assert!(paths.contains(&git.join("modules")));
    }

    #[test]
    fn search_that_is_incomplete_protects_everything() {
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join(".git/modules");
        let is_whole = || {
            let paths = protected_git_paths(folder.path());
            paths.contains(&modules)
        };
        fs::create_dir_all(modules.join("1/2/3/4/5/6")).unwrap();
        assert!(!is_whole());
        fs::create_dir(modules.join("1/2/3/4/5/6/7")).unwrap();
        assert!(is_whole());
        fs::remove_dir_all(modules.join("1")).unwrap();
        assert!(!is_whole());
        (0..=MOST_ENTRIES)
            .for_each(|number| drop(File::create(modules.join(number.to_string())).unwrap()));
        assert!(is_whole());
    }

    #[test]
    fn changes_of_a_command_do_not_end_the_protection() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        for name in ["modules/deep/lib", "worktrees/w", "worktrees/w/modules/lib"] {
            fs::create_dir_all(git.join(name)).unwrap();
            fs::write(git.join(name).join("config"), "").unwrap();
        }
        fs::write(git.join("modules/deep/HEAD"), "").unwrap();
        fs::create_dir(folder.path().join("evil")).unwrap();
        fs::write(git.join("commondir"), "../evil\n").unwrap();
        let paths = protected_git_paths(folder.path());
        for name in [
            "config",
            "hooks",
            "modules/deep/lib/hooks",
            "worktrees/w/commondir",
            "worktrees/w/modules/lib/hooks",
        ] {
            assert!(paths.contains(&git.join(name)), "{name}: {paths:?}");
        }
    }

    #[test]
    fn long_file_and_pipe_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "1234").unwrap();
        assert_eq!(read_small(&file, 4).unwrap().unwrap(), b"1234");
        assert_eq!(read_small(&file, 3).unwrap(), None);
        assert!(read_small(folder.path(), 3).is_err());
    }

    #[test]
    fn folder_without_a_repository_has_no_protected_paths() {
        let folder = tempfile::tempdir().unwrap();
        assert!(protected_git_paths(folder.path()).is_empty());
    }
}
