//! Splits a line into words and operators, by the rules of POSIX that `dash` and `bash` share. An expansion at
//! run time leaves a doubt (`expand`); syntax that the two read differently is rejected or leaves one too. Knows
//! no grammar.

use super::{LineDoubt, MAX_DEPTH, MAX_DOUBTS, here_document::HereDocument, variable, word};

/// A word or an operator of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(ShellWord),
    /// A redirection to or from a file.
    File {
        write: bool,
    },
    /// A redirection to another descriptor.
    Duplicate,
    /// A here-document, whose body is checked and dropped, or a here-string.
    Here,
    Newline,
    And,
    Or,
    Pipe,
    Semicolon,
    /// `;;` of a `case`.
    Ends,
    Background,
    Open,
    Close,
}

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// The substitutions in it, as indexes of `LexedLine::inner`.
    pub(super) holds: Vec<usize>,
    /// Whether nothing in it was quoted: it may be a keyword.
    pub(super) bare: bool,
    /// Whether it begins with an unquoted name and `=`.
    pub(super) assigns: bool,
}

/// Commands substituted in a word or a here-document.
#[derive(Debug)]
pub(super) enum InnerCommands {
    /// Tokens that were read with the line around them.
    Tokens(Vec<Token>),
    /// The text of a line of their own.
    Line(String),
}

/// The tokens of a line, its substitutions and doubts.
#[derive(Debug)]
pub(super) struct LexedLine {
    pub(super) tokens: Vec<Token>,
    /// The substitutions, in the order of the text.
    pub(super) inner: Vec<InnerCommands>,
    /// The indexes of those that are in no word, but in a here-document.
    pub(super) loose: Vec<usize>,
    /// Doubts about its words.
    pub(super) doubts: Vec<LineDoubt>,
}

pub(super) fn tokenise(line: &str) -> Result<LexedLine, LineDoubt> {
    let mut lexer = Lexer {
        line,
        bytes: line.as_bytes(),
        at: 0,
        tokens: Vec::with_capacity(line.len() / 6 + 4),
        pending: Vec::new(),
        delimiter: None,
        inner: Vec::new(),
        holding: Vec::new(),
        loose: Vec::new(),
        depth: 0,
        doubted: 0,
        doubts: Vec::new(),
    };
    lexer.run(false)?;
    Ok(LexedLine {
        tokens: lexer.tokens,
        inner: lexer.inner,
        loose: lexer.loose,
        doubts: lexer.doubts,
    })
}

/// Returns the text from here to the next blank, short enough to display.
pub(super) fn excerpt(line: &str, from: usize) -> String {
    // No more than this is displayed, however long the word is.
    let mut end = line.len().min(from + 136);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let rest = line.get(from..end).unwrap_or_default();
    let name = |sign: char| sign == '_' || sign.is_ascii_alphanumeric();
    let word = match rest.strip_prefix('$') {
        Some(after) if after.starts_with(name) => {
            rest.get(..1 + after.find(|sign| !name(sign)).unwrap_or(after.len()))
        }
        _ => rest.split([' ', '\t', '\n']).next(),
    };
    let word = word.unwrap_or_default();
    let mut short: String = word.chars().take(32).collect();
    if short.len() < word.len() {
        short.push('…');
    }
    short
}

/// Returns the doubt about syntax that other shells than `bash` read as something else.
pub(super) fn bash_only_doubt(what: &str) -> LineDoubt {
    LineDoubt::Dynamic(format!("bash-only syntax {what}"))
}

pub(super) struct Lexer<'a> {
    pub(super) line: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) tokens: Vec<Token>,
    pub(super) pending: Vec<HereDocument>,
    /// Set if the next word is the delimiter of a here-document: whether its lines lose their tabs.
    pub(super) delimiter: Option<bool>,
    pub(super) inner: Vec<InnerCommands>,
    /// The substitutions of the current word.
    pub(super) holding: Vec<usize>,
    pub(super) loose: Vec<usize>,
    /// The current depth of expansions.
    pub(super) depth: usize,
    /// Grows with every doubt, also with those that are not kept.
    doubted: usize,
    doubts: Vec<LineDoubt>,
}

