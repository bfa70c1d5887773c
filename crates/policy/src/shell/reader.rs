//! Gathers what the two readers find: follows programs into the programs they run, and lines into the lines
//! in them, up to the limits.

use super::{
    LineDoubt, MAX_BYTES, MAX_COMMANDS, MAX_DOUBTS, MAX_LINES, MAX_WORDS, Redirect, ShellLine,
    SimpleCommand, executor, plain, stealth, tree, variable, wrapper,
};

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct ShellReader {
    found: ShellLine,
    /// How many lines deep this is.
    depth: usize,
    /// How much text was read, lines in lines counted again.
    bytes: usize,
    /// How much of it was to be read as a tree.
    tree_bytes: usize,
    /// How many words were kept, those of inner programs counted again.
    words: usize,
}

impl ShellReader {
    /// Reads a line, here or inside another.
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
                    // A variable that is exported reaches every program; one letter seldom is.
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

    /// The same, where there may be none.
    pub(super) fn line_unless_empty(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.line(text);
        }
    }

    /// One program and its words, and the programs in them.
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
        // A variable that is empty leaves the next word to be the program.
        if argv.len() > 1
            && argv
                .first()
                .is_some_and(|first| first.starts_with(['$', '`']))
        {
            self.inner(argv.get(1..).unwrap_or_default());
        }
    }

    /// Counts text that is to be read as a tree, and says how much that is by now.
    pub(super) fn tree_bytes(&mut self, more: usize) -> usize {
        self.tree_bytes += more;
        self.tree_bytes
    }

    /// What may be a program; not followed further.
    pub(super) fn found_by_guess(&mut self, argv: &[String]) {
        if !argv.is_empty() && self.found.commands.len() < MAX_COMMANDS {
            self.found.commands.push(SimpleCommand {
                argv: argv.to_vec(),
                exec_capable: executor::form(argv),
            });
        }
    }

    /// A program that another starts.
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

    /// All of it, with the doubts that only the whole shows.
    pub(super) fn finish(mut self) -> ShellLine {
        let moves = self
            .found
            .commands
            .iter()
            .any(|command| command.argv.first().is_some_and(|program| program == "cd"));
        // Elsewhere, a relative name is another file.
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
