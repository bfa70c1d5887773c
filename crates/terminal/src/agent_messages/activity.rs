//! Agent activity other than messages and tool calls, parsed from the ACP extensions.
//!
//! Unknown input is ignored: a display must not fail over something new.

use std::time::Duration;

use agent_client_protocol::{
    UntypedMessage,
    v1::schema::{Meta, SessionInfoUpdate},
};
use harn_acp::client::{
    AGENT_EVENT, CarriedUpdate, HarnEvent, LineageStep, PermissionMeta, ToolMeta, WorkerFields,
    vendor_data,
};
use harn_model::{FsWatchEvent, HandoffArtifact, Timestamp, WorkerEvent};
use serde::Deserialize;

use super::parse_timestamp;
use crate::text::format_if_soon;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AgentActivity {
    /// A worker or a composition started, ended or changed its state.
    Job(Job),
    Note(String),
    /// A note that needs attention.
    Warning(String),
    /// The agent waits for more to do; agents repeat this notification.
    Idle,
}

/// A worker or a composition, with its state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The task of a worker.
    pub(crate) task: Option<String>,
    pub(crate) state: JobState,
    /// The run time in milliseconds, if the job has ended and the time is known.
    pub(crate) took: Option<u64>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JobState {
    Running,
    /// The job ended well; the text adds a remark.
    Done(&'static str),
    Cancelled,
    Failed(String),
}

impl Job {
    pub(crate) fn title(&self) -> String {
        match &self.task {
            Some(task) => format!("{}: {task}", self.name),
            None => self.name.clone(),
        }
    }
}

impl AgentActivity {
    /// Parses the extension update that the profile `meta` puts into an update's `_meta`.
    pub(crate) fn from_info(update: &SessionInfoUpdate) -> Option<Self> {
        Self::from_update(vendor_data(update.meta.as_ref())?)
    }

    /// Translates an extension update.
    pub(crate) fn from_update(update: CarriedUpdate<'_>) -> Option<Self> {
        Some(match update {
            CarriedUpdate::WorkerUpdate(worker) => Self::Job(worker_job(worker)?),
            CarriedUpdate::Progress(progress) => {
                let message = &progress.message;
                Self::Note(match (progress.progress, progress.total) {
                    (Some(done), Some(total)) => format!("{message} ({done} of {total})"),
                    (Some(done), None) => format!("{message} ({done})"),
                    (None, _) => message.to_string(),
                })
            }
            CarriedUpdate::SkillActivated(skill) => {
                let active = format!("skill {} is active", skill.skill_name);
                Self::Note(join_title(&active, &skill.reason))
            }
            CarriedUpdate::SkillDeactivated(skill) => {
                Self::Note(format!("skill {} is no longer active", skill.skill_name))
            }
            CarriedUpdate::SkillNarrow(narrow) => {
                Self::Note(join_title("fewer tools are available", &narrow.reason))
            }
            CarriedUpdate::Artifact(artifact) => {
                let title = artifact.title.as_deref().and_then(non_blank);
                let title = format!("artifact {}", title.unwrap_or(&artifact.kind));
                Self::Note(join_title(&title, &artifact.fallback))
            }
            CarriedUpdate::Handoff(fields) => Self::Note(describe_handoff(&fields.handoff)),
            CarriedUpdate::HitlRequest(asked) => {
                let payload = HitlPromptFields::deserialize(&*asked.payload).unwrap_or_default();
                let time = payload
                    .deadline_ms
                    .map(Duration::from_millis)
                    .and_then(format_if_soon);
                let time = time.map(|time| format!(", for {time}")).unwrap_or_default();
                let asked = format!("the agent asks a person ({}{time})", asked.kind);
                Self::Warning(join_title(&asked, payload.question()))
            }
            CarriedUpdate::Log(log) if ["warn", "error"].contains(&&*log.level) => {
                Self::Warning(join_title(&log.level, &log.message))
            }
            CarriedUpdate::TranscriptCompacted(_) => {
                Self::Note("older messages were compacted".to_owned())
            }
            CarriedUpdate::FsWatch(watch) => Self::Note(describe_changes(&watch.events)?),
            CarriedUpdate::ReminderEmitted(fields) => {
                let body = non_blank(&fields.reminder.body)?;
                Self::Note(join_title("reminder", body))
            }
            // The rest is for hosts that keep records: searches for tools, prompts, clients. A new update is
            // among them until the terminal has a text for it.
            _ => return None,
        })
    }

    /// Parses a notification other than `session/update`.
    pub(crate) fn from_notification(notification: &UntypedMessage) -> Option<Self> {
        match notification.method.as_str() {
            AGENT_EVENT => Self::from_event(&HarnEvent::deserialize(&notification.params).ok()?),
            _ => None,
        }
    }

    /// Translates an event that is not an update.
    pub(crate) fn from_event(event: &HarnEvent<'_>) -> Option<Self> {
        let composition = |id: &str, language: &str, state| {
            Self::Job(Job {
                id: id.to_owned(),
                name: join_title("composition", language),
                task: None,
                state,
                took: None,
            })
        };
        Some(match event {
            HarnEvent::AgentIdle(_) => Self::Idle,
            HarnEvent::CompositionStart(run) => {
                composition(&run.run_id, &run.language, JobState::Running)
            }
            HarnEvent::CompositionFinish(run) => {
                composition(&run.run_id, &run.language, JobState::Done(""))
            }
            HarnEvent::CompositionError(run) => {
                let reason = run.error.as_deref().unwrap_or_default().to_owned();
                composition(&run.run_id, &run.language, JobState::Failed(reason))
            }
            HarnEvent::LoopCheckpoint(checkpoint) if checkpoint.dispatch_skipped => {
                let skipped = "interrupted: pending tool calls are skipped";
                Self::Note(skipped.to_owned())
            }
            HarnEvent::DaemonWatchdogTripped(_) => {
                let tripped = "the agent woke up repeatedly and did nothing; its turn ends";
                Self::Warning(tripped.to_owned())
            }
            HarnEvent::LoopCheckpoint(_)
            | HarnEvent::CompositionChildCall(_)
            | HarnEvent::CompositionChildResult(_)
            | HarnEvent::ControlOutcome(_)
            | HarnEvent::ProgressReported(_)
            | HarnEvent::SessionClosed(_)
            | HarnEvent::ToolsChanged(_)
            | HarnEvent::TurnEnded(_)
            | HarnEvent::TurnStarted(_) => return None,
        })
    }
}

/// Returns our `_meta` members of a tool call.
pub(crate) fn tool_meta(meta: Option<&Meta>) -> ToolMeta<'static> {
    vendor_data(meta).unwrap_or_default()
}

