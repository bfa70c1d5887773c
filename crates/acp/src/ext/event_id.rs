//! Event ids: the position of each line in its session's stream, as text that is opaque to clients.
//!
//! The last line of an event has the event's own number; the lines before it have that number, a dot and
//! their index from zero. In a line that this program writes, `params._meta.harn.eventId` is at the very end,
//! so that a transport finds it without parsing the line.

use std::{fmt, io::Write as _, str::FromStr};

use harn_model::Seq;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::VENDOR;

/// The position of a line in its session's stream. A later line has a greater one.
///
/// ```
/// use harn_acp::EventId;
///
/// let ids = ["0", "17.0", "17.1", "17", "18"].map(|id| id.parse::<EventId>().unwrap());
/// assert!(ids.is_sorted());
/// assert_eq!(ids[2].to_string(), "17.1");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    seq: Seq,
    /// The index of the line in its event; [`LAST`] for the last line.
    line: u32,
}

/// Marks the last line of an event, regardless of the number of lines.
const LAST: u32 = u32::MAX;

/// The error for a text that is no event id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not an event id")]
pub struct BadEventId;

impl EventId {
    /// The position before the first line of every session.
    pub const BEGINNING: Self = Self {
        seq: Seq::ZERO,
        line: LAST,
    };

    /// Returns the event that the line belongs to.
    #[must_use]
    pub fn seq(self) -> Seq {
        self.seq
    }

    /// Returns the last event whose lines are all at or before this position.
    pub(crate) fn last_whole_event(self) -> Seq {
        match self.line {
            LAST => self.seq,
            _ => Seq(self.seq.0.saturating_sub(1)),
        }
    }

    /// Returns how many of the `lines` of its event are at or before this position. The last line counts only
    /// if the position is exactly that line: another dialect may write fewer lines for an event, and a
    /// duplicate is better than a lost line.
    pub(crate) fn lines_until(self, lines: usize) -> usize {
        match self.line {
            LAST => lines,
            line => (line as usize + 1).min(lines.saturating_sub(1)),
        }
    }

    fn from_line(seq: Seq, line: usize, lines: usize) -> Self {
        let line = match line + 1 == lines {
            true => LAST,
            false => u32::try_from(line).unwrap_or(LAST - 1),
        };
        Self { seq, line }
    }
}

impl Default for EventId {
    fn default() -> Self {
        Self::BEGINNING
    }
}

impl From<Seq> for EventId {
    /// The position of the last line of an event.
    fn from(seq: Seq) -> Self {
        Self { seq, line: LAST }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            LAST => write!(f, "{}", self.seq),
            line => write!(f, "{}.{line}", self.seq),
        }
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for EventId {
    type Err = BadEventId;

    /// Accepts only the output of [`Display`](fmt::Display).
    fn from_str(text: &str) -> Result<Self, BadEventId> {
        fn parse_number<T: FromStr>(digits: &str) -> Result<T, BadEventId> {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            let padded = digits.len() > 1 && digits.starts_with('0');
            match plain && !padded {
                true => digits.parse().map_err(|_| BadEventId),
                false => Err(BadEventId),
            }
        }
        match text.split_once('.') {
            None => Ok(Seq(parse_number(text)?).into()),
            Some((seq, line)) => match (Seq(parse_number(seq)?), parse_number(line)?) {
                (Seq::ZERO, _) | (_, LAST) => Err(BadEventId),
                (seq, line) => Ok(Self { seq, line }),
            },
        }
    }
}

impl Serialize for EventId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EventId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The text before and after the id in a line that this program writes; they replace the closing `}}`.
const BEFORE: &[u8] = br#","_meta":{"harn":{"eventId":""#;
const BEHIND: &[u8] = br#""}}}}"#;
/// The start of a line that this program writes; lines of the SDK have their id elsewhere.
const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method":""#;
/// The length of the longest id.
const LONGEST: usize = 20 + 1 + 10;

/// Adds ids to the lines from `start` on, all of one event. Each line must be a notification whose last
/// member is `params`, without `_meta`.
pub(crate) fn stamp(out: &mut Vec<u8>, start: usize, seq: Seq) {
    let lines = out[start..].iter().filter(|&&byte| byte == b'\n').count();
    if lines == 1 {
        return stamp_last(out, seq.into());
    }
    let written = out.split_off(start);
    for (at, line) in written.split_inclusive(|&byte| byte == b'\n').enumerate() {
        out.extend_from_slice(line);
        stamp_last(out, EventId::from_line(seq, at, lines));
    }
}

/// Adds the id to the last line.
pub(crate) fn stamp_last(out: &mut Vec<u8>, id: EventId) {
    if out.ends_with(b"}}\n") {
        out.truncate(out.len() - 3);
        out.extend_from_slice(BEFORE);
        // Writing to memory cannot fail.
        let _ = write!(out, "{id}");
        out.extend_from_slice(BEHIND);
        out.push(b'\n');
    }
}

/// Returns the id of a line, with or without its line break, if it has one.
#[must_use]
pub fn read_from_line(line: &[u8]) -> Option<EventId> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if !line.starts_with(NOTIFICATION) {
        return read_from_request(line);
    }
    let line = line.strip_suffix(BEHIND)?;
    let quote = line.iter().rev().take(LONGEST + 1);
    let digits = quote.take_while(|&&byte| byte != b'"').count();
    let (before, id) = line.split_at(line.len() - digits);
    before.strip_suffix(BEFORE)?;
    str::from_utf8(id).ok()?.parse().ok()
}

