//! Conversion of events to lines: pure, exhaustive, the same live and in a replay.
//!
//! The pump handles what only one client may receive (the answer to its prompt, questions, settings);
//! comments here mark these events.

mod equipment;
mod hitl_calls;
mod lines;
mod newer_updates;
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
/// It keeps no state between events: the same event gives the same bytes, live and in a replay, for every
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
    /// The start of an update's line, up to the update itself.
    update: Vec<u8>,
    /// The start of an agent event's line, up to its fields.
    event: Vec<u8>,
    dialect: Dialect,
    /// The last event of the past: up to here, obsolete data is omitted.
    past: Seq,
    /// The folder that makes relative paths of sessions absolute.
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
    /// Creates a projector for a session and a client of this dialect. A replay omits obsolete data, such as
    /// terminals of an ended process and the closing of the session.
    pub fn new(session: &SessionId, dialect: impl Into<Dialect>, replay: bool) -> Self {
        let past = if replay { Seq(u64::MAX) } else { Seq::ZERO };
        Self::with_past(session, dialect, past)
    }

    /// Creates a projector for a stream that may start and resume anywhere. It omits obsolete data of an
    /// earlier process, up to `past`, and writes each line the same every time.
    #[must_use]
    pub fn with_past(session: &SessionId, dialect: impl Into<Dialect>, past: Seq) -> Self {
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

    /// Makes the paths of sessions absolute, below this folder, for a client on this machine.
    #[must_use]
    pub(crate) fn with_session_root(self, session_root: Option<Arc<Path>>) -> Self {
        Self {
            session_root,
            ..self
        }
    }

    /// Appends the lines of one event, if it has any, each with its line break.
    ///
    /// Each extension names its substitute for a plain client, if any; `docs/acp-extensions.md` lists these
    /// decisions in a table.
    pub fn write(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let start = out.len();
        self.write_lines(envelope, out);
        self.stamp(envelope.seq, start, out);
    }

    /// Adds event ids to the lines of an event, which begin at `start`, if the dialect has ids.
    pub(crate) fn stamp(&self, seq: Seq, start: usize, out: &mut Vec<u8>) {
        if self.dialect.event_ids && out.len() > start {
            event_id::stamp(out, start, seq);
        }
    }

    fn write_lines(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let seq = envelope.seq;
        let replay = seq <= self.past;
        match &envelope.event {
            AgentEvent::AgentMessageChunk {
                content,
                message_id,
            } => self.write_message(content, message_id.as_ref(), out),
            AgentEvent::AgentThoughtChunk {
                content,
                message_id,
            } => self.write_thought(content, message_id.as_ref(), out),
            AgentEvent::UserMessage {
                message_id,
                content,
                live_session,
            } => {
                let author = live_session.as_deref();
                self.write_user_message(message_id, content, author, out);
            }
            AgentEvent::TurnStarted(turn) => {
                let author = turn.live_session.as_deref();
                self.write_prompt(&turn.message_id, &turn.prompt, author, out);
                self.write_turn_started(envelope.turn.as_ref(), &turn.message_id, out);
            }
            AgentEvent::TurnEnded(ended) => {
                self.write_turn_ended(envelope.turn.as_ref(), &ended.outcome, out);
            }
            AgentEvent::ToolCall(call) => {
                let named = self.dialect.newer.members;
                self.write_update(&tool_call(call, replay, named), out);
            }
            AgentEvent::ToolCallUpdate(update) => {
                self.write_update(&tool_call_update(update, replay), out);
            }
            AgentEvent::WorkerCall(call) => self.write_worker_call(call, replay, out),
            AgentEvent::Plan { plan } => self.write_plan(plan, out),
            AgentEvent::AvailableCommands { commands, .. } => {
                let available_commands = commands;
                self.write_update(&StandardUpdate::AvailableCommandsUpdate { available_commands }, out);
            }
            AgentEvent::Usage(usage) => {
                let update = StandardUpdate::UsageUpdate {
                    used: usage.used,
                    size: usage.size,
                    cost: usage.cost.as_ref(),
                };
                self.write_update(&update, out);
            }
            AgentEvent::SessionInfo(info) => {
                if let title @ Some(_) = info.title.as_deref() {
                    self.write_update(&StandardUpdate::SessionInfoUpdate { title, meta: None }, out);
                }
            }
            AgentEvent::Recovered(_) => {
                // Only an interrupted turn is worth a note to a person.
                if envelope.turn.is_some() {
                    self.write_note(seq, INTERRUPTED, out);
                    let interrupted = TurnOutcome::Failed {
                        message: INTERRUPTED.to_owned(),
                    };
                    self.write_turn_ended(envelope.turn.as_ref(), &interrupted, out);
                }
            }

            AgentEvent::ProgressReported(report) => {
                let message = report.message.as_deref().filter(|text| !is_blank(text));
                if !report.entries.is_empty() {
                    self.write_plan(&Plan::Entries(report.entries.clone()), out);
                } else if let Some(message) = message {
                    let fields = ProgressFields::narration(message);
                    self.write_extension_or(fields, out, |out| self.write_progress(seq, message, out));
                    self.write_notice(replay, NoticeSeverity::Info, message, out);
                } else if report.replace || !report.metadata.is_null() {
                    self.write_event(HarnEvent::ProgressReported((&**report).into()), out);
                }
            }
            AgentEvent::Progress(progress) => {
                if !is_blank(&progress.message) {
                    let fields = ProgressFields::from(&**progress);
                    let text = plain::progress_text(progress);
                    self.write_extension_or(fields, out, |out| self.write_progress(seq, &text, out));
                    self.write_notice(replay, NoticeSeverity::Info, &text, out);
                }
            }
            AgentEvent::Log(log) => {
                if !is_blank(&log.message) {
                    self.write_extension(LogFields::from(&**log), out);
                    self.write_log_notice(replay, log, out);
                }
            }
            AgentEvent::Artifact(artifact) => {
                let fields = ArtifactFields::from(&**artifact);
                self.write_extension_or(fields, out, |out| self.write_note(seq, &artifact.fallback, out));
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
                    self.write_extension(fields, out);
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
                let note = || plain::handoff_text(handoff);
                self.write_extension_or(fields, out, |out| self.write_note(seq, &note(), out));
            }
            AgentEvent::WorkerUpdate(worker) => {
                let fields = WorkerFields::new(worker, self.session_root.as_deref());
                self.write_extension_or(fields, out, |out| {
                    if !self.shows_subagent(worker) {
                        self.write_worker_as_call(seq, worker, out);
                    }
                });
                self.write_subagent(worker, out);
            }
            AgentEvent::SkillActivated {
                skill_name,
                skill_id,
                iteration,
                reason,
            } => {
                let fields = SkillActivatedFields {
                    skill_name: skill_name.into(),
                    skill_id: distinct_skill_id(skill_name, skill_id).map(Cow::from),
                    iteration: *iteration,
                    reason: reason.into(),
                };
                let note = || plain::skill_activated_text(skill_name, reason);
                self.write_extension_or(fields, out, |out| self.write_note(seq, &note(), out));
            }
            AgentEvent::SkillDeactivated {
                skill_name,
                skill_id,
                iteration,
            } => {
                let fields = SkillDeactivatedFields {
                    skill_name: skill_name.into(),
                    skill_id: distinct_skill_id(skill_name, skill_id).map(Cow::from),
                    iteration: *iteration,
                };
                let note = || plain::skill_deactivated_text(skill_name);
                self.write_extension_or(fields, out, |out| self.write_note(seq, &note(), out));
            }
            AgentEvent::SkillScopeTools {
                skill_name,
                skill_id,
                allowed_tools,
            } => {
                let fields = SkillScopeFields {
                    skill_name: skill_name.into(),
                    skill_id: distinct_skill_id(skill_name, skill_id).map(Cow::from),
                    allowed_tools: allowed_tools.into(),
                };
                self.write_extension(fields, out);
            }
            AgentEvent::SkillNarrow(narrow) => {
                let fields = SkillNarrowFields::from(&**narrow);
                let note = || plain::skill_narrow_text(narrow);
                self.write_extension_or(fields, out, |out| self.write_note(seq, &note(), out));
            }
            AgentEvent::ToolSearchQuery(query) => {
                self.write_extension(ToolSearchQueryFields::from(&**query), out);
            }
            AgentEvent::ToolSearchResult(result) => {
                self.write_extension(ToolSearchResultFields::from(&**result), out);
            }
            AgentEvent::TranscriptCompacted(compacted) => {
                let fields = CompactedFields::from(&**compacted);
                self.write_extension_or(fields, out, |out| {
                    if !self.dialect.newer.compaction {
                        self.write_note(seq, &plain::compaction_text(compacted), out);
                    }
                });
                self.write_compaction(seq, compacted, out);
            }
            AgentEvent::TranscriptProjected(projected) => {
                self.write_extension(ProjectedFields::from(&**projected), out);
            }
            AgentEvent::ReminderEmitted(reminder) => {
                self.write_extension(ReminderFields::from(&**reminder), out);
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
                self.write_extension_or(fields, out, |out| {
                    if !self.is_hitl_call(request_id) {
                        self.write_note(seq, &plain::hitl_request_text(kind, payload), out);
                    }
                });
                self.write_hitl_call(request_id, payload, out);
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
                self.write_extension(fields, out);
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
                self.write_extension(fields, out);
            }

            AgentEvent::CompositionStart(run) => {
                let event = HarnEvent::CompositionStart((&**run).into());
                self.write_event_or(event, out, |out| self.write_composition_start(run, out));
            }
            AgentEvent::CompositionFinish(run) => {
                let event = HarnEvent::CompositionFinish((&**run).into());
                self.write_event_or(event, out, |out| self.write_composition_end(run, true, out));
            }
            AgentEvent::CompositionError(run) => {
                let event = HarnEvent::CompositionError((&**run).into());
                self.write_event_or(event, out, |out| self.write_composition_end(run, false, out));
            }
            AgentEvent::CompositionChildCall(call) => {
                self.write_event(HarnEvent::CompositionChildCall((&**call).into()), out);
            }
            AgentEvent::CompositionChildResult(result) => {
                self.write_event(HarnEvent::CompositionChildResult((&**result).into()), out);
            }
            AgentEvent::LoopCheckpoint(checkpoint) => {
                self.write_event(HarnEvent::LoopCheckpoint(checkpoint.into()), out);
            }
            AgentEvent::ControlOutcome(outcome) => {
                self.write_event(HarnEvent::ControlOutcome((&**outcome).into()), out);
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
                self.write_event(HarnEvent::DaemonWatchdogTripped(fields), out);
            }
            AgentEvent::SessionClosed { reason, status } => {
                // A session that is being replayed is open.
                if !replay {
                    self.write_event(HarnEvent::SessionClosed(ClosedFields::new(reason, status)), out);
                }
            }

            // Tools and servers of an ended process are obsolete.
            AgentEvent::ToolsChanged(_) | AgentEvent::McpServers { .. } if replay => {}
            AgentEvent::ToolsChanged(change) => self.write_tools_changed(change, out),
            AgentEvent::McpServers { servers } => self.write_mcp_servers(servers, out),

            // The contract keeps the ranking in the transcript.
            AgentEvent::SkillMatched(_)
            // Hosts receive a pending message when it is delivered, and a reminder when it is rendered.
            | AgentEvent::Pending(_)
            | AgentEvent::ReminderLifecycle(_)
            // The idle notification is sent repeatedly while the agent waits, not for this event.
            | AgentEvent::Daemon(DaemonChange::Idle { .. } | DaemonChange::Woke { .. })
            // A queued prompt is shown when its turn begins, like a prompt that need not wait.
            | AgentEvent::PromptQueued(_)
            // The answer to the prompt reports that its turn never began.
            | AgentEvent::PromptWithdrawn(_)
            // A permission request is sent to the controller; a replay shows its result on the call.
            | AgentEvent::PermissionAsked(_)
            | AgentEvent::PermissionResolved(_)
            // The transcript records the decisions; the call shows their result.
            | AgentEvent::PermissionGrant(_)
            | AgentEvent::PermissionDeny(_)
            | AgentEvent::PermissionEscalation(_)
            | AgentEvent::LiveSessionPermissionRoute(_)
            | AgentEvent::GrantRevoked { .. }
            // The transcript records who answered; hosts receive how the question ended.
            | AgentEvent::HitlResponded(_)
            // A settings update needs the whole list beside the change; a replay has the settings in its
            // answer.
            | AgentEvent::ModeChanged { .. }
            | AgentEvent::ConfigChanged { .. } => {}
        }
    }
}

const INTERRUPTED: &str = "The turn above was interrupted before it ended.";

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns the id of a skill if it differs from the name.
fn distinct_skill_id<'a>(skill_name: &str, skill_id: &'a Option<String>) -> Option<&'a str> {
    skill_id.as_deref().filter(|id| *id != skill_name)
}
