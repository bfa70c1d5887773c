//! The exact reader: lists, pipelines, groups, `if`, `while`, `until`, `for`, redirections, words, and the
//! commands substituted in them. Whatever else there is it refuses, and says what.

use super::{
    Doubt, MAX_DEPTH, Redirect,
    token::{self, Inner, Token, Word, bash_only},
    variable,
};

/// Words of the language that close or continue something.
const CLOSERS: &[&str] = &["}", "then", "else", "elif", "fi", "do", "done", "esac"];
/// Words of the language that are not followed here, or mean something in `bash` only.
const OTHERS: &[&str] = &["in"];
const BASH: &[&str] = &["function", "select", "coproc", "]]"];

#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(super) commands: Vec<Command>,
    pub(super) redirects: Vec<Redirect>,
    /// Variables that a loop sets.
    pub(super) loops: Vec<String>,
    /// What is expanded when it runs.
    pub(super) doubts: Vec<Doubt>,
}

/// Assignments and words of one command.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub(super) assignments: Vec<(String, String)>,
    pub(super) argv: Vec<String>,
    /// A line in it that is read by itself; there is nothing else then.
    pub(super) line: Option<String>,
}

/// Whether a program of this name, said by another program, would be a word of the language if it were the
/// first of a command.
pub(super) fn reserved(word: &str) -> bool {
    matches!(
        word,
        "!" | "{" | "if" | "while" | "until" | "for" | "case" | "time" | "[["
    ) || CLOSERS.contains(&word)
        || OTHERS.contains(&word)
        || BASH.contains(&word)
}

/// Reads a line, or says why it is not one for this reader.
pub(super) fn read(line: &str) -> Result<Plain, Doubt> {
    let cut = token::cut(line)?;
    let mut parser = Parser {
        tokens: cut.tokens,
        inner: cut.inner,
        held: Vec::new(),
        at: 0,
        depth: 0,
        found: Plain {
            doubts: cut.doubts,
            ..Plain::default()
        },
    };
    parser.whole()?;
    parser.held = cut.loose;
    parser.open_held()?;
    Ok(parser.found)
}

struct Parser {
    tokens: Vec<Token>,
    inner: Vec<Inner>,
    /// Substitutions of the command at hand, to be read behind it.
    held: Vec<usize>,
    at: usize,
    depth: usize,
    found: Plain,
}

