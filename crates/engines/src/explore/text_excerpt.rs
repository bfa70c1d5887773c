//! One excerpt of an answer: its file and line, its explanation, its text. Pure.

use std::fmt::Write;

use harn_tools::{SearchHit, SearchQuery};

use super::{
    explain::{Explanation, dedent, excerpt, explain},
    markdown::{code, fence, language},
};

/// An excerpt around one line of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextExcerpt {
    path: String,
    line: usize,
    explanation: Explanation,
    excerpt: String,
}

impl TextExcerpt {
    /// Returns the excerpt around `line`, counted from 1.
    pub(super) fn new(path: &str, text: &str, line: u32) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let line = line.clamp(1, lines.len().max(1));
        let range = excerpt(path, &lines, line - 1);
        Self {
            path: path.to_owned(),
            line,
            explanation: explain(path, &lines, line - 1),
            excerpt: dedent(&lines[range]),
        }
    }

    /// Returns the excerpt of a hit in a text that may have changed since the search, such as an editor's unsaved
    /// text: around the nearest line with the same text, else around the line with the most matches.
    pub(super) fn from_hit(hit: &SearchHit, text: &str, query: &SearchQuery) -> Self {
        let numbered = || text.lines().zip(1_u32..);
        let distance = |line: &u32| line.abs_diff(hit.line);
        // The search cuts long lines.
        let is_same = |line: &str| match hit.text.strip_suffix('…') {
            Some(beginning) => line.trim().starts_with(beginning),
            None => line.trim() == hit.text,
        };
        let same = numbered().filter(|(line, _)| is_same(line));
        let same = same.map(|(_, line)| line).min_by_key(distance);
        let line = same.or_else(|| {
            let saying = numbered().map(|(text, line)| (query.matches(text), line));
            let most = saying.max_by_key(|(count, line)| (*count, u32::MAX - distance(line)));
            most.filter(|(count, _)| *count > 0).map(|(_, line)| line)
        });
        Self::new(&hit.path, text, line.unwrap_or(hit.line))
    }

    /// Formats the excerpt as the `number`th item of a list.
    pub(super) fn item(&self, number: usize) -> String {
        let mut out = format!("{number}. {}", reference(&self.path, self.line));
        // Writing into a string cannot fail.
        if let Some(owner) = &self.explanation.owner {
            let _ = write!(out, ", in {}", code(owner));
        }
        if let Some(text) = &self.explanation.text {
            let _ = write!(out, " — {text}");
        }
        out.push('\n');
        if !self.excerpt.is_empty() {
            out.push('\n');
            out.push_str(&fence(language(&self.path), &self.excerpt, 3));
        }
        out.push('\n');
        out
    }
}

fn reference(path: &str, line: impl std::fmt::Display) -> String {
    code(&format!("{path}:{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(line: u32, text: &str) -> SearchHit {
        SearchHit {
            path: "src/log.rs".to_owned(),
            first: 1,
            last: 9,
            line,
            text: text.to_owned(),
            score: 1.0,
        }
    }

    #[test]
    fn item_shows_position_explanation_and_excerpt() {
        let text = "/// Writes a batch.\npub fn append() {\n    one();\n}\n";
        let place = TextExcerpt::new("src/log.rs", text, 3);
        assert_eq!(
            place.item(2),
            "2. `src/log.rs:3`, in `append` — Writes a batch.\n\n   ```rust\n   pub fn append() {\n       \
             one();\n   }\n   ```\n\n"
        );
    }

    #[test]
    fn hit_is_found_after_its_line_moved() {
        let query = SearchQuery::question("where is the batch appended?");
        let line = |hit: &SearchHit, text: &str| TextExcerpt::from_hit(hit, text, &query).line;
        assert_eq!(
            line(&hit(1, "fn append() {"), "new\nnew\n  fn append() {\n"),
            3
        );
        assert_eq!(line(&hit(2, "x"), "x\na\nb\nc\nx\n"), 1);
        assert_eq!(line(&hit(1, "fn app…"), "\n\nfn append() {\n"), 3);
        assert_eq!(line(&hit(1, "gone"), "a\nappend\nappend batch\n"), 3);
        assert_eq!(line(&hit(2, "gone"), "a\nb\nc\n"), 2);
        assert_eq!(line(&hit(9, "gone"), "a\n"), 1);
        assert_eq!(line(&hit(9, "gone"), ""), 1);
    }
}
