//! Tables of words: names of programs, subcommands, flags and keys, written as text with blanks between them.

/// A table of words. Not a plain text, because a search in a text also finds parts of words.
#[derive(Clone, Copy)]
pub(crate) struct WordTable(pub(crate) &'static str);

impl WordTable {
    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
        self.0.split_ascii_whitespace()
    }

    /// Whether the table contains this whole word.
    pub(crate) fn has(self, word: &str) -> bool {
        self.words().any(|entry| entry == word)
    }
}
