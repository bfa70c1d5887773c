//! Resolves paths with `..`, absolute paths, links and forms of other systems.
//!
//! Reads the disk through a [`PathProbe`] only, and opens nothing. The result contains no links: open the
//! result, not the input.

mod follow;
mod lexical;
mod links;
mod protected;

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use harn_model::{PathKind, WorkspacePathInfo};

use follow::{FollowedPath, ProbeCache};
use protected::ResolvedRoots;

pub(crate) use links::LinkSearch;
pub use protected::is_protected_name;
pub(crate) use protected::{is_configuration_name, may_match_configuration};

/// Reads one name on a disk at a time.
pub trait PathProbe: Send + Sync {
    /// Returns the entry at a path; a link is returned, not followed.
    fn read_entry(&self, path: &Path) -> io::Result<PathEntry>;

    /// Returns a sibling name that differs from this one in case only. Called for a name that does not exist; a
    /// probe that cannot list a folder need not implement it.
    fn find_case_variant(&self, path: &Path) -> io::Result<Option<OsString>> {
        let _ = path;
        Ok(None)
    }

    /// Returns the content of a regular file of at most `limit` bytes. Fails for a larger one, a link and any other
    /// entry, and never waits for one. A probe that reads no files need not implement it; then git asks.
    fn read_file(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let _ = (path, limit);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The entry at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEntry {
    /// The name does not exist.
    Absent,
    /// A link with this target.
    Link(PathBuf),
    /// A folder.
    Dir,
    /// A file, or any other entry that is no folder.
    File,
}

/// The directories of a session; relative paths begin at the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRoots {
    dirs: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    configuration: Vec<PathBuf>,
}

impl SessionRoots {
    /// Creates roots from absolute directories, and absolute paths inside or outside them that are never written.
    pub fn new(dirs: Vec<PathBuf>, protected: Vec<PathBuf>) -> Self {
        Self {
            dirs,
            protected,
            configuration: Vec::new(),
        }
    }

    /// Sets the absolute paths whose content decides what the server runs, besides the files of such a name.
    #[must_use]
    pub fn with_configuration(mut self, configuration: Vec<PathBuf>) -> Self {
        self.configuration = configuration;
        self
    }

    /// Returns the directories.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Returns the paths that are never written, besides the protected names.
    pub fn protected(&self) -> &[PathBuf] {
        &self.protected
    }
}

/// The path to open: a directory of the session, and a path from there without links in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootedPath {
    /// The directory, as the session names it.
    pub root: PathBuf,
    /// The path relative to `root`; empty for the directory itself.
    pub inside: PathBuf,
}

impl RootedPath {
    /// Returns the whole path.
    pub fn absolute(&self) -> PathBuf {
        // Joining an empty path would add a slash at the end.
        if self.inside.as_os_str().is_empty() {
            return self.root.clone();
        }
        self.root.join(&self.inside)
    }
}

/// The position of a path relative to the session's directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathScope {
    /// Inside one of them.
    Inside,
    /// Outside all of them.
    Outside,
    /// Behind a broken link or a loop of links, so that the target is unknown.
    Dangling,
    /// Not a usable path: empty, with NUL in it, in another system's form, too long, unreadable.
    Invalid,
}

/// A path and its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedPath {
    /// For the receipt. Its reason continues a sentence that begins with the path.
    pub info: WorkspacePathInfo,
    /// The position relative to the session's directories.
    pub standing: PathScope,
    /// Whether it is never written: a directory of git or of this project, or one of the protected paths.
    pub protected: bool,
    /// Whether its content decides what the server runs, so that whatever writes it asks first.
    pub configures: bool,
    /// The path to open; for an outside path the directory is the root of the file system, so that the check
    /// covers every folder on the way. None if the target is unknown.
    pub place: Option<RootedPath>,
}

/// Resolves `input`. A path that does not exist yet is judged by its deepest existing folder.
pub fn locate(roots: &SessionRoots, input: &str, probe: &dyn PathProbe) -> LocatedPath {
    let mut looks = ProbeCache::new(probe);
    let ground = ResolvedRoots::new(roots, &mut looks);
    locate_in(&ground, input, &mut looks)
}

