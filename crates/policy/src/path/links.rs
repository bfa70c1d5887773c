//! Finds paths that go through a link, for the words of commands: a program follows links that its words do not
//! show.

use std::path::Path;

use super::{
    PathEntry, PathProbe, SessionRoots,
    follow::{FollowError, ProbeCache},
    lexical,
    protected::ResolvedRoots,
};

/// The target of a path that goes through a link, or of a path whose content decides what the server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkTarget {
    /// The path without links; none if it is unknown.
    pub(crate) real: Option<String>,
    /// Whether it is, or may be, outside the session's directories.
    pub(crate) is_outside: bool,
    /// Whether it is never written.
    pub(crate) is_protected: bool,
    /// Whether its content decides what the server runs.
    pub(crate) is_configuration: bool,
}

/// Follows paths in the directories of a session, and reads each name on the disk once.
pub(crate) struct LinkSearch<'a> {
    looks: ProbeCache<'a>,
    ground: ResolvedRoots<'a>,
}

impl<'a> LinkSearch<'a> {
    pub(crate) fn new(roots: &'a SessionRoots, probe: &'a dyn PathProbe) -> Self {
        let mut looks = ProbeCache::new(probe);
        let ground = ResolvedRoots::new(roots, &mut looks);
        Self { looks, ground }
    }

    /// Returns the session's first directory without links; none if it cannot be resolved.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        self.ground.first_root()
    }

    /// Returns the target of an absolute path if it goes through a link or decides what runs. A path outside by its
    /// words has none: it is judged by these.
    pub(crate) fn find_target(&mut self, path: &str) -> Option<LinkTarget> {
        let asked = lexical::normalise(Path::new(path));
        if !self.ground.seems_inside(&asked) || lexical::is_too_long(path) {
            return None;
        }
        let followed = match self.ground.follow(&asked, &mut self.looks) {
            Ok(followed) if followed.links.is_empty() && !self.ground.configures(&followed) => {
                return None;
            }
            Ok(followed) => followed,
            Err(FollowError::Nowhere | FollowError::Loop | FollowError::Unreadable(_)) => {
                return Some(LinkTarget {
                    real: None,
                    is_outside: true,
                    is_protected: false,
                    is_configuration: false,
                });
            }
        };
        let real = match self.ground.find_root(&followed.real) {
            Some((root, inside)) => root.named.join(inside),
            None => followed.real.clone(),
        };
        Some(LinkTarget {
            is_outside: self.ground.find_root(&followed.real).is_none(),
            is_protected: self.ground.protects(&followed),
            is_configuration: self.ground.configures(&followed),
            real: real.to_str().map(str::to_owned),
        })
    }

    /// Whether an absolute path is a folder, also through links.
    pub(crate) fn is_folder(&mut self, path: &str) -> bool {
        let asked = lexical::normalise(Path::new(path));
        let followed = self.ground.follow(&asked, &mut self.looks);
        followed.is_ok_and(|followed| {
            matches!(self.looks.read_entry(&followed.real), Ok(PathEntry::Dir))
        })
    }
}
