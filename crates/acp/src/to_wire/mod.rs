//! From events to lines: pure, exhaustive, the same live and replayed.
//!
//! What only one client may see (its own prompt's answer, questions, settings) is the pump's business and
//! is marked so here.

mod equipped;
mod hitl_calls;
mod lines;
mod newer;
mod plain;
mod standard;
#[cfg(test)]
mod tests;
mod turns;
mod worker_calls;

use std::{borrow::Cow, fmt, path::Path, sync::Arc};

use harn_model::{AgentEvent, DaemonChange, Envelope, Plan, Seq, SessionId, TurnOutcome};

use standard::{tool_call, tool_call_update};

use crate::{
    Dialect,
    ext::{
        agent_event::{self, ClosedFields, HarnEvent, WatchdogFields},
        event_id,
        lend::RecordCow,
        update::{
            ArtifactFields, CompactedFields, FsWatchFields, HandoffFields, HitlRequestFields,
            HitlResolvedFields, LiveClientFields, LogFields, ProgressFields, ProjectedFields,
            ReminderFields, SkillActivatedFields, SkillDeactivatedFields, SkillNarrowFields,
            SkillScopeFields, ToolSearchQueryFields, ToolSearchResultFields, WorkerFields,
        },
    },
    wire::{NoticeSeverity, StandardUpdate},
};

/// Writes the lines of one session for one dialect.
///
/// It keeps nothing between events: the same event gives the same bytes, live and replayed, for every
/// client of a dialect.
///
/// ```
/// use harn_acp::{Profile, UpdateProjector};
/// use harn_model::{AgentEvent, Envelope, Seq};
///
/// let projector = UpdateProjector::new(&"s-1".into(), Profile::Acp, false);
/// let said = Envelope { seq: Seq(1), at: 0, turn: None, event: AgentEvent::message("Hello") };
/// let mut lines = Vec::new();
/// projector.write(&said, &mut lines);
/// assert_eq!(
///     lines,
///     br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello"}}}}
/// "#
/// );
/// ```
pub struct UpdateProjector {
    session: SessionId,
    /// Everything of an update's line up to the update itself.
    update: Vec<u8>,
    /// Everything of an agent event's line up to its fields.
    event: Vec<u8>,
    dialect: Dialect,
    /// Up to here, what has no meaning any more is left out.
    past: Seq,
    /// What relative paths of sessions are made absolute with.
    session_root: Option<Arc<Path>>,
}

impl fmt::Debug for UpdateProjector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateProjector")
            .field("dialect", &self.dialect)
            .field("past", &self.past)
            .finish_non_exhaustive()
    }
}

impl UpdateProjector {
    /// For a session, as a client of this dialect sees it. A replay leaves out what has no meaning any
    /// more: terminals of a process that is gone, and that the session was closed.
    #[must_use]
    pub fn new(session: &SessionId, dialect: impl Into<Dialect>, replay: bool) -> Self {
        let past = if replay { Seq(u64::MAX) } else { Seq::ZERO };
        Self::since(session, dialect, past)
    }

    /// The same for a stream that may begin anywhere and be taken up again anywhere: what is left out is
    /// what an earlier process said up to `past`, and each line is the same whenever it is written.
    #[must_use]
    pub fn since(session: &SessionId, dialect: impl Into<Dialect>, past: Seq) -> Self {
        let id = serde_json::Value::from(session.as_str());
        let head = |method: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"sessionId":{id}"#)
        };
        Self {
            session: session.clone(),
            update: format!(r#"{},"update":"#, head("session/update")).into_bytes(),
            event: head(agent_event::METHOD).into_bytes(),
            dialect: dialect.into(),
            past,
            session_root: None,
        }
    }

    /// The same for a client on this machine: paths of sessions are absolute, below this folder.
    #[must_use]
    pub(crate) fn with_session_root(self, session_root: Option<Arc<Path>>) -> Self {
        Self {
            session_root,
            ..self
        }
    }

    /// Appends the lines of one event, if it has any, each with its line break.
    ///
    /// Extensions name what a plain client sees in their place, if anything; `docs/acp-extensions.md` has
    /// the decisions as a table.
    pub fn write(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let start = out.len();
        self.lines(envelope, out);
        self.stamp(envelope.seq, start, out);
    }

