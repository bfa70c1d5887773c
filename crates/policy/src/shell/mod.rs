//! Parses a shell line: every program it would start, every file it would write, and every doubt about
//! either. Reads text only; runs nothing and looks up nothing.
//!
//! There are two readers. `plain` knows exactly the part of the language that every shell reads alike; a line
//! that runs without approval was read by it, without a doubt. A line that it rejects is parsed as a tree
//! (`tree`), or word by word (`coarse`) where that costs too much, to find the programs in it. Such a line
//! always keeps a doubt.
//!
//! Hand-written because a parser for editors guesses where it should doubt, and rules decide by this result.

mod coarse;
mod executor;
mod expand;
mod git;
mod harmless;
mod here_document;
mod hidden_chars;
mod plain;
mod read_scope;
mod reader;
mod readonly;
mod shape;
mod token;
mod tree;
mod variable;
mod word;
mod wrapper;

pub(crate) use executor::name as program_name;
pub(crate) use git::is_git;
pub use read_scope::reads_only_below;
pub(crate) use read_scope::uses_no_files;
pub use readonly::is_read_only;

/// The longest line that is read, in bytes.
pub const MAX_BYTES: usize = 16 * 1024;
/// The limit of programs that are followed.
const MAX_COMMANDS: usize = 256;
/// The limit of words that are kept; those of inner programs count again.
const MAX_WORDS: usize = 2048;
/// The deepest nesting that is followed.
const MAX_DEPTH: usize = 48;
/// The deepest nesting of lines in lines (`sh -c "sh -c …"`) that is followed.
const MAX_LINES: usize = 6;
/// The limit of different doubts; more would not help a reader.
const MAX_DOUBTS: usize = 16;

/// A parsed line: the effects that are known, and the doubts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellLine {
    /// Every simple command in it, in the order of the text, including those inside substitutions, wrappers
    /// and other commands' arguments.
    pub commands: Vec<SimpleCommand>,
    /// Files that it writes or reads by redirection.
    pub redirects: Vec<Redirect>,
    /// The reasons why its effects are not fully known. If there is one, nothing of the line runs without approval.
    pub doubts: Vec<LineDoubt>,
}

/// One program and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The program and its arguments, without quotes.
    pub argv: Vec<String>,
    /// The flag or form, if any, by which it can run or write something that its words do not show: an
    /// interpreter, `-exec`, `--to-command`, `-c`, `sort -o`.
    pub exec_capable: Option<String>,
}

/// A file that a line opens by redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The path of the file.
    pub path: String,
    /// Whether the line writes it.
    pub write: bool,
}

/// A reason why the effects of a line are not fully known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineDoubt {
    /// The line is too long to be read.
    TooLong,
    /// The line has more parts, or deeper ones, than are followed.
    TooMuch,
    /// The line cannot be parsed.
    Unparsable,
    /// This part is known only when the line runs.
    Dynamic(String),
    /// The line changes the effects of other programs: by a variable, a function, an alias, a trap.
    Environment(String),
}

/// Parses a line as `/bin/sh -c` would.
pub fn read(line: &str) -> ShellLine {
    let mut reader = reader::ShellReader::default();
    reader.read_line(line);
    reader.finish()
}
