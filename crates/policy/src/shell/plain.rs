//! The exact reader: lists, pipelines, groups, `if`, `while`, `until`, `for`, `case`, functions, redirections,
//! words, and the commands substituted in them. Rejects everything else, and returns the reason.

use super::{
    LineDoubt, MAX_DEPTH, Redirect,
    token::{self, InnerCommands, ShellWord, Token, bash_only},
    variable,
};

/// Keywords that close or continue something.
const CLOSERS: &[&str] = &["}", "then", "else", "elif", "fi", "do", "done", "esac"];
/// Keywords that are not supported here, or mean something in `bash` only.
const OTHERS: &[&str] = &["in"];
const BASH: &[&str] = &["function", "select", "coproc", "]]"];

#[derive(Debug, Default)]
pub(super) struct PlainLine {
    pub(super) commands: Vec<PlainCommand>,
    pub(super) redirects: Vec<Redirect>,
    /// Variables that a loop sets.
    pub(super) loops: Vec<String>,
    /// Doubts about a line that is otherwise understood.
    pub(super) doubts: Vec<LineDoubt>,
}

/// Assignments and words of one command.
#[derive(Debug, Default)]
pub(super) struct PlainCommand {
    pub(super) assignments: Vec<(String, String)>,
    pub(super) argv: Vec<String>,
    /// A line in it that is read by itself; then the rest is empty.
    pub(super) line: Option<String>,
}

/// Whether this word would be a keyword as the first of a command.
pub(super) fn reserved(word: &str) -> bool {
    matches!(
        word,
        "!" | "{" | "if" | "while" | "until" | "for" | "case" | "time" | "[["
    ) || CLOSERS.contains(&word)
        || OTHERS.contains(&word)
        || BASH.contains(&word)
}

/// Parses a line, or returns the reason why this reader cannot.
pub(super) fn read(line: &str) -> Result<PlainLine, LineDoubt> {
    let cut = token::cut(line)?;
    let mut parser = PlainParser {
        tokens: cut.tokens,
        inner: cut.inner,
        held: Vec::new(),
        at: 0,
        depth: 0,
        found: PlainLine {
            doubts: cut.doubts,
            ..PlainLine::default()
        },
    };
    parser.whole()?;
    parser.held = cut.loose;
    parser.open_held()?;
    Ok(parser.found)
}

struct PlainParser {
    tokens: Vec<Token>,
    inner: Vec<InnerCommands>,
    /// Substitutions of the current command, to be read after it.
    held: Vec<usize>,
    at: usize,
    depth: usize,
    found: PlainLine,
}

