//! Characters that a person does not see as they are, or that shells take differently: control characters,
//! blanks other than space and tab, signs without width, signs that turn the direction of writing.

use crate::unseen::is_unseen;

/// The first such character of a text.
pub(super) fn first(text: &str) -> Option<char> {
    text.chars().find(|&sign| hidden(sign))
}

fn hidden(sign: char) -> bool {
    match sign {
        '\n' | '\t' | ' '..='~' => false,
        // Some shells take other blanks for the end of a word.
        _ => sign.is_whitespace() || is_unseen(sign),
    }
}
