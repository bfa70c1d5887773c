//! `AgentEvent`, the one thing every sink understands, and the envelope it is kept in.
//!
//! Big payloads are boxed so that a text chunk, which outnumbers everything else, stays small.

mod author;
mod durability;

use std::{fmt, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Artifact, ChildCall, ChildResult, Command, CompositionRun, ContentBlock, ControlOutcome,
    DaemonChange, FsWatchEvent, HandoffArtifact, HitlOutcome, HitlResponse, LiveAuthor,
    LiveClientAction, LiveClientChange, LiveClientLeft, LogRecord, LoopCheckpoint, McpServerStatus,
    MessageId, PendingChange, PermissionAsked, PermissionRecord, PermissionResolved,
    PermissionRoute, Plan, Progress, ProgressReport, Recovered, Reminder, ReminderChange,
    SessionInfo, SkillMatch, SkillNarrow, ToolCall, ToolCallUpdate, ToolSearchQuery,
    ToolSearchResult, ToolsChange, TranscriptCompacted, TranscriptProjected, TurnEnded, TurnId,
    TurnStarted, Usage, WorkerCall, WorkerUpdate,
};

pub use author::Author;
pub use durability::Durability;

/// The place of an event in its session's log, from 1 and without gaps.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first event.
    pub const ZERO: Self = Self(0);

    /// The place after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Milliseconds since the Unix epoch.
pub type Timestamp = u64;

/// An event where it stands in its session's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Its place.
    pub seq: Seq,
    /// When it was written.
    pub at: Timestamp,
    /// The turn it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// What happened.
    pub event: AgentEvent,
}

