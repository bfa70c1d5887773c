//! What a person should see of a text: everything but control characters and the sequences they begin, with
//! which a text could rewrite the screen it is shown on.

use std::{borrow::Cow, iter::Peekable, str::Chars};

/// The text without them; newlines and tabs stay.
pub(in crate::to_wire) fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next_if(|c| matches!(c, '[' | ']' | 'P' | 'X' | '^' | '_')) {
                Some('[') => parameters(&mut chars),
                Some(_) => string(&mut chars),
                None => {}
            },
            '\u{9b}' => parameters(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => string(&mut chars),
            c if hidden(c) => {}
            c => kept.push(c),
        }
    }
    Cow::Owned(kept)
}

/// Parameters and the letter that ends them.
fn parameters(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// A string up to its end; that of a line ends it too, so that an unfinished one hides nothing after it.
fn string(chars: &mut Peekable<Chars<'_>>) {
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

    #[test]
    fn sequences_go_and_words_stay() {
        let table = [
            ("plain\ttext\nwith ü", "plain\ttext\nwith ü"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]0;unfinished\nnext", "\nnext"),
            ("\u{9b}2Jgone\u{8}\r\n", "gone\n"),
            ("end\u{1b}", "end"),
        ];
        for (text, expected) in table {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }
}