impl Parser {
    /// All tokens there are.
    fn whole(&mut self) -> Result<(), Doubt> {
        self.list(true)?;
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(Doubt::Unparsable),
        }
    }

    /// Reads what was substituted in the command before.
    fn open_held(&mut self) -> Result<(), Doubt> {
        for slot in std::mem::take(&mut self.held) {
            let Some(inner) = self.inner.get_mut(slot) else {
                continue;
            };
            match inner {
                Inner::Line(text) => {
                    let line = Some(std::mem::take(text));
                    self.found.commands.push(Command {
                        line,
                        ..Command::default()
                    });
                }
                Inner::Tokens(tokens) => {
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

    /// The next word, if it is unquoted: only then can it be a word of the language.
    fn keyword(&self) -> Option<&str> {
        match self.peek() {
            Some(Token::Word(word)) if word.bare => Some(&word.text),
            _ => None,
        }
    }

    fn expect(&mut self, word: &str) -> Result<(), Doubt> {
        if self.keyword() == Some(word) {
            self.at += 1;
            Ok(())
        } else {
            Err(Doubt::Unparsable)
        }
    }

    fn newlines(&mut self) {
        while self.peek() == Some(&Token::Newline) {
            self.at += 1;
        }
    }

    /// Commands up to a closing word, `)` or the end.
    fn list(&mut self, may_be_empty: bool) -> Result<(), Doubt> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Doubt::TooMuch);
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
            return Err(Doubt::Unparsable);
        }
        Ok(())
    }

    fn closes(&self) -> bool {
        match self.peek() {
            None | Some(Token::Close | Token::Ends) => true,
            Some(_) => self.keyword().is_some_and(|word| CLOSERS.contains(&word)),
        }
    }

    fn and_or(&mut self) -> Result<(), Doubt> {
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
                    // Only some shells take a `!` there.
                    if self.keyword() == Some("!") {
                        return Err(Doubt::Unparsable);
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn command(&mut self) -> Result<(), Doubt> {
        if self.peek() == Some(&Token::Open) {
            self.at += 1;
            self.list(false)?;
            if self.peek() != Some(&Token::Close) {
                return Err(Doubt::Unparsable);
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
            // A test for one shell; for the other a program, and what is behind `&&` in it another.
            "[[" => {
                self.found.doubts.push(bash_only("[["));
                return self.simple();
            }
            word if BASH.contains(&word) => return Err(bash_only(word)),
            word if OTHERS.contains(&word) => return Err(Doubt::Dynamic(word.to_owned())),
            word if word == "!" || CLOSERS.contains(&word) => return Err(Doubt::Unparsable),
            _ => return self.simple(),
        }
        self.after_group()
    }

    fn conditional(&mut self) -> Result<(), Doubt> {
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

    fn body(&mut self) -> Result<(), Doubt> {
        self.expect("do")?;
        self.list(false)?;
        self.expect("done")
    }

    fn each(&mut self) -> Result<(), Doubt> {
        self.at += 1;
        let name = self.keyword().map(str::to_owned).ok_or(Doubt::Unparsable)?;
        if !variable::is_name(&name) {
            return Err(Doubt::Unparsable);
        }
        self.at += 1;
        self.expect("in")?;
        while self.any_word().is_ok() {}
        self.open_held()?;
        match self.peek() {
            Some(Token::Semicolon | Token::Newline) => self.at += 1,
            _ => return Err(Doubt::Unparsable),
        }
        self.newlines();
        self.found.loops.push(name);
        self.body()
    }

    /// Which branch is taken, nobody knows before.
    fn case(&mut self) -> Result<(), Doubt> {
        self.found.doubts.push(Doubt::Dynamic("case".to_owned()));
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
                return Err(Doubt::Unparsable);
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

    fn any_word(&mut self) -> Result<(), Doubt> {
        let Some(Token::Word(word)) = self.tokens.get_mut(self.at) else {
            return Err(Doubt::Unparsable);
        };
        self.held.append(&mut word.holds);
        self.at += 1;
        Ok(())
    }

    /// What a function holds is read as if it ran here; whether its name still means a program is in doubt.
    fn function(&mut self, name: &str) -> Result<(), Doubt> {
        let made = Doubt::Environment(format!("the function {name} is made"));
        let doubts = &mut self.found.doubts;
        doubts.extend([made, Doubt::Dynamic("what a function does".to_owned())]);
        self.at += 2;
        self.newlines();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Doubt::TooMuch);
        }
        self.command()?;
        self.depth -= 1;
        Ok(())
    }

    /// After a group only redirections may come.
    fn after_group(&mut self) -> Result<(), Doubt> {
        while self.redirect()? {}
        self.open_held()?;
        match self.peek() {
            Some(Token::Word(_)) if !self.closes() => Err(Doubt::Unparsable),
            Some(Token::Open) => Err(Doubt::Unparsable),
            _ => Ok(()),
        }
    }

    fn simple(&mut self) -> Result<(), Doubt> {
        let mut command = Command::default();
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
                    return Err(Doubt::Unparsable);
                }
            }
            command.argv.push(std::mem::take(&mut word.text));
            self.at += 1;
        }
        if self.peek() == Some(&Token::Open) {
            return match (self.tokens.get(self.at + 1), command.argv.as_slice()) {
                (Some(Token::Close), [name]) if self.at == begin + 1 => self.function(name),
                _ => Err(Doubt::Unparsable),
            };
        }
        if self.at == begin {
            return Err(Doubt::Unparsable);
        }
        self.found.commands.push(command);
        self.open_held()
    }

    /// Takes a redirection, if one is next.
    fn redirect(&mut self) -> Result<bool, Doubt> {
        let token = match self.peek() {
            Some(token @ (Token::File { .. } | Token::Duplicate | Token::Here)) => token.clone(),
            _ => return Ok(false),
        };
        let mut target: Word = match self.tokens.get_mut(self.at + 1) {
            Some(Token::Word(word)) => std::mem::take(word),
            _ => return Err(Doubt::Unparsable),
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
