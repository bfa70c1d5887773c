//! The life of tool calls: announced once, updated, ended once.

use std::collections::HashMap;

use serde_json::Value;

use super::{ConformanceRule, MessageFindings, extensions::RecordedUpdate, quote_name};

/// The tool calls of a session.
#[derive(Default)]
pub(super) struct SessionToolCalls {
    calls: HashMap<String, ToolCallProgress>,
}

#[derive(Default)]
struct ToolCallProgress {
    ended: bool,
    parsing: ArgumentStream,
}

/// Whether the arguments of a call are streamed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ArgumentStream {
    #[default]
    Never,
    Open,
    Closed,
}

impl SessionToolCalls {
    /// Checks a `tool_call` or `tool_call_update`. With `past`, the recording may lack announcements of
    /// calls.
    pub(super) fn check_update(
        &mut self,
        update: &RecordedUpdate<'_>,
        past: bool,
    ) -> MessageFindings {
        let mut found = check_fields(update);
        let Some(id) = update.root.get("toolCallId").and_then(Value::as_str) else {
            return found;
        };
        let mut broken =
            |rule, what: &str| found.push((rule, format!("tool call {} {what}", quote_name(id))));
        let parsing = update.field("parsing").and_then(Value::as_bool);
        let call = if update.name == "tool_call" {
            let fresh = ToolCallProgress {
                ended: false,
                parsing: if parsing == Some(true) {
                    ArgumentStream::Open
                } else {
                    ArgumentStream::Never
                },
            };
            if self.calls.insert(id.to_owned(), fresh).is_some() {
                broken(ConformanceRule::CallAnnouncedTwice, "was announced before");
            }
            self.calls.entry(id.to_owned()).or_default()
        } else {
            let known = self.calls.contains_key(id);
            let call = self.calls.entry(id.to_owned()).or_default();
            match (known, past) {
                (false, false) => broken(ConformanceRule::UpdateBeforeCall, "was not announced"),
                (false, true) => call.parsing = ArgumentStream::Open,
                (true, _) if call.ended => broken(ConformanceRule::UpdateAfterEnd, "has ended"),
                (true, _) => {}
            }
            let next = match (parsing, call.parsing) {
                (None, as_before) => as_before,
                (Some(true), ArgumentStream::Open) => ArgumentStream::Open,
                (Some(false), ArgumentStream::Open) => ArgumentStream::Closed,
                (Some(true), ArgumentStream::Never | ArgumentStream::Closed) => {
                    broken(
                        ConformanceRule::ParsingOutOfOrder,
                        "has `parsing: true`, but did not begin with it",
                    );
                    ArgumentStream::Closed
                }
                (Some(false), ArgumentStream::Never | ArgumentStream::Closed) => {
                    broken(
                        ConformanceRule::ParsingOutOfOrder,
                        "has `parsing: false`, but was not parsing",
                    );
                    ArgumentStream::Closed
                }
            };
            call.parsing = if !known && past {
                ArgumentStream::Never
            } else {
                next
            };
            call
        };
        if is_terminal(update) {
            if call.parsing == ArgumentStream::Open && !call.ended {
                broken(
                    ConformanceRule::ParsingOutOfOrder,
                    "ends without `parsing: false`",
                );
            }
            call.ended = true;
        }
        found
    }

    /// Checks the call that a permission request names.
    pub(super) fn check_permission_target(&self, id: &str) -> MessageFindings {
        let what = match self.calls.get(id) {
            Some(call) if call.ended => "has ended",
            Some(_) => return MessageFindings::new(),
            None => "was not announced",
        };
        let what = format!("tool call {} {what}", quote_name(id));
        vec![(ConformanceRule::AskBeforeCall, what)]
    }

    /// Returns the ids of the calls that have not ended, sorted.
    pub(super) fn open_calls(&self) -> Vec<&str> {
        let open = self.calls.iter().filter(|(_, call)| !call.ended);
        let mut open: Vec<_> = open.map(|(id, _)| id.as_str()).collect();
        open.sort_unstable();
        open
    }

    /// Marks every open call as ended, so that the checker reports it once.
    pub(super) fn end_all(&mut self) {
        self.calls.values_mut().for_each(|call| call.ended = true);
    }

    /// Removes the calls that have ended; a replay may announce them again.
    pub(super) fn forget_ended(&mut self) {
        self.calls.retain(|_, call| !call.ended);
    }

    /// Removes a call that is about to be announced again.
    pub(super) fn forget(&mut self, id: &str) {
        self.calls.remove(id);
    }
}

fn is_terminal(update: &RecordedUpdate<'_>) -> bool {
    matches!(update.root["status"].as_str(), Some("completed" | "failed"))
}

/// Checks the fields of one message against each other.
fn check_fields(update: &RecordedUpdate<'_>) -> MessageFindings {
    let mut found = MessageFindings::new();
    if !is_terminal(update) {
        let durations = ["durationMs", "executionDurationMs"];
        for name in durations.iter().filter(|name| update.field(name).is_some()) {
            let what = format!("`{name}` on an update that does not end the call");
            found.push((ConformanceRule::DurationBeforeEnd, what));
        }
    }
    if update.field("errorCategory").is_some() {
        let what = match (update.root["status"].as_str(), update.field("error")) {
            (Some("failed"), Some(_)) => None,
            (Some("failed"), None) => Some("`errorCategory` without `error`"),
            _ => Some("`errorCategory` without status `failed`"),
        };
        found.extend(what.map(|what| (ConformanceRule::CategoryWithoutFailure, what.to_owned())));
    }
    if update.root.get("rawInput").is_some() && update.field("rawInputPartial").is_some() {
        let what = "`rawInputPartial` beside `rawInput`".to_owned();
        found.push((ConformanceRule::TwoRawInputs, what));
    }
    found
}
