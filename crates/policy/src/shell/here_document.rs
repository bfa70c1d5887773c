//! Here-documents: the ends of their bodies, and the expansions in them. Part of the lexer in `token`.

use super::{LineDoubt, token::Lexer};

/// A here-document whose body follows the next newline.
pub(super) struct HereDocument {
    pub(super) end: String,
    /// Whether nothing in it is expanded.
    pub(super) raw: bool,
    /// Whether its lines lose their leading tabs.
    pub(super) tabs: bool,
}

impl Lexer<'_> {
    /// Skips the bodies of the here-documents of the line that just ended, and reads the expansions in them.
    pub(super) fn read_bodies(&mut self) -> Result<(), LineDoubt> {
        for here in std::mem::take(&mut self.pending) {
            let start = self.at;
            let end = loop {
                let end = self.at;
                let rest = self.line.get(self.at..).unwrap_or_default();
                if rest.is_empty() {
                    return Err(LineDoubt::Unparsable);
                }
                let line = rest.split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.bytes.len());
                let line = match here.tabs {
                    true => line.trim_start_matches('\t'),
                    false => line,
                };
                if line == here.end {
                    break end;
                }
            };
            let body = self.line.get(start..end).unwrap_or_default();
            if !here.raw && body.contains(['$', '`', '\\']) {
                self.add_doubt(LineDoubt::Dynamic(format!("here-document {}", here.end)));
                self.read_body(start, end)?;
            }
        }
        Ok(())
    }

    /// Reads the expansions of a here-document. It ends at its delimiter, even if something in it is still open.
    fn read_body(&mut self, start: usize, end: usize) -> Result<(), LineDoubt> {
        let (line, bytes, at) = (self.line, self.bytes, self.at);
        self.line = line.get(..end).unwrap_or_default();
        self.bytes = self.line.as_bytes();
        self.at = start;
        let mut scratch = String::new();
        while let Some(byte) = self.peek(0) {
            match byte {
                // Joined lines may make or hide a delimiter.
                b'\\' if self.peek(1) == Some(b'\n') => return Err(LineDoubt::Unparsable),
                b'\\' => {
                    self.at += 1;
                    self.take_char(&mut scratch);
                }
                b'$' if self.peek(1) == Some(b'[') => return Err(self.dynamic_doubt(self.at)),
                b'$' if self.is_expansion() => self.expand(true)?,
                b'`' => self.expand(true)?,
                _ => self.at += 1,
            }
        }
        (self.line, self.bytes, self.at) = (line, bytes, at);
        let held = std::mem::take(&mut self.holding);
        self.loose.extend(held);
        Ok(())
    }
}
