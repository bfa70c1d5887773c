//! Where a path leads, whatever `..`, absolute paths, links and other systems' forms say.
//!
//! Looks at the disk through a [`PathProbe`] only, and opens nothing. The answer has no links in it: open
//! that, not what was asked for.

mod follow;
mod protected;
mod words;

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use harn_model::{PathKind, WorkspacePathInfo};

use follow::{FollowedPath, ProbeCache};
use protected::ResolvedRoots;

pub use protected::is_protected_name;

/// Looks at one name on a disk.
pub trait PathProbe: Send + Sync {
    /// What stands there; a link is told, not followed.
    fn look(&self, path: &Path) -> io::Result<PathEntry>;

    /// A name beside this one that differs from it in case only. Asked for a name that is not there; who
    /// cannot list a folder need not answer.
    fn twin(&self, path: &Path) -> io::Result<Option<OsString>> {
        let _ = path;
        Ok(None)
    }
}

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEntry {
    /// Nothing.
    Absent,
    /// A link to this.
    Link(PathBuf),
    /// A folder.
    Dir,
    /// A file, or anything else that is no folder.
    File,
}

/// The directories of a session: the first is where relative paths begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRoots {
    dirs: Vec<PathBuf>,
    protected: Vec<PathBuf>,
}

impl SessionRoots {
    /// Absolute directories, and absolute places inside or outside them that are never written.
    #[must_use]
    pub fn new(dirs: Vec<PathBuf>, protected: Vec<PathBuf>) -> Self {
        Self { dirs, protected }
    }

    /// The directories.
    #[must_use]
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// The places that are never written, besides the names that never are.
    #[must_use]
    pub fn protected(&self) -> &[PathBuf] {
        &self.protected
    }
}

/// What to open: a directory of the session, and a path from there without links in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootedPath {
    /// The directory, as the session names it.
    pub root: PathBuf,
    /// From there; empty for the directory itself.
    pub inside: PathBuf,
}

impl RootedPath {
    /// The whole path.
    #[must_use]
    pub fn absolute(&self) -> PathBuf {
        // Joining nothing would leave a slash at the end.
        if self.inside.as_os_str().is_empty() {
            return self.root.clone();
        }
        self.root.join(&self.inside)
    }
}

/// Where a path stands to the session's directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathScope {
    /// In one of them.
    Inside,
    /// Elsewhere.
    Outside,
    /// Behind a link that leads nowhere, so that nobody can tell.
    Dangling,
    /// Not a path that can be told here: empty, NUL in it, another system's form, too long.
    Invalid,
}

/// A path, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedPath {
    /// For the receipt. Its reason continues a sentence that begins with the path.
    pub info: WorkspacePathInfo,
    /// Where it stands.
    pub standing: PathScope,
    /// Whether it is never written: git's own, ours, or one of the protected places.
    pub protected: bool,
    /// What to open; for an outside path the root of the file system stands for the directory, so that
    /// every folder on the way is part of what was checked. None where nobody can tell.
    pub place: Option<RootedPath>,
}

/// Finds where `input` leads. What does not exist yet is judged by the deepest folder that does.
#[must_use]
pub fn locate(roots: &SessionRoots, input: &str, probe: &dyn PathProbe) -> LocatedPath {
    let mut looks = ProbeCache::new(probe);
    let ground = ResolvedRoots::new(roots, &mut looks);
    locate_on(&ground, input, &mut looks)
}

/// Finds where each of `inputs` leads, looking at each name on the disk once; sorted by what is shown of
/// them. Equal ones are told once; two ways to write one path are both told, since a rule may name either.
#[must_use]
pub fn locate_all<S: AsRef<str>>(
    roots: &SessionRoots,
    inputs: &[S],
    probe: &dyn PathProbe,
) -> Vec<LocatedPath> {
    let mut looks = ProbeCache::new(probe);
    let ground = ResolvedRoots::new(roots, &mut looks);
    let mut all: Vec<_> = inputs
        .iter()
        .map(|input| locate_on(&ground, input.as_ref(), &mut looks))
        .collect();
    all.sort_by(|a, b| {
        let (a, b) = (&a.info, &b.info);
        (a.display(), &a.input).cmp(&(b.display(), &b.input))
    });
    all.dedup();
    all
}

