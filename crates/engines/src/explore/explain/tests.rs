//! Explanations of small files, line by line.

use super::*;

fn explain_line(path: &str, text: &str, line: usize) -> (Option<String>, Option<String>) {
    let lines: Vec<&str> = text.lines().collect();
    let Explanation { owner, text } = explain(path, &lines, line - 1);
    (owner, text)
}

fn some(owner: &str, text: &str) -> (Option<String>, Option<String>) {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    (some(owner), some(text))
}

const RUST: &str = "\
//! The log of one session. Only its task
//! writes here.

use std::io;

/// Writes a batch with one write, before anyone
/// hears of it. Either all of it is in the log or none.
///
/// Fails when the disk is full.
#[must_use]
pub fn append(&mut self) -> io::Result<()> {
    let mut last = self.last;
    if last > 3 {
        last += 1;
    }
}

struct Bare {
    field: u8,
}
";

#[test]
fn source_is_explained_by_its_comments() {
    let first = "Writes a batch with one write, before anyone hears of it.";
    let head = "from the head of the file: The log of one session.";
    let table = [
        (1, some("", "The log of one session.")),
        (2, some("", "Only its task writes here.")),
        (6, some("", first)),
        (7, some("", first)),
        (8, some("", first)),
        (9, some("", "Fails when the disk is full.")),
        (11, some("", first)),
        (14, some("append", first)),
        (19, some("Bare", head)),
        (18, some("", head)),
        (4, some("", head)),
    ];
    for (line, expected) in table {
        assert_eq!(explain_line("a.rs", RUST, line), expected, "line {line}");
    }
}

#[test]
fn python_is_explained_by_docstrings() {
    let text = "class Log:\n    \"\"\"Keeps lines.\"\"\"\n\n    def add(self, x):\n        # Adds one.\n        pass\n";
    assert_eq!(explain_line("a.py", text, 1), some("", "Keeps lines."));
    assert_eq!(explain_line("a.py", text, 5), some("", "Adds one."));
    assert_eq!(explain_line("a.py", text, 6), some("add", ""));
}

#[test]
fn prose_is_explained_by_its_heading() {
    let text =
        "# Title\n\nWhat it is. More.\n\n## Usage\n\nRun it like\nthis. Then stop.\n\n## Empty\n";
    assert_eq!(
        explain_line("a.md", text, 1),
        some("", "Title: What it is.")
    );
    assert_eq!(explain_line("a.md", text, 3), some("Title", "What it is."));
    assert_eq!(
        explain_line("a.md", text, 5),
        some("", "Usage: Run it like this.")
    );
    assert_eq!(
        explain_line("a.md", text, 8),
        some("Usage", "Run it like this.")
    );
    assert_eq!(explain_line("a.md", text, 10), some("", "Empty"));
}

#[test]
fn prose_explanation_omits_code_block_marks() {
    let text = "# Use\n\n```sh\nmake all\n```\n";
    assert_eq!(explain_line("a.md", text, 4), some("Use", "make all"));
}

#[test]
fn missing_line_has_no_explanation() {
    assert_eq!(explain_line("a.rs", "", 1), (None, None));
    assert_eq!(explain_line("a.rs", RUST, 99), (None, None));
    assert_eq!(excerpt("a.rs", &[], 0), 0..0);
    assert_eq!(explain_line("a.rs", "//\n//\n", 1), (None, None));
}

#[test]
fn excerpt_begins_at_the_containing_definition() {
    let lines: Vec<&str> = RUST.lines().collect();
    let shown = |line: usize| {
        let range = excerpt("a.rs", &lines, line - 1);
        (range.start + 1, range.end)
    };
    assert_eq!(shown(7), (6, 14));
    assert_eq!(shown(11), (11, 16));
    assert_eq!(shown(14), (11, 16));
    assert_eq!(shown(1), (1, 2));
    assert_eq!(shown(19), (18, 20));
}

#[test]
fn dedent_removes_shared_indentation() {
    assert_eq!(dedent(&["    a", "", "      b"]), "a\n\n  b");
    assert_eq!(dedent(&["a", "  b"]), "a\n  b");
    assert_eq!(dedent(&[]), "");
    assert_eq!(dedent(&["  a", "\u{3000}b"]), "a\nb");
    let long = "x".repeat(200);
    assert!(dedent(&[&long]).ends_with('…'));
}

#[test]
fn abbreviations_do_not_end_a_sentence() {
    let text = "// Kinds, e.g. one or i.e. two. The rest.\n";
    assert_eq!(
        explain_line("a.go", text, 1),
        some("", "Kinds, e.g. one or i.e. two.")
    );
}

/// Real text has cases that no table covers: nothing may panic, and an excerpt contains its line.
#[test]
fn every_line_of_this_engine_can_be_explained() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/explore");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let Ok(text) = std::fs::read_to_string(entry.unwrap().path()) else {
            continue;
        };
        let lines: Vec<&str> = text.lines().collect();
        for path in ["a.rs", "a.py", "a.md", "a.sql", "a"] {
            for at in 0..lines.len() {
                explain(path, &lines, at);
                let range = excerpt(path, &lines, at);
                assert!(
                    range.contains(&at) && range.len() <= MAX_EXCERPT,
                    "{path}: {at}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 1000);
}
