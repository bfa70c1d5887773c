//! From events to lines: pure, exhaustive, the same live and replayed.
//!
//! What only one client may see (its own prompt's answer, questions, settings) is the pump's business and
//! is marked so here.

use harn_model::{AgentEvent, Envelope, MessageId, Plan, Seq, SessionId, ToolCallUpdate};
use serde::Serialize;

use crate::{
    Profile,
    ext::{
        HarnMeta,
        agent_event::{self, HarnEvent},
        plan::PlanMeta,
        tool::ToolMeta,
        update::{
            ExtensionUpdate, FsWatchFields, HandoffFields, HitlRequestFields, HitlResolvedFields,
            LiveClientFields, ProgressFields, SkillActivatedFields, SkillDeactivatedFields,
            SkillScopeFields,
        },
    },
    wire::{Content, ToolCall, ToolContents, Update},
};

/// Writes the lines of one session for one profile.
pub(crate) struct Lines {
    /// Everything of an update's line up to the update itself.
    update: Vec<u8>,
    /// Everything of an agent event's line up to its fields.
    event: Vec<u8>,
    profile: Profile,
    replay: bool,
}

impl Lines {
    pub(crate) fn new(session: &SessionId, profile: Profile, replay: bool) -> Self {
        let id = serde_json::Value::from(session.as_str());
        let head = |method: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"sessionId":{id},"#)
        };
        Self {
            update: format!(r#"{}"update":"#, head("session/update")).into_bytes(),
            event: head(agent_event::METHOD).into_bytes(),
            profile,
            replay,
        }
    }

