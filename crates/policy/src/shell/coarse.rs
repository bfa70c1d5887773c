//! The last resort, for lines that cost too much to parse: finds every word in the position of a program, with
//! the words after it. It mishandles quotes and knows no grammar; the line is already in doubt, and these
//! commands can only deny.

use super::{plain, reader::ShellReader, variable};

/// The limit of pieces that are read.
const MAX_PIECES: usize = 256;
/// The limit of words of each piece.
const MAX_WORDS: usize = 16;

/// Adds the possible commands of a line to a reader.
pub(super) fn read(line: &str, reader: &mut ShellReader) {
    let pieces = line.split([';', '|', '&', '(', ')', '{', '}', '`', '\n']);
    for piece in pieces.take(MAX_PIECES) {
        let words = piece.split([' ', '\t']).filter(|word| !word.is_empty());
        let argv: Vec<String> = words
            .skip_while(|word| {
                plain::is_keyword(word) || variable::split_assignment(word).is_some()
            })
            .take(MAX_WORDS)
            .map(|word| word.replace(['\'', '"', '\\'], ""))
            .collect();
        reader.add_guess(&argv);
    }
}
