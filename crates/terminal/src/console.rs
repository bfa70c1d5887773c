//! Output of the commands on stdout and stderr, and the error for a wrong command line.

use std::{
    fmt::{self, Display},
    io::{self, Write},
};

use anyhow::{Context, Result};

/// An error that the user fixes by changing the command line.
#[derive(Debug)]
pub struct CommandLineError(String);

impl Display for CommandLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CommandLineError {}

/// Marks an error as [`CommandLineError`].
pub fn as_command_line_error(error: anyhow::Error) -> anyhow::Error {
    CommandLineError(format!("{error:#}")).into()
}

/// Prints an error on stderr, in clap's format.
pub fn print_error(error: impl Display) {
    // Without stderr the message cannot be shown.
    let _ = writeln!(io::stderr(), "error: {error}");
}

/// Prints a hint on stderr.
pub fn print_note(words: impl Display) {
    let _ = writeln!(io::stderr(), "harn-serve: {words}");
}

/// Prints a result on stdout. A closed pipe, such as `head`, is no error.
///
/// # Errors
/// When stdout cannot be written.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.context("writing to stdout"),
    }
}