/// Resolves each of `inputs`, reading each name on the disk once; sorted by the displayed path. Equal
/// results appear once; two spellings of one path both stay, since a rule may name either.
pub fn locate_all<S: AsRef<str>>(
    roots: &SessionRoots,
    inputs: &[S],
    probe: &dyn PathProbe,
) -> Vec<LocatedPath> {
    let mut looks = ProbeCache::new(probe);
    let ground = ResolvedRoots::new(roots, &mut looks);
    let mut all: Vec<_> = inputs
        .iter()
        .map(|input| locate_in(&ground, input.as_ref(), &mut looks))
        .collect();
    all.sort_by(|a, b| {
        let (a, b) = (&a.info, &b.info);
        (a.display(), &a.input).cmp(&(b.display(), &b.input))
    });
    all.dedup();
    all
}

/// Returns `input` without `.` and `..`, removed as text; links are not followed. For ask and deny rules: a
/// rule that names a link applies to it in every spelling.
pub fn normalise_text(input: &str) -> String {
    lexical::normalise(Path::new(input))
        .to_string_lossy()
        .into_owned()
}

fn locate_in(ground: &ResolvedRoots<'_>, input: &str, looks: &mut ProbeCache<'_>) -> LocatedPath {
    if let Some(reason) = lexical::unusable_reason(input) {
        return unresolved_path(input, PathScope::Invalid, reason);
    }
    let Some(asked) = ground.make_absolute(input) else {
        let reason = "is relative, and there is no directory to resolve it against";
        return unresolved_path(input, PathScope::Invalid, reason);
    };
    let followed = match ground.follow(&asked, looks) {
        Ok(followed) => followed,
        Err(lost) => return unresolved_path(input, lost.scope(), lost.reason()),
    };
    let protected = ground.protects(&followed);
    let configures = ground.configures(&followed);
    let Some((root, inside)) = ground.find_root(&followed.real) else {
        let reason = if ground.seems_inside(&asked) {
            "leads outside the session's directories through a link"
        } else {
            "is outside the session's directories"
        };
        return LocatedPath {
            protected,
            configures,
            ..outside_path(input, &followed.real, reason)
        };
    };
    // A protected path is reported as protected, whatever its siblings are.
    if !protected && let Some(reason) = case_variant_reason(&followed, &root.real, looks) {
        return unresolved_path(input, PathScope::Invalid, reason);
    }
    let place = RootedPath {
        root: root.named.to_owned(),
        inside: inside.to_owned(),
    };
    // Rules are text. A name that they cannot spell would be judged by another one.
    let (Some(host), Some(inside)) = (to_text(&place.absolute()), to_text(inside)) else {
        return unresolved_path(input, PathScope::Invalid, NOT_TEXT);
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
            reason: lexical::odd_reason(input).map(str::to_owned),
        },
        standing: PathScope::Inside,
        protected,
        configures,
        place: Some(place),
    }
}

/// Returns the reason to reject a new name that differs from a sibling in case only: some disks and some programs
/// take it for the other.
fn case_variant_reason(
    followed: &FollowedPath,
    root: &Path,
    looks: &ProbeCache<'_>,
) -> Option<&'static str> {
    let absent = followed.absent.as_deref()?;
    let below = absent.strip_prefix(root).ok()?;
    if below.as_os_str().is_empty() {
        return None;
    }
    looks
        .has_case_variant(absent)
        .then_some("differs only in case from an existing name; use that name")
}

fn outside_path(input: &str, real: &Path, reason: &str) -> LocatedPath {
    let Some(host) = to_text(real) else {
        return unresolved_path(input, PathScope::Invalid, NOT_TEXT);
    };
    let place = RootedPath {
        root: PathBuf::from("/"),
        inside: real.iter().skip(1).collect(),
    };
    let mut found = unresolved_path(input, PathScope::Outside, reason);
    found.info.kind = PathKind::HostAbsolute;
    found.info.normalized.clone_from(&host);
    found.info.host_path = Some(host);
    LocatedPath {
        place: Some(place),
        ..found
    }
}

fn unresolved_path(input: &str, standing: PathScope, reason: &str) -> LocatedPath {
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
        configures: false,
        place: None,
    }
}

const NOT_TEXT: &str = "leads to a name that is not UTF-8 text";

fn to_text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}
