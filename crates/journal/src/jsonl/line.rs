//! Encodes one event as one line, and decodes it. An event that could not be read back is rejected before it
//! reaches the disk. Knows no file.
//!
//! Lines are written in version 2, with a checksum. A log may begin with lines of version 1, which have none.

use std::io::{self, Write};

use harn_model::{AgentEvent, Envelope, Seq, Timestamp, TurnId};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{
    error::Category,
    ser::{Formatter, Serializer},
};

use super::{
    checksum,
    text_chunk::{self, PreviousLineIds},
};

/// The format version of the lines that this crate writes.
pub const FORMAT_VERSION: u32 = 2;

/// The beginning of every line with a checksum.
const HEAD: &[u8] = br#"{"v":2,"#;

/// The JSON parser fails one level deeper.
const MAX_DEPTH: u32 = 127;

/// A line as the JSON parser reads it. It denies unknown keys: a damaged key must not read as an absent one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    v: u32,
    seq: Seq,
    at: Timestamp,
    #[serde(default)]
    turn: Option<TurnId>,
    event: AgentEvent,
    /// Already compared with the line.
    #[serde(default)]
    crc: Option<IgnoredAny>,
}

/// The part that every version of a line has.
#[derive(Deserialize)]
struct LineVersion {
    v: u64,
}

/// Appends the line of `envelope` to `buf`. After an error `buf` may contain part of a line.
pub(super) fn encode(buf: &mut Vec<u8>, envelope: &Envelope) -> io::Result<()> {
    if !envelope.event.has_finite_numbers() {
        // JSON has no such number; the `null` in its place would not be read back.
        return Err(invalid_input(
            "an event contains a number that is not finite",
        ));
    }
    let start = buf.len();
    buf.extend_from_slice(HEAD);
    buf.extend_from_slice(br#""seq":"#);
    serde_json::to_writer(&mut *buf, &envelope.seq)?;
    buf.extend_from_slice(br#","at":"#);
    serde_json::to_writer(&mut *buf, &envelope.at)?;
    if let Some(turn) = &envelope.turn {
        buf.extend_from_slice(br#","turn":"#);
        text_chunk::encode_text(buf, turn.as_str())?;
    }
    buf.extend_from_slice(br#","event":"#);
    if !text_chunk::encode_chunk(buf, &envelope.event)? {
        // The line is a level around the event.
        let formatter = DepthLimitedFormatter { depth: 1 };
        let mut serializer = Serializer::with_formatter(&mut *buf, formatter);
        envelope.event.serialize(&mut serializer)?;
    }
    checksum::seal(buf, start);
    buf.push(b'\n');
    Ok(())
}

/// Whether a line has the version with a checksum.
pub(super) fn has_checksum(line: &[u8]) -> bool {
    line.starts_with(HEAD)
}

/// Decodes a line, which must be the event `expected`. A line without a checksum is accepted only where all lines
/// before it have none: elsewhere damage could remove a checksum. The reason of a failure never contains text of
/// the line.
pub(super) fn decode(
    line: &[u8],
    expected: Seq,
    may_lack_checksum: bool,
    before: &mut PreviousLineIds,
) -> Result<Envelope, String> {
    // The newline would otherwise be reported as a control character in a truncated string.
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let (covered, version) = match has_checksum(line) {
        true => (Some(checksum::verify(line)?), FORMAT_VERSION),
        false => (line.strip_suffix(b"}"), 1),
    };
    if version == FORMAT_VERSION || may_lack_checksum {
        let chunk = covered
            .and_then(|covered| text_chunk::decode_chunk(covered, version, expected, before));
        if let Some(envelope) = chunk {
            return Ok(envelope);
        }
    }
    let envelope = parse(line, expected, version)?;
    if version == 1 && !may_lack_checksum {
        return Err(
            "it has format version 1 after a line of version 2, and so no checksum".to_owned(),
        );
    }
    Ok(envelope)
}

/// Decodes a line of any event with the JSON parser.
pub(super) fn parse(line: &[u8], expected: Seq, version: u32) -> Result<Envelope, String> {
    let read: EventLine =
        serde_json::from_slice(line).map_err(|error| describe_error(line, &error))?;
    if read.v != version || read.crc.is_some() != (version == FORMAT_VERSION) {
        return Err(describe_version(read.v.into()));
    }
    if read.seq != expected {
        return Err(format!(
            "expected event {expected}, found event {}",
            read.seq
        ));
    }
    Ok(Envelope {
        seq: read.seq,
        at: read.at,
        turn: read.turn,
        event: read.event,
    })
}

fn describe_error(line: &[u8], error: &serde_json::Error) -> String {
    if let Ok(LineVersion { v }) = serde_json::from_slice(line)
        && !(1..=u64::from(FORMAT_VERSION)).contains(&v)
    {
        return describe_version(v);
    }
    match error.classify() {
        Category::Eof => "the line ends too early".to_owned(),
        Category::Syntax | Category::Io => {
            format!("the line is not valid JSON at column {}", error.column())
        }
        Category::Data => {
            "the line is not an event, or one of a kind this version does not know".to_owned()
        }
    }
}

/// Describes a version of a line that its form does not fit.
fn describe_version(v: u64) -> String {
    if (1..=u64::from(FORMAT_VERSION)).contains(&v) {
        return format!("it has format version {v}, but not the form of that version");
    }
    format!(
        "it has format version {v}, and this program reads versions 1 and {FORMAT_VERSION} only; \
         a newer program wrote it"
    )
}

fn invalid_input(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

/// Writes compact JSON, and fails if it nests deeper than the parser accepts.
struct DepthLimitedFormatter {
    depth: u32,
}

impl DepthLimitedFormatter {
    fn enter(&mut self) -> io::Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(invalid_input(
                "an event nests deeper than the journal can read back",
            ));
        }
        Ok(())
    }
}

impl Formatter for DepthLimitedFormatter {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"]")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"}")
    }
}

