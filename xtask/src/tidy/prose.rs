//! Checks on comments: a private item has a doc that states more than its name, or none.

use super::sources::{is_test_file, product_code};
use crate::repo::File;

/// A doc of so many words on a private item only repeats its name.
const SHORT_DOC_WORDS: usize = 3;

/// Checks that no private item has a doc of three words or fewer.
pub(crate) fn short_docs(files: &[File]) -> Vec<String> {
    let sources = files.iter().filter(|file| {
        file.path.starts_with("crates/") && file.path.ends_with(".rs") && !is_test_file(&file.path)
    });
    let short = sources.flat_map(|file| {
        let lines = short_doc_lines(product_code(&file.text));
        lines.into_iter().map(|line| {
            format!(
                "{}:{line}: a doc of {SHORT_DOC_WORDS} words or fewer on a private item; remove it or give a reason, a clause or a trap",
                file.path
            )
        })
    });
    short.collect()
}

/// Returns the numbers of the lines with a short doc that a private item follows.
fn short_doc_lines(text: &str) -> Vec<usize> {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let is_doc = |at: usize| lines.get(at).is_some_and(|line| line.starts_with("///"));
    let is_short = |at: usize| {
        let is_alone = !(is_doc(at + 1) || at > 0 && is_doc(at - 1));
        let words = lines[at].trim_start_matches('/').split_whitespace().count();
        is_doc(at) && is_alone && words <= SHORT_DOC_WORDS
    };
    let item_after = |at: usize| {
        let after = lines[at + 1..].iter();
        after.copied().find(|line| !line.starts_with("#["))
    };
    let is_private = |item: &str| {
        let keywords = [
            "fn ",
            "async fn ",
            "struct ",
            "enum ",
            "trait ",
            "const ",
            "static ",
            "type ",
            "mod ",
            "pub(",
        ];
        keywords.iter().any(|keyword| item.starts_with(keyword))
    };
    (0..lines.len())
        .filter(|at| is_short(*at) && item_after(*at).is_some_and(is_private))
        .map(|at| at + 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn short_doc_of_a_private_item_is_found() {
        assert_eq!(short_doc_lines("/// The room.\nstruct Room;\n"), [1]);
        assert_eq!(
            short_doc_lines("\n    /// Its name.\n    #[x]\n    pub(crate) name: u8,\n"),
            [2]
        );
        let problems = short_docs(&[file("crates/a/src/b.rs", "/// The b.\nfn b() {}\n")]);
        assert!(
            problems[0].starts_with("crates/a/src/b.rs:1: "),
            "{problems:?}"
        );
    }

    #[test]
    fn other_docs_pass() {
        for text in [
            "/// The room.\npub struct Room;\n",
            "/// The room of a session.\nstruct Room;\n",
            "/// The room.\n/// It is closed.\nstruct Room;\n",
        ] {
            assert!(short_doc_lines(text).is_empty(), "{text}");
        }
        let tests = "#[cfg(test)]\nmod tests {\n    /// The room.\n    fn room() {}\n}\n";
        assert!(short_docs(&[file("crates/a/src/b.rs", tests)]).is_empty());
        assert!(short_docs(&[file("crates/a/tests/b.rs", "/// The b.\nfn b() {}\n")]).is_empty());
    }
}
