//! What an agent does beside talking and calling tools, read from the extensions.
//!
//! What is not understood is left out: a display must not fail over something new.

use std::time::{Duration, UNIX_EPOCH};

use agent_client_protocol::{
    UntypedMessage,
    v1::schema::{Meta, SessionInfoUpdate},
};
use harn_model::Timestamp;
use serde_json::Value;

use crate::text::soon;

/// Something to show.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// A worker took a step in its life.
    Worker(WorkerStep),
    /// A composition began.
    CompositionBegan { id: String, title: String },
    /// A composition ended; with a reason if badly.
    CompositionEnded {
        id: String,
        title: String,
        failed: Option<String>,
    },
    /// A line of its own.
    Note(String),
    /// One that asks for attention.
    Warning(String),
    /// The agent waits for more to do; told again and again.
    Idle,
}

/// A worker and what became of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WorkerStep {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) task: String,
    pub(crate) state: WorkerState,
    /// How long it worked, in milliseconds, where it has ended.
    pub(crate) took: Option<u64>,
}

/// What a worker does after a step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WorkerState {
    Running,
    Waiting,
    Completed,
    Stopped,
    Cancelled,
    Failed(String),
}

/// The notification that carries events which are no updates.
pub(crate) const AGENT_EVENT: &str = "_harn/agentEvent";

impl Activity {
    /// What a known update carries, as the profile `meta` sends it.
    pub(crate) fn of_info(update: &SessionInfoUpdate) -> Option<Self> {
        let harn = harn(update.meta.as_ref())?;
        Self::of_update(harn.get("sessionUpdate")?.as_str()?, harn)
    }

    /// What an extension update of this name carries.
    pub(crate) fn of_update(name: &str, harn: &Value) -> Option<Self> {
        let word = |name: &str| text(harn, name);
        match name {
            "worker_update" => worker(harn).map(Self::Worker),
            "progress" => Some(Self::Note(progress(harn))),
            "skill_activated" => {
                let active = format!("skill {} is active", word("skillName"));
                Some(Self::Note(titled(&active, word("reason"))))
            }
            "skill_deactivated" => {
                let name = word("skillName");
                Some(Self::Note(format!("skill {name} is no longer active")))
            }
            "skill_narrow" => {
                let fewer = titled("fewer tools are in reach", word("reason"));
                Some(Self::Note(fewer))
            }
            "artifact" => {
                let title = named(harn, "title").unwrap_or_else(|| word("kind"));
                let title = format!("artifact {title}");
                Some(Self::Note(titled(&title, word("fallback"))))
            }
            "handoff" => Some(Self::Note(handoff(harn.get("handoff")?))),
            "hitl_request" => {
                let time = harn.get("payload").and_then(|payload| {
                    soon(Duration::from_millis(payload.get("deadline_ms")?.as_u64()?))
                });
                let time = time.map(|time| format!(", for {time}")).unwrap_or_default();
                let asked = format!("a person is asked ({}{time})", word("kind"));
                Some(Self::Warning(titled(&asked, question(harn))))
            }
            "log" if ["warn", "error"].contains(&word("level")) => {
                Some(Self::Warning(titled(word("level"), word("message"))))
            }
            "transcript_compacted" => {
                Some(Self::Note("older messages were folded away".to_owned()))
            }
            "fs_watch" => watched(harn).map(Self::Note),
            "reminder_emitted" => {
                let body = named(harn.get("reminder")?, "body")?;
                Some(Self::Note(titled("to keep in mind", body)))
            }
            // The rest is for hosts that keep books: searches for tools, prompts, clients.
            _ => None,
        }
    }

    /// What a notification beside the updates says.
    pub(crate) fn of_notification(notification: &UntypedMessage) -> Option<Self> {
        match notification.method.as_str() {
            AGENT_EVENT => Self::of_event(&notification.params),
            _ => None,
        }
    }

