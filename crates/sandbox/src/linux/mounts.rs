//! The command's view of the files: everything is read-only except what the confinement names.

use std::{
    ffi::CString,
    fs::{self, File},
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock},
    mount::{
        MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
        mount_remount,
    },
};

use super::{SetupError, failed, hidden, mount_table, read_only};
use crate::{CacheOverlay, Confinement};

/// The devices that every command may use. The others cannot be opened; not even `/dev/tty`, on which a command could
/// draw over the question that a user is about to answer.
pub(super) const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Where programs put temporary files without asking.
const TEMPORARY: [&str; 2] = ["/var/tmp", "/tmp"];

/// What the command finds.
#[derive(Default)]
pub(super) struct CommandView {
    /// All that is writable.
    pub writable: Vec<PathBuf>,
    /// The temporary directory, as the command sees it.
    pub temporary: Option<PathBuf>,
    /// Held while the command runs: the folders of overlays that are in use.
    locks: Vec<File>,
}

/// Changes the mounts of this namespace. If `other_layer` is true, Landlock also refuses writes, and a mount that
/// cannot be made read-only is no error.
pub(super) fn build(
    confinement: &Confinement,
    cwd: &Path,
    program: &Path,
    other_layer: bool,
) -> Result<CommandView, SetupError> {
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .map_err(failed("cannot separate the mounts"))?;
    let temporary = confinement.temporary.as_ref().and_then(existing);
    let mut view = CommandView::default();
    view.writable
        .extend(confinement.writable.iter().filter_map(existing));
    let (overlays, others) = mount_overlays(&confinement.caches, temporary.as_deref(), &mut view);
    view.writable
        .extend(overlays.iter().chain(&temporary).cloned());
    let roots = outermost(&view.writable);
    for root in &roots {
        // An overlay is a mount already, and a mount over the root is not visible.
        if !overlays.contains(root) && root != Path::new("/") {
            mount_bind_recursive(root, root).map_err(failed(root.display()))?;
        }
    }
    make_read_only(&roots, other_layer)?;
    view.writable.extend(mount_system());
    if !other_layer {
        // Settings of the kernel, which root may write.
        for path in ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"].map(Path::new) {
            if path.exists() {
                read_only::fix_read_only(path)?;
            }
        }
    }
    let own = |root: &&PathBuf| Some(*root) != temporary.as_ref();
    let mut visible: Vec<&Path> = roots.iter().filter(own).map(PathBuf::as_path).collect();
    visible.push(program);
    let in_use = [&visible[..], &[cwd]].concat();
    replace_temporary(temporary, &in_use, &mut view)?;
    let protected: Vec<PathBuf> = confinement
        .read_only
        .iter()
        .chain(&others)
        .cloned()
        .collect();
    read_only::protect(&protected, &roots)?;
    visible.extend(view.temporary.as_deref());
    hidden::hide(&confinement.hidden, &visible)?;
    view.writable.extend(DEVICES.map(PathBuf::from));
    Ok(view)
}

/// Returns a path without links, if it exists.
pub(super) fn existing(path: &PathBuf) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// Mounts overlays on folders of tools. Returns the folders that have one, and those that have none.
fn mount_overlays(
    caches: &[CacheOverlay],
    temporary: Option<&Path>,
    view: &mut CommandView,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (number, cache) in caches.iter().enumerate() {
        let Some(dir) = existing(&cache.dir) else {
            continue;
        };
        let spare = temporary.map(|folder| folder.join(format!(".cache-{number}")));
        match overlay(&dir, &cache.upper, spare.as_deref()) {
            Some(lock) => {
                view.locks.push(lock);
                with.push(dir);
            }
            None => without.push(dir),
        }
    }
    (with, without)
}

/// Puts the temporary directory in the place of the system's ones, if nothing that the command needs is there.
fn replace_temporary(
    own: Option<PathBuf>,
    in_use: &[&Path],
    view: &mut CommandView,
) -> Result<(), SetupError> {
    let Some(own) = own else {
        return Ok(());
    };
    let mut seen = None;
    for place in TEMPORARY.map(PathBuf::from) {
        // One of them may be a link to the other.
        let Some(real) = existing(&place) else {
            continue;
        };
        let is_free = !in_use.iter().any(|path| path.starts_with(&real));
        if is_free && real.is_dir() {
            // The first place may cover the original path.
            let source = seen.as_ref().unwrap_or(&own);
            mount_bind_recursive(source, &real).map_err(failed(place.display()))?;
            view.writable.push(real);
            seen = Some(place);
        }
    }
    view.temporary = Some(seen.unwrap_or(own));
    Ok(())
}

