//! Measures the words of the project: names of types, comments, and the length of the documentation pages.

use std::{collections::BTreeMap, fmt};

use crate::{
    repo::File,
    tidy::{
        names::{TypeName, defined_types},
        prose::short_docs,
        sources::{is_test_file, product_code},
    },
};

/// The names of all types, counted by what makes them hard to find.
#[derive(Debug, Default, PartialEq)]
struct NameCounts {
    types: usize,
    one_word: usize,
    /// Types whose name occurs at least three times in the workspace.
    three_or_more: usize,
}

/// The documentation comments of production code.
#[derive(Debug, Default, PartialEq)]
struct CommentCounts {
    lines: usize,
    words: usize,
    /// Private items with a doc that states too little.
    short_docs: usize,
}

/// The figures that `cargo run -p xtask -- numbers` prints about names and prose.
#[derive(Debug, PartialEq)]
pub(crate) struct Wording {
    names: NameCounts,
    comments: CommentCounts,
    /// Words outside of code blocks, by page.
    pages: BTreeMap<String, usize>,
}

impl Wording {
    pub(crate) fn measure(files: &[File]) -> Self {
        let pages = files.iter().filter(|file| is_page(&file.path));
        Self {
            names: count_names(&defined_types(files)),
            comments: count_comments(files),
            pages: pages
                .map(|file| (file.path.clone(), prose_words(&file.text)))
                .collect(),
        }
    }
}

impl fmt::Display for Wording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: usize| 100.0 * part as f64 / self.names.types.max(1) as f64;
        let names = &self.names;
        writeln!(f, "| words | |\n|---|---:|")?;
        writeln!(f, "| types | {} |", names.types)?;
        writeln!(f, "| with one word | {:.1} % |", percent(names.one_word))?;
        writeln!(
            f,
            "| with a name that occurs three times or more | {:.1} % |",
            percent(names.three_or_more)
        )?;
        let comments = &self.comments;
        writeln!(f, "| lines of comments | {} |", comments.lines)?;
        writeln!(f, "| words in them | {} |", comments.words)?;
        writeln!(
            f,
            "| private items with a doc of three words or fewer | {} |",
            comments.short_docs
        )?;
        let words: usize = self.pages.values().sum();
        writeln!(f, "| words in {} pages | {words} |", self.pages.len())?;
        let mut longest: Vec<_> = self.pages.iter().collect();
        longest.sort_by_key(|(_, words)| std::cmp::Reverse(**words));
        for (page, words) in longest.into_iter().take(5) {
            writeln!(f, "| in `{page}` | {words} |")?;
        }
        Ok(())
    }
}

/// Whether a file is a page for readers. The changelog is not: it only grows.
pub(crate) fn is_page(path: &str) -> bool {
    path.ends_with(".md")
        && (path.starts_with("docs/") || matches!(path, "README.md" | "CONTRIBUTING.md"))
}

fn count_names(types: &[TypeName<'_>]) -> NameCounts {
    let mut uses = BTreeMap::<&str, usize>::new();
    for it in types {
        *uses.entry(it.name).or_default() += 1;
    }
    NameCounts {
        types: types.len(),
        one_word: types.iter().filter(|it| it.is_one_word()).count(),
        three_or_more: uses.values().filter(|uses| **uses >= 3).sum(),
    }
}

fn count_comments(files: &[File]) -> CommentCounts {
    let mut counts = CommentCounts {
        short_docs: short_docs(files).len(),
        ..CommentCounts::default()
    };
    let sources = files
        .iter()
        .filter(|file| file.path.starts_with("crates/") && file.path.ends_with(".rs"))
        .filter(|file| !is_test_file(&file.path));
    for line in sources.flat_map(|file| product_code(&file.text).lines()) {
        if let Some(comment) = line.trim_start().strip_prefix("//") {
            let text = comment.trim_start_matches(['/', '!']);
            counts.lines += 1;
            counts.words += text.split_whitespace().count();
        }
    }
    counts
}

/// Words of a page outside of its code blocks.
fn prose_words(text: &str) -> usize {
    let mut is_code = false;
    let mut words = 0;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let is_word = |part: &&str| part.contains(char::is_alphanumeric);
            words += line.split_whitespace().filter(is_word).count();
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn names_that_occur_three_times_are_counted() {
        let files = ["a", "b", "c"].map(|name| {
            let text = format!("struct Room;\nstruct Other{name}Name;\n");
            file(&format!("crates/{name}/src/lib.rs"), &text)
        });
        let names = Wording::measure(&files).names;
        let expected = NameCounts {
            types: 6,
            one_word: 3,
            three_or_more: 3,
        };
        assert_eq!(names, expected);
    }

    #[test]
    fn comments_are_counted_without_those_of_tests() {
        let text = "//! What a owns.\n/// A short doc.\nstruct A;\nfn b() {} // not this one\n\
                    #[cfg(test)]\nmod tests {\n    // Nor this.\n}\n";
        let comments = Wording::measure(&[file("crates/a/src/lib.rs", text)]).comments;
        let expected = CommentCounts {
            lines: 2,
            words: 6,
            short_docs: 1,
        };
        assert_eq!(comments, expected);
    }

    #[test]
    fn code_blocks_of_a_page_do_not_count() {
        let page = "# One two\n\n```\nnot these words\n```\n\n| three | – |\n";
        let files = [file("docs/a.md", page), file("CHANGELOG.md", page)];
        let wording = Wording::measure(&files);
        assert_eq!(wording.pages, BTreeMap::from([("docs/a.md".into(), 3)]));
    }
}
