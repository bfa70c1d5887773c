//! Keeps paths inside a workspace, whatever `..`, absolute paths and symlinks say.
//!
//! Looks at the disk but changes nothing. The answer is a path without links in it: use that, not the
//! one that was asked for.

use std::{
    ffi::OsStr,
    io,
    path::{Component, Path, PathBuf},
};

/// A path was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// There is no path.
    #[error("a path is missing")]
    Empty,
    /// It leads out of the workspace, by its words or through a link.
    #[error("{path} is outside the workspace; name a path inside it")]
    Outside {
        /// What was asked for.
        path: String,
    },
    /// It goes through a link that leads nowhere, so that nobody can tell where it would end.
    #[error("{path} goes through a link that leads nowhere")]
    Dangling {
        /// What was asked for.
        path: String,
    },
    /// It is git's own.
    #[error("{path} belongs to git; it is not written to")]
    Git {
        /// What was asked for.
        path: String,
    },
    /// The disk would not say.
    #[error("{path}: {source}")]
    Io {
        /// What was asked for.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// `path` as an absolute path inside `root`, links followed; relative ones begin at `root`. What does
/// not exist yet is judged by the deepest folder that does.
pub fn confine(root: &Path, path: &str) -> Result<PathBuf, ConfineError> {
    inside(root, path).map(|inside| root.join(inside))
}

/// As [`confine`], for a path that is going to be written: refuses what is git's own as well, because a
/// hook or a config file written there runs commands later.
pub fn confine_write(root: &Path, path: &str) -> Result<PathBuf, ConfineError> {
    let inside = inside(root, path)?;
    // Some file systems do not tell `.GIT` from `.git`.
    let is_git = |name: &OsStr| name.eq_ignore_ascii_case(".git");
    if inside.iter().any(is_git) {
        return Err(ConfineError::Git {
            path: path.to_owned(),
        });
    }
    Ok(root.join(inside))
}

/// The path from the root, links followed.
fn inside(root: &Path, path: &str) -> Result<PathBuf, ConfineError> {
    if path.trim().is_empty() {
        return Err(ConfineError::Empty);
    }
    let io = |source| ConfineError::Io {
        path: path.to_owned(),
        source,
    };
    let real_root = root.canonicalize().map_err(io)?;
    let asked = normalise(&root.join(path));
    let real = resolve(&asked, path)?;
    match real.strip_prefix(&real_root) {
        Ok(inside) => Ok(inside.to_owned()),
        Err(_) => Err(ConfineError::Outside {
            path: path.to_owned(),
        }),
    }
}

/// Takes `.` and `..` out by their words. A `..` after a link thus means the folder the link is in,
/// which is what a person reads; since the result is what gets opened, nothing slips through.
fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(component),
        }
    }
    out
}

/// Follows the links of the part that exists and appends the rest.
fn resolve(path: &Path, asked: &str) -> Result<PathBuf, ConfineError> {
    let mut rest = Vec::new();
    for ancestor in path.ancestors() {
        // Asked of the link itself: one that leads nowhere exists, and is no folder to build on.
        match ancestor.symlink_metadata() {
            Ok(_) => {
                let mut real = ancestor.canonicalize().map_err(|source| {
                    let path = asked.to_owned();
                    match source.kind() {
                        io::ErrorKind::NotFound => ConfineError::Dangling { path },
                        _ => ConfineError::Io { path, source },
                    }
                })?;
                real.extend(rest.iter().rev());
                return Ok(real);
            }
            Err(error) if is_absent(&error) => rest.extend(ancestor.file_name()),
            Err(source) => {
                return Err(ConfineError::Io {
                    path: asked.to_owned(),
                    source,
                });
            }
        }
    }
    Ok(path.to_owned())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
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
    fn refuses_links_that_lead_nowhere() {
        let (_dir, root) = world();
        for asked in ["dangling", "dangling/new", "dangling-inside"] {
            let got = confine(&root, asked);
            assert!(
                matches!(got, Err(ConfineError::Dangling { .. })),
                "{asked}: {got:?}"
            );
        }
        let looped = confine(&root, "loop/x");
        assert!(matches!(looped, Err(ConfineError::Io { .. })), "{looped:?}");
        for asked in ["", "  "] {
            assert!(matches!(confine(&root, asked), Err(ConfineError::Empty)));
        }
        let nul = confine(&root, "a\0b");
        assert!(matches!(nul, Err(ConfineError::Io { .. })), "{nul:?}");
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
                matches!(got, Err(ConfineError::Git { .. })),
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
