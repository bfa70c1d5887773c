//! The order of events about workers, questions to people and skills.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{ConformanceRule, MessageFindings, extensions::RecordedUpdate, quote_name};

/// The workers, open questions and active skills of a session.
#[derive(Default)]
pub(super) struct SessionActivity {
    /// Maps a worker's id to whether it has ended.
    workers: HashMap<String, bool>,
    questions: HashSet<String>,
    skills: HashSet<String>,
}

impl SessionActivity {
    /// Checks an extension update. With `past`, things may have begun before the recording.
    pub(super) fn check_update(
        &mut self,
        update: &RecordedUpdate<'_>,
        past: bool,
    ) -> MessageFindings {
        match update.name {
            "worker_update" => self.check_worker(update, past),
            "hitl_request" => {
                let id = update.string_field("requestId").map(str::to_owned);
                self.questions.extend(id);
                MessageFindings::new()
            }
            "hitl_resolved" => match update.string_field("requestId") {
                Some(id) if !self.questions.remove(id) && !past => {
                    let what = format!("the question {} is not open", quote_name(id));
                    vec![(ConformanceRule::HitlNotAsked, what)]
                }
                _ => MessageFindings::new(),
            },
            "skill_activated" => {
                self.skills.extend(skill(update).map(str::to_owned));
                MessageFindings::new()
            }
            "skill_deactivated" => match skill(update) {
                Some(name) if !self.skills.remove(name) && !past => {
                    let what = format!("the skill {} is not active", quote_name(name));
                    vec![(ConformanceRule::SkillNotActive, what)]
                }
                _ => MessageFindings::new(),
            },
            _ => MessageFindings::new(),
        }
    }

    /// Removes the workers that have ended; a replay may send their events again.
    pub(super) fn forget_ended(&mut self) {
        self.workers.retain(|_, ended| !*ended);
    }

    fn check_worker(&mut self, update: &RecordedUpdate<'_>, past: bool) -> MessageFindings {
        let mut found = MessageFindings::new();
        let (Some(id), Some(event)) = (
            update.string_field("workerId"),
            update.string_field("event"),
        ) else {
            return found;
        };
        let mut broken =
            |rule, what: String| found.push((rule, format!("worker {} {what}", quote_name(id))));
        match self.workers.get(id) {
            None if event != "WorkerSpawned" && !past => {
                broken(
                    ConformanceRule::WorkerNotSpawned,
                    "did not begin with `WorkerSpawned`".to_owned(),
                );
            }
            Some(true) => broken(ConformanceRule::WorkerAfterEnd, "has ended".to_owned()),
            None | Some(false) => {}
        }
        let ended = self.workers.entry(id.to_owned()).or_default();
        // Receivers ignore events they do not know.
        let Some((status, terminal)) = expected_status(event) else {
            return found;
        };
        *ended |= terminal;
        if update
            .field("terminal")
            .and_then(Value::as_bool)
            .is_some_and(|said| said != terminal)
        {
            let what = format!("has `terminal: {}` with {event}", !terminal);
            broken(ConformanceRule::WorkerTerminalWrong, what);
        }
        if update
            .string_field("status")
            .is_some_and(|said| said != status)
        {
            let what = format!("has another status than `{status}` with {event}");
            broken(ConformanceRule::WorkerStatusWrong, what);
        }
        found
    }
}

/// Returns the status that belongs to a worker's event, and whether the event is its last.
fn expected_status(event: &str) -> Option<(&'static str, bool)> {
    Some(match event {
        "WorkerSpawned" | "WorkerResumed" => ("running", false),
        "WorkerProgressed" => ("progressed", false),
        "WorkerWaitingForInput" => ("awaiting_input", false),
        "WorkerSuspended" => ("suspended", false),
        "WorkerCompleted" => ("completed", true),
        "WorkerFailed" => ("failed", true),
        "WorkerStopped" => ("stopped", true),
        "WorkerCancelled" => ("cancelled", true),
        _ => return None,
    })
}

/// Returns the id of a skill. `skillId` is sent only if it differs from the name.
fn skill<'a>(update: &'a RecordedUpdate<'_>) -> Option<&'a str> {
    update
        .string_field("skillId")
        .or_else(|| update.string_field("skillName"))
}
