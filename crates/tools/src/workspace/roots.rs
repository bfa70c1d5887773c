//! The start folders of the walks of a workspace. Directories may name one folder twice or contain each other; each
//! file belongs to the innermost one, so that no file is searched twice.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use ignore::DirEntry;

use super::{WalkScope, Workspace, is_folder};

/// The start folder of one walk.
pub(super) struct WalkRoot {
    /// The path as the session names it.
    pub(super) path: PathBuf,
    /// The path with its links resolved, if the disk can resolve them.
    real: PathBuf,
    /// The real paths of the start folders of other walks that are inside this one.
    others: Vec<PathBuf>,
}

impl Workspace {
    /// Returns the folders to walk, in the order the session names them. Reads the disk.
    pub(super) fn walk_roots(&self) -> Vec<WalkRoot> {
        let every = std::iter::once(&*self.root).chain(self.additional.iter().map(|it| &**it));
        let every: Vec<_> = every.map(|path| (path, resolve_links(path))).collect();
        let mut starts = match &self.part {
            WalkScope::Whole => every.clone(),
            WalkScope::Top => vec![(&*self.root, resolve_links(&self.root))],
            WalkScope::Folder(folder) => vec![(&**folder, resolve_links(folder))],
        };
        let mut seen = HashSet::new();
        starts.retain(|(_, real)| seen.insert(real.clone()));
        let roots = starts.into_iter().map(|(path, real)| WalkRoot {
            path: path.to_owned(),
            others: directories_inside(&real, &every),
            real,
        });
        roots.collect()
    }
}

impl WalkRoot {
    /// Returns a filter for the entries of a walk, which skips the start folders of other walks.
    pub(super) fn entry_filter(&self) -> impl Fn(&DirEntry) -> bool + Send + Sync + 'static {
        let (path, real, others) = (self.path.clone(), self.real.clone(), self.others.clone());
        move |entry| {
            if others.is_empty() || !is_folder(entry) {
                return true;
            }
            let below = entry.path().strip_prefix(&path);
            // Links are not followed, so a path below the root is a real one.
            below.map_or(true, |below| !others.contains(&real.join(below)))
        }
    }
}

/// Returns the directories that are inside a folder.
fn directories_inside(folder: &Path, every: &[(&Path, PathBuf)]) -> Vec<PathBuf> {
    let every = every.iter().map(|(_, real)| real);
    let inside = every.filter(|real| *real != folder && real.starts_with(folder));
    inside.cloned().collect()
}

/// Resolves the links of a path; returns it unchanged if the disk cannot resolve it.
fn resolve_links(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
