//! Counts the production lines of each crate: `crates/*/src` without tests.

use std::{collections::BTreeMap, fmt};

use crate::{
    repo::File,
    tidy::sources::{is_test_file, product_code},
};

/// The length of one crate, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Length {
    pub(crate) lines: usize,
    /// Lines that are neither blank nor only a comment.
    pub(crate) code: usize,
}

/// The crates by name, with their length.
#[derive(Debug, PartialEq)]
pub(crate) struct Numbers(pub(crate) BTreeMap<String, Length>);

impl Numbers {
    /// Counts the lines of these files.
    pub(crate) fn from_files(files: &[File]) -> Self {
        let mut crates = BTreeMap::<String, Length>::new();
        for file in files.iter().filter(|file| !is_test_file(&file.path)) {
            let mut parts = file.path.split('/');
            if let (Some("crates"), Some(name), Some("src")) =
                (parts.next(), parts.next(), parts.next())
                && file.path.ends_with(".rs")
            {
                let length = crates.entry(name.to_owned()).or_default();
                for line in product_code(&file.text).lines().map(str::trim) {
                    length.lines += 1;
                    length.code += usize::from(!line.is_empty() && !line.starts_with("//"));
                }
            }
        }
        Self(crates)
    }

    pub(crate) fn total(&self) -> Length {
        self.0.values().fold(Length::default(), |sum, one| Length {
            lines: sum.lines + one.lines,
            code: sum.code + one.code,
        })
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| crate | lines | lines of code |\n|---|---:|---:|")?;
        for (name, length) in &self.0 {
            writeln!(f, "| `{name}` | {} | {} |", length.lines, length.code)?;
        }
        let total = self.total();
        writeln!(f, "| all | {} | {} |", total.lines, total.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_comments_and_other_folders_are_not_counted() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let numbers = Numbers::from_files(&[
            file(
                "crates/a/src/lib.rs",
                "//! A.\n\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n",
            ),
            file("crates/a/src/b/tests.rs", "fn b() {}\n"),
            file("crates/a/tests/it/main.rs", "fn c() {}\n"),
            file("crates/a/src/page.html", "<p>\n"),
            file("crates/b/src/d.rs", "fn d() {}\n// D.\n"),
            file("xtask/src/main.rs", "fn main() {}\n"),
        ]);
        assert_eq!(numbers.0["a"], Length { lines: 3, code: 1 });
        assert_eq!(numbers.0["b"], Length { lines: 2, code: 1 });
        assert_eq!(numbers.total(), Length { lines: 5, code: 2 });
    }
}
