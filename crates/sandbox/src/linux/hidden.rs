//! Hides paths: an empty read-only folder over a folder, an empty file over a file.

use std::{
    fs::{self, File},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::CWD,
    mount::{
        MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind, mount_remount, move_mount,
        open_tree,
    },
};

use super::{SetupError, failed, mounts::outermost};

/// Hides `paths`, but not those of `visible` that are inside them.
pub(super) fn hide(paths: &[PathBuf], visible: &[&Path]) -> Result<(), SetupError> {
    let existing: Vec<PathBuf> = paths
        .iter()
        .filter_map(|path| fs::canonicalize(path).ok())
        .collect();
    for path in &existing {
        let Ok(found) = fs::symlink_metadata(path) else {
            // An earlier one covers it.
            continue;
        };
        if found.is_dir() {
            hide_folder(path, visible)?;
        } else {
            mount_bind("/dev/null", path).map_err(failed(path.display()))?;
        }
    }
    Ok(())
}

fn hide_folder(folder: &Path, visible: &[&Path]) -> Result<(), SetupError> {
    let inside: Vec<PathBuf> = visible
        .iter()
        .filter(|path| path.starts_with(folder) && **path != folder && path.exists())
        .map(|path| path.to_path_buf())
        .collect();
    let mut copies: Vec<(PathBuf, OwnedFd)> = Vec::new();
    for path in outermost(&inside) {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        let copy = open_tree(CWD, &path, flags).map_err(failed(path.display()))?;
        copies.push((path, copy));
    }
    let strict = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", folder, "tmpfs", strict, c"mode=0755,size=64k")
        .map_err(failed(folder.display()))?;
    for (path, copy) in copies {
        show(&path, &copy)?;
    }
    let flags = strict | MountFlags::BIND | MountFlags::RDONLY;
    mount_remount(folder, flags, c"").map_err(failed(folder.display()))
}

/// Puts a copy of a mount to its place in an empty folder.
fn show(path: &Path, copy: &OwnedFd) -> Result<(), SetupError> {
    let is_dir = File::from(copy.try_clone().map_err(failed(path.display()))?)
        .metadata()
        .is_ok_and(|it| it.is_dir());
    let place = if is_dir {
        fs::create_dir_all(path)
    } else {
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| File::create_new(path).map(drop))
    };
    place.map_err(failed(path.display()))?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(copy, c"", CWD, path, flags).map_err(failed(path.display()))
}
