//! Expansions at run time, as far as `dash` and `bash` read them alike: variables, `$(…)`, backquotes,
//! `${name:-word}` and similar forms, `$((…))`. Extracts the commands in them, and leaves a doubt for each.

use super::{
    LineDoubt, MAX_COMMANDS, MAX_DEPTH,
    token::{InnerCommands, Lexer, ShellWord},
};

/// Variables whose name is one character.
const SPECIAL: &[u8] = b"@*#?$!-";

impl Lexer<'_> {
    /// Appends a `$…` or backquotes to a word, as written.
    pub(super) fn read_expansion(
        &mut self,
        word: &mut ShellWord,
        quoted: bool,
    ) -> Result<(), LineDoubt> {
        let from = self.at;
        self.add_doubt_at(from);
        self.expand(quoted)?;
        word.text
            .push_str(self.line.get(from..self.at).unwrap_or_default());
        Ok(())
    }

    /// Whether a `$` here begins an expansion, and is not a plain character.
    pub(super) fn is_expansion(&self) -> bool {
        let name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
        self.peek(1).is_some_and(|next| {
            name(next) || SPECIAL.contains(&next) || matches!(next, b'(' | b'{')
        })
    }

    pub(super) fn expand(&mut self, quoted: bool) -> Result<(), LineDoubt> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(LineDoubt::TooMuch);
        }
        match (self.peek(0), self.peek(1)) {
            (Some(b'`'), _) => self.read_backquoted(quoted)?,
            (_, Some(b'(')) if self.peek(2) == Some(b'(') => self.read_arithmetic()?,
            (_, Some(b'(')) => self.read_substitution()?,
            (_, Some(b'{')) => self.read_parameter(quoted)?,
            (_, Some(_)) if self.is_expansion() => {
                self.at += 1;
                self.at += self.name_length().max(1);
            }
            _ => return Err(self.dynamic_doubt(self.at)),
        }
        self.depth -= 1;
        Ok(())
    }

    /// Returns the length of the name at this position.
    fn name_length(&self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let inside = |byte: &&u8| **byte == b'_' || byte.is_ascii_alphanumeric();
        rest.iter().take_while(inside).count()
    }

    /// Reads `$(…)`, or the content of `<(…)`, like a line of its own.
    pub(super) fn read_substitution(&mut self) -> Result<(), LineDoubt> {
        self.at += 2;
        let slot = self.reserve_slot()?;
        let outer = (
            std::mem::take(&mut self.tokens),
            std::mem::take(&mut self.pending),
            std::mem::take(&mut self.holding),
            self.delimiter.take(),
        );
        self.run(true)?;
        let tokens = std::mem::replace(&mut self.tokens, outer.0);
        (self.pending, self.holding, self.delimiter) = (outer.1, outer.2, outer.3);
        self.fill_slot(slot, InnerCommands::Tokens(tokens));
        Ok(())
    }

    /// Reads backquotes: resolves the backslashes of the text, which is then a line.
    fn read_backquoted(&mut self, quoted: bool) -> Result<(), LineDoubt> {
        self.at += 1;
        let slot = self.reserve_slot()?;
        let mut text = String::new();
        loop {
            match self.peek(0).ok_or(LineDoubt::Unparsable)? {
                b'`' => break,
                b'\\' => match self.peek(1) {
                    Some(escaped @ (b'$' | b'`' | b'\\')) => {
                        text.push(char::from(escaped));
                        self.at += 2;
                    }
                    Some(b'"') if quoted => {
                        text.push('"');
                        self.at += 2;
                    }
                    _ => self.take_char(&mut text),
                },
                _ => self.take_char(&mut text),
            }
        }
        self.at += 1;
        self.fill_slot(slot, InnerCommands::Line(text));
        Ok(())
    }

    /// Reads `${…}`: a variable, its length, or a variable with a default or a pattern to cut off.
    fn read_parameter(&mut self, quoted: bool) -> Result<(), LineDoubt> {
        let from = self.at;
        self.at += 2;
        let length = self.peek(0) == Some(b'#') && self.peek(1) != Some(b'}');
        self.at += usize::from(length);
        match self.name_length() {
            0 if self.peek(0).is_some_and(|sign| SPECIAL.contains(&sign)) => self.at += 1,
            0 => return Err(self.dynamic_doubt(from)),
            signs => self.at += signs,
        }
        match (self.peek(0), self.peek(1)) {
            (Some(b'}'), _) => {
                self.at += 1;
                return Ok(());
            }
            _ if length => return Err(self.dynamic_doubt(from)),
            (Some(b':'), Some(b'-' | b'=' | b'?' | b'+')) => self.at += 2,
            (Some(b'-' | b'=' | b'?' | b'+' | b'#' | b'%'), _) => self.at += 1,
            _ => return Err(self.dynamic_doubt(from)),
        }
        let mut scratch = ShellWord::default();
        loop {
            match self.peek(0).ok_or(LineDoubt::Unparsable)? {
                b'}' => break,
                // Between double quotes, the meaning of quotes depends on the form and the shell.
                b'\'' | b'"' if quoted => return Err(self.dynamic_doubt(from)),
                b'\'' => self.read_single_quoted(&mut scratch)?,
                b'"' => self.read_double_quoted(&mut scratch)?,
                b'\\' if self.peek(1) == Some(b'\n') => return Err(self.dynamic_doubt(from)),
                b'\\' => {
                    self.at += 1;
                    self.take_char(&mut scratch.text);
                }
                b'<' | b'>' if self.peek(1) == Some(b'(') => return Err(self.dynamic_doubt(from)),
                b'$' if matches!(self.peek(1), Some(b'\'' | b'"' | b'\\')) => {
                    return Err(self.dynamic_doubt(from));
                }
                b'$' if self.is_expansion() => self.expand(quoted)?,
                b'`' => self.expand(quoted)?,
                _ => self.take_char(&mut scratch.text),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads `$((…))` of plain characters. If it ends otherwise, it may be a substitution that begins with a group.
    fn read_arithmetic(&mut self) -> Result<(), LineDoubt> {
        let from = self.at;
        self.at += 3;
        let mut open = 0_usize;
        loop {
            match self.peek(0).ok_or(LineDoubt::Unparsable)? {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b')' if self.peek(1) == Some(b')') => {
                    self.at += 2;
                    return Ok(());
                }
                b'$' | b'`' => {
                    self.expand(true)?;
                    continue;
                }
                byte if byte.is_ascii_alphanumeric() || b" \t_+-*/%<>=!&|^~?:,".contains(&byte) => {
                }
                _ => return Err(self.dynamic_doubt(from)),
            }
            self.at += 1;
        }
    }

    /// Reserves a slot for inner commands, so that outer commands precede inner ones.
    fn reserve_slot(&mut self) -> Result<usize, LineDoubt> {
        let slot = self.inner.len();
        if slot >= MAX_COMMANDS {
            return Err(LineDoubt::TooMuch);
        }
        self.inner.push(InnerCommands::Tokens(Vec::new()));
        Ok(slot)
    }

    fn fill_slot(&mut self, slot: usize, inner: InnerCommands) {
        if let Some(place) = self.inner.get_mut(slot) {
            *place = inner;
        }
        self.holding.push(slot);
    }
}