#[cfg(test)]
mod tests {
    use harn_model::{Cost, Usage};
    use serde_json::{Value, json};

    use super::*;

    fn envelope(event: AgentEvent) -> Envelope {
        Envelope {
            seq: Seq(1),
            at: 5,
            turn: None,
            event,
        }
    }

    #[test]
    fn line_begins_with_the_version_and_ends_with_a_newline() {
        let mut buf = b"before\n".to_vec();
        let mut event = envelope(AgentEvent::message("a\nb"));
        encode(&mut buf, &event).unwrap();
        event.turn = Some("t1".into());
        encode(&mut buf, &event).unwrap();
        assert_eq!(
            String::from_utf8(buf).unwrap(),
            "before\n\
             {\"v\":2,\"seq\":1,\"at\":5,\"event\":{\"type\":\"agent_message_chunk\",\"content\":\"a\\nb\"},\"crc\":\"4566a51b\"}\n\
             {\"v\":2,\"seq\":1,\"at\":5,\"turn\":\"t1\",\"event\":{\"type\":\"agent_message_chunk\",\"content\":\"a\\nb\"},\"crc\":\"788361ec\"}\n"
        );
    }

    #[test]
    fn encode_rejects_numbers_that_json_lacks() {
        for amount in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let event = envelope(AgentEvent::Usage(Usage {
                used: 1,
                size: 2,
                cost: Some(Cost {
                    amount,
                    currency: "EUR".to_owned(),
                }),
            }));
            let error = encode(&mut Vec::new(), &event).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn deepest_event_is_read_back_and_a_deeper_one_is_rejected() {
        fn nested(levels: u32) -> Envelope {
            let mut payload = json!(1);
            for _ in 0..levels {
                payload = Value::Array(vec![payload]);
            }
            envelope(AgentEvent::HitlRequested {
                request_id: "a".to_owned(),
                kind: "question".to_owned(),
                payload,
            })
        }
        // The line and the event are one level each.
        let deepest = nested(MAX_DEPTH - 2);
        let mut buf = Vec::new();
        encode(&mut buf, &deepest).unwrap();
        assert_eq!(
            decode(&buf, Seq(1), false, &mut PreviousLineIds::default()).unwrap(),
            deepest
        );

        let error = encode(&mut Vec::new(), &nested(MAX_DEPTH - 1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    /// The limit counts levels: closing an array or an object ends its level.
    #[test]
    fn many_values_beside_each_other_are_not_deep() {
        for value in [json!([]), json!({"a": 1})] {
            let wide = envelope(AgentEvent::HitlRequested {
                request_id: "a".to_owned(),
                kind: "question".to_owned(),
                payload: Value::Array(vec![value; 2 * MAX_DEPTH as usize]),
            });
            let mut buf = Vec::new();
            encode(&mut buf, &wide).unwrap();
            assert_eq!(
                decode(&buf, Seq(1), false, &mut PreviousLineIds::default()).unwrap(),
                wide
            );
        }
    }

    #[test]
    fn numbers_survive_a_round_trip() {
        for amount in [0.1 + 0.2, 1e-7, 122.416_294_033_786_58, f64::MIN_POSITIVE] {
            let event = envelope(AgentEvent::Usage(Usage {
                used: u64::MAX,
                size: 0,
                cost: Some(Cost {
                    amount,
                    currency: "EUR".to_owned(),
                }),
            }));
            let mut buf = Vec::new();
            encode(&mut buf, &event).unwrap();
            assert_eq!(
                decode(&buf, Seq(1), false, &mut PreviousLineIds::default()).unwrap(),
                event
            );
        }
    }
}
