//! Words no file may contain: paths of one machine, and hosts that packages are fetched from.
//!
//! A clone must work anywhere; where packages come from is the machine's business.

use crate::repo::File;

/// What must not appear, and what to do about it. Split, so that this file passes its own check.
const FORBIDDEN: [(&str, &str); 10] = [
    (concat!("/wo", "rk/"), MACHINE),
    (concat!("../sha", "red"), MACHINE),
    (concat!("registry.", "npmjs"), HOST),
    (concat!("registry.", "yarnpkg"), HOST),
    (concat!("npm.pkg.", "github"), HOST),
    (concat!("index.", "crates.io"), HOST),
    (concat!("static.", "crates.io"), HOST),
    (concat!("pypi", ".org"), HOST),
    (concat!("python", "hosted.org"), HOST),
    // npm's locks say where each package came from unless told not to.
    (concat!("\"resol", "ved\": \"http"), HOST),
];

const MACHINE: &str = "use a path inside the repository or a temporary folder";
const HOST: &str = "leave the host out, every package manager knows its own";

/// Nothing ties the repository to a place.
pub(super) fn forbidden(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            for (word, instead) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word)) {
                let number = index + 1;
                problems.push(format!(
                    "{}:{number}: contains `{word}`; {instead}",
                    file.path
                ));
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
    fn every_forbidden_word_is_found() {
        for (word, instead) in FORBIDDEN {
            let problems = forbidden(&[file("docs/a.md", &format!("fine\nsee {word} there\n"))]);
            assert_eq!(problems.len(), 1, "{word}");
            assert!(problems[0].starts_with("docs/a.md:2: "), "{problems:?}");
            assert!(problems[0].ends_with(instead));
        }
        assert!(forbidden(&[file("a", "my network/a, shared/b, crates.io")]).is_empty());
    }
}
