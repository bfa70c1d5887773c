//! `SessionView`, the one fold over events. Live sessions and reopened ones get the same view from
//! the same function; nothing else keeps truth about a session.

use std::collections::BTreeMap;

use crate::{
    AgentEvent, AskId, Command, Envelope, PermissionAsked, Plan, Seq, Timestamp, ToolCallId,
    TurnId, TurnOutcome, Usage,
};

/// What a session looks like after the events folded so far. Holds no transcript, so that an idle
/// session stays small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionView {
    /// The last event folded.
    pub last_seq: Seq,
    /// When it was written.
    pub updated_at: Timestamp,
    /// A title for people.
    pub title: Option<String>,
    /// The mode, where one was chosen.
    pub mode: Option<String>,
    /// Options that were set.
    pub config: BTreeMap<String, String>,
    /// Slash commands, where the agent announced its own.
    pub commands: Option<Vec<Command>>,
    /// How full the context is, where known.
    pub usage: Option<Usage>,
    /// The current plan.
    pub plan: Option<Plan>,
    /// The turn that is running.
    pub open_turn: Option<OpenTurn>,
    /// How many turns have ended.
    pub ended_turns: u64,
    /// How the last of them ended; a turn cut by a crash has no outcome.
    pub last_outcome: Option<TurnOutcome>,
}

/// A turn that has begun and not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenTurn {
    /// Its id.
    pub id: TurnId,
    /// Calls that were announced and not settled, with their tool and what is known of their times.
    pub calls: BTreeMap<ToolCallId, OpenCall>,
    /// Asks that were put and not settled.
    pub asks: BTreeMap<AskId, Box<PermissionAsked>>,
}

/// A tool call that has not been settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The tool.
    pub tool_name: String,
    /// When it was announced.
    pub announced_at: Timestamp,
    /// When it started to run.
    pub started_at: Option<Timestamp>,
}

impl SessionView {
    /// Folds one event in. Events come in the order of their `Seq`.
    pub fn apply(&mut self, envelope: &Envelope) {
        self.last_seq = envelope.seq;
        self.updated_at = envelope.at;
        let at = envelope.at;
        match &envelope.event {
            AgentEvent::TurnStarted(_) => {
                self.open_turn = envelope.turn.clone().map(|id| OpenTurn {
                    id,
                    calls: BTreeMap::new(),
                    asks: BTreeMap::new(),
                });
            }
            AgentEvent::TurnEnded(ended) => self.close_turn(Some(ended.outcome.clone())),
            AgentEvent::Recovered(_) => {
                if self.open_turn.is_some() {
                    self.close_turn(None);
                }
            }
            AgentEvent::ToolCall(call) => {
                if let Some(turn) = &mut self.open_turn
                    && !call.status.is_terminal()
                {
                    let running = call.status == crate::ToolCallStatus::InProgress;
                    turn.calls.insert(
                        call.tool_call_id.clone(),
                        OpenCall {
                            tool_name: call.tool_name.clone(),
                            announced_at: at,
                            started_at: running.then_some(at),
                        },
                    );
                }
            }
            AgentEvent::ToolCallUpdate(update) => {
                if let Some(turn) = &mut self.open_turn {
                    if update.status.is_terminal() {
                        turn.calls.remove(&update.tool_call_id);
                    } else if update.status == crate::ToolCallStatus::InProgress
                        && let Some(call) = turn.calls.get_mut(&update.tool_call_id)
                    {
                        call.started_at.get_or_insert(at);
                    }
                }
            }
            AgentEvent::PermissionAsked(ask) => {
                if let Some(turn) = &mut self.open_turn {
                    turn.asks.insert(ask.ask_id.clone(), ask.clone());
                }
            }
            AgentEvent::PermissionResolved(resolved) => {
                if let Some(turn) = &mut self.open_turn {
                    turn.asks.remove(&resolved.ask_id);
                }
            }
            AgentEvent::Plan { plan } => self.plan = Some(plan.clone()),
            AgentEvent::AvailableCommands { commands } => self.commands = Some(commands.clone()),
            AgentEvent::Usage(usage) => self.usage = Some(usage.clone()),
            AgentEvent::ModeChanged { mode_id } => self.mode = Some(mode_id.clone()),
            AgentEvent::ConfigChanged { config_id, value } => {
                self.config.insert(config_id.clone(), value.clone());
            }
            AgentEvent::SessionInfo(info) => {
                if let Some(title) = &info.title {
                    self.title = Some(title.clone());
                }
            }
            // Shown as it passes; leaves nothing behind that a later reader needs.
            AgentEvent::AgentMessageChunk { .. }
            | AgentEvent::AgentThoughtChunk { .. }
            | AgentEvent::UserMessage { .. }
            | AgentEvent::ProgressReported(_)
            | AgentEvent::Progress(_)
            | AgentEvent::Log(_)
            | AgentEvent::Artifact(_)
            | AgentEvent::FsWatch { .. }
            | AgentEvent::Handoff { .. }
            | AgentEvent::WorkerUpdate(_)
            | AgentEvent::SkillActivated { .. }
            | AgentEvent::SkillDeactivated { .. }
            | AgentEvent::SkillScopeTools { .. }
            | AgentEvent::SkillNarrow(_)
            | AgentEvent::SkillMatched(_)
            | AgentEvent::ToolSearchQuery(_)
            | AgentEvent::ToolSearchResult(_)
            | AgentEvent::TranscriptCompacted(_)
            | AgentEvent::TranscriptProjected(_)
            | AgentEvent::ReminderEmitted(_)
            | AgentEvent::HitlRequested { .. }
            | AgentEvent::HitlResolved { .. }
            | AgentEvent::LiveSessionClient { .. }
            | AgentEvent::CompositionStart(_)
            | AgentEvent::CompositionChildCall(_)
            | AgentEvent::CompositionChildResult(_)
            | AgentEvent::CompositionFinish(_)
            | AgentEvent::CompositionError(_) => {}
        }
    }

    fn close_turn(&mut self, outcome: Option<TurnOutcome>) {
        self.open_turn = None;
        self.ended_turns += 1;
        self.last_outcome = outcome;
    }
}