/// `input` without `.` and `..`, taken out by words; links are not followed. For rules that take away:
/// one that names a link means it, however its name is spelled.
#[must_use]
pub fn as_worded(input: &str) -> String {
    words::normalise(Path::new(input))
        .to_string_lossy()
        .into_owned()
}

fn locate_on(ground: &ResolvedRoots<'_>, input: &str, looks: &mut ProbeCache<'_>) -> LocatedPath {
    if let Some(reason) = words::unusable(input) {
        return untold(input, PathScope::Invalid, reason);
    }
    let Some(asked) = ground.absolute(input) else {
        let reason = "is relative, and there is no directory to begin at";
        return untold(input, PathScope::Invalid, reason);
    };
    let followed = match ground.follow(&asked, looks) {
        Ok(followed) => followed,
        Err(lost) => return untold(input, lost.standing(), lost.reason()),
    };
    let protected = ground.protects(&followed);
    let Some((root, inside)) = ground.root_of(&followed.real) else {
        let reason = if ground.seems_inside(&asked) {
            "leads outside the session's directories through a link"
        } else {
            "is outside the session's directories"
        };
        return outside(input, &followed.real, protected, reason);
    };
    // What is never written says so, whatever is beside it.
    if !protected && let Some(reason) = twin(&followed, &root.real, looks) {
        return untold(input, PathScope::Invalid, reason);
    }
    let place = RootedPath {
        root: root.named.to_owned(),
        inside: inside.to_owned(),
    };
    // Rules are text. A name they cannot spell would be judged by another one.
    let (Some(host), Some(inside)) = (text(&place.absolute()), text(inside)) else {
        return untold(input, PathScope::Invalid, NOT_TEXT);
    };
    let workspace = root.is_first.then(|| match inside.as_str() {
        "" => ".".to_owned(),
        _ => inside,
    });
    LocatedPath {
        info: WorkspacePathInfo {
            input: input.to_owned(),
            kind: PathKind::WorkspaceRelative,
            normalized: workspace.clone().unwrap_or_else(|| host.clone()),
            workspace_path: workspace,
            host_path: Some(host),
            recovered_root_drift: false,
            reason: words::odd(input).map(str::to_owned),
        },
        standing: PathScope::Inside,
        protected,
        place: Some(place),
    }
}

/// A new name beside one that differs in case only is taken for the other by some disks and some readers.
fn twin(followed: &FollowedPath, root: &Path, looks: &ProbeCache<'_>) -> Option<&'static str> {
    let absent = followed.absent.as_deref()?;
    let below = absent.strip_prefix(root).ok()?;
    if below.as_os_str().is_empty() {
        return None;
    }
    looks
        .twin(absent)
        .then_some("differs in case only from a name that is there; name that one")
}

fn outside(input: &str, real: &Path, protected: bool, reason: &str) -> LocatedPath {
    let Some(host) = text(real) else {
        return untold(input, PathScope::Invalid, NOT_TEXT);
    };
    let place = RootedPath {
        root: PathBuf::from("/"),
        inside: real.iter().skip(1).collect(),
    };
    let mut found = untold(input, PathScope::Outside, reason);
    found.info.kind = PathKind::HostAbsolute;
    found.info.normalized.clone_from(&host);
    found.info.host_path = Some(host);
    LocatedPath {
        protected,
        place: Some(place),
        ..found
    }
}

fn untold(input: &str, standing: PathScope, reason: &str) -> LocatedPath {
    LocatedPath {
        info: WorkspacePathInfo {
            input: input.to_owned(),
            kind: PathKind::Invalid,
            normalized: input.to_owned(),
            workspace_path: None,
            host_path: None,
            recovered_root_drift: false,
            reason: Some(reason.to_owned()),
        },
        standing,
        protected: false,
        place: None,
    }
}

const NOT_TEXT: &str = "leads to a name that is not UTF-8 text";

fn text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}
