//! Characters that a person cannot see as they are, or that shells treat differently: control characters,
//! blanks other than space and tab, characters without width, and those that change the direction of writing.

use crate::invisible_chars::is_unseen;

/// Returns the first such character of a text.
pub(super) fn find_hidden(text: &str) -> Option<char> {
    text.chars().find(|&sign| is_hidden(sign))
}

fn is_hidden(sign: char) -> bool {
    match sign {
        '\n' | '\t' | ' '..='~' => false,
        // Some shells end a word at other blanks.
        _ => sign.is_whitespace() || is_unseen(sign),
    }
}
