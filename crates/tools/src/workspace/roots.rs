//! Where the walks of a workspace begin. Directories may name one folder twice or lie in each other; every file
//! belongs to the innermost one, so that no file is searched twice.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;

use super::{WalkScope, Workspace};

/// A folder that one walk begins in.
pub(super) struct WalkRoot {
    /// As the session names it.
    pub(super) path: PathBuf,
    /// With its links followed, as far as the disk can tell.
    real: PathBuf,
    /// The real paths of the directories in it that other walks begin in.
    others: Vec<PathBuf>,
}

impl Workspace {
    /// The folders to walk, in the order the session names them. Looks at the disk.
    pub(super) fn walk_roots(&self) -> Vec<WalkRoot> {
        let every = std::iter::once(&*self.root).chain(self.additional.iter().map(|it| &**it));
        let every: Vec<_> = every.map(|path| (path, real(path))).collect();
        let mut starts = match &self.part {
            WalkScope::Whole => every.clone(),
            WalkScope::Top => vec![(&*self.root, real(&self.root))],
            WalkScope::Folder(folder) => vec![(&**folder, real(folder))],
        };
        let mut seen = HashSet::new();
        starts.retain(|(_, real)| seen.insert(real.clone()));
        let roots = starts.into_iter().map(|(path, real)| WalkRoot {
            path: path.to_owned(),
            others: inside(&real, &every),
            real,
        });
        roots.collect()
    }
}

impl WalkRoot {
    /// Has a walk pass over the folders that other walks begin in.
    pub(super) fn leave_out_others(&self, builder: &mut WalkBuilder) {
        if self.others.is_empty() {
            return;
        }
        let (path, real, others) = (self.path.clone(), self.real.clone(), self.others.clone());
        builder.filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let below = entry.path().strip_prefix(&path);
            // Links are not followed, so below the root a path is a real one.
            !is_folder || below.map_or(true, |below| !others.contains(&real.join(below)))
        });
    }
}

/// The directories that lie in a folder.
fn inside(folder: &Path, every: &[(&Path, PathBuf)]) -> Vec<PathBuf> {
    let every = every.iter().map(|(_, real)| real);
    let inside = every.filter(|real| *real != folder && real.starts_with(folder));
    inside.cloned().collect()
}

/// A path with its links followed; as it is where the disk cannot tell.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