    /// What an event beside the updates says.
    pub(crate) fn of_event(event: &Value) -> Option<Self> {
        let id = text(event, "runId").to_owned();
        let title = titled("composition", text(event, "language"));
        match text(event, "kind") {
            "agent_idle" => Some(Self::Idle),
            "composition_start" => Some(Self::CompositionBegan { id, title }),
            "composition_finish" => Some(Self::CompositionEnded {
                id,
                title,
                failed: None,
            }),
            "composition_error" => Some(Self::CompositionEnded {
                id,
                title,
                failed: Some(text(event, "error").to_owned()),
            }),
            "loop_checkpoint" if event.get("dispatchSkipped") == Some(&Value::Bool(true)) => {
                let skipped = "interrupted: the tools that were about to run are skipped";
                Some(Self::Note(skipped.to_owned()))
            }
            "daemon_watchdog_tripped" => {
                let tripped = "the agent was woken again and again and did nothing; its turn ends";
                Some(Self::Warning(tripped.to_owned()))
            }
            _ => None,
        }
    }
}

/// The workers a question came through, from the session down.
pub(crate) fn lineage(meta: Option<&Meta>) -> Vec<&str> {
    let steps = harn(meta).and_then(|harn| harn.get("lineage")?.as_array());
    let steps = steps.into_iter().flatten();
    let name = |step| named(step, "workerName").unwrap_or_else(|| text(step, "workerId"));
    steps.map(name).collect()
}

/// Why a question is asked, as far as the rules say.
pub(crate) fn reason(meta: Option<&Meta>) -> Option<&str> {
    named(harn(meta)?.get("policyDecision")?, "reason")
}

/// Until when an answer is waited for.
pub(crate) fn deadline(meta: Option<&Meta>) -> Option<Timestamp> {
    time(harn(meta)?, "deadline")
}

fn time(of: &Value, name: &str) -> Option<Timestamp> {
    let at = humantime::parse_rfc3339(named(of, name)?).ok()?;
    let at = at.duration_since(UNIX_EPOCH).ok()?;
    at.as_millis().try_into().ok()
}

fn harn(meta: Option<&Meta>) -> Option<&Value> {
    meta?.get("harn")
}

fn worker(harn: &Value) -> Option<WorkerStep> {
    let state = match harn.get("event")?.as_str()? {
        "WorkerSpawned" => WorkerState::Running,
        "WorkerWaitingForInput" => WorkerState::Waiting,
        "WorkerCompleted" => WorkerState::Completed,
        "WorkerStopped" => WorkerState::Stopped,
        "WorkerCancelled" => WorkerState::Cancelled,
        "WorkerFailed" => {
            let reason = harn.get("metadata").map(|metadata| text(metadata, "error"));
            WorkerState::Failed(reason.unwrap_or_default().to_owned())
        }
        // The cycle that follows is told.
        _ => return None,
    };
    let took = harn.get("metadata").and_then(|metadata| {
        let began = time(metadata, "started_at")?;
        time(metadata, "finished_at")?.checked_sub(began)
    });
    Some(WorkerStep {
        id: text(harn, "workerId").to_owned(),
        name: text(harn, "workerName").to_owned(),
        task: text(harn, "workerTask").to_owned(),
        state,
        took,
    })
}

fn progress(harn: &Value) -> String {
    let number = |name: &str| harn.get(name).and_then(Value::as_i64);
    let message = text(harn, "message");
    match (number("progress"), number("total")) {
        (Some(done), Some(total)) => format!("{message} ({done} of {total})"),
        (Some(done), None) => format!("{message} ({done})"),
        (None, _) => message.to_owned(),
    }
}

/// The files that changed; of many, only some.
fn watched(harn: &Value) -> Option<String> {
    const NAMED: usize = 3;
    let events = harn.get("events")?.as_array()?;
    let file = |event| {
        Value::as_array(Value::get(event, "relative_paths")?)?
            .last()?
            .as_str()
    };
    let files: Vec<_> = events.iter().filter_map(file).collect();
    let errors = events.iter().filter_map(|event| named(event, "error"));
    let mut said = Vec::new();
    if !files.is_empty() {
        let named = files.iter().take(NAMED).copied().collect::<Vec<_>>();
        let more = match files.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        said.push(format!("changed on disk: {}{more}", named.join(", ")));
    }
    said.extend(errors.map(|error| titled("watching", error)));
    (!said.is_empty()).then(|| said.join("; "))
}

