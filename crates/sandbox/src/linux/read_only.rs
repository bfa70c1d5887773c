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
use crate::git::read_small;

/// The most bytes of a configuration that are searched.
const LONGEST_CONFIG: u64 = 65_536;

pub(super) fn protect(paths: &[PathBuf], roots: &[PathBuf]) -> Result<(), SetupError> {
    let mut fixed: Vec<PathBuf> = roots.to_vec();
    let mut sorted: Vec<&PathBuf> = paths.iter().collect();
    sorted.sort();
    for path in sorted {
        let Some((named, name)) = path.parent().zip(path.file_name()) else {
            continue;
        };
        let Ok(folder) = fs::canonicalize(named) else {
            continue;
        };
        if !roots.iter().any(|root| folder.starts_with(root)) {
            continue;
        }
        // The caller names this file in each folder of git. What is in the folder decides nothing, since an earlier
        // command may have changed it.
        let is_of_git = paths.contains(&named.join("commondir"));
        let path = folder.join(name);
        if is_of_git {
            fix_folders(&folder, &mut fixed)?;
        }
        if fs::symlink_metadata(&path).is_err() && !(is_of_git && create_empty(&folder, &path)) {
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
    if path.ends_with("hooks") {
        return fs::create_dir(path).is_ok();
    }
    // The configuration of a work tree lies two folders below that of the repository.
    let names_it = |config: &str| may_name_worktree_config(&folder.join(config));
    let is_obeyed = path.ends_with("config")
        || path.ends_with("config.worktree")
            && ["config", "../../config"].into_iter().any(names_it);
    is_obeyed && File::create_new(path).is_ok()
}

/// Returns whether a configuration makes git read `config.worktree`. One that is too long to search counts.
fn may_name_worktree_config(config: &Path) -> bool {
    match read_small(config, LONGEST_CONFIG) {
        Ok(Some(text)) => String::from_utf8_lossy(&text)
            .to_lowercase()
            .contains("worktreeconfig"),
        Ok(None) => true,
        Err(_) => false,
    }
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
