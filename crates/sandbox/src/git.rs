//! The files of a git repository that make git run programs.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The most repositories of submodules and work trees that are searched for.
const MOST: usize = 1000;

/// The deepest folder of a submodule below `modules`; its name may have slashes.
const DEEPEST: usize = 6;

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
    add_files(folder, paths);
    // A work tree shares the configuration and the hooks of the repository that it belongs to.
    let shared = named_folder(&folder.join("commondir"), "");
    let shared = shared.as_deref().unwrap_or(folder);
    add_files(shared, paths);
    for group in ["modules", "worktrees"] {
        add_below(&shared.join(group), DEEPEST, paths);
    }
}

/// Adds the repositories below a folder of `.git`.
fn add_below(folder: &Path, depth: usize, paths: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        // Links are not followed: they could form a circle.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || paths.len() > MOST {
            continue;
        }
        if path.join("HEAD").exists() {
            add_files(&path, paths);
            add_below(&path.join("modules"), depth.saturating_sub(1), paths);
        } else if depth > 0 {
            add_below(&path, depth - 1, paths);
        }
    }
}

fn add_files(folder: &Path, paths: &mut BTreeSet<PathBuf>) {
    // `commondir` makes git read the configuration and the hooks of another folder.
    let names = ["config", "config.worktree", "hooks", "commondir"];
    paths.extend(names.map(|name| folder.join(name)));
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
