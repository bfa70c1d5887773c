//! Text chunks, which are most of a log, decoded without a JSON parser.
//!
//! A line that differs in any way from the written form is left to the parser, which reports its errors: this
//! function never accepts a line that the parser rejects, and never decodes it differently.

use harn_model::{AgentEvent, Envelope, MessageId, Seq, TurnId};

use super::line::FORMAT_VERSION;

/// The ids of the previous line, so that consecutive lines share them.
#[derive(Default)]
pub(super) struct PreviousLineIds {
    turn: Option<TurnId>,
    message: Option<MessageId>,
}

impl PreviousLineIds {
    fn share_turn(&mut self, id: &str) -> TurnId {
        match &self.turn {
            Some(turn) if turn.as_str() == id => turn.clone(),
            _ => self.turn.insert(id.into()).clone(),
        }
    }

    fn share_message(&mut self, id: &str) -> MessageId {
        match &self.message {
            Some(message) if message.as_str() == id => message.clone(),
            _ => self.message.insert(id.into()).clone(),
        }
    }
}

/// Decodes a line without its newline, if it is the text chunk `expected`.
pub(super) fn decode_chunk(
    line: &[u8],
    expected: Seq,
    before: &mut PreviousLineIds,
) -> Option<Envelope> {
    // Only valid UTF-8 can be split after any ASCII token.
    let mut rest = LineRemainder(std::str::from_utf8(line).ok()?);
    rest.skip(r#"{"v":"#)?;
    (rest.read_number()? == u64::from(FORMAT_VERSION)).then_some(())?;
    rest.skip(r#","seq":"#)?;
    let seq = Seq(rest.read_number()?);
    (seq == expected).then_some(())?;
    rest.skip(r#","at":"#)?;
    let at = rest.read_number()?;
    let turn = match rest.skip(r#","turn":""#) {
        Some(()) => Some(before.share_turn(rest.read_plain()?)),
        None => None,
    };
    rest.skip(r#","event":{"type":"agent_"#)?;
    let is_message = rest.skip("message").is_some();
    if !is_message {
        rest.skip("thought")?;
    }
    rest.skip(r#"_chunk","content":""#)?;
    let content = rest.read_string()?;
    let message_id = match rest.skip(r#","message_id":""#) {
        Some(()) => Some(before.share_message(rest.read_plain()?)),
        None => None,
    };
    (rest.0 == "}}").then_some(())?;
    let event = match is_message {
        true => AgentEvent::AgentMessageChunk {
            content,
            message_id,
        },
        false => AgentEvent::AgentThoughtChunk {
            content,
            message_id,
        },
    };
    Some(Envelope {
        seq,
        at,
        turn,
        event,
    })
}

/// The unread part of a line.
struct LineRemainder<'a>(&'a str);

impl<'a> LineRemainder<'a> {
    fn skip(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    fn read_number(&mut self) -> Option<u64> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at(digits);
        if digits > 1 && number.starts_with('0') {
            return None;
        }
        self.0 = rest;
        number.parse().ok()
    }

    /// Reads the rest of a string and its quote, if nothing in it is escaped.
    fn read_plain(&mut self) -> Option<&'a str> {
        let (text, rest) = self.0.split_at_checked(self.next_delimiter()?)?;
        self.0 = rest.strip_prefix('"')?;
        is_printed(text).then_some(text)
    }

    /// Reads the rest of a string and its quote.
    fn read_string(&mut self) -> Option<String> {
        let mut end = self.next_delimiter()?;
        if self.0.as_bytes().get(end) == Some(&b'"') {
            return self.read_plain().map(str::to_owned);
        }
        // The parser decodes escapes; find the first quote that is not escaped.
        while self.0.as_bytes().get(end) == Some(&b'\\') {
            let behind = self.0.get(end + 2..)?;
            end += 2 + memchr::memchr2(b'"', b'\\', behind.as_bytes())?;
        }
        let (text, rest) = self.0.split_at_checked(end)?;
        self.0 = rest.strip_prefix('"')?;
        serde_json::from_str(&format!("\"{text}\"")).ok()
    }

    /// Returns the offset of the next quote or backslash.
    fn next_delimiter(&self) -> Option<usize> {
        memchr::memchr2(b'"', b'\\', self.0.as_bytes())
    }
}

/// Whether the text has no raw control character, which JSON forbids in a string.
fn is_printed(text: &str) -> bool {
    text.bytes()
        .fold(true, |printed, byte| printed & (byte >= b' '))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::line, *};

    fn envelope(
        seq: u64,
        at: u64,
        parts: (Option<String>, bool, String, Option<String>),
    ) -> Envelope {
        let (turn, is_message, content, message) = parts;
        let message_id = message.map(MessageId::from);
        let event = match is_message {
            true => AgentEvent::AgentMessageChunk {
                content,
                message_id,
            },
            false => AgentEvent::AgentThoughtChunk {
                content,
                message_id,
            },
        };
        Envelope {
            seq: Seq(seq),
            at,
            turn: turn.map(TurnId::from),
            event,
        }
    }

    fn parts() -> impl Strategy<Value = (Option<String>, bool, String, Option<String>)> {
        let text = || prop_oneof!["[a-z]{0,8}", "\\PC{0,12}", any::<String>()];
        let id = || proptest::option::of(text());
        (id(), any::<bool>(), text(), id())
    }

    fn encode_line(envelope: &Envelope) -> Vec<u8> {
        let mut line = Vec::new();
        line::encode(&mut line, envelope).unwrap();
        assert_eq!(line.pop(), Some(b'\n'));
        line
    }

    #[test]
    fn text_chunk_is_decoded_and_shares_its_ids() {
        let mut before = PreviousLineIds::default();
        let said = |seq| {
            let said = (
                "turn-1".to_owned(),
                "He said \"no\".\n\té \u{1f600}".to_owned(),
            );
            envelope(
                seq,
                7,
                (Some(said.0), true, said.1, Some("msg-1".to_owned())),
            )
        };
        let (one, two) = (said(1), said(2));
        let one_read = decode_chunk(&encode_line(&one), Seq(1), &mut before).unwrap();
        let two_read = decode_chunk(&encode_line(&two), Seq(2), &mut before).unwrap();
        assert_eq!((&one_read, &two_read), (&one, &two));
        let turn = |read: &Envelope| read.turn.as_ref().unwrap().as_str().as_ptr();
        assert_eq!(turn(&one_read), turn(&two_read));
        assert_eq!(decode_chunk(&encode_line(&one), Seq(2), &mut before), None);
    }

    proptest! {
        #[test]
        fn written_text_chunk_is_read_back(seq in 1..u64::MAX, at: u64, parts in parts()) {
            let envelope = envelope(seq, at, parts);
            let line = encode_line(&envelope);
            let read = decode_chunk(&line, Seq(seq), &mut PreviousLineIds::default());
            let ids_are_plain = [
                envelope.turn.as_ref().map(TurnId::as_str),
                match &envelope.event {
                    AgentEvent::AgentMessageChunk { message_id, .. }
                    | AgentEvent::AgentThoughtChunk { message_id, .. } => {
                        message_id.as_ref().map(MessageId::as_str)
                    }
                    _ => None,
                },
            ];
            let plain = |id: &str| serde_json::to_string(id).unwrap() == format!("\"{id}\"");
            if ids_are_plain.into_iter().flatten().all(plain) {
                prop_assert_eq!(read, Some(envelope));
            }
        }

        /// A damaged line is never decoded differently from the parser.
        #[test]
        fn damaged_line_is_left_to_the_parser(
            parts in parts(), at: proptest::sample::Index, byte: u8, kind in 0..3u8,
        ) {
            let mut line = encode_line(&envelope(3, 9, parts));
            let at = at.index(line.len());
            match kind {
                0 => line[at] = byte,
                1 => { line.remove(at); }
                _ => line.insert(at, byte),
            }
            if let Some(read) = decode_chunk(&line, Seq(3), &mut PreviousLineIds::default()) {
                prop_assert_eq!(line::parse(&line, Seq(3)), Ok(read));
            }
        }
    }
}
