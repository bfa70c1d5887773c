//! Parses a line of a recording: a bare message, or an entry of our transcripts around one.

use serde_json::Value;

use super::{ConformanceRule, TrafficDirection};
use harn_acp::transport::STDIO_LINE_LIMIT;

pub(super) enum RecordedLine {
    Message {
        direction: Option<TrafficDirection>,
        message: Value,
    },
    /// Bytes from the wire that are not a message.
    Broken {
        direction: Option<TrafficDirection>,
        rule: ConformanceRule,
        what: &'static str,
    },
    /// A note, or a blank line.
    Nothing,
}

pub(super) fn parse_line(line: &str) -> RecordedLine {
    if line.len() > STDIO_LINE_LIMIT {
        return broken_line(
            None,
            ConformanceRule::LineTooLong,
            "the line is longer than 64 MiB",
        );
    }
    if line.trim().is_empty() {
        return RecordedLine::Nothing;
    }
    match serde_json::from_str(line) {
        Ok(value) => parse_value(value),
        Err(error) => {
            let what = match error.classify() {
                serde_json::error::Category::Eof => "the line ends in the middle of a JSON text",
                _ => "the line is not JSON, or is nested too deeply",
            };
            broken_line(None, ConformanceRule::NotJson, what)
        }
    }
}

/// Parses a line. An entry of a transcript has the receiver in `to`; a message never has `to` without
/// `jsonrpc`.
pub(super) fn parse_value(mut value: Value) -> RecordedLine {
    let Some(members) = value.as_object_mut() else {
        return RecordedLine::Message {
            direction: None,
            message: value,
        };
    };
    let direction = match members.get("to").and_then(Value::as_str) {
        Some("agent") => Some(TrafficDirection::ToAgent),
        Some("client") => Some(TrafficDirection::ToClient),
        _ => None,
    };
    if direction.is_some() && !members.contains_key("jsonrpc") {
        if let Some(message) = members.remove("message") {
            return RecordedLine::Message { direction, message };
        }
        // The agent answers these itself and skips blank ones.
        if let Some(raw) = members.get("raw").and_then(Value::as_str) {
            return match raw.trim() {
                "" => RecordedLine::Nothing,
                _ => broken_line(direction, ConformanceRule::NotJson, "the line is not JSON"),
            };
        }
        if members.contains_key("rawBytes") {
            return broken_line(direction, ConformanceRule::NotJson, "the line is not UTF-8");
        }
        if members.contains_key("rawLength") {
            let what = "the line is not JSON, or was too long to be read";
            return broken_line(direction, ConformanceRule::NotJson, what);
        }
    }
    match members.get("note") {
        Some(Value::String(_)) if members.len() == 1 => RecordedLine::Nothing,
        _ => RecordedLine::Message {
            direction: None,
            message: value,
        },
    }
}

fn broken_line(
    direction: Option<TrafficDirection>,
    rule: ConformanceRule,
    what: &'static str,
) -> RecordedLine {
    RecordedLine::Broken {
        direction,
        rule,
        what,
    }
}