/// Everything that can happen in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// Part of the agent's answer.
    AgentMessageChunk {
        /// The text.
        content: String,
        /// Which message; filled by the runtime.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
    },
    /// Part of the agent's reasoning.
    AgentThoughtChunk {
        /// The text.
        content: String,
        /// Which message; filled by the runtime.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
    },
    /// A message of the user that reached the agent in the middle of a turn.
    UserMessage {
        /// Its id.
        message_id: MessageId,
        /// What it says.
        content: Vec<ContentBlock>,
        /// The client that said it, where one did under a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        live_session: Option<Box<LiveAuthor>>,
    },
    /// A tool call was announced.
    ToolCall(Box<ToolCall>),
    /// A tool call changed.
    ToolCallUpdate(Box<ToolCallUpdate>),
    /// There is a new plan.
    Plan {
        /// The plan.
        plan: Plan,
    },
    /// The agent reports progress.
    ProgressReported(Box<ProgressReport>),
    /// Something is under way.
    Progress(Box<Progress>),
    /// A line for the host's log.
    Log(Box<LogRecord>),
    /// The agent made something.
    Artifact(Box<Artifact>),
    /// Watched files changed.
    FsWatch {
        /// Which watch.
        subscription_id: String,
        /// What changed.
        events: Vec<FsWatchEvent>,
    },
    /// Work was handed over.
    Handoff {
        /// The artifact that carries it.
        artifact_id: String,
        /// The handoff itself.
        handoff: Box<HandoffArtifact>,
    },
    /// A worker changed state.
    WorkerUpdate(Box<WorkerUpdate>),
    /// A worker's tool call was announced or changed.
    WorkerCall(Box<WorkerCall>),
    /// A skill became active.
    SkillActivated {
        /// Its name.
        skill_name: String,
        /// Its id, where that is another than its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill_id: Option<String>,
        /// In which iteration.
        iteration: u64,
        /// Why.
        reason: String,
    },
    /// A skill became inactive.
    SkillDeactivated {
        /// The name it became active under.
        skill_name: String,
        /// Its id, where that is another than its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill_id: Option<String>,
        /// In which iteration.
        iteration: u64,
    },
    /// A skill restricts the tools in reach.
    SkillScopeTools {
        /// The name it became active under.
        skill_name: String,
        /// Its id, where that is another than its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill_id: Option<String>,
        /// To these.
        allowed_tools: Vec<String>,
    },
    /// The tools in reach were narrowed.
    SkillNarrow(Box<SkillNarrow>),
    /// Skills were ranked; stays in the transcript.
    SkillMatched(Box<SkillMatch>),
    /// The agent searched its tools.
    ToolSearchQuery(Box<ToolSearchQuery>),
    /// The search ended.
    ToolSearchResult(Box<ToolSearchResult>),
    /// Older messages were folded away.
    TranscriptCompacted(Box<TranscriptCompacted>),
    /// A prompt was built from part of the transcript.
    TranscriptProjected(Box<TranscriptProjected>),
    /// A reminder was rendered into a prompt.
    ReminderEmitted(Box<Reminder>),
    /// A person is asked something.
    HitlRequested {
        /// The question.
        request_id: String,
        /// `question`, `approval`, `dual_control`, `escalation`.
        kind: String,
        /// What is asked.
        payload: Value,
    },
    /// Somebody answered it; stays in the transcript.
    HitlResponded(Box<HitlResponse>),
    /// That question is settled.
    HitlResolved {
        /// The question.
        request_id: String,
        /// `question`, `approval`, `dual_control`, `escalation`.
        kind: String,
        /// How it ended.
        outcome: HitlOutcome,
    },
    /// The slash commands on offer changed.
    AvailableCommands {
        /// All of them.
        commands: Vec<Command>,
        /// The names of those that come from what the session is equipped with, not from its agent; filled
        /// by the runtime.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        equipped: Vec<String>,
        /// Whether the agent's own are as they were; filled by the runtime.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own_unchanged: bool,
    },
    /// The tools that an agent may call are others now.
    ToolsChanged(Box<ToolsChange>),
    /// The MCP servers of the session, and how each stands.
    McpServers {
        /// All of them, by name.
        servers: Vec<McpServerStatus>,
    },
    /// A client came, left, took control or is still there.
    LiveSessionClient {
        /// Which of these.
        action: LiveClientAction,
        /// The registry after it.
        state: Box<LiveClientChange>,
        /// Who left, and why, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<Box<LiveClientLeft>>,
    },
    /// A composition run began.
    CompositionStart(Box<CompositionRun>),
    /// A child of it began.
    CompositionChildCall(Box<ChildCall>),
    /// A child of it ended.
    CompositionChildResult(Box<ChildResult>),
    /// It ended well.
    CompositionFinish(Box<CompositionRun>),
    /// It ended badly.
    CompositionError(Box<CompositionRun>),
    /// The agent passed a seam.
    LoopCheckpoint(LoopCheckpoint),
    /// What waits for delivery changed; stays in the transcript.
    Pending(Box<PendingChange>),
    /// A step in the life of a reminder; stays in the transcript.
    ReminderLifecycle(Box<ReminderChange>),
    /// Somebody wanted something of the running session.
    ControlOutcome(Box<ControlOutcome>),
    /// An agent that stays waits, wakes, or is ended.
    Daemon(DaemonChange),
    /// A prompt was accepted and its turn began.
    TurnStarted(Box<TurnStarted>),
    /// A prompt was accepted and waits behind the turn that runs; the turn it will be is the envelope's.
    PromptQueued(Box<TurnStarted>),
    /// A prompt was cancelled before its turn began; the turn it would have been is the envelope's.
    PromptWithdrawn(Box<TurnStarted>),
    /// The turn ended.
    TurnEnded(Box<TurnEnded>),
    /// A tool call waits for a decision.
    PermissionAsked(Box<PermissionAsked>),
    /// The decision.
    PermissionResolved(Box<PermissionResolved>),
    /// A call may run; stays in the transcript.
    PermissionGrant(Box<PermissionRecord>),
    /// A call may not run; stays in the transcript.
    PermissionDeny(Box<PermissionRecord>),
    /// Somebody is going to be asked about a call; stays in the transcript.
    PermissionEscalation(Box<PermissionRecord>),
    /// A question was put to a client; stays in the transcript.
    LiveSessionPermissionRoute(Box<PermissionRoute>),
    /// What was remembered for the session is forgotten; stays in the transcript.
    GrantRevoked {
        /// Which grant.
        grant_id: String,
    },
    /// How full the context is.
    Usage(Usage),
    /// The mode changed.
    ModeChanged {
        /// To this one.
        mode_id: String,
    },
    /// An option changed.
    ConfigChanged {
        /// Which.
        config_id: String,
        /// To what.
        value: String,
    },
    /// The title or other facts changed.
    SessionInfo(SessionInfo),
    /// A turn cut short by a crash was closed.
    Recovered(Box<Recovered>),
    /// The session was closed on request; it can be opened again.
    SessionClosed {
        /// Who wanted it.
        reason: String,
        /// What it is now.
        status: String,
    },
}

impl AgentEvent {
    /// Part of an answer, without a message id yet.
    pub fn message(content: impl Into<String>) -> Self {
        Self::AgentMessageChunk {
            content: content.into(),
            message_id: None,
        }
    }