/// Returns our `_meta` members of a permission request: its origin, reason and deadline.
pub(crate) fn permission(meta: Option<&Meta>) -> Option<PermissionMeta<'static>> {
    vendor_data(meta)
}

/// Returns the names of the workers that passed a question on, from the session down.
pub(crate) fn lineage(meta: Option<&Meta>) -> Vec<String> {
    let steps = permission(meta).map(|meta| meta.lineage);
    let name = |step: LineageStep<'_>| {
        let name = non_blank(&step.worker_name).unwrap_or(&step.worker_id);
        name.to_owned()
    };
    steps.into_iter().flatten().map(name).collect()
}

/// Returns the reason that the policy gives for a question.
pub(crate) fn reason(meta: Option<&Meta>) -> Option<String> {
    let decision = permission(meta)?.approval.policy_decision?;
    non_blank(&decision.reason).map(str::to_owned)
}

/// Returns the time until which the agent waits for an answer.
pub(crate) fn deadline(meta: Option<&Meta>) -> Option<Timestamp> {
    parse_timestamp(&permission(meta)?.deadline?)
}

/// Formats the time left for an answer, in parentheses.
pub(crate) fn time_left(deadline: Option<Timestamp>, now: Timestamp) -> String {
    let left = deadline.map(|deadline| Duration::from_millis(deadline.saturating_sub(now)));
    let left = left
        .and_then(format_if_soon)
        .map(|left| format!(" (for {left})"));
    left.unwrap_or_default()
}

