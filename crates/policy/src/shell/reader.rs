//! Collects what the readers find: follows programs into the programs they run, and lines into the lines in
//! them, up to the limits.

use super::{
    LineDoubt, MAX_BYTES, MAX_COMMANDS, MAX_DOUBTS, MAX_LINES, MAX_WORDS, Redirect, ShellLine,
    SimpleCommand, executor, hidden_chars, plain, tree, variable, wrapper,
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
    pub(super) fn read_line(&mut self, text: &str) {
        if text.len() > MAX_BYTES {
            return self.add_doubt(LineDoubt::TooLong);
        }
        self.bytes += text.len();
        if self.depth >= MAX_LINES || self.bytes > 4 * MAX_BYTES {
            return self.add_doubt(LineDoubt::TooMuch);
        }
        self.depth += 1;
        if let Some(sign) = hidden_chars::find_hidden(text) {
            self.add_doubt(LineDoubt::Dynamic(format!(
                "the hidden character U+{:04X}",
                u32::from(sign)
            )));
        }
        // `sh -c` would take it for a flag of its own.
        if text.starts_with(['-', '+']) {
            self.doubt_dynamic("a line that begins like a flag");
        }
        match plain::read(text) {
            Ok(read) => {
                if read.commands.is_empty() {
                    self.add_doubt(LineDoubt::Unparsable);
                }
                for doubt in read.doubts {
                    self.add_doubt(doubt);
                }
                for name in read.loops {
                    // An exported variable reaches every program; a name of one letter seldom is exported.
                    if name.len() > 1 {
                        self.doubt_environment(&format!("the variable {name} is set"));
                    }
                }
                for redirect in read.redirects {
                    self.add_redirect(redirect);
                }
                for command in read.commands {
                    for (name, value) in &command.assignments {
                        self.add_assignment(name, value);
                    }
                    self.add_program(&command.argv);
                    if let Some(line) = command.line {
                        self.read_line_unless_empty(&line);
                    }
                }
            }
            Err(doubt) => {
                self.add_doubt(doubt);
                tree::read(text, self);
            }
        }
        self.depth -= 1;
    }

    /// Reads a line, if there is one.
    pub(super) fn read_line_unless_empty(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.read_line(text);
        }
    }

    /// Adds one program with its words, and the programs in them.
    pub(super) fn add_program(&mut self, argv: &[String]) {
        if argv.is_empty() {
            return;
        }
        self.words += argv.len();
        if self.found.commands.len() >= MAX_COMMANDS
            || self.words > MAX_WORDS
            || self.depth > MAX_LINES
        {
            return self.add_doubt(LineDoubt::TooMuch);
        }
        self.found.commands.push(SimpleCommand {
            argv: argv.to_vec(),
            exec_capable: executor::exec_form(argv),
        });
        wrapper::follow_program(self, argv);
        // If a variable is empty, the next word is the program.
        if argv.len() > 1
            && argv
                .first()
                .is_some_and(|first| first.starts_with(['$', '`']))
        {
            self.add_inner_program(argv.get(1..).unwrap_or_default());
        }
    }

    /// Adds to the bytes that were to be parsed as a tree, and returns the sum.
    pub(super) fn add_tree_bytes(&mut self, more: usize) -> usize {
        self.tree_bytes += more;
        self.tree_bytes
    }

    /// Adds a possible program, without following it.
    pub(super) fn add_guess(&mut self, argv: &[String]) {
        if !argv.is_empty() && self.found.commands.len() < MAX_COMMANDS {
            self.found.commands.push(SimpleCommand {
                argv: argv.to_vec(),
                exec_capable: executor::exec_form(argv),
            });
        }
    }

    /// Adds a program that another one starts.
    pub(super) fn add_inner_program(&mut self, argv: &[String]) {
        if let Some(first) = argv.first()
            && (plain::is_keyword(first) || first.is_empty())
        {
            self.doubt_dynamic(first);
        }
        self.depth += 1;
        self.add_program(argv);
        self.depth -= 1;
    }

    pub(super) fn add_assignment(&mut self, name: &str, value: &str) {
        if !variable::is_harmless(name, value) {
            self.doubt_environment(&format!("the variable {name} is set"));
        }
    }

    pub(super) fn add_redirect(&mut self, redirect: Redirect) {
        // One shell opens a connection there.
        if ["/dev/tcp", "/dev/udp"]
            .iter()
            .any(|net| redirect.path.contains(net))
        {
            self.doubt_dynamic(&redirect.path);
        }
        if self.found.redirects.len() >= MAX_COMMANDS {
            return self.add_doubt(LineDoubt::TooMuch);
        }
        self.found.redirects.push(redirect);
    }

    pub(super) fn doubt_dynamic(&mut self, what: &str) {
        self.add_doubt(LineDoubt::Dynamic(what.to_owned()));
    }

    pub(super) fn doubt_environment(&mut self, what: &str) {
        self.add_doubt(LineDoubt::Environment(what.to_owned()));
    }

    pub(super) fn add_doubt(&mut self, doubt: LineDoubt) {
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
            self.doubt_dynamic("a relative name after cd");
        }
        self.found
    }
}