/// What a person is asked; each kind has its own word for it.
fn question(harn: &Value) -> &str {
    let mut words = ["prompt", "question", "message", "detail", "action"].into_iter();
    let payload = harn.get("payload");
    let asked = words.find_map(|word| named(payload?, word));
    asked.unwrap_or_default()
}

fn handoff(handoff: &Value) -> String {
    let target = handoff.get("target_persona_or_human");
    let mut names = ["label", "id", "kind"].into_iter();
    let who = names.find_map(|name| named(target?, name));
    let handed = match who {
        Some(who) => format!("work is handed over to {who}"),
        None => "work is handed over".to_owned(),
    };
    titled(&handed, text(handoff, "task"))
}

/// Two texts with a colon between them, where there are two.
fn titled(title: &str, text: &str) -> String {
    match text.trim() {
        "" => title.to_owned(),
        text => format!("{title}: {text}"),
    }
}

/// A name, where there is one: an empty one is none.
fn named<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    let name = value.get(name)?.as_str()?;
    (!name.trim().is_empty()).then_some(name)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(harn: Value) -> Option<Activity> {
        let update = json!({"_meta": {"harn": harn}});
        Activity::of_info(&serde_json::from_value(update).unwrap())
    }

    fn note(harn: Value) -> String {
        match of(harn) {
            Some(Activity::Note(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_worker_is_told_by_its_event() {
        let step = |event: &str| {
            let metadata = json!({"error": "no luck", "started_at": "2026-01-01T00:00:09.750Z",
                                  "finished_at": "2026-01-01T00:00:10.250Z"});
            of(
                json!({"sessionUpdate": "worker_update", "workerId": "w", "workerName": "n",
                      "workerTask": "t", "event": event, "metadata": metadata}),
            )
        };
        let state = |event: &str| match step(event) {
            Some(Activity::Worker(step)) => step.state,
            other => panic!("{other:?}"),
        };
        assert_eq!(state("WorkerSpawned"), WorkerState::Running);
        assert_eq!(state("WorkerWaitingForInput"), WorkerState::Waiting);
        assert_eq!(state("WorkerCompleted"), WorkerState::Completed);
        assert_eq!(state("WorkerStopped"), WorkerState::Stopped);
        assert_eq!(state("WorkerCancelled"), WorkerState::Cancelled);
        let failed = WorkerState::Failed("no luck".to_owned());
        assert_eq!(state("WorkerFailed"), failed);
        assert_eq!(step("WorkerProgressed"), None);
        let took = match step("WorkerCompleted") {
            Some(Activity::Worker(step)) => step.took,
            other => panic!("{other:?}"),
        };
        assert_eq!(took, Some(500));
    }

    #[test]
    fn activity_is_put_into_words() {
        let progress = |more: Value| {
            let mut harn = json!({"sessionUpdate": "progress", "message": "Reading"});
            harn.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            note(harn)
        };
        assert_eq!(progress(json!({})), "Reading");
        assert_eq!(progress(json!({"progress": 1})), "Reading (1)");
        assert_eq!(
            progress(json!({"progress": 1, "total": 2})),
            "Reading (1 of 2)"
        );
        let handoff = |target: Value| {
            let handoff = json!({"target_persona_or_human": target, "task": "Go on"});
            note(json!({"sessionUpdate": "handoff", "handoff": handoff}))
        };
        assert_eq!(
            handoff(json!({"kind": "human"})),
            "work is handed over to human: Go on"
        );
        assert_eq!(
            handoff(json!({"kind": "human", "id": "u1", "label": " "})),
            "work is handed over to u1: Go on"
        );
        assert_eq!(
            handoff(json!({"kind": "", "id": null})),
            "work is handed over: Go on"
        );
        let artifact = json!({"sessionUpdate": "artifact", "title": "", "kind": "image"});
        assert_eq!(note(artifact), "artifact image");
        let hitl = |payload: Value| {
            of(json!({"sessionUpdate": "hitl_request", "kind": "approval", "payload": payload}))
        };
        let asked = |words: &str| Some(Activity::Warning(words.to_owned()));
        assert_eq!(
            hitl(json!({"prompt": " ", "action": "deploy"})),
            asked("a person is asked (approval): deploy")
        );
        assert_eq!(
            hitl(json!({"action": 7})),
            asked("a person is asked (approval)")
        );
        assert_eq!(hitl(Value::Null), asked("a person is asked (approval)"));
        assert_eq!(
            hitl(json!({"action": "deploy", "deadline_ms": 90_000})),
            asked("a person is asked (approval, for 90 s): deploy")
        );
        let log = |level: &str| of(json!({"sessionUpdate": "log", "level": level, "message": "m"}));
        assert_eq!(log("warn"), Some(Activity::Warning("warn: m".to_owned())));
        assert_eq!(log("debug"), None);
    }

    #[test]
    fn what_an_agent_that_stays_does_is_told() {
        let watched = |events: Value| of(json!({"sessionUpdate": "fs_watch", "events": events}));
        let file = |path: &str| json!({"kind": "modify", "relative_paths": [path]});
        let told = |words: &str| Some(Activity::Note(words.to_owned()));
        assert_eq!(watched(json!([])), None);
        assert_eq!(
            watched(json!([file("a"), {"kind": "rename", "relative_paths": ["old", "new"]}])),
            told("changed on disk: a, new")
        );
        assert_eq!(
            watched(json!([
                file("a"),
                file("b"),
                file("c"),
                file("d"),
                file("e")
            ])),
            told("changed on disk: a, b, c and 2 more")
        );
        assert_eq!(
            watched(json!([{"kind": "other", "relative_paths": [], "error": "it is gone"}])),
            told("watching: it is gone")
        );
        let reminder = json!({"reminder_id": "r", "body": "Be brief"});
        assert_eq!(
            of(json!({"sessionUpdate": "reminder_emitted", "reminder": reminder})),
            told("to keep in mind: Be brief")
        );
        let heard = |method: &str, params: Value| {
            Activity::of_notification(&UntypedMessage::new(method, params).unwrap())
        };
        let idle = json!({"kind": "agent_idle", "iteration": 1, "backoffMs": 100});
        assert_eq!(heard("_harn/agentEvent", idle), Some(Activity::Idle));
        let seam = |skipped: bool| {
            let event = json!({"kind": "loop_checkpoint", "dispatchSkipped": skipped});
            heard("_harn/agentEvent", event)
        };
        assert_eq!(seam(false), None);
        assert!(matches!(seam(true), Some(Activity::Note(_))));
        let tripped = heard(
            "_harn/agentEvent",
            json!({"kind": "daemon_watchdog_tripped"}),
        );
        assert!(matches!(tripped, Some(Activity::Warning(_))));
        assert_eq!(heard("_other", json!({})), None);
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        assert_eq!(of(json!({"sessionUpdate": "telepathy"})), None);
        assert_eq!(of(json!({"sessionUpdate": 7})), None);
        assert_eq!(
            of(json!({"sessionUpdate": "worker_update", "event": 7})),
            None
        );
        assert_eq!(of(json!({"sessionUpdate": "handoff"})), None);
        assert_eq!(Activity::of_info(&SessionInfoUpdate::new()), None);
        assert_eq!(lineage(None), [""; 0]);
    }

    #[test]
    fn a_question_tells_whose_it_is() {
        let meta = json!({"harn": {"lineage": [{"workerName": "a"}, {"workerName": "b"}]}});
        let meta: Meta = serde_json::from_value(meta).unwrap();
        assert_eq!(lineage(Some(&meta)), ["a", "b"]);
        assert_eq!(reason(Some(&meta)), None);
        let meta = json!({"harn": {"policyDecision": {"reason": "the mode asks"}}});
        let meta: Meta = serde_json::from_value(meta).unwrap();
        assert_eq!(reason(Some(&meta)), Some("the mode asks"));
        assert_eq!(deadline(Some(&meta)), None);
        let meta = json!({"harn": {"deadline": "1970-01-01T00:01:00.500Z"}});
        let meta: Meta = serde_json::from_value(meta).unwrap();
        assert_eq!(deadline(Some(&meta)), Some(60_500));
    }
}
