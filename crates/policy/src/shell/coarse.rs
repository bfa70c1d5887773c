//! The last resort, for lines that cost too much to be read: every word that stands where a program may stand,
//! with the words behind it. It is wrong about quotes and knows no grammar; the line is in doubt already, and
//! what is found here can only deny.

use super::{plain, reader::ShellReader, variable};

/// Pieces that are looked at.
const MAX_PIECES: usize = 256;
/// Words of each that are.
const MAX_WORDS: usize = 16;

/// Tells a reader what may be the commands of a line.
pub(super) fn read(line: &str, reader: &mut ShellReader) {
    let pieces = line.split([';', '|', '&', '(', ')', '{', '}', '`', '\n']);
    for piece in pieces.take(MAX_PIECES) {
        let words = piece.split([' ', '\t']).filter(|word| !word.is_empty());
        let argv: Vec<String> = words
            .skip_while(|word| plain::reserved(word) || variable::split(word).is_some())
            .take(MAX_WORDS)
            .map(|word| word.replace(['\'', '"', '\\'], ""))
            .collect();
        reader.found_by_guess(&argv);
    }
}