impl Lexer<'_> {
    /// Reads up to the end, or, inside a substitution, up to the `)` that closes it.
    pub(super) fn run(&mut self, inside: bool) -> Result<(), LineDoubt> {
        let mut open = 0_usize;
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek(1) == Some(b'\n') => {
                    // `&\⏎&` is `&&`: only after a blank does it count as a blank.
                    if self.at > 0 && !matches!(self.bytes[self.at - 1], b' ' | b'\t' | b'\n') {
                        return Err(LineDoubt::Unparsable);
                    }
                    self.at += 2;
                }
                b'#' => {
                    while self.peek(0).is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                b'\n' => {
                    self.at += 1;
                    self.check_redirect_complete()?;
                    self.tokens.push(Token::Newline);
                    self.read_bodies()?;
                }
                b')' if inside && open == 0 => {
                    self.at += 1;
                    return self.check_complete();
                }
                b'<' | b'>' if self.peek(1) == Some(b'(') => self.read_word()?,
                b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => {
                    match byte {
                        b'(' => open += 1,
                        b')' => open = open.saturating_sub(1),
                        _ => {}
                    }
                    self.read_operator(byte)?;
                }
                _ => self.read_word()?,
            }
        }
        if inside {
            return Err(LineDoubt::Unparsable);
        }
        self.check_complete()
    }

    /// Returns a doubt if a redirection or a here-document is incomplete.
    fn check_complete(&self) -> Result<(), LineDoubt> {
        self.check_redirect_complete()?;
        if self.pending.is_empty() {
            Ok(())
        } else {
            Err(LineDoubt::Unparsable)
        }
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn check_redirect_complete(&self) -> Result<(), LineDoubt> {
        match self.delimiter {
            Some(_) => Err(LineDoubt::Unparsable),
            None => Ok(()),
        }
    }

    fn read_operator(&mut self, byte: u8) -> Result<(), LineDoubt> {
        self.check_redirect_complete()?;
        let next = self.peek(1);
        let (token, length) = match (byte, next) {
            (b';', Some(b'&')) => return Err(bash_only_doubt(";&")),
            (b';', Some(b';')) => match self.peek(2) {
                Some(b'&') => return Err(bash_only_doubt(";;&")),
                _ => (Token::Ends, 2),
            },
            (b';', _) => (Token::Semicolon, 1),
            (b'&', Some(b'&')) => (Token::And, 2),
            (b'&', Some(b'>')) => return Err(bash_only_doubt("&>")),
            (b'&', _) => (Token::Background, 1),
            (b'|', Some(b'|')) => (Token::Or, 2),
            (b'|', Some(b'&')) => {
                self.add_doubt(bash_only_doubt("|&"));
                (Token::Pipe, 2)
            }
            (b'|', _) => (Token::Pipe, 1),
            (b'(', Some(b'(')) => return Err(bash_only_doubt("((")),
            (b'(', _) => (Token::Open, 1),
            (b')', _) => (Token::Close, 1),
            (b'<', Some(b'<')) => match self.peek(2) {
                Some(b'<') => {
                    self.add_doubt(bash_only_doubt("<<<"));
                    (Token::Here, 3)
                }
                Some(b'-') => {
                    self.delimiter = Some(true);
                    (Token::Here, 3)
                }
                _ => {
                    self.delimiter = Some(false);
                    (Token::Here, 2)
                }
            },
            (b'<', Some(b'>')) => (Token::File { write: true }, 2),
            (_, Some(b'&')) => (Token::Duplicate, 2),
            (b'<', _) => (Token::File { write: false }, 1),
            (_, Some(b'>' | b'|')) => (Token::File { write: true }, 2),
            _ => (Token::File { write: true }, 1),
        };
        self.tokens.push(token);
        self.at += length;
        Ok(())
    }

    /// Reads one word. Copies whole characters, so one of several bytes is not split.
    fn read_word(&mut self) -> Result<(), LineDoubt> {
        let start = self.at;
        let doubted = self.doubted;
        let mut word = ShellWord {
            bare: true,
            ..ShellWord::default()
        };
        let mut brace = None;
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => break,
                b'<' | b'>' if self.peek(1) == Some(b'(') => {
                    if word.text.ends_with(|sign: char| sign.is_ascii_digit()) {
                        return Err(bash_only_doubt("process substitution"));
                    }
                    self.add_doubt(bash_only_doubt("process substitution"));
                    let from = self.at;
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(LineDoubt::TooMuch);
                    }
                    self.read_substitution()?;
                    self.depth -= 1;
                    let raw = self.line.get(from..self.at);
                    word.text.push_str(raw.unwrap_or_default());
                }
                b'<' | b'>' => {
                    // `2>f` names a descriptor; `{fd}>f` and `10>f` do so in one shell only.
                    let digits = !word.text.is_empty()
                        && word.bare
                        && word.text.bytes().all(|byte| byte.is_ascii_digit());
                    if digits && word.text.len() == 1 {
                        return self.read_operator(byte);
                    }
                    if digits || word.text.ends_with('}') {
                        return Err(self.dynamic_doubt(start));
                    }
                    break;
                }
                b'\'' => {
                    word.bare = false;
                    self.read_single_quoted(&mut word)?;
                }
                b'"' => {
                    word.bare = false;
                    self.read_double_quoted(&mut word)?;
                }
                b'\\' => {
                    word.bare = false;
                    self.at += 1;
                    match self.peek(0) {
                        None | Some(b'\n') => return Err(LineDoubt::Unparsable),
                        Some(_) => self.take_char(&mut word.text),
                    }
                }
                b'`' => self.read_expansion(&mut word, false)?,
                b'$' => match self.peek(1) {
                    None | Some(b' ' | b'\t' | b'\n') => {
                        word.text.push('$');
                        self.at += 1;
                    }
                    Some(b'\'') => {
                        self.add_doubt(bash_only_doubt("$'…'"));
                        word.bare = false;
                        self.at += 1;
                        let mut raw = ShellWord::default();
                        self.read_single_quoted(&mut raw)?;
                        // One shell ends the text here, the other continues.
                        if raw.text.ends_with('\\') {
                            return Err(bash_only_doubt("$'…'"));
                        }
                        word::unescape_ansi(&raw.text, &mut word.text);
                    }
                    Some(b'"') => {
                        self.add_doubt(bash_only_doubt("$\"…\""));
                        word.bare = false;
                        self.at += 1;
                        self.read_double_quoted(&mut word)?;
                    }
                    Some(_) => self.read_expansion(&mut word, false)?,
                },
                b'*' | b'?' => {
                    self.add_doubt_at(start);
                    self.take_char(&mut word.text);
                }
                // `[` by itself is a program; elsewhere it begins a pattern.
                b'[' if self.at > start || !self.ends_word(1) => {
                    // After a name it may be an index, which one shell reads across blanks.
                    if variable::is_name(&word.text) {
                        return Err(self.dynamic_doubt(start));
                    }
                    self.add_doubt_at(start);
                    self.take_char(&mut word.text);
                }
                b'~' if self.at == start
                    || matches!(word.text.as_bytes().last(), Some(b'=' | b':')) =>
                {
                    self.add_doubt_at(start);
                    self.take_char(&mut word.text);
                }
                b'=' => {
                    if word.bare && !word.assigns {
                        word.assigns = variable::is_name(&word.text);
                        let appended = word.text.strip_suffix('+');
                        if appended.is_some_and(variable::is_name) {
                            return Err(bash_only_doubt("+="));
                        }
                    }
                    self.take_char(&mut word.text);
                }
                b'{' => {
                    brace = brace.or(Some(word.text.len()));
                    self.take_char(&mut word.text);
                }
                _ => self.take_char(&mut word.text),
            }
        }
        if let Some(from) = brace {
            let rest = word.text.get(from..).unwrap_or_default();
            if rest.contains(',') || rest.contains("..") {
                self.add_doubt_at(start);
            }
        }
        // Shells do not expand a delimiter; one that would be expanded is rejected.
        if self.delimiter.is_some() && self.doubted > doubted {
            return Err(LineDoubt::Unparsable);
        }
        self.push(word)
    }

    fn push(&mut self, mut word: ShellWord) -> Result<(), LineDoubt> {
        word.holds = std::mem::take(&mut self.holding);
        if let Some(tabs) = self.delimiter.take() {
            if word.text.contains('\n') {
                return Err(LineDoubt::Unparsable);
            }
            self.pending.push(HereDocument {
                end: word.text.clone(),
                raw: !word.bare,
                tabs,
            });
        } else if !self.pending.is_empty() && word.text.contains('\n') {
            // Shells disagree whether the body begins inside the quotes.
            return Err(LineDoubt::Unparsable);
        }
        self.tokens.push(Token::Word(word));
        Ok(())
    }

    fn ends_word(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), None | Some(b' ' | b'\t' | b'\n'))
    }

    pub(super) fn dynamic_doubt(&self, from: usize) -> LineDoubt {
        LineDoubt::Dynamic(excerpt(self.line, from))
    }

    pub(super) fn add_doubt_at(&mut self, from: usize) {
        if self.doubts.len() < MAX_DOUBTS {
            self.add_doubt(self.dynamic_doubt(from));
        }
        self.doubted += 1;
    }

    pub(super) fn add_doubt(&mut self, doubt: LineDoubt) {
        self.doubted += 1;
        if self.doubts.len() < MAX_DOUBTS && self.doubts.last() != Some(&doubt) {
            self.doubts.push(doubt);
        }
    }

    /// Copies one character as it is.
    pub(super) fn take_char(&mut self, text: &mut String) {
        if let Some(sign) = self
            .line
            .get(self.at..)
            .and_then(|rest| rest.chars().next())
        {
            text.push(sign);
            self.at += sign.len_utf8();
        } else {
            self.at = self.bytes.len();
        }
    }

    pub(super) fn read_single_quoted(&mut self, word: &mut ShellWord) -> Result<(), LineDoubt> {
        let rest = self.line.get(self.at + 1..).unwrap_or_default();
        let end = rest.find('\'').ok_or(LineDoubt::Unparsable)?;
        word.text.push_str(rest.get(..end).unwrap_or_default());
        self.at += end + 2;
        Ok(())
    }

    pub(super) fn read_double_quoted(&mut self, word: &mut ShellWord) -> Result<(), LineDoubt> {
        self.at += 1;
        loop {
            match self.peek(0).ok_or(LineDoubt::Unparsable)? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => match self.peek(1) {
                    Some(escaped @ (b'$' | b'`' | b'"' | b'\\')) => {
                        word.text.push(char::from(escaped));
                        self.at += 2;
                    }
                    Some(b'\n') => self.at += 2,
                    _ => self.take_char(&mut word.text),
                },
                b'$' if matches!(
                    self.peek(1),
                    Some(b'"' | b' ' | b'|' | b')' | b'/' | b'.' | b',')
                ) =>
                {
                    self.take_char(&mut word.text);
                }
                b'$' | b'`' => self.read_expansion(word, true)?,
                _ => self.take_char(&mut word.text),
            }
        }
    }
}