/// Returns the paths that are not below another of them.
pub(super) fn outermost(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut sorted = paths.to_vec();
    sorted.sort();
    sorted.dedup();
    let inner = |path: &PathBuf| {
        sorted
            .iter()
            .any(|other| other != path && path.starts_with(other))
    };
    sorted.iter().filter(|path| !inner(path)).cloned().collect()
}

/// Makes all mounts read-only and without devices, except those at and below `roots` and the basic devices.
fn make_read_only(roots: &[PathBuf], other_layer: bool) -> Result<(), SetupError> {
    // On a whole writable system, devices are as they are.
    if roots.iter().any(|root| root == Path::new("/")) {
        return Ok(());
    }
    let devices = DEVICES.map(Path::new);
    for device in devices {
        if device.exists() {
            mount_bind(device, device).map_err(failed(device.display()))?;
        }
    }
    for entry in mount_table::read()? {
        let is_writable = roots.iter().any(|root| entry.path.starts_with(root));
        let has_no_devices = entry.flags.contains(MountFlags::NODEV);
        // Some mounts below the old `/proc` appear when they are named, and the new one covers them.
        let is_covered = entry.path.starts_with("/proc");
        if is_writable || is_covered || devices.contains(&entry.path.as_path()) {
            continue;
        }
        // A server that does not answer must not stop commands that do not need it.
        let is_left_to_landlock = entry.is_remote && other_layer;
        if is_left_to_landlock || (entry.is_read_only && has_no_devices) {
            continue;
        }
        let flags = entry.flags | MountFlags::BIND | MountFlags::RDONLY | MountFlags::NODEV;
        let changed = mount_remount(&entry.path, flags, c"");
        // A mount below another one, or of a network that is gone, has no path that leads to it.
        if !other_layer {
            changed.map_err(failed(entry.path.display()))?;
        }
    }
    Ok(())
}

/// Mounts what shows processes, terminals and shared memory. Returns the writable ones. Where the system refuses one of
/// them, the old one stays read-only, and Landlock guards it.
fn mount_system() -> Vec<PathBuf> {
    let mut writable = Vec::new();
    let strict = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // The probe reports a failure.
    let _ = mount("proc", "/proc", "proc", strict, None);
    let terminals = c"newinstance,ptmxmode=0666,mode=0620";
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    if mount("devpts", "/dev/pts", "devpts", flags, terminals).is_ok() {
        let is_link = fs::symlink_metadata("/dev/ptmx").is_ok_and(|it| it.is_symlink());
        if is_link || mount_bind("/dev/pts/ptmx", "/dev/ptmx").is_ok() {
            writable.extend(["/dev/pts", "/dev/ptmx"].map(PathBuf::from));
        }
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    if mount("tmpfs", "/dev/shm", "tmpfs", flags, c"mode=1777").is_ok() {
        writable.push("/dev/shm".into());
    }
    writable
}

/// Mounts an overlay. Returns the lock on its folder, or nothing if the folder stays read-only.
fn overlay(dir: &Path, upper: &Path, spare: Option<&Path>) -> Option<File> {
    let (upper, lock) = match lock_upper(upper) {
        Ok(lock) => (upper, lock),
        // Two overlays with one upper folder are undefined behaviour of the kernel.
        Err(_) => (spare?, lock_upper(spare?).ok()?),
    };
    let mut work = upper.as_os_str().to_owned();
    work.push(".work");
    fs::create_dir_all(&work).ok()?;
    let mut data = b"userxattr".to_vec();
    for (key, path) in [
        ("lowerdir", dir.as_os_str()),
        ("upperdir", upper.as_os_str()),
        ("workdir", &work),
    ] {
        data.extend_from_slice(format!(",{key}=").as_bytes());
        for byte in path.as_bytes() {
            if b":,\\".contains(byte) {
                data.push(b'\\');
            }
            data.push(*byte);
        }
    }
    let data = CString::new(data).ok()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("overlay", dir, "overlay", flags, data.as_c_str()).ok()?;
    Some(lock)
}

fn lock_upper(upper: &Path) -> io::Result<File> {
    fs::create_dir_all(upper)?;
    let folder = File::open(upper)?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}
