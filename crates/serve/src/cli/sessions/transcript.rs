//! Prints a session for people: prompts, answers, tool calls with their results, questions.

use std::fmt::Write as _;

use harn_journal::SessionMeta;
use harn_model::{
    ConfinedNetwork, ConfinedWrites, DaemonChange, Decision, DelegationEvent, DeliveryMode,
    Envelope, EventFamily, GrantScope, HitlOutcome, HitlResponse, MessageEvent, PermissionAsked,
    PermissionEvent, PermissionRecord, PermissionResolved, PolicyDecision, QuestionEvent,
    RecordEvent, RememberedGrant, ReminderChange, ReportEvent, SettingEvent, ShownCall,
    SteeringEvent, StopReason, Timestamp, ToolCall, ToolCallStatus, ToolCallUpdate, ToolEvent,
    Transcript, TurnEnded, TurnEvent, TurnOutcome, WakeReason, WorkerEvent, WorkerUpdate,
    plain_text,
};
use harn_terminal::{
    paint::{escape_controls, one_line},
    text,
};
use serde_json::Value;

pub(super) fn format_transcript(meta: &SessionMeta, events: &[Envelope], now: Timestamp) -> String {
    let mut page = TranscriptPrinter::default();
    page.write_head(meta, now);
    for envelope in events {
        page.write_event(envelope);
    }
    page.end_text();
    if page.in_turn {
        page.write_line("(a turn is running, or was cut short)");
    }
    page.out
}

/// The output so far, and the open parts.
#[derive(Default)]
struct TranscriptPrinter {
    out: String,
    text: Option<StreamingText>,
    plan: String,
    in_turn: bool,
    transcript: Transcript<()>,
}

/// Text that is still streaming.
struct StreamingText {
    thought: bool,
    words: String,
}

impl TranscriptPrinter {
    fn write_head(&mut self, meta: &SessionMeta, now: Timestamp) {
        let title = one_line(&meta.title);
        let id = meta.thread_id.as_str();
        let created = text::format_age(now, meta.created);
        self.write_line(if title.is_empty() { id } else { &title });
        self.write_line(&format!(
            "{id}, created {created} in {}",
            meta.directory.display()
        ));
        match (&meta.parent, &meta.worker) {
            (Some(parent), Some(worker)) => {
                self.write_line(&format!("worker {worker} of {parent}"))
            }
            (Some(parent), None) => self.write_line(&format!("forked from {parent}")),
            (None, _) => {}
        }
    }

    fn write_line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn end_text(&mut self) {
        if let Some(text) = self.text.take() {
            let mark = if text.thought { "~ " } else { "" };
            self.out.push('\n');
            for line in escape_controls(text.words.trim()).lines() {
                // Writing to a string does not fail.
                let _ = writeln!(self.out, "{}", format!("{mark}{line}").trim_end());
            }
        }
    }

    fn append_text(&mut self, thought: bool, words: &str) {
        if self
            .text
            .as_ref()
            .is_some_and(|text| text.thought != thought)
        {
            self.end_text();
        }
        let text = self.text.get_or_insert_with(|| StreamingText {
            thought,
            words: String::new(),
        });
        text.words.push_str(words);
    }

    /// Writes a line that begins with a mark; a blank line separates it from preceding text.
    fn write_mark(&mut self, line: &str) {
        if self.text.is_some() {
            self.end_text();
            self.out.push('\n');
        }
        self.write_line(line);
    }

    fn write_prompt(&mut self, words: &str) {
        self.end_text();
        self.out.push('\n');
        for line in escape_controls(words.trim()).lines() {
            let _ = writeln!(self.out, "{}", format!("> {line}").trim_end());
        }
    }