    /// Appends the lines of one event, if it has any. Extensions name what a plain client sees in their
    /// place, if anything.
    pub(crate) fn write(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        match &envelope.event {
            AgentEvent::AgentMessageChunk {
                content,
                message_id,
            } => self.update(&message(content, message_id.as_ref()), out),
            AgentEvent::AgentThoughtChunk {
                content,
                message_id,
            } => self.update(&thought(content, message_id.as_ref()), out),
            AgentEvent::UserMessage {
                message_id,
                content,
            } => self.user_message(message_id, content, out),
            AgentEvent::TurnStarted(turn) => self.user_message(&turn.message_id, &turn.prompt, out),
            AgentEvent::ToolCall(call) => self.update(&self.tool_call(call), out),
            AgentEvent::ToolCallUpdate(update) => self.update(&self.tool_call_update(update), out),
            AgentEvent::Plan { plan } => self.plan(plan, out),
            AgentEvent::ProgressReported(report) => {
                if !report.entries.is_empty() {
                    self.plan(&Plan::Entries(report.entries.clone()), out);
                } else if let Some(message) = &report.message {
                    self.extension_or_note(ProgressFields::narration(message), (envelope.seq, message), out);
                }
            }
            AgentEvent::Progress(p) => {
                self.extension_or_note(ProgressFields::from(&**p), (envelope.seq, &p.message), out);
            }
            AgentEvent::WorkerUpdate(w) => {
                let plain = format!("{} ({}): {}", w.worker_name, w.worker_task, w.event.status().as_str());
                let fields = crate::ext::update::WorkerFields::from(&**w);
                self.extension_or_note(fields, (envelope.seq, &plain), out);
            }
            AgentEvent::SkillActivated {
                skill_name,
                iteration,
                reason,
            } => {
                let plain = format!("Skill {skill_name}: {reason}");
                let fields = SkillActivatedFields {
                    skill_name,
                    iteration: *iteration,
                    reason,
                };
                self.extension_or_note(fields, (envelope.seq, &plain), out);
            }
            AgentEvent::SessionInfo(info) => {
                let title = info.title.as_deref();
                self.update(&Update::SessionInfoUpdate { title }, out);
            }
            AgentEvent::Usage(usage) => {
                let update = Update::UsageUpdate {
                    used: usage.used,
                    size: usage.size,
                    cost: usage.cost.as_ref(),
                };
                self.update(&update, out);
            }
            AgentEvent::AvailableCommands { commands } => {
                let available_commands = commands;
                self.update(&Update::AvailableCommandsUpdate { available_commands }, out);
            }
            AgentEvent::Recovered(_) => {
                // Only a turn that was cut short is worth a word to a person.
                if envelope.turn.is_some() {
                    self.note(envelope.seq, INTERRUPTED, out);
                }
            }
            AgentEvent::Log(log) => {
                self.extension(crate::ext::update::LogFields::from(&**log), out);
            }
            AgentEvent::Artifact(artifact) => {
                let fields = crate::ext::update::ArtifactFields::from(&**artifact);
                match artifact.fallback.as_str() {
                    "" => self.extension(fields, out),
                    plain => self.extension_or_note(fields, (envelope.seq, plain), out),
                }
            }
            AgentEvent::FsWatch {
                subscription_id,
                events,
            } => {
                let fields = FsWatchFields {
                    subscription_id,
                    events,
                };
                self.extension(fields, out);
            }
            AgentEvent::Handoff {
                artifact_id,
                handoff,
            } => {
                let fields = HandoffFields {
                    handoff_id: &handoff.id,
                    artifact_id,
                    handoff,
                };
                self.extension(fields, out);
            }
            AgentEvent::SkillDeactivated {
                skill_name,
                iteration,
            } => {
                let iteration = *iteration;
                let fields = SkillDeactivatedFields {
                    skill_name,
                    iteration,
                };
                self.extension(fields, out);
            }
            AgentEvent::SkillScopeTools {
                skill_name,
                allowed_tools,
            } => {
                let fields = SkillScopeFields {
                    skill_name,
                    allowed_tools,
                };
                self.extension(fields, out);
            }
            AgentEvent::SkillNarrow(narrow) => {
                let fields = crate::ext::update::SkillNarrowFields::from(&**narrow);
                self.extension(fields, out);
            }
            AgentEvent::ToolSearchQuery(query) => {
                let fields = crate::ext::update::ToolSearchQueryFields::from(&**query);
                self.extension(fields, out);
            }
            AgentEvent::ToolSearchResult(result) => {
                let fields = crate::ext::update::ToolSearchResultFields::from(&**result);
                self.extension(fields, out);
            }
            AgentEvent::TranscriptCompacted(compacted) => {
                let fields = crate::ext::update::CompactedFields::from(&**compacted);
                self.extension(fields, out);
            }
            AgentEvent::TranscriptProjected(projected) => {
                let fields = crate::ext::update::ProjectedFields::from(&**projected);
                self.extension(fields, out);
            }
            AgentEvent::ReminderEmitted(reminder) => {
                let fields = crate::ext::update::ReminderFields::from(&**reminder);
                self.extension(fields, out);
            }
            AgentEvent::HitlRequested {
                request_id,
                kind,
                payload,
            } => {
                let fields = HitlRequestFields {
                    request_id,
                    kind,
                    payload,
                };
                self.extension(fields, out);
            }
            AgentEvent::HitlResolved {
                request_id,
                kind,
                outcome,
            } => {
                let outcome = *outcome;
                let fields = HitlResolvedFields {
                    request_id,
                    kind,
                    outcome,
                };
                self.extension(fields, out);
            }
            AgentEvent::LiveSessionClient { action, state } => {
                let action = *action;
                self.extension(LiveClientFields { action, state }, out);
            }
            AgentEvent::CompositionStart(run) => {
                self.event(HarnEvent::CompositionStart((&**run).into()), out);
            }
            AgentEvent::CompositionChildCall(call) => {
                self.event(HarnEvent::CompositionChildCall((&**call).into()), out);
            }
            AgentEvent::CompositionChildResult(result) => {
                self.event(HarnEvent::CompositionChildResult((&**result).into()), out);
            }
            AgentEvent::CompositionFinish(run) => {
                self.event(HarnEvent::CompositionFinish((&**run).into()), out);
            }
            AgentEvent::CompositionError(run) => {
                self.event(HarnEvent::CompositionError((&**run).into()), out);
            }
            // The contract keeps the ranking in the transcript.
            AgentEvent::SkillMatched(_)
            // The end of a turn is the answer to its prompt.
            | AgentEvent::TurnEnded(_)
            // A question is a request to its controller; a replay shows what came of it on the call.
            | AgentEvent::PermissionAsked(_)
            | AgentEvent::PermissionResolved(_)
            // Settings need the whole list beside the change; a replay has them in its answer.
            | AgentEvent::LoopCheckpoint(_)
            | AgentEvent::SessionClosed { .. }
            | AgentEvent::ModeChanged { .. }
            | AgentEvent::ConfigChanged { .. } => {}
        }
    }

