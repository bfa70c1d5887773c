//! What a person should see of a text: everything but terminal control sequences and control characters.
//!
//! Pure, and free for ordinary text: nothing is copied unless something has to go.

use std::borrow::Cow;

/// The text without terminal control sequences and without control characters other than newline and tab.
///
/// Looks at this text alone: a sequence that is cut off at its end goes as far as it is there.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    match first_suspect(text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(at) => strip(text, at),
    }
}

/// Whether a byte may begin something invisible: a control character, or the first byte of those between
/// U+0080 and U+009F, which it shares with some letters.
const fn is_suspect(byte: u8) -> bool {
    (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2
}

/// Blocks without an early exit inside are what the compiler turns into vector instructions.
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
    let mut chars = rest.chars().peekable();
    let mut dropped = false;
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => kept.push(c),
            '\u{1b}' => {
                dropped = true;
                escape(&mut chars);
            }
            '\u{9b}' => {
                dropped = true;
                parameters(&mut chars);
            }
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
                dropped = true;
                string(&mut chars);
            }
            c if c.is_control() => dropped = true,
            c => kept.push(c),
        }
    }
    if dropped {
        Cow::Owned([clean, &kept].concat())
    } else {
        Cow::Borrowed(text)
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// What follows an escape character.
fn escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            parameters(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            string(chars);
        }
        _ => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
    }
}

/// Parameters and a final character. Anything that can be neither ends it and stays.
fn parameters(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// A string up to its terminator. A line's end ends it too: an unfinished one must not hide what follows.
fn string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{07}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(visible(text), expected, "{text:?}");
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        let long = "für alle Fälle: 日本語, tabs\tand\nlines. ".repeat(20);
        for text in ["", "plain", "a\tb\nc", "§ ¶ ©", &long] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn control_sequences_go() {
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
    fn control_characters_go_but_newline_and_tab() {
        check("a\rb\u{8}c\u{7f}d\u{0}e\u{85}f", "abcdef");
        check("a\r\n\tb", "a\n\tb");
    }

    #[test]
    fn what_is_cut_off_hides_no_more_than_its_line() {
        check("text \u{1b}", "text ");
        check("text \u{1b}[1;", "text ");
        check("\u{1b}]0;no end\nnext line", "\nnext line");
        check("\u{1b}[31é", "é");
    }

    #[test]
    fn a_suspect_is_found_wherever_it_stands() {
        for at in [0, 1, 31, 32, 33, 63, 64, 100] {
            let text = format!("{}\u{7}end", "x".repeat(at));
            check(&text, &format!("{}end", "x".repeat(at)));
        }
    }
}