/// Returns lines with the worker that asks and the reason, as far as the request has them.
pub(crate) fn origin_lines(meta: Option<&Meta>) -> impl Iterator<Item = String> {
    let workers = lineage(meta);
    let asks = format!("asked by the worker {}", workers.join(" > "));
    let because = reason(meta).map(|reason| format!("asked because {reason}"));
    let asks = (!workers.is_empty()).then_some(asks);
    asks.into_iter().chain(because)
}

fn worker_job(worker: WorkerFields<'_>) -> Option<Job> {
    let metadata = &worker.metadata;
    let state = match worker.event {
        WorkerEvent::WorkerSpawned => JobState::Running,
        WorkerEvent::WorkerWaitingForInput => JobState::Done("waits for input"),
        WorkerEvent::WorkerCompleted => JobState::Done(""),
        WorkerEvent::WorkerStopped => JobState::Done("stopped, handed over"),
        WorkerEvent::WorkerCancelled => JobState::Cancelled,
        WorkerEvent::WorkerFailed => JobState::Failed(metadata.error.clone().unwrap_or_default()),
        // The event at the end of the worker's cycle is shown instead.
        WorkerEvent::WorkerProgressed => return None,
    };
    let at = |text: &Option<String>| text.as_deref().and_then(parse_timestamp);
    let began = at(&metadata.started_at);
    let took = began.and_then(|began| at(&metadata.finished_at)?.checked_sub(began));
    Some(Job {
        id: worker.worker_id.into_owned(),
        name: worker.worker_name.into_owned(),
        task: Some(worker.worker_task.into_owned()),
        state,
        took,
    })
}

/// Lists changed files, of many only the first.
fn describe_changes(events: &[FsWatchEvent]) -> Option<String> {
    const NAMED: usize = 3;
    let files = events
        .iter()
        .filter_map(|event| event.relative_paths.last());
    let files: Vec<_> = files.map(String::as_str).collect();
    let mut said = Vec::new();
    if !files.is_empty() {
        let named = files.iter().take(NAMED).copied().collect::<Vec<_>>();
        let more = match files.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        said.push(format!("changed on disk: {}{more}", named.join(", ")));
    }
    let errors = events
        .iter()
        .filter_map(|event| non_blank(event.error.as_deref()?));
    said.extend(errors.map(|error| join_title("watching", error)));
    (!said.is_empty()).then(|| said.join("; "))
}

/// The question that a person is asked; the member that has it depends on the kind.
#[derive(Default, Deserialize)]
#[serde(default)]
struct HitlPromptFields {
    prompt: String,
    question: String,
    message: String,
    detail: String,
    action: String,
    deadline_ms: Option<u64>,
}

impl HitlPromptFields {
    fn question(&self) -> &str {
        let words = [
            &self.prompt,
            &self.question,
            &self.message,
            &self.detail,
            &self.action,
        ];
        words
            .into_iter()
            .find_map(|word| non_blank(word))
            .unwrap_or_default()
    }
}

fn describe_handoff(handoff: &HandoffArtifact) -> String {
    let target = &handoff.target_persona_or_human;
    let mut names = [
        target.label.as_deref(),
        target.id.as_deref(),
        Some(&*target.kind),
    ]
    .into_iter();
    let handed = match names.find_map(|name| non_blank(name?)) {
        Some(who) => format!("work is handed over to {who}"),
        None => "work is handed over".to_owned(),
    };
    join_title(&handed, &handoff.task)
}

