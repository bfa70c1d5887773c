//! Encodes one event as one line, and decodes it. An event that could not be read back is rejected before it
//! reaches the disk. Knows no file.

use std::io::{self, Write};

use harn_model::{AgentEvent, Envelope, Seq, Timestamp, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{
    error::Category,
    ser::{Formatter, Serializer},
};

use super::text_chunk::{self, PreviousLineIds};

/// The format version that this crate writes, in every line and in `meta.json`.
pub const FORMAT_VERSION: u32 = 1;

/// The JSON parser fails one level deeper.
const MAX_DEPTH: u32 = 127;

/// An [`Envelope`] with its version in front, borrowed so that encoding copies nothing.
#[derive(Serialize)]
struct EventLineRef<'a> {
    v: u32,
    seq: Seq,
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'a TurnId>,
    event: &'a AgentEvent,
}

/// The owned form. It denies unknown keys: a damaged key must not read as an absent one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    v: u32,
    seq: Seq,
    at: Timestamp,
    #[serde(default)]
    turn: Option<TurnId>,
    event: AgentEvent,
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
    let written = EventLineRef {
        v: FORMAT_VERSION,
        seq: envelope.seq,
        at: envelope.at,
        turn: envelope.turn.as_ref(),
        event: &envelope.event,
    };
    written.serialize(&mut Serializer::with_formatter(
        &mut *buf,
        DepthLimitedFormatter { depth: 0 },
    ))?;
    buf.push(b'\n');
    Ok(())
}

/// Decodes a line, which must be the event `expected`. The reason of a failure never contains text of the line.
pub(super) fn decode(
    line: &[u8],
    expected: Seq,
    before: &mut PreviousLineIds,
) -> Result<Envelope, String> {
    // The newline would otherwise be reported as a control character in a truncated string.
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    match text_chunk::decode_chunk(line, expected, before) {
        Some(envelope) => Ok(envelope),
        None => parse(line, expected),
    }
}

/// Decodes a line of any event with the JSON parser.
pub(super) fn parse(line: &[u8], expected: Seq) -> Result<Envelope, String> {
    let read: EventLine =
        serde_json::from_slice(line).map_err(|error| describe_error(line, &error))?;
    if read.v != FORMAT_VERSION {
        return Err(describe_version_mismatch(read.v.into()));
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
        && v != u64::from(FORMAT_VERSION)
    {
        return describe_version_mismatch(v);
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

pub(super) fn describe_version_mismatch(v: u64) -> String {
    format!(
        "it has format version {v}, and this program reads version {FORMAT_VERSION} only; \
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
             {\"v\":1,\"seq\":1,\"at\":5,\"event\":{\"type\":\"agent_message_chunk\",\"content\":\"a\\nb\"}}\n\
             {\"v\":1,\"seq\":1,\"at\":5,\"turn\":\"t1\",\"event\":{\"type\":\"agent_message_chunk\",\"content\":\"a\\nb\"}}\n"
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
            decode(&buf, Seq(1), &mut PreviousLineIds::default()).unwrap(),
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
                decode(&buf, Seq(1), &mut PreviousLineIds::default()).unwrap(),
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
                decode(&buf, Seq(1), &mut PreviousLineIds::default()).unwrap(),
                event
            );
        }
    }
}
