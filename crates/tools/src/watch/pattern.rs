//! Matches files against a glob, and the folders that can contain such files. Reads the disk only to detect that a
//! glob names a folder.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::WatchError;
use crate::workspace::HiddenFiles;

/// A glob over paths relative to the root.
#[derive(Clone, Debug)]
pub(crate) struct GlobPattern {
    glob: GlobMatcher,
    /// The folder that contains all matches, as far as the glob names it literally.
    within: PathBuf,
    /// The greatest depth of a folder with matches, if the glob limits it.
    deepest: Option<usize>,
    hidden: HiddenFiles,
}

impl GlobPattern {
    /// Parses a glob that a person wrote for the folder `root`.
    pub(crate) fn parse(glob: &str, root: &Path) -> Result<Self, WatchError> {
        let asked = glob.trim();
        let glob = asked.trim_start_matches("./");
        if glob.is_empty() || glob == "." {
            return Err(WatchError::Empty);
        }
        if glob.starts_with('/') {
            let inside = Path::new(glob).strip_prefix(root).ok();
            let right = inside.filter(|path| !path.as_os_str().is_empty());
            return Err(WatchError::Absolute {
                glob: asked.to_owned(),
                right: right.map_or("src/**/*.rs".into(), |path| path.display().to_string()),
            });
        }
        if glob.split('/').any(|part| part == "..") {
            return Err(WatchError::Outside {
                glob: asked.to_owned(),
            });
        }
        let matcher = GlobBuilder::new(glob)
            .literal_separator(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| WatchError::Syntax {
                glob: asked.to_owned(),
                problem: error.kind().to_string(),
            })?
            .compile_matcher();
        if glob.ends_with('/') || root.join(glob).is_dir() {
            return Err(WatchError::Folder {
                glob: asked.to_owned(),
                right: format!("{}/**", glob.trim_end_matches('/')),
            });
        }
        let plain = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
        let within = glob[..plain].rfind('/').map_or("", |end| &glob[..end]);
        // An alternative may contain a `/` while another has none.
        let anywhere = glob.contains("**") || glob.contains('{');
        let mut parts = glob.split('/');
        let hidden = match parts.any(|part| part.trim_start_matches('{').starts_with('.')) {
            true => HiddenFiles::Included,
            false => HiddenFiles::LeftOut,
        };
        Ok(Self {
            glob: matcher,
            within: within.into(),
            deepest: (!anywhere).then(|| glob.matches('/').count()),
            hidden,
        })
    }

    /// Returns whether the glob matches this file.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        self.glob.is_match(path)
    }

    /// Returns whether a folder can contain matches at any depth, or is on the path to one that can.
    pub(crate) fn may_hold(&self, folder: &Path) -> bool {
        let on_the_way = self.within.starts_with(folder) || folder.starts_with(&self.within);
        let deepest = self.deepest.unwrap_or(usize::MAX);
        on_the_way && folder.components().count() <= deepest
    }

    /// Returns whether the glob includes hidden files: as in a shell, by naming one.
    pub(crate) fn hidden_files(&self) -> HiddenFiles {
        self.hidden
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(glob: &str) -> GlobPattern {
        GlobPattern::parse(glob, Path::new("/nowhere/at/all")).unwrap()
    }

    #[test]
    fn a_glob_matches_paths() {
        let table = [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "src/deep/a.rs", true),
            ("./src/*.rs", "src/a.rs", true),
            ("src/?.rs", "src/a.rs", true),
            ("src/?.rs", "src/ab.rs", false),
            ("src/**", "src/deep/a", true),
            ("{src,tests}/*.{rs,toml}", "tests/a.toml", true),
            ("{src,tests}/*.{rs,toml}", "docs/a.toml", false),
            ("read{,me}.md", "read.md", true),
            ("a b.txt", "a b.txt", true),
        ];
        for (glob, path, expected) in table {
            let got = pattern(glob).matches(Path::new(path));
            assert_eq!(got, expected, "{glob} on {path}");
        }
    }

    #[test]
    fn may_hold_accepts_folders_that_can_contain_matches() {
        let table = [
            ("*.rs", "", true),
            ("*.rs", "src", false),
            ("src/*.rs", "", true),
            ("src/*.rs", "src", true),
            ("src/*.rs", "src/deep", false),
            ("src/*.rs", "docs", false),
            ("src/**/*.rs", "src/deep/er", true),
            ("src/**/*.rs", "docs", false),
            ("a/b/c.txt", "a", true),
            ("a/b/c.txt", "a/b", true),
            ("a/b/c.txt", "a/c", false),
            ("*/b/c.txt", "x/b", true),
            ("{src,a/b}/c", "a/b", true),
            ("**", "any/where", true),
        ];
        for (glob, folder, expected) in table {
            let got = pattern(glob).may_hold(Path::new(folder));
            assert_eq!(got, expected, "{glob} in {folder}");
        }
    }

    #[test]
    fn a_glob_includes_hidden_files_by_naming_one() {
        let table = [
            ("**", false),
            ("*.rs", false),
            ("src/v1.2/*", false),
            (".github/**", true),
            ("src/.env*", true),
            ("{.github,docs}/*", true),
        ];
        for (glob, expected) in table {
            let included = pattern(glob).hidden_files() == HiddenFiles::Included;
            assert_eq!(included, expected, "{glob}");
        }
    }

    #[test]
    fn an_error_suggests_a_correct_glob() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        let inside = dir.path().join("src/*.rs");
        let table = [
            ("", "which files?"),
            (" ./ ", "which files?"),
            ("/etc/*", "`/etc/*` is an absolute path"),
            (inside.to_str().unwrap(), "such as `src/*.rs`"),
            ("../x", "`../x` leads out of the workspace"),
            ("a/../../x", "without `..`"),
            ("{a", "`{a` is not a glob: unclosed alternate group"),
            ("a}", "unopened alternate group"),
            ("[a", "unclosed character class"),
            ("[z-a]", "invalid range"),
            (
                "src",
                "`src` is a folder; for the files in it write `src/**`",
            ),
            ("docs/", "write `docs/**`"),
        ];
        for (glob, expected) in table {
            let error = GlobPattern::parse(glob, dir.path())
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{glob}: {error}");
        }
    }
}
