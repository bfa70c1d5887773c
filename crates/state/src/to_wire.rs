//! Translates events into the document and its changes, live and replayed. Pure.
//!
//! Messages and calls follow from the events alone. Facts of the process, such as its clients, are passed in
//! beside them.

mod approval;
mod call;
pub(crate) mod document_writer;
pub(crate) mod facts;
mod note;
pub(crate) mod output;
mod transcript;

use std::collections::HashMap;

use harn_model::{
    ContextEvent, DelegationEvent, Envelope, EventFamily, MessageEvent, OpenItems, PendingChange,
    PermissionEvent, RecordEvent, ReminderChange, ReportEvent, SettingEvent, SkillEvent,
    SteeringEvent, StopReason, ToolEvent, Transcript, TurnEvent, TurnOutcome, plain_text,
};

pub use facts::Presence;
use serde::Serialize;

use crate::{
    changes::{DocumentChanges, at},
    wire::{DocumentState, DocumentStatus, MessageStatus, NoteKind, PendingQuestion, SessionFacts},
};
use call::CallPosition;
use transcript::{OpenMessage, UserWords};

/// The error of a run that a crash interrupted.
const INTERRUPTED: &str = "the process ended in the middle of this run";

/// Folds the events of a session, from the first, into its document.
#[derive(Clone)]
pub struct Document {
    state: DocumentState,
    /// The number of messages that are not queued: the index of the next one.
    settled: usize,
    /// The agent's message in progress.
    open: Option<OpenMessage>,
    /// Calls are tagged with their position, and asks with the position of their call.
    transcript: Transcript<Option<CallPosition>>,
    /// The ids of messages, which are unique, and how many times each was requested.
    names: HashMap<String, u32>,
}

impl Document {
    /// Returns the document of a session without events.
    pub fn new(session: SessionFacts) -> Self {
        Self {
            state: DocumentState {
                session,
                ..DocumentState::default()
            },
            settled: 0,
            open: None,
            transcript: Transcript::with_output(call::PRINTED_BYTES),
            names: HashMap::new(),
        }
    }

    /// Returns the current document.
    pub fn state(&self) -> &DocumentState {
        &self.state
    }

