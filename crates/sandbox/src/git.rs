//! The files of a git repository that make git run programs.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The most submodules that are protected one by one. Each costs a few mounts for every command.
const MOST: usize = 16;

/// The deepest folder of a submodule below `modules`; its name may have slashes.
const DEEPEST: usize = 6;

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
    // A work tree shares the configuration and the hooks of the repository that it belongs to.
    let shared = named_folder(&folder.join("commondir"), "");
    if let Some(shared) = &shared {
        add_files(folder, &OF_WORK_TREE, paths);
        add_files(shared, &OF_REPOSITORY, paths);
    } else {
        add_files(folder, &OF_REPOSITORY, paths);
    }
    let shared = shared.as_deref().unwrap_or(folder);
    for (name, files) in [
        ("modules", &OF_REPOSITORY[..]),
        ("worktrees", &OF_WORK_TREE),
    ] {
        let group = shared.join(name);
        let mut found = Vec::new();
        find_repositories(&group, DEEPEST, &mut found);
        if found.len() > MOST {
            paths.insert(group);
            continue;
        }
        for repository in found {
            add_files(&repository, files, paths);
        }
    }
}

/// Finds the repositories below a folder of `.git`, and stops after one too many.
fn find_repositories(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Links are not followed: they could form a circle.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || depth == 0 || found.len() > MOST {
            continue;
        }
        let path = entry.path();
        if path.join("HEAD").exists() {
            find_repositories(&path.join("modules"), depth - 1, found);
            found.push(path);
        } else {
            find_repositories(&path, depth - 1, found);
        }
    }
}

fn add_files(folder: &Path, names: &[&str], paths: &mut BTreeSet<PathBuf>) {
    paths.extend(names.iter().map(|name| folder.join(name)));
}

/// Returns the folder that a small file names, relative to its own folder.
fn named_folder(file: &Path, prefix: &str) -> Option<PathBuf> {
    const LONGEST: u64 = 8192;
    let found = fs::metadata(file).ok()?;
    if !found.is_file() || found.len() > LONGEST {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let name = text.strip_prefix(prefix)?.trim_end_matches(['\n', '\r']);
    fs::canonicalize(file.parent()?.join(name)).ok()
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
    fn folder_without_a_repository_has_no_protected_paths() {
        let folder = tempfile::tempdir().unwrap();
        assert!(protected_git_paths(folder.path()).is_empty());
    }
}
