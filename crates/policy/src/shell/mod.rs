//! A shell line taken apart: every program it would start, every file it would write, and every doubt
//! about either. Reads text only; runs and looks up nothing.
//!
//! Two readers. `plain` knows the part of the language that every shell reads alike, and knows it exactly; a
//! line that passes unasked was read by it, without a doubt. What it refuses is read as a tree (`tree`), or
//! where that costs too much word by word (`coarse`), to find the programs in it, and keeps a doubt whatever
//! they show.
//!
//! Hand-written because a parser for editors guesses where it should doubt, and rules decide by what is read here.

mod coarse;
mod executor;
mod expand;
mod git;
mod harmless;
mod here;
mod plain;
mod reach;
mod reader;
mod readonly;
mod shape;
mod stealth;
mod token;
mod tree;
mod variable;
mod word;
mod wrapper;

pub use reach::looks_below;
pub use readonly::read_only;

/// A longer line is not read.
pub const MAX_BYTES: usize = 16 * 1024;
/// More programs than these are not followed.
const MAX_COMMANDS: usize = 256;
/// More words than these, those of programs in programs counted again, are not kept.
const MAX_WORDS: usize = 2048;
/// Deeper nesting than this is not followed.
const MAX_DEPTH: usize = 48;
/// Lines in lines (`sh -c "sh -c …"`) deeper than this are not followed.
const MAX_LINES: usize = 6;
/// More different doubts than these tell a reader nothing.
const MAX_DOUBTS: usize = 16;

/// A line as far as it can be told what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellLine {
    /// Every simple command in it, in the order of the text; those inside substitutions, wrappers and
    /// other commands' arguments too.
    pub commands: Vec<SimpleCommand>,
    /// Files it writes or reads by redirection.
    pub redirects: Vec<Redirect>,
    /// Why it cannot be told what else it does. None of it may run unasked then.
    pub doubts: Vec<LineDoubt>,
}

/// One program and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The program and its arguments, quotes taken off.
    pub argv: Vec<String>,
    /// The flag or form by which it can run, or write, what its words do not show, where it has one: an
    /// interpreter, `-exec`, `--to-command`, `-c`, `sort -o`.
    pub exec_capable: Option<String>,
}

/// A file that a line opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The file.
    pub path: String,
    /// Whether it is written.
    pub write: bool,
}

/// Why it cannot be told what a line does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineDoubt {
    /// It is longer than is read.
    TooLong,
    /// It has more parts, or deeper ones, than are followed.
    TooMuch,
    /// It is no line that could be read.
    Unparsable,
    /// Something is known only when it runs; this.
    Dynamic(String),
    /// It changes what other programs do: a variable, a function, an alias, a trap.
    Environment(String),
}

/// Reads a line as `/bin/sh -c` would.
#[must_use]
pub fn read(line: &str) -> ShellLine {
    let mut reader = reader::ShellReader::default();
    reader.line(line);
    reader.finish()
}
