//! The session's directories with their links followed, and the protected paths in them.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{
    PathEntry, SessionRoots,
    follow::{FollowError, FollowedPath, ProbeCache},
    lexical,
};

/// The directory of git, where a hook or a setting runs commands later, and those of this project.
const NAMES: [&str; 3] = [".git", ".harn", ".harness"];
/// The same names on disks that shorten names.
const SHORT_NAMES: [&str; 3] = ["git~1", "harn~1", "harnes~1"];

/// Whether a name is protected, in any spelling that a disk accepts for it: another case, dots or spaces at
/// the end, a stream of it, ignored characters, the short name.
pub fn is_protected_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let telling = |c: char| matches!(c, '~' | '\\') || !c.is_ascii();
    if !name.starts_with('.') && !name.contains(telling) {
        return false;
    }
    // Where a backslash is a separator, each part is a name.
    name.split('\\').any(|part| {
        let part = part.split(':').next().unwrap_or(part);
        let folded: String = fold_case(part).filter(|c| !is_ignored(*c)).collect();
        let plain = folded.trim_end_matches([' ', '.']);
        NAMES.contains(&plain) || SHORT_NAMES.contains(&plain)
    })
}

/// The manifest of a workspace, which names skills and servers.
const MANIFEST: &str = "harn.toml";

/// Whether a file of this name decides what the server runs, in any spelling that a disk accepts for it.
pub(crate) fn is_configuration_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.split('\\').any(|part| {
        let part = part.split(':').next().unwrap_or(part);
        let folded: String = fold_case(part).filter(|c| !is_ignored(*c)).collect();
        folded.trim_end_matches([' ', '.']) == MANIFEST
    })
}

/// Whether a pattern with wildcards may match the manifest's name. One of wildcards only, such as `*`, names no file.
pub(crate) fn may_match_configuration(pattern: &str) -> bool {
    // The places in the name up to which the pattern so far may match: a bit for each.
    let mut reached = 1_u32;
    let (mut is_wild, mut is_literal) = (false, false);
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let closed = match c {
            // The first sign belongs to the class, also a `]`.
            '[' => rest
                .char_indices()
                .skip(1 + usize::from(rest.starts_with(['!', '^'])))
                .find(|(_, c)| *c == ']')
                .map(|(at, _)| at + 1),
            '{' => rest.find('}').map(|at| at + 1),
            _ => None,
        };
        let begins = reached & reached.wrapping_neg();
        reached = match (c, closed) {
            ('\\', _) => continue,
            ('?', _) | ('[', Some(_)) => reached << 1,
            ('*', _) | ('{', Some(_)) => begins.wrapping_neg(),
            _ => {
                is_literal = true;
                fold_case(c.encode_utf8(&mut [0; 4])).fold(reached, |reached, c| {
                    let same = MANIFEST.chars().enumerate().filter(|(_, it)| *it == c);
                    let same = same.fold(0, |all, (at, _)| all | (1 << at));
                    (reached & same) << 1
                })
            }
        };
        is_wild |= matches!(c, '*' | '?') || closed.is_some();
        rest = rest.get(closed.unwrap_or(0)..).unwrap_or_default();
    }
    is_wild && is_literal && reached & (1 << MANIFEST.len()) != 0
}

/// Characters that HFS+ ignores in a name.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// The directories of a session, resolved on the disk.
pub(super) struct ResolvedRoots<'a> {
    begin: Option<&'a Path>,
    roots: Vec<ResolvedRoot<'a>>,
    protected: Vec<PathBuf>,
    configuration: Vec<PathBuf>,
}