/// Returns the id of a message that the SDK wrote. Only requests have one, and requests are rare.
fn read_from_request(line: &[u8]) -> Option<EventId> {
    #[derive(Deserialize)]
    struct RequestLine<'a> {
        #[serde(borrow, default)]
        method: Option<&'a serde_json::value::RawValue>,
        #[serde(default)]
        params: Option<RequestLineParams>,
    }
    #[derive(Deserialize)]
    struct RequestLineParams {
        #[serde(rename = "_meta", default)]
        meta: Option<Map<String, Value>>,
    }
    const KEY: &[u8] = br#""eventId":"#;
    // An answer may be long; do not parse it for this.
    line.windows(KEY.len()).rev().find(|at| *at == KEY)?;
    let line: RequestLine<'_> = serde_json::from_slice(line).ok()?;
    line.method?;
    read_from_meta(line.params?.meta.as_ref()?)
}

/// Returns the id in the params of a message, if it has one.
#[must_use]
pub fn read_from_params(params: &Map<String, Value>) -> Option<EventId> {
    read_from_meta(params.get("_meta")?.as_object()?)
}

fn read_from_meta(meta: &Map<String, Value>) -> Option<EventId> {
    meta.get(VENDOR)?.get("eventId")?.as_str()?.parse().ok()
}