    /// The slash commands that an agent offers from now on.
    #[must_use]
    pub fn commands(commands: Vec<Command>) -> Self {
        Self::AvailableCommands {
            commands,
            equipped: Vec::new(),
            own_unchanged: false,
        }
    }

    /// Part of a thought, without a message id yet.
    pub fn thought(content: impl Into<String>) -> Self {
        Self::AgentThoughtChunk {
            content: content.into(),
            message_id: None,
        }
    }

    /// About how many bytes this event keeps alive: what the byte bounds of queues count. Text and tool
    /// calls are added up; what is rarer counts as long as it is written.
    #[must_use]
    pub fn weight(&self) -> usize {
        const BASE: usize = 96;
        const FACTS: usize = 256;
        BASE + match self {
            Self::AgentMessageChunk { content, .. } | Self::AgentThoughtChunk { content, .. } => {
                content.len()
            }
            Self::UserMessage { content, .. } => content.iter().map(ContentBlock::weight).sum(),
            Self::ToolCall(call) => call.weight(),
            Self::ToolCallUpdate(update) => {
                update.raw_output.as_ref().map_or(0, value_weight)
                    + update.raw_input.as_ref().map_or(0, value_weight)
                    + update.raw_input_partial.as_ref().map_or(0, String::len)
                    + update.error.as_ref().map_or(0, String::len)
                    + update
                        .content
                        .iter()
                        .flatten()
                        .map(crate::ToolContent::weight)
                        .sum::<usize>()
                    + FACTS
            }
            Self::TurnStarted(turn) | Self::PromptQueued(turn) | Self::PromptWithdrawn(turn) => {
                turn.prompt.iter().map(ContentBlock::weight).sum()
            }
            Self::PermissionAsked(ask) => ask.weight(),
            Self::Pending(change) => change.weight(),
            Self::PermissionGrant(record)
            | Self::PermissionDeny(record)
            | Self::PermissionEscalation(record) => record.weight(),
            Self::Artifact(_)
            | Self::HitlRequested { .. }
            | Self::CompositionStart(_)
            | Self::CompositionChildResult(_)
            | Self::CompositionFinish(_)
            | Self::CompositionError(_)
            | Self::Plan { .. }
            | Self::ProgressReported(_)
            | Self::Progress(_)
            | Self::Log(_)
            | Self::FsWatch { .. }
            | Self::Handoff { .. }
            | Self::WorkerUpdate(_)
            | Self::WorkerCall(_)
            | Self::SkillActivated { .. }
            | Self::SkillDeactivated { .. }
            | Self::SkillScopeTools { .. }
            | Self::SkillNarrow(_)
            | Self::SkillMatched(_)
            | Self::ToolSearchQuery(_)
            | Self::ToolSearchResult(_)
            | Self::ToolsChanged(_)
            | Self::McpServers { .. }
            | Self::TranscriptCompacted(_)
            | Self::TranscriptProjected(_)
            | Self::ReminderEmitted(_)
            | Self::HitlResponded(_)
            | Self::HitlResolved { .. }
            | Self::AvailableCommands { .. }
            | Self::LiveSessionClient { .. }
            | Self::CompositionChildCall(_)
            | Self::TurnEnded(_)
            | Self::PermissionResolved(_)
            | Self::LiveSessionPermissionRoute(_)
            | Self::GrantRevoked { .. }
            | Self::Usage(_)
            | Self::ModeChanged { .. }
            | Self::ConfigChanged { .. }
            | Self::SessionInfo(_)
            | Self::Recovered(_)
            | Self::LoopCheckpoint(_)
            | Self::ReminderLifecycle(_)
            | Self::ControlOutcome(_)
            | Self::Daemon(_)
            | Self::SessionClosed { .. } => written_len(self),
        }
    }
}

/// How long the event is in the journal.
fn written_len(event: &AgentEvent) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // What cannot be written whole is refused by the journal; until then it counts as far as it goes.
    let _ = serde_json::to_writer(&mut count, event);
    count.0
}

/// About how many bytes a JSON value keeps alive.
pub(crate) fn value_weight(value: &Value) -> usize {
    const NODE: usize = 32;
    NODE + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(s) => s.len(),
        Value::Array(items) => items.iter().map(value_weight).sum(),
        Value::Object(map) => map.iter().map(|(k, v)| k.len() + value_weight(v)).sum(),
    }
}
