//! The exact reader: lists, pipelines, groups, `if`, `while`, `until`, `for`, `case`, functions, redirections,
//! words, and the commands substituted in them. Rejects everything else, and returns the reason.

use super::{
    LineDoubt, MAX_DEPTH, Redirect,
    token::{self, InnerCommands, ShellWord, Token, bash_only_doubt},
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
pub(super) fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "!" | "{" | "if" | "while" | "until" | "for" | "case" | "time" | "[["
    ) || CLOSERS.contains(&word)
        || OTHERS.contains(&word)
        || BASH.contains(&word)
}

/// Parses a line, or returns the reason why this reader cannot.
pub(super) fn read(line: &str) -> Result<PlainLine, LineDoubt> {
    let cut = token::tokenise(line)?;
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
    parser.parse_all()?;
    parser.held = cut.loose;
    parser.parse_held()?;
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
    fn parse_all(&mut self) -> Result<(), LineDoubt> {
        self.parse_list(true)?;
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(LineDoubt::Unparsable),
        }
    }

    /// Parses the substitutions of the previous command.
    fn parse_held(&mut self) -> Result<(), LineDoubt> {
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
                    self.parse_all()?;
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

    fn skip_newlines(&mut self) {
        while self.peek() == Some(&Token::Newline) {
            self.at += 1;
        }
    }

    /// Parses commands up to a closing keyword, `)` or the end.
    fn parse_list(&mut self, may_be_empty: bool) -> Result<(), LineDoubt> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(LineDoubt::TooMuch);
        }
        self.skip_newlines();
        let mut empty = true;
        while !self.is_at_close() {
            self.parse_and_or()?;
            empty = false;
            match self.peek() {
                Some(Token::Semicolon | Token::Background | Token::Newline) => self.at += 1,
                _ => break,
            }
            self.skip_newlines();
        }
        self.depth -= 1;
        if empty && !may_be_empty {
            return Err(LineDoubt::Unparsable);
        }
        Ok(())
    }

    fn is_at_close(&self) -> bool {
        match self.peek() {
            None | Some(Token::Close | Token::Ends) => true,
            Some(_) => self.keyword().is_some_and(|word| CLOSERS.contains(&word)),
        }
    }

    fn parse_and_or(&mut self) -> Result<(), LineDoubt> {
        loop {
            if self.keyword() == Some("!") {
                self.at += 1;
            }
            self.parse_command()?;
            match self.peek() {
                Some(Token::And | Token::Or) => {
                    self.at += 1;
                    self.skip_newlines();
                }
                Some(Token::Pipe) => {
                    self.at += 1;
                    self.skip_newlines();
                    // Only some shells accept a `!` there.
                    if self.keyword() == Some("!") {
                        return Err(LineDoubt::Unparsable);
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn parse_command(&mut self) -> Result<(), LineDoubt> {
        if self.peek() == Some(&Token::Open) {
            self.at += 1;
            self.parse_list(false)?;
            if self.peek() != Some(&Token::Close) {
                return Err(LineDoubt::Unparsable);
            }
            self.at += 1;
            return self.parse_group_end();
        }
        let Some(keyword) = self.keyword() else {
            return self.parse_simple();
        };
        match keyword {
            "{" => {
                self.at += 1;
                self.parse_list(false)?;
                self.expect("}")?;
            }
            "if" => self.parse_if()?,
            "while" | "until" => {
                self.at += 1;
                self.parse_list(false)?;
                self.parse_loop_body()?;
            }
            "for" => self.parse_for()?,
            "case" => self.parse_case()?,
            // One shell takes it for a test; the other for a program, and the text after `&&` in it for another
            // one.
            "[[" => {
                self.found.doubts.push(bash_only_doubt("[["));
                return self.parse_simple();
            }
            word if BASH.contains(&word) => return Err(bash_only_doubt(word)),
            word if OTHERS.contains(&word) => return Err(LineDoubt::Dynamic(word.to_owned())),
            word if word == "!" || CLOSERS.contains(&word) => return Err(LineDoubt::Unparsable),
            _ => return self.parse_simple(),
        }
        self.parse_group_end()
    }

    fn parse_if(&mut self) -> Result<(), LineDoubt> {
        self.at += 1;
        loop {
            self.parse_list(false)?;
            self.expect("then")?;
            self.parse_list(false)?;
            match self.keyword() {
                Some("elif") => self.at += 1,
                Some("else") => {
                    self.at += 1;
                    self.parse_list(false)?;
                    return self.expect("fi");
                }
                _ => return self.expect("fi"),
            }
        }
    }

    fn parse_loop_body(&mut self) -> Result<(), LineDoubt> {
        self.expect("do")?;
        self.parse_list(false)?;
        self.expect("done")
    }

    fn parse_for(&mut self) -> Result<(), LineDoubt> {
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
        while self.take_word().is_ok() {}
        self.parse_held()?;
        match self.peek() {
            Some(Token::Semicolon | Token::Newline) => self.at += 1,
            _ => return Err(LineDoubt::Unparsable),
        }
        self.skip_newlines();
        self.found.loops.push(name);
        self.parse_loop_body()
    }

    /// Parses a `case`. Which branch runs is known only at run time.
    fn parse_case(&mut self) -> Result<(), LineDoubt> {
        self.found
            .doubts
            .push(LineDoubt::Dynamic("case".to_owned()));
        self.at += 1;
        self.take_word()?;
        self.skip_newlines();
        self.expect("in")?;
        self.parse_held()?;
        loop {
            self.skip_newlines();
            if self.keyword() == Some("esac") {
                self.at += 1;
                return Ok(());
            }
            if self.peek() == Some(&Token::Open) {
                self.at += 1;
            }
            self.take_word()?;
            while self.peek() == Some(&Token::Pipe) {
                self.at += 1;
                self.take_word()?;
            }
            if self.peek() != Some(&Token::Close) {
                return Err(LineDoubt::Unparsable);
            }
            self.at += 1;
            self.parse_held()?;
            self.parse_list(true)?;
            if self.peek() != Some(&Token::Ends) {
                return self.expect("esac");
            }
            self.at += 1;
        }
    }

    fn take_word(&mut self) -> Result<(), LineDoubt> {
        let Some(Token::Word(word)) = self.tokens.get_mut(self.at) else {
            return Err(LineDoubt::Unparsable);
        };
        self.held.append(&mut word.holds);
        self.at += 1;
        Ok(())
    }

    /// Parses a function. Its body is read as if it ran here; whether its name still means a program is in doubt.
    fn parse_function(&mut self, name: &str) -> Result<(), LineDoubt> {
        let made = LineDoubt::Environment(format!("the function {name} is defined"));
        let doubts = &mut self.found.doubts;
        doubts.extend([
            made,
            LineDoubt::Dynamic("the effect of a function".to_owned()),
        ]);
        self.at += 2;
        self.skip_newlines();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(LineDoubt::TooMuch);
        }
        self.parse_command()?;
        self.depth -= 1;
        Ok(())
    }

    /// Parses the end of a group: only redirections may follow.
    fn parse_group_end(&mut self) -> Result<(), LineDoubt> {
        while self.parse_redirect()? {}
        self.parse_held()?;
        match self.peek() {
            Some(Token::Word(_)) if !self.is_at_close() => Err(LineDoubt::Unparsable),
            Some(Token::Open) => Err(LineDoubt::Unparsable),
            _ => Ok(()),
        }
    }

    fn parse_simple(&mut self) -> Result<(), LineDoubt> {
        let mut command = PlainCommand::default();
        let begin = self.at;
        loop {
            if self.parse_redirect()? {
                continue;
            }
            let Some(Token::Word(word)) = self.tokens.get_mut(self.at) else {
                break;
            };
            self.held.append(&mut word.holds);
            if command.argv.is_empty() {
                if word.assigns {
                    if let Some((name, value)) = variable::split_assignment(&word.text) {
                        command
                            .assignments
                            .push((name.to_owned(), value.to_owned()));
                    }
                    self.at += 1;
                    continue;
                }
                // After an assignment or a redirection shells disagree whether this is a program.
                if self.at > begin && word.bare && is_keyword(&word.text) {
                    return Err(LineDoubt::Unparsable);
                }
            }
            command.argv.push(std::mem::take(&mut word.text));
            self.at += 1;
        }
        if self.peek() == Some(&Token::Open) {
            return match (self.tokens.get(self.at + 1), command.argv.as_slice()) {
                (Some(Token::Close), [name]) if self.at == begin + 1 => self.parse_function(name),
                _ => Err(LineDoubt::Unparsable),
            };
        }
        if self.at == begin {
            return Err(LineDoubt::Unparsable);
        }
        self.found.commands.push(command);
        self.parse_held()
    }

    /// Parses a redirection, if one is next.
    fn parse_redirect(&mut self) -> Result<bool, LineDoubt> {
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
                    self.found.doubts.push(bash_only_doubt(">&"));
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