    /// Appends the line of an update.
    pub(crate) fn update(&self, update: &impl Serialize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.update);
        match serde_json::to_writer(&mut *out, update) {
            Ok(()) => out.extend_from_slice(b"}}\n"),
            // Our types always serialise; should one not, the line is left out whole.
            Err(_) => out.truncate(start),
        }
    }

    fn event(&self, event: HarnEvent<'_>, out: &mut Vec<u8>) {
        if self.profile != Profile::Harn {
            return;
        }
        let start = out.len();
        out.extend_from_slice(&self.event);
        let fields = out.len();
        match serde_json::to_writer(&mut *out, &event) {
            Ok(()) => {
                // The fields stand beside `sessionId`: their own opening brace goes.
                out.remove(fields);
                out.extend_from_slice(b"}\n");
            }
            Err(_) => out.truncate(start),
        }
    }

    /// An extension that a plain client does without.
    fn extension<'a>(&self, fields: impl Into<ExtensionUpdate<'a>>, out: &mut Vec<u8>) {
        match self.profile {
            Profile::Harn => self.update(&fields.into(), out),
            Profile::Acp => {}
        }
    }

    /// An extension in whose place a plain client sees a thought.
    fn extension_or_note<'a>(
        &self,
        fields: impl Into<ExtensionUpdate<'a>>,
        (seq, text): (Seq, &str),
        out: &mut Vec<u8>,
    ) {
        match self.profile {
            Profile::Harn => self.update(&fields.into(), out),
            Profile::Acp => self.note(seq, text, out),
        }
    }

    /// A thought that is a message of its own, or clients would join it to its neighbours.
    fn note(&self, seq: Seq, text: &str, out: &mut Vec<u8>) {
        let id = MessageId::from(format!("note-{seq}"));
        self.update(&thought(text, Some(&id)), out);
    }

    fn user_message(
        &self,
        id: &MessageId,
        content: &[harn_model::ContentBlock],
        out: &mut Vec<u8>,
    ) {
        for block in content {
            let update = Update::UserMessageChunk {
                content: block.into(),
                message_id: id.as_str(),
            };
            self.update(&update, out);
        }
    }

    fn tool_call<'a>(&self, call: &'a harn_model::ToolCall) -> Update<'a> {
        Update::ToolCall(ToolCall {
            tool_call_id: call.tool_call_id.as_str(),
            title: Some(call.title.as_deref().unwrap_or(&call.tool_name)),
            kind: call.kind,
            status: call.status,
            content: (!call.content.is_empty()).then_some(ToolContents::Given {
                contents: &call.content,
                terminals: !self.replay,
            }),
            locations: (!call.locations.is_empty()).then_some(call.locations.as_slice()),
            raw_input: (!call.raw_input.is_null()).then_some(&call.raw_input),
            raw_output: None,
            meta: ToolMeta::of_call(call).map(HarnMeta::new),
        })
    }

    fn tool_call_update<'a>(&self, update: &'a ToolCallUpdate) -> Update<'a> {
        let content = match (&update.content, &update.error) {
            (Some(contents), _) => Some(ToolContents::Given {
                contents,
                terminals: !self.replay,
            }),
            (None, Some(error)) => Some(ToolContents::Error(error)),
            (None, None) => None,
        };
        Update::ToolCallUpdate(ToolCall {
            tool_call_id: update.tool_call_id.as_str(),
            title: update.title.as_deref(),
            kind: None,
            status: update.status,
            content,
            locations: update.locations.as_deref(),
            raw_input: update.raw_input.as_ref(),
            raw_output: update.raw_output.as_ref(),
            meta: ToolMeta::of_update(update).map(HarnMeta::new),
        })
    }

    fn plan(&self, plan: &Plan, out: &mut Vec<u8>) {
        let entries = plan.entries();
        let meta = match plan {
            Plan::Entries(_) => None,
            Plan::Document(plan) => Some(HarnMeta::new(PlanMeta { plan })),
        };
        let entries = entries.iter().map(Into::into).collect();
        self.update(&Update::Plan { entries, meta }, out);
    }
}

const INTERRUPTED: &str = "The turn above was interrupted before it ended.";

fn message<'a>(text: &'a str, id: Option<&'a MessageId>) -> Update<'a> {
    Update::AgentMessageChunk {
        content: Content::Text { text },
        message_id: id.map(MessageId::as_str),
    }
}

fn thought<'a>(text: &'a str, id: Option<&'a MessageId>) -> Update<'a> {
    Update::AgentThoughtChunk {
        content: Content::Text { text },
        message_id: id.map(MessageId::as_str),
    }
}