    /// Gives the lines from `start` on, which an event became, their ids where they are wanted.
    pub(crate) fn stamp(&self, seq: Seq, start: usize, out: &mut Vec<u8>) {
        if self.dialect.event_ids && out.len() > start {
            event_id::stamp(out, start, seq);
        }
    }

    fn lines(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let seq = envelope.seq;
        let replay = seq <= self.past;
        match &envelope.event {
            AgentEvent::AgentMessageChunk {
                content,
                message_id,
            } => self.message(content, message_id.as_ref(), out),
            AgentEvent::AgentThoughtChunk {
                content,
                message_id,
            } => self.thought(content, message_id.as_ref(), out),
            AgentEvent::UserMessage {
                message_id,
                content,
                live_session,
            } => {
                let author = live_session.as_deref();
                self.user_message(message_id, content, author, out);
            }
            AgentEvent::TurnStarted(turn) => {
                let author = turn.live_session.as_deref();
                self.prompt(&turn.message_id, &turn.prompt, author, out);
                self.turn_started(envelope.turn.as_ref(), &turn.message_id, out);
            }
            AgentEvent::TurnEnded(ended) => {
                self.turn_ended(envelope.turn.as_ref(), &ended.outcome, out);
            }
            AgentEvent::ToolCall(call) => {
                let named = self.dialect.newer.members;
                self.update(&tool_call(call, replay, named), out);
            }
            AgentEvent::ToolCallUpdate(update) => {
                self.update(&tool_call_update(update, replay), out);
            }
            AgentEvent::WorkerCall(call) => self.worker_call(call, replay, out),
            AgentEvent::Plan { plan } => self.plan(plan, out),
            AgentEvent::AvailableCommands { commands, .. } => {
                let available_commands = commands;
                self.update(&StandardUpdate::AvailableCommandsUpdate { available_commands }, out);
            }
            AgentEvent::Usage(usage) => {
                let update = StandardUpdate::UsageUpdate {
                    used: usage.used,
                    size: usage.size,
                    cost: usage.cost.as_ref(),
                };
                self.update(&update, out);
            }
            AgentEvent::SessionInfo(info) => {
                if let title @ Some(_) = info.title.as_deref() {
                    self.update(&StandardUpdate::SessionInfoUpdate { title, meta: None }, out);
                }
            }
            AgentEvent::Recovered(_) => {
                // Only a turn that was cut short is worth a word to a person.
                if envelope.turn.is_some() {
                    self.note(seq, INTERRUPTED, out);
                    let interrupted = TurnOutcome::Failed {
                        message: INTERRUPTED.to_owned(),
                    };
                    self.turn_ended(envelope.turn.as_ref(), &interrupted, out);
                }
            }

            AgentEvent::ProgressReported(report) => {
                let message = report.message.as_deref().filter(|text| !is_blank(text));
                if !report.entries.is_empty() {
                    self.plan(&Plan::Entries(report.entries.clone()), out);
                } else if let Some(message) = message {
                    let fields = ProgressFields::narration(message);
                    self.extension_or(fields, out, |out| self.progress(seq, message, out));
                    self.notice(replay, NoticeSeverity::Info, message, out);
                } else if report.replace || !report.metadata.is_null() {
                    self.event(HarnEvent::ProgressReported((&**report).into()), out);
                }
            }
            AgentEvent::Progress(progress) => {
                if !is_blank(&progress.message) {
                    let fields = ProgressFields::from(&**progress);
                    let text = plain::progress(progress);
                    self.extension_or(fields, out, |out| self.progress(seq, &text, out));
                    self.notice(replay, NoticeSeverity::Info, &text, out);
                }
            }
            AgentEvent::Log(log) => {
                if !is_blank(&log.message) {
                    self.extension(LogFields::from(&**log), out);
                    self.log_notice(replay, log, out);
                }
            }
            AgentEvent::Artifact(artifact) => {
                let fields = ArtifactFields::from(&**artifact);
                self.extension_or(fields, out, |out| self.note(seq, &artifact.fallback, out));
            }
            AgentEvent::FsWatch {
                subscription_id,
                events,
            } => {
                if !events.is_empty() {
                    let fields = FsWatchFields {
                        subscription_id: subscription_id.into(),
                        events: events.into(),
                    };
                    self.extension(fields, out);
                }
            }
            AgentEvent::Handoff {
                artifact_id,
                handoff,
            } => {
                let fields = HandoffFields {
                    handoff_id: (&handoff.id).into(),
                    artifact_id: artifact_id.into(),
                    handoff: RecordCow::Borrowed(handoff),
                };
                let note = || plain::handoff(handoff);
                self.extension_or(fields, out, |out| self.note(seq, &note(), out));
            }
            AgentEvent::WorkerUpdate(worker) => {
                let fields = WorkerFields::new(worker, self.session_root.as_deref());
                self.extension_or(fields, out, |out| {
                    if !self.shows_subagent(worker) {
                        self.worker_as_call(seq, worker, out);
                    }
                });
                self.subagent(worker, out);
            }
            AgentEvent::SkillActivated {
                skill_name,
                skill_id,
                iteration,
                reason,
            } => {
                let fields = SkillActivatedFields {
                    skill_name: skill_name.into(),
                    skill_id: id_beside(skill_name, skill_id).map(Cow::from),
                    iteration: *iteration,
                    reason: reason.into(),
                };
                let note = || plain::skill_activated(skill_name, reason);
                self.extension_or(fields, out, |out| self.note(seq, &note(), out));
            }
            AgentEvent::SkillDeactivated {
                skill_name,
                skill_id,
                iteration,
            } => {
                let fields = SkillDeactivatedFields {
                    skill_name: skill_name.into(),
                    skill_id: id_beside(skill_name, skill_id).map(Cow::from),
                    iteration: *iteration,
                };
                let note = || plain::skill_deactivated(skill_name);
                self.extension_or(fields, out, |out| self.note(seq, &note(), out));
            }
            AgentEvent::SkillScopeTools {
                skill_name,
                skill_id,
                allowed_tools,
            } => {
                let fields = SkillScopeFields {
                    skill_name: skill_name.into(),
                    skill_id: id_beside(skill_name, skill_id).map(Cow::from),
                    allowed_tools: allowed_tools.into(),
                };
                self.extension(fields, out);
            }
            AgentEvent::SkillNarrow(narrow) => {
                let fields = SkillNarrowFields::from(&**narrow);
                let note = || plain::skill_narrow(narrow);
                self.extension_or(fields, out, |out| self.note(seq, &note(), out));
            }
            AgentEvent::ToolSearchQuery(query) => {
                self.extension(ToolSearchQueryFields::from(&**query), out);
            }
            AgentEvent::ToolSearchResult(result) => {
                self.extension(ToolSearchResultFields::from(&**result), out);
            }
            AgentEvent::TranscriptCompacted(compacted) => {
                let fields = CompactedFields::from(&**compacted);
                self.extension_or(fields, out, |out| {
                    if !self.dialect.newer.compaction {
                        self.note(seq, &plain::compacted(compacted), out);
                    }
                });
                self.compaction(seq, compacted, out);
            }
            AgentEvent::TranscriptProjected(projected) => {
                self.extension(ProjectedFields::from(&**projected), out);
            }
            AgentEvent::ReminderEmitted(reminder) => {
                self.extension(ReminderFields::from(&**reminder), out);
            }
            AgentEvent::HitlRequested {
                request_id,
                kind,
                payload,
            } => {
                let fields = HitlRequestFields {
                    request_id: request_id.into(),
                    kind: kind.into(),
                    payload: Cow::Borrowed(payload),
                };
                self.extension_or(fields, out, |out| {
                    if !self.is_hitl_call(request_id) {
                        self.note(seq, &plain::hitl_request(kind, payload), out);
                    }
                });
                self.hitl_call(request_id, payload, out);
            }
            AgentEvent::HitlResolved {
                request_id,
                kind,
                outcome,
            } => {
                let fields = HitlResolvedFields {
                    request_id: request_id.into(),
                    kind: kind.into(),
                    outcome: *outcome,
                };
                self.end_hitl_call(request_id, *outcome, out);
                self.extension(fields, out);
            }
            AgentEvent::LiveSessionClient {
                action,
                state,
                left,
            } => {
                let fields = LiveClientFields {
                    action: *action,
                    state: RecordCow::Borrowed(state),
                    left: left.as_deref().map(RecordCow::Borrowed),
                };
                self.extension(fields, out);
            }

            AgentEvent::CompositionStart(run) => {
                let event = HarnEvent::CompositionStart((&**run).into());
                self.event_or(event, out, |out| self.composition_begins(run, out));
            }
            AgentEvent::CompositionFinish(run) => {
                let event = HarnEvent::CompositionFinish((&**run).into());
                self.event_or(event, out, |out| self.composition_ends(run, true, out));
            }
            AgentEvent::CompositionError(run) => {
                let event = HarnEvent::CompositionError((&**run).into());
                self.event_or(event, out, |out| self.composition_ends(run, false, out));
            }
            AgentEvent::CompositionChildCall(call) => {
                self.event(HarnEvent::CompositionChildCall((&**call).into()), out);
            }
            AgentEvent::CompositionChildResult(result) => {
                self.event(HarnEvent::CompositionChildResult((&**result).into()), out);
            }
            AgentEvent::LoopCheckpoint(checkpoint) => {
                self.event(HarnEvent::LoopCheckpoint(checkpoint.into()), out);
            }
            AgentEvent::ControlOutcome(outcome) => {
                self.event(HarnEvent::ControlOutcome((&**outcome).into()), out);
            }
            AgentEvent::Daemon(DaemonChange::WatchdogTripped {
                attempts,
                elapsed_ms,
            }) => {
                let (attempts, elapsed_ms) = (*attempts, *elapsed_ms);
                let fields = WatchdogFields {
                    attempts,
                    elapsed_ms,
                };
                self.event(HarnEvent::DaemonWatchdogTripped(fields), out);
            }
            AgentEvent::SessionClosed { reason, status } => {
                // A session that is being replayed is open.
                if !replay {
                    self.event(HarnEvent::SessionClosed(ClosedFields::new(reason, status)), out);
                }
            }

            // Tools and servers of a process that is gone are nobody's any more.
            AgentEvent::ToolsChanged(_) | AgentEvent::McpServers { .. } if replay => {}
            AgentEvent::ToolsChanged(change) => self.tools_changed(change, out),
            AgentEvent::McpServers { servers } => self.mcp_servers(servers, out),

            // The contract keeps the ranking in the transcript.
            AgentEvent::SkillMatched(_)
            // Hosts hear of what waits when it is delivered, and of reminders when they are rendered.
            | AgentEvent::Pending(_)
            | AgentEvent::ReminderLifecycle(_)
            // A sign of life is sent while the agent waits, not where its waiting is told.
            | AgentEvent::Daemon(DaemonChange::Idle { .. } | DaemonChange::Woke { .. })
            // A prompt that waits is shown when its turn begins, as one that need not wait is.
            | AgentEvent::PromptQueued(_)
            // That a turn never began is the answer to its prompt.
            | AgentEvent::PromptWithdrawn(_)
            // A question is a request to its controller; a replay shows what came of it on the call.
            | AgentEvent::PermissionAsked(_)
            | AgentEvent::PermissionResolved(_)
            // The record of decisions is the transcript's; the call shows what came of them.
            | AgentEvent::PermissionGrant(_)
            | AgentEvent::PermissionDeny(_)
            | AgentEvent::PermissionEscalation(_)
            | AgentEvent::LiveSessionPermissionRoute(_)
            | AgentEvent::GrantRevoked { .. }
            // Who answered what is the transcript's; hosts hear how the question ended.
            | AgentEvent::HitlResponded(_)
            // Settings need the whole list beside the change; a replay has them in its answer.
            | AgentEvent::ModeChanged { .. }
            | AgentEvent::ConfigChanged { .. } => {}
        }
    }
}

const INTERRUPTED: &str = "The turn above was interrupted before it ended.";

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The id of a skill, where it is another than its name.
fn id_beside<'a>(skill_name: &str, skill_id: &'a Option<String>) -> Option<&'a str> {
    skill_id.as_deref().filter(|id| *id != skill_name)
}