    fn write_event(&mut self, envelope: &Envelope) {
        let closed = self.transcript.apply(&envelope.event);
        match envelope.event.family() {
            EventFamily::Turn(TurnEvent::TurnStarted(turn)) => {
                self.in_turn = envelope.turn.is_some();
                self.write_prompt(&plain_text(&turn.prompt));
            }
            EventFamily::Message(MessageEvent::UserMessage { content, .. }) => {
                self.write_prompt(&plain_text(content))
            }
            EventFamily::Message(MessageEvent::AgentMessageChunk { content, .. }) => {
                self.append_text(false, content)
            }
            EventFamily::Message(MessageEvent::AgentThoughtChunk { content, .. }) => {
                self.append_text(true, content)
            }
            EventFamily::Tool(ToolEvent::ToolCall(call)) => {
                if call.status.is_terminal() {
                    self.write_mark(&format!(
                        "- {}: {}",
                        call_title(call),
                        status_word(call.status)
                    ));
                }
            }
            EventFamily::Tool(ToolEvent::ToolCallUpdate(update)) => {
                if let Some(call) = closed.call {
                    self.write_call_end(&call, update);
                }
            }
            // Printed with the decision.
            EventFamily::Permission(PermissionEvent::PermissionAsked(_)) => {}
            EventFamily::Permission(PermissionEvent::PermissionResolved(resolved)) => {
                if let Some(ask) = closed.ask {
                    self.write_permission_answer(&ask, resolved);
                }
            }
            EventFamily::Turn(TurnEvent::PromptWithdrawn(prompt)) => {
                let text = plain_text(&prompt.prompt);
                let what = one_line(&text).into_owned();
                self.write_mark(&format!("* cancelled before it began: {what}"));
            }
            EventFamily::Turn(TurnEvent::TurnEnded(ended)) => self.write_turn_end(ended),
            EventFamily::Turn(TurnEvent::Recovered(_)) => {
                self.in_turn = false;
                self.write_mark("! cut short by a crash, closed when the session was opened again");
            }
            EventFamily::Setting(SettingEvent::ModeChanged { mode_id }) => {
                self.write_mark(&format!("* mode {mode_id}"))
            }
            EventFamily::Setting(SettingEvent::ConfigChanged { config_id, value }) => {
                self.write_mark(&format!("* {config_id} = {value}"));
            }
            EventFamily::Report(ReportEvent::Plan { plan }) => {
                let entries: Vec<_> = plan.entries().into_iter().map(|e| e.content).collect();
                let plan = entries.join("; ");
                // Only the progress changed; the plan is the same.
                if plan != self.plan {
                    self.write_mark(&format!("* plan: {}", escape_controls(&plan)));
                    self.plan = plan;
                }
            }
            EventFamily::Report(ReportEvent::Artifact(artifact)) => {
                let what = one_line(&artifact.fallback).into_owned();
                self.write_mark(&format!("* artifact: {what}"));
            }
            EventFamily::Delegation(DelegationEvent::Handoff { handoff, .. }) => {
                let what = one_line(&handoff.task).into_owned();
                self.write_mark(&format!("* handed over: {what}"));
            }
            EventFamily::Delegation(DelegationEvent::WorkerUpdate(worker)) => {
                self.write_worker(worker)
            }
            EventFamily::Steering(SteeringEvent::ReminderLifecycle(change)) => {
                self.write_reminder(change)
            }
            EventFamily::Steering(SteeringEvent::Daemon(change)) => {
                self.write_daemon_change(*change)
            }
            EventFamily::Record(RecordEvent::PermissionGrant(record)) => {
                self.write_unasked_decision(record, "allowed")
            }
            EventFamily::Record(RecordEvent::PermissionDeny(record)) => {
                self.write_unasked_decision(record, "denied")
            }
            EventFamily::Record(RecordEvent::GrantRevoked { grant_id }) => {
                self.write_mark(&format!(
                    "* revoked the grant {} in this session",
                    escape_controls(grant_id)
                ));
            }
            EventFamily::Question(QuestionEvent::HitlRequested {
                request_id, kind, ..
            }) => {
                let asked = self.question_text(request_id);
                let kind = one_line(&kind.replace('_', " ")).into_owned();
                self.write_mark(&format!("? {asked}: asked ({kind})"));
            }
            EventFamily::Question(QuestionEvent::HitlResponded(response)) => {
                self.write_response(response)
            }
            EventFamily::Question(QuestionEvent::HitlResolved { outcome, .. }) => {
                if let Some(question) = closed.question {
                    self.write_question_outcome(&question, *outcome);
                }
            }
            // Printed when its turn begins, or when it is cancelled.
            EventFamily::Turn(TurnEvent::PromptQueued(_)) => {}
            // In the transcript of the worker's own session.
            EventFamily::Delegation(DelegationEvent::WorkerCall(_)) => {}
            // Steering is printed when it is delivered; its waiting and its sender are not part of the conversation.
            EventFamily::Steering(
                SteeringEvent::LoopCheckpoint(_)
                | SteeringEvent::Pending(_)
                | SteeringEvent::ReminderEmitted(_)
                | SteeringEvent::ControlOutcome(_),
            ) => {}
            // Facts about the work rather than the conversation; they are in the journal itself.
            EventFamily::Record(
                RecordEvent::PermissionEscalation(_) | RecordEvent::LiveSessionPermissionRoute(_),
            )
            | EventFamily::Report(ReportEvent::ProgressReported(_) | ReportEvent::Progress(_))
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            | EventFamily::Composition(_)
            | EventFamily::Skill(_)
            | EventFamily::Setting(SettingEvent::SessionInfo(_))
            | EventFamily::Session(_) => {}
        }
    }

