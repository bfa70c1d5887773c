//! The session's directories with their links followed, and what in them is never written.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{
    PathEntry, SessionRoots,
    follow::{FollowError, FollowedPath, ProbeCache},
    words,
};

/// Git's own, where a hook or a setting runs commands later, and ours.
const NAMES: [&str; 3] = [".git", ".harn", ".harness"];
/// What disks that shorten names call the same.
const SHORT_NAMES: [&str; 3] = ["git~1", "harn~1", "harnes~1"];

/// Whether a name is never written, in any spelling that some disk takes for it: another case, dots or
/// spaces at the end, a stream of it, characters that are ignored, the short name.
#[must_use]
pub fn is_protected_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let telling = |c: char| matches!(c, '~' | '\\') || !c.is_ascii();
    if !name.starts_with('.') && !name.contains(telling) {
        return false;
    }
    // Where a backslash separates, each part is a name.
    name.split('\\').any(|part| {
        let part = part.split(':').next().unwrap_or(part);
        let folded: String = fold(part).filter(|c| !is_ignored(*c)).collect();
        let plain = folded.trim_end_matches([' ', '.']);
        NAMES.contains(&plain) || SHORT_NAMES.contains(&plain)
    })
}

/// Characters that HFS+ does not see in a name.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// The directories of a session as they stand on the disk.
pub(super) struct ResolvedRoots<'a> {
    begin: Option<&'a Path>,
    roots: Vec<ResolvedRoot<'a>>,
    protected: Vec<PathBuf>,
}

/// One of them.
pub(super) struct ResolvedRoot<'a> {
    /// As the session names it.
    pub(super) named: &'a Path,
    /// Without `..`.
    pub(super) worded: PathBuf,
    /// Without links.
    pub(super) real: PathBuf,
    /// Whether it is a folder on the disk.
    is_there: bool,
    /// Whether relative paths begin here.
    pub(super) is_first: bool,
}

impl<'a> ResolvedRoots<'a> {
    pub(super) fn new(roots: &'a SessionRoots, looks: &mut ProbeCache<'_>) -> Self {
        let absolute = |path: &&PathBuf| path.is_absolute();
        let mut found = Vec::new();
        for (at, named) in roots.dirs.iter().enumerate() {
            let worded = words::normalise(named);
            // Nothing is inside a directory that cannot be told.
            let followed = named.is_absolute().then(|| looks.follow(&worded));
            if let Some(Ok(followed)) = followed {
                let is_there = matches!(looks.look(&followed.real), Ok(PathEntry::Dir));
                found.push(ResolvedRoot {
                    named,
                    worded,
                    is_there,
                    real: followed.real,
                    is_first: at == 0,
                });
            }
        }
        let mut protected = Vec::new();
        for path in roots.protected.iter().filter(absolute) {
            let worded = words::normalise(path);
            protected.extend(looks.follow(&worded).map(|followed| followed.real));
        }
        // A `.git` that is a link protects what it leads to, under every name.
        for root in &found {
            for name in NAMES {
                let path = root.real.join(name);
                if matches!(looks.look(&path), Ok(PathEntry::Link(_))) {
                    protected.extend(looks.follow(&path).map(|followed| followed.real));
                }
            }
        }
        let begin = roots.dirs.first().filter(absolute);
        Self {
            begin: begin.map(PathBuf::as_path),
            roots: found,
            protected,
        }
    }

    /// `input` as an absolute path without `..`; nothing where a relative one has no beginning.
    pub(super) fn absolute(&self, input: &str) -> Option<PathBuf> {
        let input = Path::new(input);
        if input.is_absolute() {
            return Some(words::normalise(input));
        }
        self.begin.map(|begin| words::normalise(&begin.join(input)))
    }

    /// Follows a path without `..`, from the directory it is in by its words where it is in one: that one
    /// need not be looked at again.
    pub(super) fn follow(
        &self,
        asked: &Path,
        looks: &mut ProbeCache<'_>,
    ) -> Result<FollowedPath, FollowError> {
        for root in self.roots.iter().filter(|root| root.is_there) {
            if let Ok(rest) = asked.strip_prefix(&root.worded) {
                return looks.follow_from(root.real.clone(), rest);
            }
        }
        looks.follow(asked)
    }

    /// The first directory that a path without links is in, and the path from there.
    pub(super) fn root_of<'p>(&self, real: &'p Path) -> Option<(&ResolvedRoot<'a>, &'p Path)> {
        let from = |root: &'_ ResolvedRoot<'a>| real.strip_prefix(&root.real).ok();
        self.roots
            .iter()
            .find_map(|root| from(root).map(|inside| (root, inside)))
    }

    /// Whether a path is in a directory by its words.
    pub(super) fn seems_inside(&self, asked: &Path) -> bool {
        let seems = |root: &ResolvedRoot<'_>| {
            asked.starts_with(&root.worded) || asked.starts_with(&root.real)
        };
        self.roots.iter().any(seems)
    }

    /// Whether what was found is never written.
    pub(super) fn protects(&self, followed: &FollowedPath) -> bool {
        let by_name = |path: &Path| {
            // The names above a directory are not the session's to be judged by.
            let judged = self.root_of(path).map_or(path, |(_, inside)| inside);
            judged.iter().any(is_protected_name)
        };
        by_name(&followed.real)
            || followed.links.iter().any(|link| by_name(link))
            || self
                .protected
                .iter()
                .any(|place| is_below(&followed.real, place))
    }
}

/// Whether `path` is `place` or below it, on a disk that may not tell cases apart.
fn is_below(path: &Path, place: &Path) -> bool {
    let mut names = path.iter();
    place.iter().all(|wanted| {
        names.next().is_some_and(|name| {
            name == wanted || fold(&name.to_string_lossy()).eq(fold(&wanted.to_string_lossy()))
        })
    })
}

/// Without case, as disks fold it: through the upper case, which some letters share that differ in the
/// lower.
fn fold(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_protected_name_is_one() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            ".git.",
            ".git ",
            ".git . .",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".g\u{131}t",
            "git~1",
            "GIT~1",
            ".harn",
            ".harness",
            ".Harness",
            ".harne\u{17f}s",
            ".git\\hooks",
            "x\\.git\\config",
        ] {
            assert!(is_protected_name(OsStr::new(name)), "{name:?}");
        }
        for name in [
            "git",
            ".gitignore",
            ".github",
            "x.git",
            ".gitt",
            "..git",
            ".harn-1-2.tmp",
            ".harn.toml",
            "harness",
            "git~2",
            "größe",
            "",
            ".",
            "..",
        ] {
            assert!(!is_protected_name(OsStr::new(name)), "{name:?}");
        }
    }

    #[test]
    fn below_is_by_names_and_not_by_letters() {
        for (path, place, expected) in [
            ("/w/state", "/w/state", true),
            ("/w/state/x", "/w/state", true),
            ("/w/STATE/x", "/w/state", true),
            ("/w/state2", "/w/state", false),
            ("/w", "/w/state", false),
        ] {
            assert_eq!(
                is_below(Path::new(path), Path::new(place)),
                expected,
                "{path}"
            );
        }
    }
}
