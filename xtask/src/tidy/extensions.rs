//! Keeps the page about the extensions in step with their code: a change of the code requires a review of the page.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::repo::File;

const CODE: &str = "crates/acp/src/ext/";
const PAGE: &str = "docs/acp-extensions.md";

/// Checks that the page names the code against which it was last reviewed.
pub(super) fn check_page(files: &[File]) -> Vec<String> {
    let line = format!("<!-- ext: sha256:{} -->", digest(files));
    let page = files.iter().find(|file| file.path == PAGE);
    let named = page.is_some_and(|page| page.text.lines().any(|it| it == line));
    if named {
        return Vec::new();
    }
    vec![format!(
        "{PAGE}: {CODE} has changed since this page was last checked; read the page \
         again, correct it, and set its line to: {line}"
    )]
}

/// Returns the digest of every file's path and text, in the order of their paths.
fn digest(files: &[File]) -> String {
    let mut code: Vec<_> = files
        .iter()
        .filter(|file| file.path.starts_with(CODE))
        .collect();
    code.sort_by(|a, b| a.path.cmp(&b.path));
    let mut hash = Sha256::new();
    for file in code {
        hash.update(&file.path);
        hash.update([0]);
        hash.update(&file.text);
        hash.update([0]);
    }
    let mut hex = String::new();
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn change_of_the_code_requires_a_review_of_the_page() {
        let code = |text| file("crates/acp/src/ext/a.rs", text);
        let first = check_page(&[code("one")]);
        assert_eq!(first.len(), 1);
        let line = first[0].split("set its line to: ").nth(1).unwrap();
        let written = file(PAGE, &format!("# Extensions\n\n{line}\n"));
        assert!(check_page(&[code("one"), written]).is_empty());
        let written = file(PAGE, line);
        assert_eq!(check_page(&[code("two"), written]).len(), 1);
        let written = file(PAGE, line);
        let moved = file("crates/acp/src/ext/b.rs", "one");
        assert_eq!(check_page(&[moved, written]).len(), 1);
        let written = file(PAGE, line);
        let elsewhere = file("crates/acp/src/a.rs", "two");
        assert!(check_page(&[elsewhere, code("one"), written]).is_empty());
    }
}