    fn write_call_end(&mut self, call: &ShownCall, update: &ToolCallUpdate) {
        let title = one_line(call.title());
        let mut line = format!("- {title}: {}", status_word(update.status));
        if let Some(error) = &update.error {
            let _ = write!(line, ", {}", one_line(error));
        }
        if let Some(millis) = update.duration_ms {
            let _ = write!(line, " ({})", text::format_duration(millis.into()));
        }
        self.write_mark(&line);
    }

    /// Prints how a worker's cycle ended, and the session with the details.
    fn write_worker(&mut self, worker: &WorkerUpdate) {
        let how = match worker.event {
            WorkerEvent::WorkerSpawned | WorkerEvent::WorkerProgressed => return,
            WorkerEvent::WorkerWaitingForInput => "waits for input",
            WorkerEvent::WorkerCompleted => "done",
            WorkerEvent::WorkerFailed => "failed",
            WorkerEvent::WorkerStopped => "stopped",
            WorkerEvent::WorkerCancelled => "cancelled",
        };
        let (name, task) = (one_line(&worker.worker_name), one_line(&worker.worker_task));
        let mut line = format!("» {name}, {task}: {how}");
        if let Some(error) = &worker.metadata.error {
            let _ = write!(line, ", {}", one_line(error));
        }
        if let Some(session) = &worker.metadata.child_run_id {
            let _ = write!(line, " ({session})");
        }
        self.write_mark(&line);
    }

    /// Prints a reminder when it is given; its expiry is internal to the agent.
    fn write_reminder(&mut self, change: &ReminderChange) {
        let (what, reminder) = match change {
            ReminderChange::Injected { mode, reminder } => match mode {
                DeliveryMode::AuditOnly => ("noted", reminder),
                DeliveryMode::InterruptImmediate | DeliveryMode::FinishStep => {
                    ("reminded", reminder)
                }
            },
            ReminderChange::Inherited { reminder } => ("inherited reminder", reminder),
            ReminderChange::Deduped { .. }
            | ReminderChange::Aged
            | ReminderChange::Expired { .. } => return,
        };
        let body = one_line(&reminder.body).into_owned();
        self.write_mark(&format!("* {what}: {body}"));
    }

    /// Prints when the agent waited, and what woke it.
    fn write_daemon_change(&mut self, change: DaemonChange) {
        match change {
            DaemonChange::Idle { .. } => self.write_mark("* the agent is idle"),
            DaemonChange::Woke { reason } => {
                let why = match reason {
                    WakeReason::Message => "by a message",
                    WakeReason::Resume => "on request",
                    WakeReason::Watch => "by a watched change",
                    WakeReason::Timer => "by a timer",
                    WakeReason::Reminder => "by a reminder",
                };
                self.write_mark(&format!("* woken {why}"));
            }
            DaemonChange::WatchdogTripped {
                attempts,
                elapsed_ms,
            } => {
                let elapsed = text::format_duration(elapsed_ms.into());
                let times = if attempts == 1 { "time" } else { "times" };
                self.write_mark(&format!(
                    "! ended: it was woken {attempts} {times} in {elapsed} and did nothing"
                ));
            }
        }
    }

    /// Prints a decision without a question; the others are printed with their question.
    fn write_unasked_decision(&mut self, record: &PermissionRecord, decided: &str) {
        if record.escalated {
            return;
        }
        let call = self.transcript.open.calls.get(&record.tool_call_id);
        let title = call.and_then(|call| call.title.as_deref());
        let what = one_line(title.unwrap_or(&record.tool_name)).into_owned();
        let reason = one_line(&record.reason).into_owned();
        let limits = describe_confinement(record.policy_decision.as_ref());
        let mark = format!("? {what}: {decided} without a question, {reason}{limits}");
        self.write_mark(&mark);
    }