    /// Folds one event in, and adds its changes to `out`.
    pub fn apply(&mut self, envelope: &Envelope, out: &mut DocumentChanges) {
        let at = envelope.at;
        let closed = self.transcript.apply(&envelope.event);
        match envelope.event.family() {
            EventFamily::Turn(TurnEvent::TurnStarted(started)) => {
                self.mark_running(out);
                self.end_message(MessageStatus::Complete, out);
                self.settle_or_insert(UserWords::from_prompt(started), MessageStatus::Complete, at, out);
                if let Some(turn) = &envelope.turn {
                    // The agent's answer; it may take a while to begin.
                    self.begin_message(turn.as_str(), MessageStatus::Pending, at, out);
                }
            }
            EventFamily::Turn(TurnEvent::PromptQueued(queued)) => self.queue_message(UserWords::from_prompt(queued), at, out),
            EventFamily::Turn(TurnEvent::PromptWithdrawn(withdrawn)) => {
                self.settle_or_insert(UserWords::from_prompt(withdrawn), MessageStatus::Error, at, out);
            }
            EventFamily::Turn(TurnEvent::TurnEnded(ended)) => match &ended.outcome {
                TurnOutcome::Stopped {
                    stop_reason:
                        StopReason::EndTurn
                        | StopReason::MaxTokens
                        | StopReason::MaxTurnRequests
                        | StopReason::Refusal
                        | StopReason::Cancelled,
                } => self.end_run(None, &closed.left, out),
                TurnOutcome::Failed { message } => self.end_run(Some(message), &closed.left, out),
            },
            EventFamily::Turn(TurnEvent::Recovered(_)) => match self.state.status {
                DocumentStatus::Running => self.end_run(Some(INTERRUPTED), &closed.left, out),
                DocumentStatus::Idle | DocumentStatus::Error => self.settle_left(&closed.left, out),
            },
            EventFamily::Message(MessageEvent::AgentMessageChunk {
                content,
                message_id,
            }) => self.add_agent_text(message_id.as_ref(), content, false, at, out),
            EventFamily::Message(MessageEvent::AgentThoughtChunk {
                content,
                message_id,
            }) => self.add_agent_text(message_id.as_ref(), content, true, at, out),
            EventFamily::Message(MessageEvent::UserMessage {
                message_id,
                content,
                live_session,
            }) => {
                self.end_message(MessageStatus::Complete, out);
                let words = UserWords::from_steering(message_id, content, live_session.as_deref());
                self.settle_or_insert(words, MessageStatus::Complete, at, out);
            }
            EventFamily::Steering(SteeringEvent::Pending(change)) => match change {
                PendingChange::MessageQueued(message) => {
                    let (id, author) = (&message.message_id, message.live_session.as_deref());
                    self.queue_message(UserWords::from_steering(id, &message.content, author), at, out);
                }
                PendingChange::MessageReplaced {
                    message_id,
                    content,
                } => self.reword(message_id.as_str(), plain_text(content), out),
                PendingChange::MessageRevoked { message_id } => {
                    self.settle(message_id.as_str(), MessageStatus::Error, out);
                }
                PendingChange::Cleared => self.settle_steers(out),
                // A reminder becomes a note when the agent receives it.
                PendingChange::ReminderQueued(_) | PendingChange::ReminderRevoked { .. } => {}
            },
            EventFamily::Tool(ToolEvent::ToolCall(call)) => self.announce(call, closed.call, at, out),
            EventFamily::Tool(ToolEvent::ToolCallUpdate(update)) => self.update(update, closed.call, out),
            EventFamily::Permission(PermissionEvent::PermissionAsked(ask)) => self.add_ask(ask, closed.ask, out),
            EventFamily::Permission(PermissionEvent::PermissionResolved(resolved)) => {
                if let Some(ask) = closed.ask {
                    self.close_ask(&ask, approval::status(&resolved.decision), out);
                }
            }
            EventFamily::Report(ReportEvent::Plan { plan }) => self.set_plan(plan, out),
            EventFamily::Delegation(DelegationEvent::WorkerUpdate(update)) => self.update_worker(update, out),
            EventFamily::Context(ContextEvent::Usage(usage)) => self.set_usage(usage, out),
            EventFamily::Skill(SkillEvent::SkillActivated {
                skill_name,
                skill_id,
                reason,
                ..
            }) => {
                let id = skill_id.as_ref().unwrap_or(skill_name);
                self.change_skills(|skills| skills.insert(id.clone()), out);
                let text = match reason.trim() {
                    "" => format!("Skill {skill_name} is active"),
                    reason => format!("Skill {skill_name} is active: {reason}"),
                };
                self.add_note(NoteKind::Skill, text, at, out);
            }
            EventFamily::Skill(SkillEvent::SkillDeactivated {
                skill_name,
                skill_id,
                ..
            }) => {
                let id = skill_id.as_ref().unwrap_or(skill_name);
                self.change_skills(|skills| skills.remove(id), out);
                let text = format!("Skill {skill_name} is no longer active");
                self.add_note(NoteKind::Skill, text, at, out);
            }
            EventFamily::Steering(SteeringEvent::ReminderLifecycle(change)) => match change {
                ReminderChange::Injected { reminder, .. }
                | ReminderChange::Inherited { reminder } => {
                    self.add_note(NoteKind::Reminder, reminder.body.clone(), at, out);
                }
                // A person sees no effect of the end of a reminder.
                ReminderChange::Deduped { .. }
                | ReminderChange::Aged
                | ReminderChange::Expired { .. } => {}
            },
            EventFamily::Setting(SettingEvent::ModeChanged { mode_id }) => {
                let text = format!("The mode is {mode_id} now");
                self.add_note(NoteKind::Mode, text, at, out);
            }
            EventFamily::Delegation(DelegationEvent::Handoff { handoff, .. }) => {
                let text = format!("Handed over: {}", handoff.task);
                self.add_note(NoteKind::Handoff, text, at, out);
            }
            EventFamily::Report(ReportEvent::Artifact(artifact)) => {
                self.add_note(NoteKind::Artifact, note::artifact(artifact), at, out);
            }
            EventFamily::Report(ReportEvent::ProgressReported(report)) => {
                if let Some(message) = &report.message {
                    self.add_note(NoteKind::Progress, message.clone(), at, out);
                }
            }
            EventFamily::Report(ReportEvent::Progress(progress)) => {
                let text = format!("{}: {}", progress.phase, progress.message);
                self.add_note(NoteKind::Progress, text, at, out);
            }
            EventFamily::Context(ContextEvent::TranscriptCompacted(compacted)) => {
                let text = format!("Compacted {} older messages", compacted.archived_messages);
                self.add_note(NoteKind::Compaction, text, at, out);
            }
            EventFamily::Record(RecordEvent::PermissionDeny(record)) => {
                let text = format!("{} was not allowed: {}", record.tool_name, record.reason);
                self.add_note(NoteKind::Permission, text, at, out);
            }
            // Details of the agent's work, which the timeline has.
            EventFamily::Detail(_)
            | EventFamily::Composition(_)
            // The records behind decisions that are shown.
            | EventFamily::Record(
                RecordEvent::PermissionGrant(_)
                | RecordEvent::PermissionEscalation(_)
                | RecordEvent::LiveSessionPermissionRoute(_)
                | RecordEvent::GrantRevoked { .. },
            )
            // A worker's calls are in the document of its own session.
            | EventFamily::Delegation(DelegationEvent::WorkerCall(_))
            // A reminder is noted when it is injected, and a control shows in its effect.
            | EventFamily::Steering(
                SteeringEvent::LoopCheckpoint(_)
                | SteeringEvent::ReminderEmitted(_)
                | SteeringEvent::ControlOutcome(_)
                | SteeringEvent::Daemon(_),
            )
            // Questions about calls are handled above; other questions, settings and clients are passed in. A
            // client that opens the document of a closed session opens the session again.
            | EventFamily::Question(_)
            | EventFamily::Setting(SettingEvent::ConfigChanged { .. } | SettingEvent::SessionInfo(_))
            | EventFamily::Session(_) => {}
        }
    }

