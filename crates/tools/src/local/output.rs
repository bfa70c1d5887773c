//! The output of a command: decodes its bytes and retains its end.

/// Decodes bytes into text. An incomplete character waits for the next read; invalid UTF-8 becomes a replacement
/// character.
#[derive(Default)]
pub(super) struct TextDecoder {
    /// The beginning of an incomplete character, at most three bytes.
    cut: Vec<u8>,
}

impl TextDecoder {
    /// Decodes `bytes`, preceded by the incomplete character of the last call.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> String {
        let mut whole = std::mem::take(&mut self.cut);
        whole.extend_from_slice(bytes);
        let mut text = String::with_capacity(whole.len());
        let mut chunks = whole.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && may_continue(invalid) {
                self.cut = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// Returns a replacement character if the last character is incomplete.
    pub(super) fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.cut).is_empty() {
            ""
        } else {
            "\u{FFFD}"
        }
    }
}

/// Returns whether these bytes are the beginning of a character rather than invalid.
fn may_continue(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|e| e.error_len().is_none())
}

/// The end of a text of any length.
pub(super) struct OutputTail {
    text: String,
    limit: usize,
    truncated: bool,
}

impl OutputTail {
    /// Retains at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            limit,
            truncated: false,
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        // Cut rarely, so that each byte is moved once on average.
        if self.text.len() > self.limit.saturating_mul(2) {
            self.cut();
        }
    }

    /// Returns the retained text, and whether anything before it was dropped.
    pub(super) fn finish(mut self) -> (String, bool) {
        self.cut();
        (self.text, self.truncated)
    }

    fn cut(&mut self) {
        let surplus = self.text.len().saturating_sub(self.limit);
        if surplus > 0 {
            self.text.drain(..next_char_boundary(&self.text, surplus));
            self.truncated = true;
        }
    }
}

/// Returns the first character boundary from here on.
pub(crate) fn next_char_boundary(text: &str, at: usize) -> usize {
    let mut places = at..text.len();
    let place = places.find(|at| text.is_char_boundary(*at));
    place.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(parts: &[&[u8]]) -> String {
        let mut decoder = TextDecoder::default();
        let mut text: String = parts.iter().map(|part| decoder.decode(part)).collect();
        text.push_str(decoder.finish());
        text
    }

    #[test]
    fn characters_split_between_reads_are_decoded() {
        let text = "aß→𝄞z";
        for at in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(at);
            assert_eq!(decode(&[left, right]), text, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(decode(&bytes), text);
    }

    #[test]
    fn invalid_bytes_become_replacement_characters() {
        assert_eq!(decode(&[b"a\xffb"]), "a\u{FFFD}b");
        assert_eq!(decode(&[b"a\xe2\x86", b"b"]), "a\u{FFFD}b");
        assert_eq!(decode(&[b"a\xe2\x86"]), "a\u{FFFD}");
    }

    #[test]
    fn the_tail_begins_at_a_character_boundary() {
        let keep = |limit, parts: &[&str]| {
            let mut tail = OutputTail::new(limit);
            parts.iter().for_each(|part| tail.push(part));
            tail.finish()
        };
        assert_eq!(keep(5, &["abc", "de"]), ("abcde".to_owned(), false));
        assert_eq!(keep(4, &["abc", "de"]), ("bcde".to_owned(), true));
        assert_eq!(keep(3, &["xy→→"]), ("→".to_owned(), true));
        assert_eq!(keep(4, &["xy→→"]), ("→".to_owned(), true));
        assert_eq!(keep(0, &["abc"]), (String::new(), true));
        assert_eq!(keep(0, &[]), (String::new(), false));
        let many = vec!["0123456789"; 100];
        assert_eq!(keep(12, &many), ("890123456789".to_owned(), true));
    }
}
