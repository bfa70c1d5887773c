//! Classifies a line by its beginning.

/// The role of a line.
#[derive(Clone, Copy)]
pub(super) enum LineKind {
    /// A comment or a heading, which describes something.
    Explains,
    /// Only refers to something elsewhere.
    Imports,
    /// In a code block of a document: an example, not the document's own statement.
    Quoted,
    Plain,
}

impl LineKind {
    /// Classifies a line of a document or of source code.
    pub(super) fn classify(line: &str, prose: bool) -> Self {
        let line = line.trim_start();
        let begins = |marks: &[&str]| marks.iter().any(|mark| line.starts_with(mark));
        // `#[attribute]` and `#include` are code; `# words` is a heading, or a comment in many languages.
        if begins(&["# ", "## ", "###"]) {
            Self::Explains
        } else if prose {
            Self::Plain
        } else if begins(&["//", "/*", "* ", "\"\"\"", "--", ";;"]) {
            Self::Explains
        } else if begins(&IMPORTS) || is_public_import(line) {
            Self::Imports
        } else {
            Self::Plain
        }
    }

    /// Returns the weight of this kind, relative to a plain line.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Explains => 1.25,
            Self::Plain => 1.0,
            Self::Imports | Self::Quoted => 0.3,
        }
    }
}

/// Returns whether a file is a document rather than source code.
pub(super) fn is_prose(path: &str) -> bool {
    let endings = [".md", ".markdown", ".txt", ".rst", ".adoc"];
    endings.iter().any(|ending| path.ends_with(ending))
}

/// Tracks the code blocks of a document, including blocks that contain fences.
#[derive(Default)]
pub(super) struct CodeBlockTracker {
    /// The fence character of the open block and its count.
    open: Option<(char, usize)>,
}

impl CodeBlockTracker {
    /// Advances to the next line; returns whether it belongs to a code block.
    pub(super) fn next(&mut self, line: &str) -> bool {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'));
        let count = line.chars().take_while(|c| Some(*c) == mark).count();
        match (self.open, mark) {
            (None, Some(mark)) if count >= 3 => self.open = Some((mark, count)),
            (None, _) => return false,
            (Some((open, least)), mark) => {
                // Only a line of fence characters closes a block, with at least as many as opened it.
                if mark == Some(open) && count >= least && count == line.len() {
                    self.open = None;
                }
            }
        }
        true
    }
}

/// The beginnings of lines that only refer to something elsewhere.
const IMPORTS: [&str; 6] = ["use ", "mod ", "import ", "from ", "#include ", "require "];

/// Returns whether the line is a public import, such as `pub(crate) use`.
fn is_public_import(line: &str) -> bool {
    let rest = line.strip_prefix("pub").unwrap_or_default();
    let rest = rest
        .strip_prefix('(')
        .and_then(|scope| scope.split_once(')'))
        .map_or(rest, |(_, rest)| rest);
    rest.starts_with(" use ") || rest.starts_with(" mod ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_code_blocks_are_tracked() {
        let text = "a\n````text\nb\n  ```rust\n  c\n  ```\n````\nd\n~~~\ne\n```\n~~~\nf `x`\n";
        let mut quoting = CodeBlockTracker::default();
        let free: Vec<_> = text.lines().filter(|line| !quoting.next(line)).collect();
        assert_eq!(free, ["a", "d", "f `x`"]);
    }
}
