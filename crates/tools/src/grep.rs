//! Search for lines that match a regular expression.

use regex::{Regex, RegexBuilder};

use crate::{markdown::clip, search::SearchError, workspace::WalkSummary};

/// The most lines in a result.
const MAX_LINES: usize = 200;
/// The most lines of one file, so that one generated file cannot hide the others.
const MAX_PER_FILE: usize = 40;
/// The most characters of a line in a result.
const MAX_SHOWN: usize = 240;

/// A line that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepLine {
    /// The file's path relative to the root, with `/` between its parts.
    pub path: String,
    /// The line number, from 1.
    pub line: u32,
    /// The text of the line, trimmed and shortened.
    pub text: String,
}

/// The result of a search for a regular expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrepResult {
    /// The matching lines, ordered by file and line.
    pub lines: Vec<GrepLine>,
    /// Whether there are more matches than listed.
    pub more: bool,
    /// How much was searched.
    pub walked: WalkSummary,
}

impl GrepResult {
    /// Adds the matches in one file; returns false when the result is full.
    pub(crate) fn add_matches(&mut self, regex: &Regex, path: &str, text: &str) -> bool {
        let matching = text
            .lines()
            .zip(1..)
            .filter(|(line, _)| regex.is_match(line));
        for (nth, (line, number)) in matching.enumerate() {
            if self.lines.len() == MAX_LINES {
                self.more = true;
                return false;
            }
            if nth == MAX_PER_FILE {
                self.more = true;
                break;
            }
            self.lines.push(GrepLine {
                path: path.to_owned(),
                line: number,
                text: shorten(line),
            });
        }
        true
    }
}

/// Compiles a pattern that a person typed, with a limit on its size.
pub(crate) fn compile(pattern: &str) -> Result<Regex, SearchError> {
    const MAX_SIZE: usize = 1024 * 1024;
    let built = RegexBuilder::new(pattern).size_limit(MAX_SIZE).build();
    built.map_err(|error| SearchError::Pattern(error.to_string()))
}

/// Trims a line and shortens it to `MAX_SHOWN` characters.
pub(crate) fn shorten(line: &str) -> String {
    clip(line.trim(), MAX_SHOWN).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take_finds_lines_and_stops_at_its_limits() {
        let regex = compile(r"fn \w+").unwrap();
        let mut found = GrepResult::default();
        assert!(found.add_matches(&regex, "a.rs", "  fn one() {\nlet x;\n}\nfn two()"));
        let got: Vec<_> = found
            .lines
            .iter()
            .map(|l| (l.line, l.text.as_str()))
            .collect();
        assert_eq!(got, [(1, "fn one() {"), (4, "fn two()")]);
        assert!(!found.more);

        let long = "fn x\n".repeat(MAX_PER_FILE + 1);
        assert!(found.add_matches(&regex, "b.rs", &long));
        assert!(found.more);
        assert_eq!(found.lines.len(), 2 + MAX_PER_FILE);
        for _ in 0..4 {
            found.add_matches(&regex, "c.rs", &long);
        }
        assert_eq!(found.lines.len(), MAX_LINES);
        assert!(!found.add_matches(&regex, "d.rs", "fn x"));
    }

    #[test]
    fn compile_rejects_an_invalid_or_too_large_pattern() {
        for pattern in ["(", "a{99999}{99999}"] {
            assert!(
                matches!(compile(pattern), Err(SearchError::Pattern(_))),
                "{pattern}"
            );
        }
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let line = "ö".repeat(MAX_SHOWN + 1);
        let shown = shorten(&line);
        assert_eq!(shown.chars().count(), MAX_SHOWN + 1);
        assert!(shown.ends_with('…'));
    }
}
