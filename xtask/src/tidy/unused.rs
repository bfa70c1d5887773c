//! Checks that a package uses each of its dependencies, like `cargo machete`, but without the two minutes of
//! processor time that building that takes on a fresh machine.

use crate::repo::{File, Package, Use};

/// Returns the dependencies that no source file of their package names.
pub(super) fn dependencies(packages: &[Package], files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages {
        for dependency in &package.uses {
            let is_source = |file: &&File| {
                let path = file.path.strip_prefix(package.folder.as_str());
                let path = path.and_then(|path| path.strip_prefix('/'));
                path.is_some_and(|path| path.ends_with(".rs") && may_use(dependency, path))
            };
            let name = dependency.name.replace('-', "_");
            let mut sources = files.iter().filter(is_source);
            if !sources.any(|file| names_crate(&file.text, &name)) {
                problems.push(format!(
                    "{}: the dependency {} is not used; remove it from {}/Cargo.toml, or make it a dev-dependency \
                     where only tests use it",
                    package.name, dependency.name, package.folder
                ));
            }
        }
    }
    problems
}

/// Whether a source file at this path of the package may use the dependency.
fn may_use(dependency: &Use, path: &str) -> bool {
    dependency.is_dev || path.starts_with("src/") || path == "build.rs"
}

/// Whether code names the crate. Comments do not count, nor does a longer word that contains the name.
fn names_crate(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.into_iter().any(|line| {
        line.match_indices(name).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            !before.ends_with(is_word)
                && !before.ends_with('.')
                && [":", ";", " as ", "}", ","]
                    .iter()
                    .any(|next| after.starts_with(next))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    fn count_problems(source: (&str, &str), is_dev: bool) -> usize {
        let dependency = Use {
            name: "tokio-util".to_owned(),
            is_dev,
        };
        let package = Package {
            name: "harn-a".to_owned(),
            folder: "crates/a".to_owned(),
            dependencies: Vec::new(),
            test_programs: Vec::new(),
            uses: vec![dependency],
        };
        dependencies(&[package], &[file(source.0, source.1)]).len()
    }

    #[test]
    fn unused_dependency_is_found() {
        let path = "crates/a/src/lib.rs";
        for used in [
            "use tokio_util::sync::CancellationToken;",
            "    tokio_util::sync::x();",
            "use {tokio_util as util};",
        ] {
            assert_eq!(count_problems((path, used), false), 0, "{used}");
        }
        for unused in [
            "// tokio_util::x",
            "use my_tokio_util::x;",
            "use tokio_utility::x;",
            "use tokio::x;",
            "self.tokio_util, 1",
        ] {
            assert_eq!(count_problems((path, unused), false), 1, "{unused}");
        }
    }

    #[test]
    fn dependency_of_tests_alone_is_a_dev_dependency() {
        let test = ("crates/a/tests/it.rs", "use tokio_util::x;");
        assert_eq!(count_problems(test, true), 0);
        assert_eq!(count_problems(test, false), 1);
        assert_eq!(
            count_problems(("crates/a/build.rs", "use tokio_util::x;"), false),
            0
        );
        assert_eq!(
            count_problems(("crates/ab/src/lib.rs", "use tokio_util::x;"), false),
            1
        );
    }
}
