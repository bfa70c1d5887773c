//! Variables that change how a program writes and not what it does. Any other may name a program, a
//! library or a file, so this short list names those that pass.

use crate::word_table::WordTable;

const PASS: WordTable = WordTable(
    "CI CLICOLOR COLUMNS FORCE_COLOR LANGUAGE LINES NO_COLOR RUST_BACKTRACE RUST_LOG TERM TZ",
);

/// Whether setting this variable is harmless with this value. A value with a slash or a colon could name a
/// file (`TZ=:/some/file`, `LANG=/some/locale`), so it does not pass.
pub(super) fn is_harmless(name: &str, value: &str) -> bool {
    // In other encodings a byte of one letter may be a backslash or a quote, for a shell as for a program.
    if name == "LANG" || name.starts_with("LC_") {
        return matches!(value, "" | "C" | "POSIX")
            || value.rsplit_once('.').is_some_and(|(place, coding)| {
                let plain = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
                matches!(coding, "UTF-8" | "utf-8" | "UTF8" | "utf8") && place.bytes().all(plain)
            });
    }
    let known = PASS.has(name);
    let file = value.contains('/') || (name != "RUST_LOG" && value.contains(':'));
    known && !file
}

/// Splits an assignment into its name and value.
pub(super) fn split_assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    is_name(name).then_some((name, value))
}

/// Whether this is a valid name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    let mut signs = text.bytes();
    signs
        .next()
        .is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && signs.all(|sign| sign == b'_' || sign.is_ascii_alphanumeric())
}
