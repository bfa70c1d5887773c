//! How many test programs the workspace has. Each is linked by itself against everything it tests, so a suite of
//! many programs spends its time in the linker. A crate has one, with a module per subject.

use crate::repo::Package;

/// The most test programs in the workspace.
const MOST: usize = 20;

/// The problem of more than [`MOST`] test programs.
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

#[cfg(test)]
mod tests {
    use super::*;

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