    /// Sets the title, settings and other facts of the session.
    pub fn set_session(&mut self, session: SessionFacts, out: &mut DocumentChanges) {
        replace(&mut self.state.session, session, "session", out);
    }

    /// Sets the connected clients and the controller.
    pub fn set_presence(&mut self, presence: Presence, out: &mut DocumentChanges) {
        let state = &mut self.state;
        replace(&mut state.clients, presence.clients, "clients", out);
        let controller = presence.controller;
        replace(&mut state.controller, controller, "controller", out);
    }

    /// Sets the open questions to people.
    pub fn set_questions(&mut self, questions: Vec<PendingQuestion>, out: &mut DocumentChanges) {
        replace(&mut self.state.questions, questions, "questions", out);
    }

    /// Ends the run because no more events of the session can be written.
    pub fn fail(&mut self, why: &str, out: &mut DocumentChanges) {
        let left = self.transcript.close_all().left;
        self.end_run(Some(why), &left, out);
    }

    /// Marks the agent as running, and clears the last error.
    fn mark_running(&mut self, out: &mut DocumentChanges) {
        self.set_status(DocumentStatus::Running, out);
        self.forget_error(out);
    }

    /// Ends the run; `failed` is the reason if it failed.
    fn end_run(
        &mut self,
        failed: Option<&str>,
        left: &OpenItems<Option<CallPosition>>,
        out: &mut DocumentChanges,
    ) {
        let message = match failed {
            None => MessageStatus::Complete,
            Some(_) => MessageStatus::Error,
        };
        self.settle_left(left, out);
        self.end_message(message, out);
        match failed {
            None => {
                self.set_status(DocumentStatus::Idle, out);
                self.forget_error(out);
            }
            Some(why) => {
                self.state.error = Some(why.to_owned());
                out.set(at!["error"], &why);
                self.set_status(DocumentStatus::Error, out);
            }
        }
    }

    fn settle_left(&mut self, left: &OpenItems<Option<CallPosition>>, out: &mut DocumentChanges) {
        self.settle_asks(left, out);
        self.settle_calls(left, out);
    }

    /// Clears the error by a whole document: no operation removes anything.
    fn forget_error(&mut self, out: &mut DocumentChanges) {
        if self.state.error.take().is_some() {
            out.require_whole_document();
        }
    }

    fn set_status(&mut self, status: DocumentStatus, out: &mut DocumentChanges) {
        replace(&mut self.state.status, status, "status", out);
    }
}

/// Sets a field of the document, and adds a change if the value differs.
fn replace<T: PartialEq + Serialize>(
    field: &mut T,
    value: T,
    name: &str,
    out: &mut DocumentChanges,
) {
    if *field != value {
        *field = value;
        out.set(at![name], field);
    }
}
