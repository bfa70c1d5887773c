//! Text chunks, which are most of a log, encoded and decoded without `serde`, which pays for the checksum.
//!
//! They are written as `serde` writes them. A line that differs in any way from that form is left to the parser,
//! which reports its errors: this module never accepts a line that the parser rejects, and never decodes it
//! differently.

use std::io;

use harn_model::{AgentEvent, Envelope, MessageId, Seq, TurnId};

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

/// Encodes the event if it is a text chunk; returns whether it is one.
pub(super) fn encode_chunk(buf: &mut Vec<u8>, event: &AgentEvent) -> io::Result<bool> {
    let message_id = if let AgentEvent::AgentMessageChunk {
        content,
        message_id,
    } = event
    {
        buf.extend_from_slice(br#"{"type":"agent_message_chunk","content":"#);
        encode_text(buf, content)?;
        message_id
    } else if let AgentEvent::AgentThoughtChunk {
        content,
        message_id,
    } = event
    {
        buf.extend_from_slice(br#"{"type":"agent_thought_chunk","content":"#);
        encode_text(buf, content)?;
        message_id
    } else {
        return Ok(false);
    };
    if let Some(id) = message_id {
        buf.extend_from_slice(br#","message_id":"#);
        encode_text(buf, id.as_str())?;
    }
    buf.push(b'}');
    Ok(true)
}

/// Encodes a JSON string. Copies the parts that JSON has as they are, and leaves the rest to `serde`.
pub(super) fn encode_text(buf: &mut Vec<u8>, mut text: &str) -> io::Result<()> {
    buf.push(b'"');
    loop {
        let (plain, rest) = text.split_at(plain_length(text.as_bytes()));
        buf.extend_from_slice(plain.as_bytes());
        let Some(special) = rest.chars().next() else {
            break;
        };
        // Without the quotes around it.
        let from = buf.len();
        serde_json::to_writer(&mut *buf, &special)?;
        buf.pop();
        buf.remove(from);
        text = &rest[special.len_utf8()..];
    }
    buf.push(b'"');
    Ok(())
}

/// Returns the length of the part that JSON has between quotes as it is.
fn plain_length(text: &[u8]) -> usize {
    let is_plain = |byte: &u8| (*byte >= b' ') & (*byte != b'"') & (*byte != b'\\');
    // Whole blocks first, without a branch for each byte.
    let blocks = text.chunks(32);
    let plain =
        blocks.take_while(|block| block.iter().fold(true, |all, byte| all & is_plain(byte)));
    let from = plain.map(<[u8]>::len).sum();
    let end = text[from..].iter().position(|byte| !is_plain(byte));
    end.map_or(text.len(), |end| from + end)
}

/// Decodes a line up to the end of its event, if that is the text chunk `expected`.
pub(super) fn decode_chunk(
    line: &[u8],
    version: u32,
    expected: Seq,
    before: &mut PreviousLineIds,
) -> Option<Envelope> {
    // Only valid UTF-8 can be split after any ASCII token.
    let mut rest = LineRemainder(std::str::from_utf8(line).ok()?);
    rest.skip(r#"{"v":"#)?;
    (rest.read_number()? == u64::from(version)).then_some(())?;
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
    (rest.0 == "}").then_some(())?;
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

    use super::{
        super::{
            checksum,
            line::{self, FORMAT_VERSION},
        },
        *,
    };

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

    /// Returns the line without its newline.
    fn encode_line(envelope: &Envelope) -> Vec<u8> {
        let mut line = Vec::new();
        line::encode(&mut line, envelope).unwrap();
        assert_eq!(line.pop(), Some(b'\n'));
        line
    }

    fn decode_line(line: &[u8], seq: u64, before: &mut PreviousLineIds) -> Option<Envelope> {
        let covered = checksum::verify(line).unwrap();
        decode_chunk(covered, FORMAT_VERSION, Seq(seq), before)
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
        let one_read = decode_line(&encode_line(&one), 1, &mut before).unwrap();
        let two_read = decode_line(&encode_line(&two), 2, &mut before).unwrap();
        assert_eq!((&one_read, &two_read), (&one, &two));
        let turn = |read: &Envelope| read.turn.as_ref().unwrap().as_str().as_ptr();
        assert_eq!(turn(&one_read), turn(&two_read));
        assert_eq!(decode_line(&encode_line(&one), 2, &mut before), None);
    }

    proptest! {
        #[test]
        fn written_text_chunk_is_read_back(seq in 1..u64::MAX, at: u64, parts in parts()) {
            let envelope = envelope(seq, at, parts);
            let line = encode_line(&envelope);
            let read = decode_line(&line, seq, &mut PreviousLineIds::default());
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

        #[test]
        fn text_chunk_is_written_as_serde_writes_it(parts in parts()) {
            let event = envelope(1, 1, parts).event;
            let mut written = Vec::new();
            prop_assert!(encode_chunk(&mut written, &event).unwrap());
            prop_assert_eq!(written, serde_json::to_vec(&event).unwrap());
        }

        /// A damaged line without a checksum is never decoded differently from the parser.
        #[test]
        fn damaged_line_is_left_to_the_parser(
            parts in parts(), at: proptest::sample::Index, byte: u8, kind in 0..3u8,
        ) {
            let line = encode_line(&envelope(3, 9, parts));
            let mut line = checksum::verify(&line).unwrap().to_vec();
            line[5] = b'1';
            let at = at.index(line.len());
            match kind {
                0 => line[at] = byte,
                1 => { line.remove(at); }
                _ => line.insert(at, byte),
            }
            if let Some(read) = decode_chunk(&line, 1, Seq(3), &mut PreviousLineIds::default()) {
                line.push(b'}');
                prop_assert_eq!(line::parse(&line, Seq(3), 1), Ok(read));
            }
        }
    }
}
