//! Follows the links of a path, one name at a time, and caches what it reads.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    io,
    path::{Component, Path, PathBuf},
};

use super::{PathEntry, PathProbe, PathScope};

/// The limit of links for one path, the same as that of the system.
const MAX_LINKS: usize = 40;

/// A probe, and its results so far.
pub(super) struct ProbeCache<'a> {
    probe: &'a dyn PathProbe,
    /// By the path's bytes, which are cheaper to compare than its names and as good: each has one spelling.
    seen: HashMap<OsString, Result<PathEntry, io::ErrorKind>>,
}

/// The target of a path.
#[derive(Debug)]
pub(super) struct FollowedPath {
    /// The path without links.
    pub(super) real: PathBuf,
    /// The links that were followed, by their own paths.
    pub(super) links: Vec<PathBuf>,
    /// The first name that does not exist.
    pub(super) absent: Option<PathBuf>,
}

/// The reason why a target is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FollowError {
    Nowhere,
    Loop,
    Unreadable(io::ErrorKind),
}

impl FollowError {
    pub(super) fn scope(self) -> PathScope {
        match self {
            Self::Nowhere | Self::Loop => PathScope::Dangling,
            Self::Unreadable(_) => PathScope::Invalid,
        }
    }

    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Nowhere => "goes through a broken link",
            Self::Loop => "goes through a loop of links",
            Self::Unreadable(io::ErrorKind::PermissionDenied) => {
                "cannot be accessed: permission denied"
            }
            Self::Unreadable(_) => "cannot be accessed",
        }
    }
}

/// A step of a path that remains to be followed.
enum PathStep<'p> {
    /// A name of the input path.
    Asked(&'p OsStr),
    /// A name of a link's target.
    Linked(OsString),
    /// `..` in a link's target. The path before it has no links by then, so it means what the system means.
    Up,
}

impl<'a> ProbeCache<'a> {
    pub(super) fn new(probe: &'a dyn PathProbe) -> Self {
        Self {
            probe,
            seen: HashMap::new(),
        }
    }

    pub(super) fn read_entry(&mut self, path: &Path) -> Result<PathEntry, io::ErrorKind> {
        if let Some(seen) = self.seen.get(path.as_os_str()) {
            return seen.clone();
        }
        let look = self.probe.read_entry(path).map_err(|error| error.kind());
        self.seen.insert(path.as_os_str().to_owned(), look.clone());
        look
    }

    /// Whether a sibling differs from this name in case only. A folder that cannot be listed counts as having
    /// no such name.
    pub(super) fn has_case_variant(&self, path: &Path) -> bool {
        matches!(self.probe.find_case_variant(path), Ok(Some(_)))
    }

    /// Follows an absolute path without `..` in it. Names below a missing name, or below a file, stay as they
    /// are.
    pub(super) fn follow(&mut self, path: &Path) -> Result<FollowedPath, FollowError> {
        let rest = path.strip_prefix("/").unwrap_or(path);
        self.follow_from(PathBuf::from("/"), rest)
    }

    /// Follows a path from a folder that has no links in it.
    pub(super) fn follow_from(
        &mut self,
        folder: PathBuf,
        path: &Path,
    ) -> Result<FollowedPath, FollowError> {
        let mut steps: Vec<_> = path.iter().rev().map(PathStep::Asked).collect();
        let mut followed = FollowedPath {
            real: folder,
            links: Vec::new(),
            absent: None,
        };
        while let Some(step) = steps.pop() {
            let linked = match step {
                PathStep::Asked(name) => {
                    followed.real.push(name);
                    false
                }
                PathStep::Linked(name) => {
                    followed.real.push(name);
                    true
                }
                PathStep::Up => {
                    followed.real.pop();
                    continue;
                }
            };
            match self
                .read_entry(&followed.real)
                .map_err(FollowError::Unreadable)?
            {
                PathEntry::Dir => {}
                PathEntry::File => match steps.last() {
                    Some(PathStep::Linked(_) | PathStep::Up) => return Err(FollowError::Nowhere),
                    Some(PathStep::Asked(_)) | None => return Ok(followed.with_remaining(steps)),
                },
                PathEntry::Absent if linked => return Err(FollowError::Nowhere),
                PathEntry::Absent => {
                    followed.absent = Some(followed.real.clone());
                    return Ok(followed.with_remaining(steps));
                }
                PathEntry::Link(target) => {
                    if followed.links.len() == MAX_LINKS {
                        return Err(FollowError::Loop);
                    }
                    followed.links.push(followed.real.clone());
                    followed.real.pop();
                    for component in target.components().rev() {
                        match component {
                            Component::Normal(name) => {
                                steps.push(PathStep::Linked(name.to_owned()))
                            }
                            Component::ParentDir => steps.push(PathStep::Up),
                            Component::RootDir => followed.real = PathBuf::from("/"),
                            Component::CurDir | Component::Prefix(_) => {}
                        }
                    }
                }
            }
        }
        Ok(followed)
    }
}

impl FollowedPath {
    /// Appends the remaining names: nothing exists there that could be a link.
    fn with_remaining(mut self, steps: Vec<PathStep<'_>>) -> Self {
        for step in steps.into_iter().rev() {
            match step {
                PathStep::Asked(name) => self.real.push(name),
                PathStep::Linked(name) => self.real.push(name),
                PathStep::Up => {
                    self.real.pop();
                }
            }
        }
        self
    }
}