pub(super) struct ResolvedRoot<'a> {
    /// The path as the session names it.
    pub(super) named: &'a Path,
    /// The path without `..`.
    pub(super) worded: PathBuf,
    /// The path without links.
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
            let worded = lexical::normalise(named);
            // A directory that cannot be resolved contains nothing.
            let followed = named.is_absolute().then(|| looks.follow(&worded));
            if let Some(Ok(followed)) = followed {
                let is_there = matches!(looks.read_entry(&followed.real), Ok(PathEntry::Dir));
                found.push(ResolvedRoot {
                    named,
                    worded,
                    is_there,
                    real: followed.real,
                    is_first: at == 0,
                });
            }
        }
        let mut follow_all = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let worded = paths
                .iter()
                .filter(absolute)
                .map(|path| lexical::normalise(path));
            let followed = worded.filter_map(|path| looks.follow(&path).ok());
            followed.map(|followed| followed.real).collect()
        };
        let configuration = follow_all(&roots.configuration);
        let mut protected = follow_all(&roots.protected);
        // If `.git` is a link, its target is protected under every name.
        for root in &found {
            for name in NAMES {
                let path = root.real.join(name);
                if matches!(looks.read_entry(&path), Ok(PathEntry::Link(_))) {
                    protected.extend(looks.follow(&path).map(|followed| followed.real));
                }
            }
        }
        let begin = roots.dirs.first().filter(absolute);
        Self {
            begin: begin.map(PathBuf::as_path),
            roots: found,
            protected,
            configuration,
        }
    }

    /// Returns the first directory without links.
    pub(super) fn first_root(&self) -> Option<&Path> {
        let first = self.roots.first().filter(|root| root.is_first);
        first.map(|root| root.real.as_path())
    }

    /// Returns `input` as an absolute path without `..`; none if it is relative and has no start directory.
    pub(super) fn make_absolute(&self, input: &str) -> Option<PathBuf> {
        let input = Path::new(input);
        if input.is_absolute() {
            return Some(lexical::normalise(input));
        }
        self.begin
            .map(|begin| lexical::normalise(&begin.join(input)))
    }

    /// Follows a path without `..`. If a directory contains it by its words, begins there: that directory is
    /// already resolved.
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

    /// Returns the first directory that contains a path without links, and the path from there.
    pub(super) fn find_root<'p>(&self, real: &'p Path) -> Option<(&ResolvedRoot<'a>, &'p Path)> {
        let from = |root: &'_ ResolvedRoot<'a>| real.strip_prefix(&root.real).ok();
        self.roots
            .iter()
            .find_map(|root| from(root).map(|inside| (root, inside)))
    }

    /// Whether a directory contains a path, judged by its words.
    pub(super) fn seems_inside(&self, asked: &Path) -> bool {
        let seems = |root: &ResolvedRoot<'_>| {
            asked.starts_with(&root.worded) || asked.starts_with(&root.real)
        };
        self.roots.iter().any(seems)
    }

    /// Whether a followed path is never written.
    pub(super) fn protects(&self, followed: &FollowedPath) -> bool {
        let by_name = |path: &Path| {
            // Names above a directory of the session do not count.
            let judged = self.find_root(path).map_or(path, |(_, inside)| inside);
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

impl ResolvedRoots<'_> {
    /// Whether the content of a followed path decides what the server runs. A folder above such a path also counts,
    /// unless it is a directory of the session.
    pub(super) fn configures(&self, followed: &FollowedPath) -> bool {
        let by_name = |path: &Path| path.file_name().is_some_and(is_configuration_name);
        let is_root = || {
            self.roots
                .iter()
                .any(|root| is_below(&root.real, &followed.real))
        };
        by_name(&followed.real)
            || followed.links.iter().any(|link| by_name(link))
            || self.configuration.iter().any(|place| {
                is_below(&followed.real, place) || (is_below(place, &followed.real) && !is_root())
            })
    }
}

/// Whether `path` is `place` or below it, on a disk that may ignore case.
fn is_below(path: &Path, place: &Path) -> bool {
    let mut names = path.iter();
    place.iter().all(|wanted| {
        names.next().is_some_and(|name| {
            name == wanted
                || fold_case(&name.to_string_lossy()).eq(fold_case(&wanted.to_string_lossy()))
        })
    })
}

/// Folds case as disks do: through the upper case, which some letters share that differ in the lower case.
fn fold_case(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_protected_name_is_protected() {
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
    fn every_spelling_of_the_manifest_is_found() {
        for name in [
            "harn.toml",
            "HARN.toml",
            "harn.toml.",
            "harn.toml::$DATA",
            "x\\harn.toml",
        ] {
            assert!(is_configuration_name(OsStr::new(name)), "{name:?}");
        }
        for name in ["harn.toml.bak", "my-harn.toml", "harn", "toml", ""] {
            assert!(!is_configuration_name(OsStr::new(name)), "{name:?}");
        }
    }

    #[test]
    fn patterns_that_may_match_the_manifest_are_found() {
        for pattern in [
            "harn.tom?",
            "HARN.T*",
            "*.toml",
            "?arn.tom?",
            "h*n*l",
            "harn.tom[l]",
            "harn.tom[!]]",
            "[g-h]arn*",
            "{harn,x}.toml",
            "harn.{a,b}",
            "harn\\.tom?",
            "**harn.toml",
        ] {
            assert!(may_match_configuration(pattern), "{pattern}");
        }
        for pattern in [
            "",
            "*",
            "**",
            "?",
            "[a]*",
            "{\"a\":1}",
            "*.rs",
            "*.tom",
            "arn.*",
            "harn.toml?",
            "harn",
            "harn.tom[",
            "{harn",
            "h?n.toml",
            "*ü",
            "[",
            "{",
        ] {
            assert!(!may_match_configuration(pattern), "{pattern}");
        }
    }

    #[test]
    fn is_below_compares_whole_names() {
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