impl PlainParser {
    /// Parses tokens up to their end.
    fn whole(&mut self) -> Result<(), LineDoubt> {
        self.list(true)?;
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(LineDoubt::Unparsable),
        }
    }

    /// Parses the substitutions of the previous command.
    fn open_held(&mut self) -> Result<(), LineDoubt> {
        for slot in std::mem::take(&mut self.held) {
            let Some(inner) = self.inner.get_mut(slot) else {
                continue;
            };
            match inner {
                InnerCommands::Line(text) => {
                    let line = Some(std::mem::take(text));
                    self.found.commands.push(PlainCommand {
                        line,
                        ..PlainCommand::default()
                    });
                }
                InnerCommands::Tokens(tokens) => {
                    let tokens = std::mem::take(tokens);
                    let outer = std::mem::replace(&mut self.tokens, tokens);
                    let at = std::mem::replace(&mut self.at, 0);
                    self.whole()?;
                    (self.tokens, self.at) = (outer, at);
                }
            }
        }
        Ok(())
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// Returns the next word if it is unquoted: only then can it be a keyword.
    fn keyword(&self) -> Option<&str> {
        match self.peek() {
            Some(Token::Word(word)) if word.bare => Some(&word.text),
            _ => None,
        }
    }

    fn expect(&mut self, word: &str) -> Result<(), LineDoubt> {
        if self.keyword() == Some(word) {
            self.at += 1;
            Ok(())
        } else {
            Err(LineDoubt::Unparsable)
        }
    }

    fn newlines(&mut self) {
        while self.peek() == Some(&Token::Newline) {
            self.at += 1;
        }
    }

    /// Parses commands up to a closing keyword, `)` or the end.
    fn list(&mut self, may_be_empty: bool) -> Result<(), LineDoubt> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(LineDoubt::TooMuch);
        }
        self.newlines();
        let mut empty = true;
        while !self.closes() {
            self.and_or()?;
            empty = false;
            match self.peek() {
                Some(Token::Semicolon | Token::Background | Token::Newline) => self.at += 1,
                _ => break,
            }
            self.newlines();
        }
        self.depth -= 1;
        if empty && !may_be_empty {
            return Err(LineDoubt::Unparsable);
        }
        Ok(())
    }

    fn closes(&self) -> bool {
        match self.peek() {
            None | Some(Token::Close | Token::Ends) => true,
            Some(_) => self.keyword().is_some_and(|word| CLOSERS.contains(&word)),
        }
    }

    fn and_or(&mut self) -> Result<(), LineDoubt> {
        loop {
            if self.keyword() == Some("!") {
                self.at += 1;
            }
            self.command()?;
            match self.peek() {
                Some(Token::And | Token::Or) => {
                    self.at += 1;
                    self.newlines();
                }
                Some(Token::Pipe) => {
                    self.at += 1;
                    self.newlines();
                    // Only some shells accept a `!` there.
                    if self.keyword() == Some("!") {
                        return Err(LineDoubt::Unparsable);
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn command(&mut self) -> Result<(), LineDoubt> {
        if self.peek() == Some(&Token::Open) {
            self.at += 1;
            self.list(false)?;
            if self.peek() != Some(&Token::Close) {
                return Err(LineDoubt::Unparsable);
            }
            self.at += 1;
            return self.after_group();
        }
        let Some(keyword) = self.keyword() else {
            return self.simple();
        };
        match keyword {
            "{" => {
                self.at += 1;
                self.list(false)?;
                self.expect("}")?;
            }
            "if" => self.conditional()?,
            "while" | "until" => {
                self.at += 1;
                self.list(false)?;
                self.body()?;
            }
            "for" => self.each()?,
            "case" => self.case()?,
            // One shell takes it for a test; the other for a program, and the text after `&&` in it for another
            // one.
            "[[" => {
                self.found.doubts.push(bash_only("[["));
                return self.simple();
            }
            word if BASH.contains(&word) => return Err(bash_only(word)),
            word if OTHERS.contains(&word) => return Err(LineDoubt::Dynamic(word.to_owned())),
            word if word == "!" || CLOSERS.contains(&word) => return Err(LineDoubt::Unparsable),
            _ => return self.simple(),
        }
        self.after_group()
    }

    fn conditional(&mut self) -> Result<(), LineDoubt> {
        self.at += 1;
        loop {
            self.list(false)?;
            self.expect("then")?;
            self.list(false)?;
            match self.keyword() {
                Some("elif") => self.at += 1,
                Some("else") => {
                    self.at += 1;
                    self.list(false)?;
                    return self.expect("fi");
                }
                _ => return self.expect("fi"),
            }
        }
    }

    fn body(&mut self) -> Result<(), LineDoubt> {
        self.expect("do")?;
        self.list(false)?;
        self.expect("done")
    }

    fn each(&mut self) -> Result<(), LineDoubt> {
        self.at += 1;
        let name = self
            .keyword()
            .map(str::to_owned)
            .ok_or(LineDoubt::Unparsable)?;
        if !variable::is_name(&name) {
            return Err(LineDoubt::Unparsable);
        }
        self.at += 1;
        self.expect("in")?;
        while self.any_word().is_ok() {}
        self.open_held()?;
        match self.peek() {
            Some(Token::Semicolon | Token::Newline) => self.at += 1,
            _ => return Err(LineDoubt::Unparsable),
        }
        self.newlines();
        self.found.loops.push(name);
        self.body()
    }

    /// Parses a `case`. Which branch runs is known only at run time.
    fn case(&mut self) -> Result<(), LineDoubt> {
        self.found
            .doubts
            .push(LineDoubt::Dynamic("case".to_owned()));
        self.at += 1;
        self.any_word()?;
        self.newlines();
        self.expect("in")?;
        self.open_held()?;
        loop {
            self.newlines();
            if self.keyword() == Some("esac") {
                self.at += 1;
                return Ok(());
            }
            if self.peek() == Some(&Token::Open) {
                self.at += 1;
            }
            self.any_word()?;
            while self.peek() == Some(&Token::Pipe) {
                self.at += 1;
                self.any_word()?;
            }
            if self.peek() != Some(&Token::Close) {
                return Err(LineDoubt::Unparsable);
            }
            self.at += 1;
            self.open_held()?;
            self.list(true)?;
            if self.peek() != Some(&Token::Ends) {
                return self.expect("esac");
            }
            self.at += 1;
        }
    }

    fn any_word(&mut self) -> Result<(), LineDoubt> {
        let Some(Token::Word(word)) = self.tokens.get_mut(self.at) else {
            return Err(LineDoubt::Unparsable);
        };
        self.held.append(&mut word.holds);
        self.at += 1;
        Ok(())
    }

    /// Parses a function. Its body is read as if it ran here; whether its name still means a program is in doubt.
    fn function(&mut self, name: &str) -> Result<(), LineDoubt> {
        let made = LineDoubt::Environment(format!("the function {name} is made"));
        let doubts = &mut self.found.doubts;
        doubts.extend([made, LineDoubt::Dynamic("what a function does".to_owned())]);
        self.at += 2;
        self.newlines();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(LineDoubt::TooMuch);
        }
        self.command()?;
        self.depth -= 1;
        Ok(())
    }

    /// Parses the end of a group: only redirections may follow.
    fn after_group(&mut self) -> Result<(), LineDoubt> {
        while self.redirect()? {}
        self.open_held()?;
        match self.peek() {
            Some(Token::Word(_)) if !self.closes() => Err(LineDoubt::Unparsable),
            Some(Token::Open) => Err(LineDoubt::Unparsable),
            _ => Ok(()),
        }
    }

    fn simple(&mut self) -> Result<(), LineDoubt> {
        let mut command = PlainCommand::default();
        let begin = self.at;
        loop {
            if self.redirect()? {
                continue;
            }
            let Some(Token::Word(word)) = self.tokens.get_mut(self.at) else {
                break;
            };
            self.held.append(&mut word.holds);
            if command.argv.is_empty() {
                if word.assigns {
                    if let Some((name, value)) = variable::split(&word.text) {
                        command
                            .assignments
                            .push((name.to_owned(), value.to_owned()));
                    }
                    self.at += 1;
                    continue;
                }
                // After an assignment or a redirection shells disagree whether this is a program.
                if self.at > begin && word.bare && reserved(&word.text) {
                    return Err(LineDoubt::Unparsable);
                }
            }
            command.argv.push(std::mem::take(&mut word.text));
            self.at += 1;
        }
        if self.peek() == Some(&Token::Open) {
            return match (self.tokens.get(self.at + 1), command.argv.as_slice()) {
                (Some(Token::Close), [name]) if self.at == begin + 1 => self.function(name),
                _ => Err(LineDoubt::Unparsable),
            };
        }
        if self.at == begin {
            return Err(LineDoubt::Unparsable);
        }
        self.found.commands.push(command);
        self.open_held()
    }

    /// Parses a redirection, if one is next.
    fn redirect(&mut self) -> Result<bool, LineDoubt> {
        let token = match self.peek() {
            Some(token @ (Token::File { .. } | Token::Duplicate | Token::Here)) => token.clone(),
            _ => return Ok(false),
        };
        let mut target: ShellWord = match self.tokens.get_mut(self.at + 1) {
            Some(Token::Word(word)) => std::mem::take(word),
            _ => return Err(LineDoubt::Unparsable),
        };
        self.at += 2;
        self.held.append(&mut target.holds);
        match token {
            Token::File { write } => self.found.redirects.push(Redirect {
                path: target.text,
                write,
            }),
            Token::Duplicate => {
                let plain = target.text == "-"
                    || (target.text.len() == 1 && target.text.bytes().all(|b| b.is_ascii_digit()));
                if !plain {
                    self.found.doubts.push(bash_only(">&"));
                    self.found.redirects.push(Redirect {
                        path: target.text,
                        write: true,
                    });
                }
            }
            _ => {}
        }
        Ok(true)
    }
}