/// Joins title and text with a colon, or returns the title alone if the text is blank.
fn join_title(title: &str, text: &str) -> String {
    match text.trim() {
        "" => title.to_owned(),
        text => format!("{title}: {text}"),
    }
}

/// Returns the text unless it is blank.
fn non_blank(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{fs, path::Path};

    use serde_json::{Value, json};

    use super::*;

    /// Returns the `_meta` of a permission request as an agent sends it, with some members replaced.
    pub(crate) fn permission_meta(others: Value) -> Value {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/acp");
        let text = fs::read_to_string(fixtures.join("permission_request.json")).unwrap();
        let mut request: Value = serde_json::from_str(&text).unwrap();
        let mut meta = request["params"]["_meta"].take();
        let Value::Object(others) = others else {
            panic!("{others}");
        };
        for (name, other) in others {
            match (&mut meta["harn"][&name], other) {
                (Value::Object(one), Value::Object(other)) => one.extend(other),
                (one, other) => *one = other,
            }
        }
        meta
    }

    fn parse_activity(harn: Value) -> Option<AgentActivity> {
        let update = json!({"_meta": {"harn": harn}});
        AgentActivity::from_info(&serde_json::from_value(update).unwrap())
    }

    fn parse_note(harn: Value) -> String {
        match parse_activity(harn) {
            Some(AgentActivity::Note(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_worker_event_sets_the_job_state() {
        let step = |event: &str| {
            let metadata = json!({"task": "t", "mode": "delegated", "error": "no luck", "started_at": "2026-01-01T00:00:09.750Z",
                                  "finished_at": "2026-01-01T00:00:10.250Z"});
            parse_activity(
                json!({"sessionUpdate": "worker_update", "workerId": "w", "workerName": "n",
                      "workerTask": "t", "workerMode": "delegated", "event": event,
                      "status": "running", "terminal": false, "metadata": metadata}),
            )
        };
        let state = |event: &str| match step(event) {
            Some(AgentActivity::Job(step)) => step.state,
            other => panic!("{other:?}"),
        };
        assert_eq!(state("WorkerSpawned"), JobState::Running);
        let waits = JobState::Done("waits for input");
        assert_eq!(state("WorkerWaitingForInput"), waits);
        assert_eq!(state("WorkerCompleted"), JobState::Done(""));
        let stopped = JobState::Done("stopped, handed over");
        assert_eq!(state("WorkerStopped"), stopped);
        assert_eq!(state("WorkerCancelled"), JobState::Cancelled);
        let failed = JobState::Failed("no luck".to_owned());
        assert_eq!(state("WorkerFailed"), failed);
        assert_eq!(step("WorkerProgressed"), None);
        let took = match step("WorkerCompleted") {
            Some(AgentActivity::Job(step)) => step.took,
            other => panic!("{other:?}"),
        };
        assert_eq!(took, Some(500));
    }

    #[test]
    fn updates_become_notes_and_warnings() {
        let progress = |more: Value| {
            let mut harn = json!({"sessionUpdate": "progress", "message": "Reading"});
            harn.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            parse_note(harn)
        };
        assert_eq!(progress(json!({})), "Reading");
        assert_eq!(progress(json!({"progress": 1})), "Reading (1)");
        assert_eq!(
            progress(json!({"progress": 1, "total": 2})),
            "Reading (1 of 2)"
        );
        let handoff = |target: Value| {
            let handoff = json!({"target_persona_or_human": target, "task": "Go on"});
            parse_note(
                json!({"sessionUpdate": "handoff", "handoffId": "h", "artifactId": "a",
                        "handoff": handoff}),
            )
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
        assert_eq!(parse_note(artifact), "artifact image");
        let hitl = |payload: Value| {
            parse_activity(
                json!({"sessionUpdate": "hitl_request", "kind": "approval", "payload": payload}),
            )
        };
        let asked = |words: &str| Some(AgentActivity::Warning(words.to_owned()));
        assert_eq!(
            hitl(json!({"prompt": " ", "action": "deploy"})),
            asked("the agent asks a person (approval): deploy")
        );
        assert_eq!(
            hitl(json!({"action": 7})),
            asked("the agent asks a person (approval)")
        );
        assert_eq!(
            hitl(Value::Null),
            asked("the agent asks a person (approval)")
        );
        assert_eq!(
            hitl(json!({"action": "deploy", "deadline_ms": 90_000})),
            asked("the agent asks a person (approval, for 90 s): deploy")
        );
        let log = |level: &str| {
            parse_activity(json!({"sessionUpdate": "log", "level": level, "message": "m"}))
        };
        assert_eq!(
            log("warn"),
            Some(AgentActivity::Warning("warn: m".to_owned()))
        );
        assert_eq!(log("debug"), None);
    }

    #[test]
    fn watches_reminders_and_idle_events_become_activity() {
        let watched =
            |events: Value| parse_activity(json!({"sessionUpdate": "fs_watch", "events": events}));
        let file = |path: &str| json!({"kind": "modify", "relative_paths": [path]});
        let told = |words: &str| Some(AgentActivity::Note(words.to_owned()));
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
            parse_activity(json!({"sessionUpdate": "reminder_emitted", "reminder": reminder})),
            told("reminder: Be brief")
        );
        let heard = |method: &str, params: Value| {
            AgentActivity::from_notification(&UntypedMessage::new(method, params).unwrap())
        };
        let idle = json!({"kind": "agent_idle", "iteration": 1, "backoffMs": 100});
        assert_eq!(heard("_harn/agentEvent", idle), Some(AgentActivity::Idle));
        let seam = |skipped: bool| {
            let event = json!({"kind": "loop_checkpoint", "iteration": 1, "seam": "turn_start",
                               "delivered": 0, "dispatchSkipped": skipped});
            heard("_harn/agentEvent", event)
        };
        assert_eq!(seam(false), None);
        assert!(matches!(seam(true), Some(AgentActivity::Note(_))));
        let tripped = heard(
            "_harn/agentEvent",
            json!({"kind": "daemon_watchdog_tripped", "attempts": 3, "elapsedMs": 5}),
        );
        assert!(matches!(tripped, Some(AgentActivity::Warning(_))));
        assert_eq!(heard("_other", json!({})), None);
    }

    #[test]
    fn unknown_updates_are_ignored() {
        assert_eq!(parse_activity(json!({"sessionUpdate": "telepathy"})), None);
        assert_eq!(parse_activity(json!({"sessionUpdate": 7})), None);
        assert_eq!(
            parse_activity(json!({"sessionUpdate": "worker_update", "event": 7})),
            None
        );
        assert_eq!(parse_activity(json!({"sessionUpdate": "handoff"})), None);
        assert_eq!(AgentActivity::from_info(&SessionInfoUpdate::new()), None);
        assert!(lineage(None).is_empty());
    }

    #[test]
    fn permission_meta_has_lineage_deadline_and_reason() {
        let meta =
            |others: Value| -> Meta { serde_json::from_value(permission_meta(others)).unwrap() };
        let step = |name: &str| json!({"workerId": "w", "workerName": name, "sessionId": "s"});
        let asked = meta(
            json!({"lineage": [step("a"), step(" ")], "deadline": "1970-01-01T00:01:00.500Z"}),
        );
        assert_eq!(lineage(Some(&asked)), ["a", "w"]);
        assert_eq!(deadline(Some(&asked)), Some(60_500));
        let bare = meta(json!({"policyDecision": null, "deadline": null}));
        assert_eq!(reason(Some(&bare)), None);
        assert_eq!(deadline(Some(&bare)), None);
        assert!(reason(Some(&meta(json!({})))).is_some());
    }
}
