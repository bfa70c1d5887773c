//! Protects paths inside writable folders.
//!
//! A read-only mount alone is not enough: a command could rename the folder around it and create another one in its
//! place. A mount point cannot be renamed, so every folder between is mounted onto itself.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{StatVfsMountFlags, statvfs},
    mount::{MountFlags, mount_bind_recursive, mount_remount},
};

use super::{SetupError, failed};

pub(super) fn protect(paths: &[PathBuf], roots: &[PathBuf]) -> Result<(), SetupError> {
    let mut fixed: Vec<PathBuf> = roots.to_vec();
    let mut sorted: Vec<&PathBuf> = paths.iter().collect();
    sorted.sort();
    for path in sorted {
        let Some((folder, name)) = path.parent().zip(path.file_name()) else {
            continue;
        };
        let Ok(folder) = fs::canonicalize(folder) else {
            continue;
        };
        if !roots.iter().any(|root| folder.starts_with(root)) {
            continue;
        }
        let path = folder.join(name);
        if fs::symlink_metadata(&path).is_err() && !create_empty(&folder, &path) {
            continue;
        }
        let Ok(found) = fs::symlink_metadata(&path) else {
            continue;
        };
        fix_folders(&folder, &mut fixed)?;
        if !found.is_symlink() {
            fix_read_only(&path)?;
            continue;
        }
        // A link cannot be a mount point. Its folder is read-only, unless the command is to write there.
        if !roots.contains(&folder) {
            fix_read_only(&folder)?;
        }
        let target = fs::canonicalize(&path);
        if let Ok(target) = target {
            fix_folders(target.parent().unwrap_or(&target), &mut fixed)?;
            fix_read_only(&target)?;
        }
    }
    Ok(())
}

/// Creates an empty path in a folder of git, if git would run or obey what a command puts there. Returns whether it did.
fn create_empty(folder: &Path, path: &Path) -> bool {
    let is_of_git = folder.join("HEAD").exists();
    if !is_of_git {
        return false;
    }
    if path.ends_with("hooks") {
        return fs::create_dir(path).is_ok();
    }
    // The configuration of a work tree lies two folders below that of the repository.
    let obeyed = ["config", "../../config"].iter().any(|name| {
        let config = folder.join(name);
        // A pipe would block.
        if !fs::metadata(&config).is_ok_and(|it| it.is_file()) {
            return false;
        }
        let text = fs::read(config).unwrap_or_default();
        String::from_utf8_lossy(&text)
            .to_lowercase()
            .contains("worktreeconfig")
    });
    path.ends_with("config.worktree") && obeyed && File::create_new(path).is_ok()
}

/// Mounts the folders from the writable root down to `folder` onto themselves.
fn fix_folders(folder: &Path, fixed: &mut Vec<PathBuf>) -> Result<(), SetupError> {
    let is_fixed = |path: &Path| fixed.iter().any(|other| other == path);
    let mut between: Vec<PathBuf> = Vec::new();
    for ancestor in folder.ancestors() {
        if is_fixed(ancestor) {
            for path in between.into_iter().rev() {
                mount_bind_recursive(&path, &path).map_err(failed(path.display()))?;
                fixed.push(path);
            }
            return Ok(());
        }
        between.push(ancestor.to_owned());
    }
    // Not below a writable folder, so nothing to fix.
    Ok(())
}

/// Mounts a path onto itself, read-only.
pub(super) fn fix_read_only(path: &Path) -> Result<(), SetupError> {
    mount_bind_recursive(path, path).map_err(failed(path.display()))?;
    let present = statvfs(path).map_err(failed(path.display()))?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    flags.set(
        MountFlags::NOSUID,
        present.contains(StatVfsMountFlags::NOSUID),
    );
    flags.set(
        MountFlags::NODEV,
        present.contains(StatVfsMountFlags::NODEV),
    );
    flags.set(
        MountFlags::NOEXEC,
        present.contains(StatVfsMountFlags::NOEXEC),
    );
    mount_remount(path, flags, c"").map_err(failed(path.display()))
}
