//! Collects what the readers find: follows programs into the programs they run, and lines into the lines in
//! them, up to the limits.

use super::{
    LineDoubt, MAX_BYTES, MAX_COMMANDS, MAX_DOUBTS, MAX_LINES, MAX_WORDS, Redirect, ShellLine,
    SimpleCommand, executor, plain, stealth, tree, variable, wrapper,
};

/// The result so far, and the counters for the limits.
#[derive(Debug, Default)]
pub(super) struct ShellReader {
    found: ShellLine,
    /// The current depth of lines and programs inside others.
    depth: usize,
    /// The bytes that were read; lines in lines count again.
    bytes: usize,
    /// The bytes that were to be parsed as a tree.
    tree_bytes: usize,
    /// The words that were kept; those of inner programs count again.
    words: usize,
}

impl ShellReader {
    /// Reads a line, by itself or inside another.
    pub(super) fn line(&mut self, text: &str) {
        if text.len() > MAX_BYTES {
            return self.doubt(LineDoubt::TooLong);
        }
        self.bytes += text.len();
        if self.depth >= MAX_LINES || self.bytes > 4 * MAX_BYTES {
            return self.doubt(LineDoubt::TooMuch);
        }
        self.depth += 1;
        if let Some(sign) = stealth::first(text) {
            self.doubt(LineDoubt::Dynamic(format!(
                "the hidden character U+{:04X}",
                u32::from(sign)
            )));
        }
        // `sh -c` would take it for a flag of its own.
        if text.starts_with(['-', '+']) {
            self.dynamic("a line that begins like a flag");
        }
        match plain::read(text) {
            Ok(read) => {
                if read.commands.is_empty() {
                    self.doubt(LineDoubt::Unparsable);
                }
                for doubt in read.doubts {
                    self.doubt(doubt);
                }
                for name in read.loops {
                    // An exported variable reaches every program; a name of one letter seldom is exported.
                    if name.len() > 1 {
                        self.environment(&format!("the variable {name} is set"));
                    }
                }
                for redirect in read.redirects {
                    self.redirect(redirect);
                }
                for command in read.commands {
                    for (name, value) in &command.assignments {
                        self.assignment(name, value);
                    }
                    self.program(&command.argv);
                    if let Some(line) = command.line {
                        self.line_unless_empty(&line);
                    }
                }
            }
            Err(doubt) => {
                self.doubt(doubt);
                tree::read(text, self);
            }
        }
        self.depth -= 1;
    }

    /// Reads a line, if there is one.
    pub(super) fn line_unless_empty(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.line(text);
        }
    }

    /// Adds one program with its words, and the programs in them.
    pub(super) fn program(&mut self, argv: &[String]) {
        if argv.is_empty() {
            return;
        }
        self.words += argv.len();
        if self.found.commands.len() >= MAX_COMMANDS
            || self.words > MAX_WORDS
            || self.depth > MAX_LINES
        {
            return self.doubt(LineDoubt::TooMuch);
        }
        self.found.commands.push(SimpleCommand {
            argv: argv.to_vec(),
            exec_capable: executor::form(argv),
        });
        wrapper::open(self, argv);
        // If a variable is empty, the next word is the program.
        if argv.len() > 1
            && argv
                .first()
                .is_some_and(|first| first.starts_with(['$', '`']))
        {
            self.inner(argv.get(1..).unwrap_or_default());
        }
    }

    /// Adds to the bytes that were to be parsed as a tree, and returns the sum.
    pub(super) fn tree_bytes(&mut self, more: usize) -> usize {
        self.tree_bytes += more;
        self.tree_bytes
    }

    /// Adds a possible program, without following it.
    pub(super) fn found_by_guess(&mut self, argv: &[String]) {
        if !argv.is_empty() && self.found.commands.len() < MAX_COMMANDS {
            self.found.commands.push(SimpleCommand {
                argv: argv.to_vec(),
                exec_capable: executor::form(argv),
            });
        }
    }

    /// Adds a program that another one starts.
    pub(super) fn inner(&mut self, argv: &[String]) {
        if let Some(first) = argv.first()
            && (plain::reserved(first) || first.is_empty())
        {
            self.dynamic(first);
        }
        self.depth += 1;
        self.program(argv);
        self.depth -= 1;
    }

    pub(super) fn assignment(&mut self, name: &str, value: &str) {
        if !variable::harmless(name, value) {
            self.environment(&format!("the variable {name} is set"));
        }
    }

    pub(super) fn redirect(&mut self, redirect: Redirect) {
        // One shell opens a connection there.
        if ["/dev/tcp", "/dev/udp"]
            .iter()
            .any(|net| redirect.path.contains(net))
        {
            self.dynamic(&redirect.path);
        }
        if self.found.redirects.len() >= MAX_COMMANDS {
            return self.doubt(LineDoubt::TooMuch);
        }
        self.found.redirects.push(redirect);
    }

    pub(super) fn dynamic(&mut self, what: &str) {
        self.doubt(LineDoubt::Dynamic(what.to_owned()));
    }

    pub(super) fn environment(&mut self, what: &str) {
        self.doubt(LineDoubt::Environment(what.to_owned()));
    }

    pub(super) fn doubt(&mut self, doubt: LineDoubt) {
        if self.found.doubts.len() < MAX_DOUBTS && !self.found.doubts.contains(&doubt) {
            self.found.doubts.push(doubt);
        }
    }

    /// Returns the result, with the doubts that only the whole line shows.
    pub(super) fn finish(mut self) -> ShellLine {
        let moves = self
            .found
            .commands
            .iter()
            .any(|command| command.argv.first().is_some_and(|program| program == "cd"));
        // In another directory, a relative name is another file.
        let relative = self
            .found
            .redirects
            .iter()
            .any(|redirect| !redirect.path.starts_with('/'))
            || self.found.commands.iter().any(|command| {
                command
                    .argv
                    .first()
                    .is_some_and(|program| program.contains('/') && !program.starts_with('/'))
            });
        if moves && relative {
            self.dynamic("a relative name after cd");
        }
        self.found
    }
}
