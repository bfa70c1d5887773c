//! The visible part of a text: everything except terminal control sequences and control characters.
//!
//! Pure, and free for ordinary text: it copies nothing unless something has to be removed.

use std::{borrow::Cow, iter::Peekable, str::CharIndices};

/// Returns the text without terminal control sequences and without control characters other than newline and tab.
///
/// It reads only this text: of a sequence that is cut off at the end, the part in this text is removed.
pub fn visible_text(text: &str) -> Cow<'_, str> {
    match first_suspect(text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(at) => strip(text, at),
    }
}

/// Returns the start of the control sequence that the text ends within, if there is one.
pub fn unfinished_sequence(text: &str) -> Option<usize> {
    let from = first_suspect(text.as_bytes())?;
    let mut chars = CharCursor(text.get(from..)?.char_indices().peekable());
    while let Some((at, c)) = chars.0.next() {
        if chars.skip_sequence(c) == Some(EscapeEnd::Missing) {
            return Some(from + at);
        }
    }
    None
}

/// Whether a byte may begin an invisible sequence: a control character, or the first byte of the characters from
/// U+0080 to U+009F, which some letters share.
const fn is_suspect(byte: u8) -> bool {
    (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2
}

/// Uses blocks without an early exit inside, which the compiler turns into vector instructions.
fn first_suspect(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 32;
    let any = |block: &[u8]| block.iter().fold(false, |any, b| any | is_suspect(*b));
    let block = bytes.chunks(BLOCK).position(any)? * BLOCK;
    let within = bytes.get(block..)?.iter().position(|b| is_suspect(*b))?;
    Some(block + within)
}

fn strip(text: &str, from: usize) -> Cow<'_, str> {
    let (clean, rest) = text.split_at(from);
    let mut kept = String::new();
    let mut chars = CharCursor(rest.char_indices().peekable());
    let mut dropped = false;
    while let Some((_, c)) = chars.0.next() {
        if chars.skip_sequence(c).is_some() || (c.is_control() && !matches!(c, '\n' | '\t')) {
            dropped = true;
        } else {
            kept.push(c);
        }
    }
    if dropped {
        Cow::Owned([clean, &kept].concat())
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a sequence is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EscapeEnd {
    Reached,
    /// The text ends before the sequence does.
    Missing,
}

struct CharCursor<'a>(Peekable<CharIndices<'a>>);

impl CharCursor<'_> {
    fn next_if(&mut self, fits: impl FnOnce(char) -> bool) -> Option<char> {
        self.0.next_if(|(_, c)| fits(*c)).map(|(_, c)| c)
    }

    /// The next character decides; at the end of the text, the sequence may continue in another text.
    fn end_state(&mut self) -> EscapeEnd {
        match self.0.peek() {
            Some(_) => EscapeEnd::Reached,
            None => EscapeEnd::Missing,
        }
    }

    /// Skips the rest of the sequence that this character begins, if it begins one.
    fn skip_sequence(&mut self, first: char) -> Option<EscapeEnd> {
        match first {
            '\u{1b}' => Some(self.skip_escape()),
            '\u{9b}' => Some(self.skip_parameters()),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => Some(self.skip_string()),
            _ => None,
        }
    }

    /// Skips the rest of a sequence after an escape character.
    fn skip_escape(&mut self) -> EscapeEnd {
        match self.next_if(|c| matches!(c, '[' | ']' | 'P' | 'X' | '^' | '_')) {
            Some('[') => self.skip_parameters(),
            Some(_) => self.skip_string(),
            None => {
                while self.next_if(|c| matches!(c, ' '..='/')).is_some() {}
                match self.next_if(|c| matches!(c, '0'..='~')) {
                    Some(_) => EscapeEnd::Reached,
                    None => self.end_state(),
                }
            }
        }
    }

    /// Skips parameters and a final character. Any other character ends the sequence and stays.
    fn skip_parameters(&mut self) -> EscapeEnd {
        while self.next_if(|c| matches!(c, ' '..='?')).is_some() {}
        match self.next_if(|c| matches!(c, '@'..='~')) {
            Some(_) => EscapeEnd::Reached,
            None => self.end_state(),
        }
    }

    /// Skips a string up to its terminator or the end of the line: an unterminated string must not hide later
    /// lines.
    fn skip_string(&mut self) -> EscapeEnd {
        while let Some(c) = self.next_if(|c| c != '\n') {
            match c {
                '\u{07}' | '\u{9c}' => return EscapeEnd::Reached,
                '\u{1b}' => {
                    return match self.next_if(|c| c == '\\') {
                        Some(_) => EscapeEnd::Reached,
                        None => self.end_state(),
                    };
                }
                _ => {}
            }
        }
        self.end_state()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(visible_text(text), expected, "{text:?}");
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        let long = "für alle Fälle: 日本語, tabs\tand\nlines. ".repeat(20);
        for text in ["", "plain", "a\tb\nc", "§ ¶ ©", &long] {
            assert!(matches!(visible_text(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn control_sequences_are_removed() {
        check("\u{1b}[1;31mred\u{1b}[0m", "red");
        check("\u{1b}]0;title\u{7}text", "text");
        check(
            "\u{1b}]8;;https://example.org\u{1b}\\link\u{1b}]8;;\u{1b}\\",
            "link",
        );
        check("\u{1b}P1$q\u{1b}\\after", "after");
        check("\u{1b}(Bplain \u{1b}7saved", "plain saved");
        check("\u{9b}2Jcleared \u{9d}0;t\u{9c}set", "cleared set");
    }

    #[test]
    fn control_characters_except_newline_and_tab_are_removed() {
        check("a\rb\u{8}c\u{7f}d\u{0}e\u{85}f", "abcdef");
        check("a\r\n\tb", "a\n\tb");
    }

    #[test]
    fn unfinished_sequence_hides_at_most_its_line() {
        check("text \u{1b}", "text ");
        check("text \u{1b}[1;", "text ");
        check("\u{1b}]0;no end\nnext line", "\nnext line");
        check("\u{1b}[31é", "é");
    }

    #[test]
    fn control_character_is_found_at_any_offset() {
        for at in [0, 1, 31, 32, 33, 63, 64, 100] {
            let text = format!("{}\u{7}end", "x".repeat(at));
            check(&text, &format!("{}end", "x".repeat(at)));
        }
    }

    #[test]
    fn unfinished_sequence_returns_its_start() {
        let cases = [
            ("", None),
            ("text", None),
            ("text \u{1b}[0m", None),
            ("§ text \u{1b}", Some("\u{1b}")),
            ("text \u{1b}[", Some("\u{1b}[")),
            ("\u{1b}[1mtext \u{1b}[1;3", Some("\u{1b}[1;3")),
            ("text \u{9b}1", Some("\u{9b}1")),
            ("text \u{1b}(", Some("\u{1b}(")),
            ("text \u{1b}]8;;https://a.b", Some("\u{1b}]8;;https://a.b")),
            ("\u{1b}]0;title\u{1b}", Some("\u{1b}]0;title\u{1b}")),
            ("\u{1b}]0;title\u{1b}\\", None),
            ("\u{1b}]0;no end\n", None),
            ("\u{1b}[31é", None),
            ("a control character \u{7}", None),
        ];
        for (text, rest) in cases {
            let found = unfinished_sequence(text).map(|at| &text[at..]);
            assert_eq!(found, rest, "{text:?}");
        }
    }
}
