//! The folders in which skills are searched: configured ones and those of a workspace. Checks which folders exist, but
//! opens no file.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// The configured folders outside of workspaces.
#[derive(Clone, Debug, Default)]
pub struct SkillPlaces {
    /// Named on the command line.
    pub cli: Vec<PathBuf>,
    /// Named by the environment.
    pub env: Vec<PathBuf>,
    /// The user's own folder of skills.
    pub user: Option<PathBuf>,
    /// The folders of this machine.
    pub system: Vec<PathBuf>,
    /// The user's home, which is no workspace.
    pub home: Option<PathBuf>,
}

/// The file that may name more folders.
pub(super) const MANIFEST: &str = "harn.toml";

/// A workspace for the search of skills.
#[derive(Debug)]
pub(super) struct Ancestry {
    /// The outermost folder of the workspace.
    pub(super) root: PathBuf,
    /// From the working directory up to the root.
    pub(super) folders: Vec<PathBuf>,
}

/// Returns the root of the workspace around a directory, to which trust applies. `home` is never part of a workspace.
pub fn workspace_root(cwd: &Path, home: Option<&Path>) -> PathBuf {
    Ancestry::find(cwd, home).root
}

impl Ancestry {
    /// Finds the workspace around a directory: up to the nearest repository, else up to the nearest folder with skills
    /// or a manifest. Neither the home nor a folder of another user is part of it.
    pub(super) fn find(cwd: &Path, home: Option<&Path>) -> Self {
        let reach = |folder: &&Path| Some(*folder) != home && has_same_owner(folder, cwd);
        let above: Vec<_> = match home == Some(cwd) {
            true => vec![cwd],
            false => cwd.ancestors().take_while(reach).collect(),
        };
        let nearest = |marks: &[&str]| {
            let has = |folder: &&Path| marks.iter().any(|mark| folder.join(mark).exists());
            above.iter().position(has)
        };
        let top = nearest(&[".git"]).or_else(|| nearest(&[".harn", MANIFEST]));
        let folders: Vec<PathBuf> = above
            .into_iter()
            .take(top.unwrap_or(0) + 1)
            .map(Path::to_owned)
            .collect();
        Self {
            root: folders.last().cloned().unwrap_or_else(|| cwd.to_owned()),
            folders,
        }
    }
}

/// Whether two folders have one owner: a folder of another user above a workspace is not part of it.
fn has_same_owner(folder: &Path, cwd: &Path) -> bool {
    let owner = |path: &Path| fs::metadata(path).ok().map(|found| found.uid());
    folder == cwd || owner(folder) == owner(cwd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_ends_at_its_root() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let at = |path: &str| top.join(path);
        fs::create_dir_all(at("home/repo/.git")).unwrap();
        fs::create_dir_all(at("home/repo/pkg/src")).unwrap();
        fs::create_dir_all(at("home/plain/deep/er")).unwrap();
        fs::create_dir_all(at("home/.harn/skills")).unwrap();
        fs::create_dir_all(at("home/kept/.harn")).unwrap();
        fs::create_dir_all(at("home/kept/a/b")).unwrap();
        fs::write(at("home/repo/pkg/harn.toml"), "").unwrap();
        let home = at("home");
        for (cwd, root, folders) in [
            ("home/repo/pkg/src", "home/repo", 3),
            ("home/repo", "home/repo", 1),
            // A home is no workspace, whatever it contains.
            ("home/plain/deep/er", "home/plain/deep/er", 1),
            ("home/kept/a/b", "home/kept", 3),
            ("home", "home", 1),
        ] {
            let found = Ancestry::find(&at(cwd), Some(&home));
            assert_eq!(found.root, at(root), "{cwd}");
            assert_eq!(found.folders.len(), folders, "{cwd}");
            assert_eq!(found.folders[0], at(cwd));
        }
    }
}
