//! Composition runs: each starts once, has children and ends once.

use std::collections::HashMap;

use serde_json::Value;

use super::{ConformanceRule, MessageFindings, quote_name};

/// The composition runs of a session.
#[derive(Default)]
pub(super) struct CompositionRuns {
    runs: HashMap<String, CompositionRunState>,
}

#[derive(Default)]
struct CompositionRunState {
    ended: bool,
    /// Maps the id of a child call to whether it has a result.
    children: HashMap<String, bool>,
}

impl CompositionRuns {
    /// Removes the runs that have ended; a replay may send their events again.
    pub(super) fn forget_ended(&mut self) {
        self.runs.retain(|_, run| !run.ended);
    }

    /// Checks the params of an agent event; ignores events that are not about compositions.
    pub(super) fn check_event(&mut self, params: &Value, past: bool) -> MessageFindings {
        let word = |name: &str| params.get(name).and_then(Value::as_str);
        let (Some(id), Some(kind)) = (word("runId"), word("kind")) else {
            return MessageFindings::new();
        };
        let mut found = MessageFindings::new();
        let mut broken =
            |rule, what: String| found.push((rule, format!("run {} {what}", quote_name(id))));
        match (self.runs.get(id), kind) {
            (Some(run), _) if run.ended => {
                broken(ConformanceRule::CompositionAfterEnd, "has ended".to_owned())
            }
            (Some(_), "composition_start") => {
                broken(
                    ConformanceRule::CompositionStartedTwice,
                    "was started before".to_owned(),
                );
            }
            (None, other) if other != "composition_start" && !past => {
                broken(
                    ConformanceRule::CompositionNotOpen,
                    "was not started".to_owned(),
                );
            }
            _ => {}
        }
        let run = self.runs.entry(id.to_owned()).or_default();
        match (kind, word("toolCallId")) {
            ("composition_finish" | "composition_error", _) => run.ended = true,
            ("composition_child_call", Some(child)) => {
                run.children.insert(child.to_owned(), false);
            }
            ("composition_child_result", Some(child)) => {
                match run.children.insert(child.to_owned(), true) {
                    Some(false) => {}
                    None if past => {}
                    None => {
                        let what = format!("has no open child {}", quote_name(child));
                        broken(ConformanceRule::CompositionResultWithoutCall, what);
                    }
                    Some(true) => {
                        let what =
                            format!("has a result for its child {} already", quote_name(child));
                        broken(ConformanceRule::CompositionResultWithoutCall, what);
                    }
                }
            }
            _ => {}
        }
        found
    }
}