/// Returns the id after which a request wants to resume: `lastEventId` at its root, else under `_meta.harn`.
pub fn read_last_event_id(params: &Value) -> Result<Option<EventId>, BadEventId> {
    const NAME: &str = "lastEventId";
    let under_meta = || params.get("_meta")?.get(VENDOR)?.get(NAME);
    let given = |value: &&Value| !value.is_null();
    let wanted = params.get(NAME).filter(given);
    match wanted.or_else(|| under_meta().filter(given)) {
        None => Ok(None),
        // Over HTTP, a message after an event has the event's id, a plus and a number.
        Some(Value::String(id)) => id.split('+').next().unwrap_or_default().parse().map(Some),
        Some(_) => Err(BadEventId),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> EventId {
        text.parse().unwrap()
    }

    #[test]
    fn event_ids_round_trip_in_sorted_order() {
        let sorted = [
            "0",
            "1.0",
            "1.1",
            "1",
            "2",
            "17.9",
            "17.10",
            "17",
            "18446744073709551615",
        ];
        let ids = sorted.map(id);
        assert_eq!(ids.map(|id| id.to_string()), sorted);
        assert!(ids.is_sorted());
    }

    #[test]
    fn parser_rejects_malformed_event_ids() {
        for odd in [
            "",
            " 1",
            "1 ",
            "01",
            "+1",
            "-1",
            "1.",
            ".1",
            "1.01",
            "1.0.0",
            "0.0",
            "1.4294967295",
            "18446744073709551616",
            "1e3",
            "١",
            "latest",
        ] {
            assert_eq!(odd.parse::<EventId>(), Err(BadEventId), "{odd:?}");
        }
    }

    #[test]
    fn stamp_adds_ids_at_the_end_of_lines() {
        let line = |n: u32| format!("{NOTE}{n}}}}}\n");
        const NOTE: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"n":"#;
        let mut out = line(0).into_bytes();
        let start = out.len();
        (1..=3).for_each(|n| out.extend_from_slice(line(n).as_bytes()));
        stamp(&mut out, start, Seq(17));
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let ids: Vec<_> = lines
            .iter()
            .map(|line| read_from_line(line.as_bytes()))
            .collect();
        assert_eq!(
            ids,
            [None, Some(id("17.0")), Some(id("17.1")), Some(id("17"))]
        );
        let last: Value = serde_json::from_str(lines[3]).unwrap();
        let expected = json!({"n": 3, "_meta": {"harn": {"eventId": "17"}}});
        assert_eq!(last["params"], expected);
        let mut one = line(1).into_bytes();
        stamp(&mut one, 0, Seq(u64::MAX));
        assert_eq!(read_from_line(&one), Some(Seq(u64::MAX).into()));
    }

    #[test]
    fn event_id_is_ignored_outside_the_params_meta() {
        let meta = json!({"harn": {"eventId": "5"}});
        let deep = json!({"update": {"_meta": meta}});
        for (method, params) in [
            ("session/update", deep.clone()),
            ("session/update", json!({})),
        ] {
            let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
            assert_eq!(read_from_line(line.to_string().as_bytes()), None);
        }
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"_meta": meta}});
        assert_eq!(read_from_line(answer.to_string().as_bytes()), None);
        assert_eq!(read_from_line(b""), None);
        assert_eq!(read_from_line(br#""}}}}"#), None);
    }

    #[test]
    fn request_id_is_found_among_other_members() {
        let params = json!({"_meta": {"harn": {"eventId": "20", "options": []}}, "sessionId": "s"});
        let line = json!({"jsonrpc": "2.0", "id": 3, "method": "session/x", "params": params});
        assert_eq!(read_from_line(line.to_string().as_bytes()), Some(id("20")));
        assert_eq!(
            read_from_params(params.as_object().unwrap()),
            Some(id("20"))
        );
    }

    #[test]
    fn last_event_id_is_read_from_the_root_or_from_meta() {
        let root = json!({"lastEventId": "4", "_meta": {"harn": {"lastEventId": "9"}}});
        assert_eq!(read_last_event_id(&root), Ok(Some(id("4"))));
        let meta = json!({"lastEventId": null, "_meta": {"harn": {"lastEventId": "9"}}});
        assert_eq!(read_last_event_id(&meta), Ok(Some(id("9"))));
        let behind = json!({"lastEventId": "17.1+3"});
        assert_eq!(read_last_event_id(&behind), Ok(Some(id("17.1"))));
        for none in [json!({}), json!(null), json!({"_meta": {"harn": 1}})] {
            assert_eq!(read_last_event_id(&none), Ok(None));
        }
        for odd in [json!({"lastEventId": 4}), json!({"lastEventId": ""})] {
            assert_eq!(read_last_event_id(&odd), Err(BadEventId));
        }
    }

    #[test]
    fn resume_never_skips_the_last_line_of_an_event() {
        assert_eq!(id("17").lines_until(3), 3);
        assert_eq!(id("17.0").lines_until(3), 1);
        assert_eq!(id("17.1").lines_until(3), 2);
        assert_eq!(id("17.1").lines_until(1), 0);
        assert_eq!(id("17.1").lines_until(0), 0);
        assert_eq!(
            (id("17").last_whole_event(), id("17.1").last_whole_event()),
            (Seq(17), Seq(16))
        );
    }
}
