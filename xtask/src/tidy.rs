//! The tidy checks: what a reviewer would otherwise have to repeat.
//!
//! A check is a pure function whose problems name the file, what is wrong and what would be right.
//! Each has a test that the repository passes it, and tests that it can fail.

mod decisions;
mod edges;
mod events;
mod extensions;
mod lock_addresses;
pub(crate) mod names;
pub(crate) mod prose;
mod reasons;
mod size;
pub(crate) mod sources;
mod suites;
mod unused;

use crate::repo::Repo;

/// Returns all problems of the repository.
pub(crate) fn problems(repo: &Repo) -> Vec<String> {
    [
        sources::module_docs(&repo.files),
        sources::length(&repo.files),
        sources::leftovers(&repo.files),
        sources::vendor_key(&repo.files),
        sources::acp_methods(&repo.files),
        sources::file_reads(&repo.files),
        size::budgets(&repo.files),
        events::default_arms(&repo.files),
        events::complete_lists(&repo.files),
        lock_addresses::check_addresses(&repo.files),
        names::types(&repo.files),
        prose::short_docs(&repo.files),
        extensions::check_page(&repo.files),
        decisions::statuses(&repo.files),
        edges::check_workspace_dependencies(&repo.packages),
        edges::check_third_parties(&repo.packages),
        suites::test_programs(&repo.packages),
        suites::doc_tests(&repo.files),
        unused::dependencies(&repo.packages, &repo.files),
        reasons::dependencies(repo.text("Cargo.toml")),
    ]
    .concat()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{programs::skip_without, repo::File};

    /// Creates a file for the test of a check.
    pub(crate) fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_repository_is_tidy() {
        if skip_without("git") {
            return;
        }
        let problems = problems(&Repo::read().unwrap());
        assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    }

    #[test]
    fn repository_is_read() {
        if skip_without("git") {
            return;
        }
        let repo = Repo::read().unwrap();
        assert!(repo.text("Cargo.toml").contains("[workspace]"));
        assert!(repo.text("xtask/src/tidy.rs").starts_with("//!"));
        let model = repo.packages.iter().find(|p| p.name == "harn-model");
        assert!(model.unwrap().dependencies.contains(&"serde".to_owned()));
    }
}