    fn write_permission_answer(&mut self, ask: &PermissionAsked, resolved: &PermissionResolved) {
        let what = call_title(&ask.tool_call);
        let answer = match &resolved.decision {
            Decision::Allowed { .. } => "allowed".to_owned(),
            Decision::Rejected { reason: None, .. } => "rejected".to_owned(),
            Decision::Rejected {
                reason: Some(reason),
                ..
            } => format!("rejected, {}", one_line(reason)),
            Decision::Cancelled => "cancelled before an answer".to_owned(),
            Decision::Unavailable { reason } => format!("not answered, {}", one_line(reason)),
        };
        let remembered = match &resolved.remembered {
            Some(RememberedGrant { scope, grant }) => match scope {
                GrantScope::Once => String::new(),
                GrantScope::Session => format!(", for this session ({})", grant.id),
                GrantScope::Always => format!(", always in this workspace ({})", grant.id),
            },
            None => String::new(),
        };
        let limits = match resolved.decision.allows() {
            true => describe_confinement(ask.policy_decision.as_ref()),
            false => String::new(),
        };
        self.write_mark(&format!("? {what}: {answer}{remembered}{limits}"));
    }

    /// Returns a question's text, or its id if the text is not known.
    fn question_text(&self, id: &str) -> String {
        let question = self.transcript.open.questions.get(id);
        one_line(question.map_or(id, |question| question)).into_owned()
    }

    fn write_response(&mut self, response: &HitlResponse) {
        let said = match (&response.answer, response.approved, response.accepted) {
            (Some(Value::String(answer)), ..) => format!("answered {}", one_line(answer)),
            (Some(answer), ..) => format!("answered {}", one_line(&answer.to_string())),
            (None, Some(true), _) => "approved".to_owned(),
            (None, Some(false), _) => "refused".to_owned(),
            (None, None, Some(true)) => "took over".to_owned(),
            (None, None, Some(false)) => "did not take over".to_owned(),
            (None, None, None) => "gave no answer".to_owned(),
        };
        let who = response.reviewer.as_deref().unwrap_or("a person");
        let asked = self.question_text(&response.request_id);
        let mut line = format!("? {asked}: {} {said}", one_line(who));
        if let Some(reason) = &response.reason {
            let _ = write!(line, ", {}", one_line(reason));
        }
        self.write_mark(&line);
    }

    fn write_question_outcome(&mut self, subject: &str, outcome: HitlOutcome) {
        let how = match outcome {
            HitlOutcome::Answered => "settled",
            HitlOutcome::Timeout => "no answer in time",
            HitlOutcome::Cancelled => "withdrawn",
        };
        let asked = one_line(subject);
        self.write_mark(&format!("? {asked}: {how}"));
    }

    fn write_turn_end(&mut self, ended: &TurnEnded) {
        self.in_turn = false;
        match &ended.outcome {
            TurnOutcome::Stopped { stop_reason } => match stop_reason {
                StopReason::EndTurn => self.end_text(),
                StopReason::MaxTokens => self.write_mark("! stopped: the token limit was reached"),
                StopReason::MaxTurnRequests => {
                    self.write_mark("! stopped: the request limit was reached")
                }
                StopReason::Refusal => self.write_mark("! stopped: the agent refused"),
                StopReason::Cancelled => self.write_mark("! cancelled"),
            },
            TurnOutcome::Failed { message } => {
                let message = escape_controls(message).into_owned();
                self.write_mark(&format!("! failed: {message}"));
            }
        }
    }
}

fn call_title(call: &ToolCall) -> String {
    one_line(call.title.as_deref().unwrap_or(&call.tool_name)).into_owned()
}

fn status_word(status: ToolCallStatus) -> &'static str {
    match status {
        ToolCallStatus::Pending => "pending",
        ToolCallStatus::InProgress => "running",
        ToolCallStatus::Completed => "done",
        ToolCallStatus::Failed => "failed",
    }
}

/// Returns the limits of a command in the sandbox, to follow a decision.
fn describe_confinement(receipt: Option<&PolicyDecision>) -> String {
    let Some(limits) = receipt.and_then(|receipt| receipt.confinement.as_ref()) else {
        return String::new();
    };
    let writes = match limits.writes {
        ConfinedWrites::Nothing => "writes nothing",
        ConfinedWrites::Workspace => "writes the workspace",
    };
    let network = match limits.network {
        ConfinedNetwork::Off => "no network",
        ConfinedNetwork::Ports => "some ports of the network",
        ConfinedNetwork::On => "network",
    };
    format!("; sandbox: {writes}, {network}")
}
