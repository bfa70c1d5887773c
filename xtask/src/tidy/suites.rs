//! Checks on test programs and doctests. Cargo links each test program by itself against everything it tests, so a
//! suite of many programs spends its time in the linker: a crate has one, with a module per subject. A crate with
//! `doctest = false` must have no examples in its documentation, since they would not run.

use crate::repo::{File, Package};

/// The most test programs in the workspace.
const MOST: usize = 20;

/// Returns a problem if there are more than [`MOST`] test programs.
pub(super) fn test_programs(packages: &[Package]) -> Vec<String> {
    let names = packages.iter().flat_map(|package| {
        let programs = package.test_programs.iter();
        programs.map(move |program| format!("{}/{program}", package.name))
    });
    let names: Vec<String> = names.collect();
    if names.len() <= MOST {
        return Vec::new();
    }
    vec![format!(
        "{} test programs, and {MOST} are the most; make a new test a module of the crate's `tests/it/main.rs`: {}",
        names.len(),
        names.join(", ")
    )]
}

/// Returns the examples in the documentation of crates whose manifest has `doctest = false`.
pub(super) fn doc_tests(files: &[File]) -> Vec<String> {
    let crates = files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("Cargo.toml")?;
        let skips = file.text.lines().any(|line| line == "doctest = false");
        skips.then(|| format!("{folder}src/"))
    });
    let crates: Vec<String> = crates.collect();
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        if !crates.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            let doc = ["//! ```", "/// ```"];
            if doc.iter().any(|fence| line.trim_start().starts_with(fence)) {
                problems.push(format!(
                    "{}:{}: this example does not run; remove `doctest = false` from the Cargo.toml of its crate",
                    file.path,
                    index + 1
                ));
                break;
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn example_that_does_not_run_is_found() {
        let manifest = |path| file(path, "[lib]\ndoctest = false\n");
        let example = |path| file(path, "//! A.\n//!\n//! ```\n//! a();\n//! ```\n");
        let files = [
            manifest("crates/a/Cargo.toml"),
            example("crates/a/src/lib.rs"),
            file("crates/a/src/b.rs", "//! B, and `b()`.\n"),
            file("crates/c/Cargo.toml", "[lib]\n"),
            example("crates/c/src/lib.rs"),
        ];
        let problems = doc_tests(&files);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("crates/a/src/lib.rs:3: "));
    }

    fn package(programs: usize) -> Package {
        Package {
            name: "a".to_owned(),
            dependencies: Vec::new(),
            folder: String::new(),
            uses: Vec::new(),
            test_programs: (0..programs).map(|at| format!("t{at}")).collect(),
        }
    }

    #[test]
    fn too_many_test_programs_are_found() {
        assert!(test_programs(&[package(MOST - 1), package(1)]).is_empty());
        let problems = test_programs(&[package(MOST), package(1)]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("21 test programs"));
        assert!(problems[0].ends_with("a/t19, a/t0"));
    }
}
