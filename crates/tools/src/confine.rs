//! Keeps paths inside a workspace, whatever `..`, absolute paths and symlinks say.
//!
//! Looks at the disk but changes nothing. The answer is a path without links in it: use that, not the
//! one that was asked for.

use std::path::{Path, PathBuf};

use harn_policy::{Located, Roots, Standing, locate};

use crate::DiskProbe;

/// A path was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// It leads out of the workspace, by its words or through a link.
    #[error("{path} is outside the workspace; name a path inside it")]
    Outside {
        /// What was asked for.
        path: String,
    },
    /// It is git's own, or ours.
    #[error("{path} belongs to git or to us; it is not written to")]
    Protected {
        /// What was asked for.
        path: String,
    },
    /// Nobody can tell where it leads.
    #[error("{path} {reason}")]
    Untold {
        /// What was asked for.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// `path` as an absolute path inside `root`, links followed; relative ones begin at `root`. What does
/// not exist yet is judged by the deepest folder that does.
pub fn confine(root: &Path, path: &str) -> Result<PathBuf, ConfineError> {
    inside(look(root, path), path)
}

/// As [`confine`], for a path that is going to be written: refuses what is git's own as well, because a
/// hook or a config file written there runs commands later.
pub fn confine_write(root: &Path, path: &str) -> Result<PathBuf, ConfineError> {
    let located = look(root, path);
    let protected = located.protected;
    let target = inside(located, path)?;
    if protected {
        return Err(ConfineError::Protected {
            path: path.to_owned(),
        });
    }
    Ok(target)
}

fn look(root: &Path, path: &str) -> Located {
    let roots = Roots::new(vec![root.to_owned()], Vec::new());
    locate(&roots, path, &DiskProbe)
}

fn inside(located: Located, path: &str) -> Result<PathBuf, ConfineError> {
    let path = path.to_owned();
    match (located.standing, located.place) {
        (Standing::Inside, Some(place)) => Ok(place.absolute()),
        (Standing::Outside, _) => Err(ConfineError::Outside { path }),
        (Standing::Inside | Standing::Dangling | Standing::Invalid, _) => {
            let reason = located.info.reason.unwrap_or_default();
            Err(ConfineError::Untold { path, reason })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// A folder `a/b` that is the root, with a sibling `a/bc` that shares its prefix.
    fn world() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("a/b");
        fs::create_dir_all(root.join("src/.git")).unwrap();
        fs::create_dir_all(base.join("a/bc")).unwrap();
        fs::write(root.join("src/lib.rs"), "x").unwrap();
        fs::write(base.join("a/bc/secret"), "x").unwrap();
        symlink("src", root.join("inner")).unwrap();
        symlink("../bc", root.join("out")).unwrap();
        symlink("../bc/secret", root.join("leak")).unwrap();
        symlink("../bc/new", root.join("dangling")).unwrap();
        symlink("nowhere", root.join("dangling-inside")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        (dir, root)
    }

    #[test]
    fn stays_inside() {
        let (_dir, root) = world();
        let table = [
            ("src/lib.rs", "src/lib.rs"),
            ("./src//./lib.rs", "src/lib.rs"),
            ("src/../src/lib.rs", "src/lib.rs"),
            ("../b/src/lib.rs", "src/lib.rs"),
            ("inner/lib.rs", "src/lib.rs"),
            ("inner/new.rs", "src/new.rs"),
            ("inner/../top.rs", "top.rs"),
            ("deep/er/new.rs", "deep/er/new.rs"),
            ("src/lib.rs/below-a-file", "src/lib.rs/below-a-file"),
            ("spaced name", "spaced name"),
            (".", ""),
        ];
        for (asked, expected) in table {
            let got = confine(&root, asked).unwrap_or_else(|e| panic!("{asked}: {e}"));
            assert_eq!(got, root.join(expected), "{asked}");
        }
        let absolute = root.join("src/lib.rs");
        assert_eq!(
            confine(&root, absolute.to_str().unwrap()).unwrap(),
            absolute
        );
    }

    #[test]
    fn refuses_what_leaves() {
        let (_dir, root) = world();
        let sibling = root.parent().unwrap().join("bc/secret");
        let table = [
            "..",
            "../bc/secret",
            "src/../../bc/secret",
            "../../../../../../../../../etc/passwd",
            "/etc/passwd",
            "/",
            sibling.to_str().unwrap(),
            "out/secret",
            "out/new",
            "out",
            "leak",
        ];
        for asked in table {
            let got = confine(&root, asked);
            assert!(
                matches!(got, Err(ConfineError::Outside { .. })),
                "{asked}: {got:?}"
            );
        }
    }

    #[test]
    fn refuses_what_nobody_can_tell() {
        let (_dir, root) = world();
        for (asked, expected) in [
            ("dangling", "leads nowhere"),
            ("dangling/new", "leads nowhere"),
            ("dangling-inside", "leads nowhere"),
            ("loop/x", "without end"),
            ("", "is empty"),
            ("  ", "is empty"),
            ("a\0b", "NUL"),
        ] {
            let got = confine(&root, asked);
            assert!(matches!(got, Err(ConfineError::Untold { .. })), "{got:?}");
            let got = got.unwrap_err().to_string();
            assert!(got.contains(expected), "{asked}: {got}");
        }
    }

    #[test]
    fn refuses_to_write_what_is_gits() {
        let (_dir, root) = world();
        fs::create_dir(root.join(".git")).unwrap();
        symlink(".git", root.join("hidden")).unwrap();
        for asked in [
            ".git/hooks/pre-commit",
            ".git",
            "src/.git/config",
            "src/.GIT/config",
            "hidden/config",
            "src/../.git/config",
        ] {
            let got = confine_write(&root, asked);
            assert!(
                matches!(got, Err(ConfineError::Protected { .. })),
                "{asked}: {got:?}"
            );
            assert!(confine(&root, asked).is_ok(), "{asked} may be read");
        }
        for asked in [".gitignore", "src/git/x", "notes.md"] {
            assert_eq!(confine_write(&root, asked).unwrap(), root.join(asked));
        }
    }

    #[test]
    fn a_root_behind_a_link_keeps_its_own_name() {
        let (_dir, root) = world();
        let link = root.parent().unwrap().join("link");
        symlink(&root, &link).unwrap();
        let expected = link.join("src/lib.rs");
        assert_eq!(confine(&link, "src/lib.rs").unwrap(), expected);
        let by_real_name = root.join("src/lib.rs");
        assert_eq!(
            confine(&link, by_real_name.to_str().unwrap()).unwrap(),
            expected
        );
    }
}
