//! The prompt box: a text with a cursor.

use super::screen_text::{escape_text, width, wrap};

/// The maximum length in bytes; a longer paste is probably a mistake.
const LONGEST: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct PromptEditor {
    text: String,
    /// The cursor: a byte offset in `text`, on a character boundary.
    at: usize,
}

impl PromptEditor {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn take(&mut self) -> String {
        self.at = 0;
        std::mem::take(&mut self.text)
    }

    pub(super) fn set(&mut self, text: &str) {
        self.take();
        self.insert(text);
    }

    /// Inserts text without its control characters; returns false if it had to be cut.
    pub(super) fn insert(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text: String = text
            .chars()
            .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
            .collect();
        let room = LONGEST.saturating_sub(self.text.len());
        let mut ends = (0..=text.len().min(room)).rev();
        let end = ends.find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.text.insert_str(self.at, &text[..end]);
        self.at += end;
        end == text.len()
    }

    pub(super) fn backspace(&mut self) {
        let before = self.previous_boundary(self.at);
        self.text.replace_range(before..self.at, "");
        self.at = before;
    }

    pub(super) fn backspace_word(&mut self) {
        let kept = self.text[..self.at].trim_end();
        let from = kept.rfind(char::is_whitespace).map_or(0, |at| {
            at + kept[at..].chars().next().map_or(0, char::len_utf8)
        });
        self.text.replace_range(from..self.at, "");
        self.at = from;
    }

    pub(super) fn delete(&mut self) {
        let after = self.next_boundary(self.at);
        self.text.replace_range(self.at..after, "");
    }

    pub(super) fn move_cursor(&mut self, by: isize) {
        for _ in 0..by.unsigned_abs() {
            self.at = match by > 0 {
                true => self.next_boundary(self.at),
                false => self.previous_boundary(self.at),
            };
        }
    }

    /// Moves to the beginning of the line.
    pub(super) fn move_to_line_start(&mut self) {
        self.at = self.text[..self.at].rfind('\n').map_or(0, |at| at + 1);
    }

    pub(super) fn move_to_line_end(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn previous_boundary(&self, at: usize) -> usize {
        let before = self.text[..at].chars().next_back();
        at - before.map_or(0, char::len_utf8)
    }

    fn next_boundary(&self, at: usize) -> usize {
        let after = self.text[at..].chars().next();
        at + after.map_or(0, char::len_utf8)
    }

    /// Returns the wrapped lines, and the column and line of the cursor.
    pub(super) fn wrapped_lines(&self, columns: usize) -> (Vec<String>, (usize, usize)) {
        let mut lines = wrap(&escape_text(&self.text), columns);
        // The cursor is where the next character would be.
        let before = wrap(&format!("{}_", escape_text(&self.text[..self.at])), columns);
        let row = before.len().saturating_sub(1);
        let column = before.last().map_or(0, |line| width(line)).max(1) - 1;
        lines.resize(lines.len().max(row + 1), String::new());
        (lines, (column, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editor_with(text: &str) -> PromptEditor {
        let mut editor = PromptEditor::default();
        editor.insert(text);
        editor
    }

    #[test]
    fn edits_apply_at_the_cursor() {
        let mut editor = editor_with("ab日");
        editor.move_cursor(-1);
        editor.insert("c");
        assert_eq!(editor.text(), "abc日");
        editor.backspace();
        editor.move_to_line_start();
        editor.delete();
        editor.move_to_line_end();
        editor.insert("!");
        assert_eq!(editor.text(), "b日!");
        editor.move_cursor(-9);
        editor.backspace();
        editor.move_cursor(9);
        editor.delete();
        assert_eq!(editor.take(), "b日!");
        assert!(editor.is_empty());
    }

    #[test]
    fn words_are_deleted_whole() {
        let mut editor = editor_with("one two  ");
        editor.backspace_word();
        assert_eq!(editor.text(), "one ");
        editor.backspace_word();
        editor.backspace_word();
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn a_paste_is_filtered_and_limited() {
        assert_eq!(editor_with("a\r\nb\tc\x1b[2J").text(), "a\nb\tc[2J");
        assert_eq!(editor_with("a\tb").wrapped_lines(20).1, (6, 0));
        let mut long = PromptEditor::default();
        assert!(long.insert(&"ü".repeat(LONGEST / 2)));
        assert!(!long.insert("x"), "what is cut is told");
        assert_eq!(long.text().len(), LONGEST);
    }

    #[test]
    fn the_cursor_is_at_the_next_character() {
        let cursor = |text: &str| editor_with(text).wrapped_lines(10).1;
        assert_eq!(cursor(""), (0, 0));
        assert_eq!(cursor("ab"), (2, 0));
        assert_eq!(cursor("日本"), (4, 0));
        assert_eq!(cursor("a\n"), (0, 1));
        assert_eq!(cursor("ab "), (3, 0));
        let (lines, at) = editor_with("0123456789").wrapped_lines(10);
        assert_eq!((lines.len(), at), (2, (0, 1)));
    }
}
