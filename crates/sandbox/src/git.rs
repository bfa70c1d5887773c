//! The files of a git repository that make git run programs.

use std::path::{Path, PathBuf};

/// Returns the existing paths that make a git command in this folder run programs: hooks and configuration of the
/// repository, of its submodules and of the work trees that share it.
pub fn protected_git_paths(root: &Path) -> Vec<PathBuf> {
    let git = root.join(".git");
    let paths = ["config", "config.worktree", "hooks"].map(|name| git.join(name));
    paths.into_iter().filter(|path| path.exists()).collect()
}
