//! The one table of events: a row for every variant of [`AgentEvent`]. A new event is a new row here, and an arm
//! in the translations that show it.
//!
//! A row is a variant with its payload, and these columns:
//!
//! 1. its name in the journal and on wires;
//! 2. who may write it: [`Author`];
//! 3. the failures that it survives: [`Durability`];
//! 4. its order: `alone` needs nothing before it, `opens` takes an id or begins what others need, `needs` is
//!    completed or dropped if nothing is open. The last two are members of [`OrderedEvent`];
//! 5. its stamp: `as_is`, or `completed` by the runtime, as a member of [`StampedEvent`];
//! 6. the current message: the event `ENDS` or `PASSES` it.
//!
//! Payloads in square brackets are boxed, so that a text chunk, the most frequent event, stays small.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Author, Durability};
use crate::{
    Artifact, ChildCall, ChildResult, CompositionRun, ContentBlock, ControlOutcome, DaemonChange,
    FsWatchEvent, HandoffArtifact, HitlOutcome, HitlResponse, LiveAuthor, LiveClientAction,
    LiveClientChange, LiveClientLeft, LogRecord, LoopCheckpoint, McpServerStatus, MessageId,
    PendingChange, PermissionAsked, PermissionRecord, PermissionResolved, PermissionRoute, Plan,
    Progress, ProgressReport, ReminderChange, RenderedReminder, SessionInfo, SkillMatch,
    SkillNarrow, SlashCommand, ToolCall, ToolCallUpdate, ToolSearchQuery, ToolSearchResult,
    ToolsChange, TranscriptCompacted, TranscriptProjected, TurnEnded, TurnRecovered, TurnStarted,
    Usage, WorkerCall, WorkerUpdate,
};

const ENDS: bool = true;
const PASSES: bool = false;

agent_events! {
    /// Text of the conversation.
    Message(MessageEvent) {
        /// Part of the agent's answer.
        AgentMessageChunk {
            /// The text.
            content: String,
            /// The id of the message; the runtime fills it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            message_id: Option<MessageId>,
        } => "agent_message_chunk", Agent, Written, alone, completed, PASSES;
        /// Part of the agent's reasoning.
        AgentThoughtChunk {
            /// The text.
            content: String,
            /// The id of the message; the runtime fills it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            message_id: Option<MessageId>,
        } => "agent_thought_chunk", Agent, Written, alone, completed, PASSES;
        /// A user's message that reached the agent during a turn.
        UserMessage {
            /// Its id.
            message_id: MessageId,
            /// Its content.
            content: Vec<ContentBlock>,
            /// The client that sent it, if it gave a name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            live_session: Option<Box<LiveAuthor>>,
        } => "user_message", Agent, Written, opens, as_is, ENDS;
    }
    /// Prompts and their turns.
    Turn(TurnEvent) {
        /// A prompt was accepted and its turn began.
        TurnStarted[TurnStarted] => "turn_started", Runtime("a prompt starts the turn"), Written, opens, as_is, ENDS;
        /// A prompt was accepted and waits for the running turn to end; the envelope has the id of its future
        /// turn.
        PromptQueued[TurnStarted] => "prompt_queued", Runtime("a prompt waits behind the turn that runs"), Written, alone, as_is, PASSES;
        /// A prompt was cancelled before its turn began; the envelope has the id of that turn.
        PromptWithdrawn[TurnStarted] => "prompt_withdrawn", Runtime("the client that sent a prompt cancels it"), Synced, alone, as_is, PASSES;
        /// The turn ended.
        TurnEnded[TurnEnded] => "turn_ended", Runtime("the turn ends when the agent returns"), Synced, alone, as_is, ENDS;
        /// A turn that a crash interrupted was closed.
        Recovered[TurnRecovered] => "recovered", Runtime("opening a session after a crash causes it"), Written, alone, as_is, ENDS;
    }
    /// Tool calls of the agent.
    Tool(ToolEvent) {
        /// A tool call was announced.
        ToolCall[ToolCall] => "tool_call", Agent, Written, opens, completed, ENDS;
        /// A tool call changed.
        ToolCallUpdate[ToolCallUpdate] => "tool_call_update", Agent, Written, needs, completed, ENDS;
    }
    /// Decisions about calls.
    Permission(PermissionEvent) {
        /// A tool call waits for a decision.
        PermissionAsked[PermissionAsked] => "permission_asked", Runtime("a tool call asks for permission"), Written, needs, completed, PASSES;
        /// The decision about that call.
        PermissionResolved[PermissionResolved] => "permission_resolved", Runtime("a tool call asks for permission"), Synced, alone, as_is, PASSES;
    }
    /// Records of decisions about calls.
    Record(RecordEvent) {
        /// A call may run; only in the transcript.
        PermissionGrant[PermissionRecord] => "permission_grant", Runtime("a tool call asks for permission"), Written, alone, as_is, PASSES;
        /// A call may not run; only in the transcript.
        PermissionDeny[PermissionRecord] => "permission_deny", Runtime("a tool call asks for permission"), Written, alone, as_is, PASSES;
        /// A permission question about a call follows; only in the transcript.
        PermissionEscalation[PermissionRecord] => "permission_escalation", Runtime("a tool call asks for permission"), Written, alone, as_is, PASSES;
        /// A question was sent to a client; only in the transcript.
        LiveSessionPermissionRoute[PermissionRoute] => "live_session_permission_route", Runtime("a tool call asks for permission"), Written, alone, as_is, PASSES;
        /// A grant for the session was revoked; only in the transcript.
        GrantRevoked {
            /// The id of the grant.
            grant_id: String,
        } => "grant_revoked", Runtime("the controller revokes it"), Synced, alone, as_is, PASSES;
    }
    /// Questions to a person that are not about a call.
    Question(QuestionEvent) {
        /// A person is asked a question.
        HitlRequested {
            /// The id of the question.
            request_id: String,
            /// `question`, `approval`, `dual_control` or `escalation`.
            kind: String,
            /// The payload of the question.
            payload: Value,
        } => "hitl_requested", Agent, Written, opens, as_is, PASSES;
        /// A person answered a question; only in the transcript.
        HitlResponded[HitlResponse] => "hitl_responded", Runtime("the person who is asked answers"), Synced, alone, as_is, PASSES;
        /// The question ended.
        HitlResolved {
            /// The id of the question.
            request_id: String,
            /// `question`, `approval`, `dual_control` or `escalation`.
            kind: String,
            /// How it ended.
            outcome: HitlOutcome,
        } => "hitl_resolved", Agent, Synced, needs, as_is, PASSES;
    }
    /// Plans, progress and results of the agent.
    Report(ReportEvent) {
        /// The agent has a new plan.
        Plan {
            /// The plan.
            plan: Plan,
        } => "plan", Agent, Written, alone, completed, PASSES;
        /// The agent reports progress.
        ProgressReported[ProgressReport] => "progress_reported", Agent, Written, alone, as_is, PASSES;
        /// An operation reports its progress.
        Progress[Progress] => "progress", Agent, Written, alone, as_is, PASSES;
        /// The agent made an artifact.
        Artifact[Artifact] => "artifact", Agent, Written, alone, as_is, PASSES;
    }
    /// Work of other agents.
    Delegation(DelegationEvent) {
        /// A worker changed state.
        WorkerUpdate[WorkerUpdate] => "worker_update", Agent, Written, needs, completed, PASSES;
        /// A worker's tool call was announced or changed.
        WorkerCall[WorkerCall] => "worker_call", Runtime("a tool call of a worker causes it"), Written, needs, completed, PASSES;
        /// Work was handed over.
        Handoff {
            /// The id of the artifact that carries it.
            artifact_id: String,
            /// The handoff.
            handoff: Box<HandoffArtifact>,
        } => "handoff", Agent, Written, alone, completed, PASSES;
    }
    /// Composition runs.
    Composition(CompositionEvent) {
        /// A composition run began.
        CompositionStart[CompositionRun] => "composition_start", Agent, Written, opens, as_is, PASSES;
        /// A child call of a composition run began.
        CompositionChildCall[ChildCall] => "composition_child_call", Agent, Written, needs, as_is, PASSES;
        /// A child call of a composition run ended.
        CompositionChildResult[ChildResult] => "composition_child_result", Agent, Written, needs, completed, PASSES;
        /// A composition run ended successfully.
        CompositionFinish[CompositionRun] => "composition_finish", Agent, Written, needs, completed, PASSES;
        /// A composition run ended with an error.
        CompositionError[CompositionRun] => "composition_error", Agent, Written, needs, completed, PASSES;
    }
    /// Skills that are active.
    Skill(SkillEvent) {
        /// A skill became active.
        SkillActivated {
            /// Its name.
            skill_name: String,
            /// Its id, if it is not its name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            skill_id: Option<String>,
            /// The iteration of the turn.
            iteration: u64,
            /// The reason.
            reason: String,
        } => "skill_activated", Agent, Written, alone, as_is, PASSES;
        /// A skill became inactive.
        SkillDeactivated {
            /// The name it was activated under.
            skill_name: String,
            /// Its id, if it is not its name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            skill_id: Option<String>,
            /// The iteration of the turn.
            iteration: u64,
        } => "skill_deactivated", Agent, Written, needs, as_is, PASSES;
    }
    /// Details of the agent's work, for hosts that can show them.
    Detail(DetailEvent) {
        /// A line for the host's log.
        Log[LogRecord] => "log", Agent, Written, alone, as_is, PASSES;
        /// Watched files changed.
        FsWatch {
            /// The id of the watch.
            subscription_id: String,
            /// The changes.
            events: Vec<FsWatchEvent>,
        } => "fs_watch", Agent, Written, alone, as_is, PASSES;
        /// A skill restricts the available tools.
        SkillScopeTools {
            /// The name it was activated under.
            skill_name: String,
            /// Its id, if it is not its name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            skill_id: Option<String>,
            /// The tools that remain available.
            allowed_tools: Vec<String>,
        } => "skill_scope_tools", Agent, Written, alone, as_is, PASSES;
        /// The available tools were reduced.
        SkillNarrow[SkillNarrow] => "skill_narrow", Agent, Written, alone, as_is, PASSES;
        /// Skills were ranked; only in the transcript.
        SkillMatched[SkillMatch] => "skill_matched", Agent, Written, alone, as_is, PASSES;
        /// The agent searched its tools.
        ToolSearchQuery[ToolSearchQuery] => "tool_search_query", Agent, Written, alone, as_is, PASSES;
        /// The tool search ended.
        ToolSearchResult[ToolSearchResult] => "tool_search_result", Agent, Written, alone, as_is, PASSES;
        /// A prompt was built from part of the transcript.
        TranscriptProjected[TranscriptProjected] => "transcript_projected", Agent, Written, alone, as_is, PASSES;
    }
    /// Messages, reminders and controls for a running agent.
    Steering(SteeringEvent) {
        /// The agent passed a seam.
        LoopCheckpoint(LoopCheckpoint) => "loop_checkpoint", Runtime("passing a seam causes it"), Written, alone, as_is, PASSES;
        /// The queue of messages and reminders changed; only in the transcript.
        Pending[PendingChange] => "pending", Runtime("a client that steers the session causes it"), Written, alone, as_is, PASSES;
        /// A reminder was rendered into a prompt.
        ReminderEmitted[RenderedReminder] => "reminder_emitted", Agent, Written, alone, as_is, PASSES;
        /// A reminder changed; only in the transcript.
        ReminderLifecycle[ReminderChange] => "reminder_lifecycle", Runtime("the delivery of a reminder causes it"), Written, alone, as_is, PASSES;
        /// A client sent a control to the running session.
        ControlOutcome[ControlOutcome] => "control_outcome", Runtime("a client that steers the session causes it"), Written, alone, as_is, PASSES;
        /// An agent became idle or woke up, or its watchdog ended it.
        Daemon(DaemonChange) => "daemon", Runtime("an agent that becomes idle causes it"), Written, alone, as_is, PASSES;
    }
    /// The context of the agent.
    Context(ContextEvent) {
        /// The fill level of the context.
        Usage(Usage) => "usage", Agent, Written, alone, as_is, PASSES;
        /// Older messages were replaced with a summary.
        TranscriptCompacted[TranscriptCompacted] => "transcript_compacted", Agent, Written, alone, as_is, PASSES;
    }
    /// Settings of the session.
    Setting(SettingEvent) {
        /// The mode changed.
        ModeChanged {
            /// The new mode.
            mode_id: String,
        } => "mode_changed", Runtime("the controller changes it"), Synced, alone, as_is, PASSES;
        /// An option changed.
        ConfigChanged {
            /// The id of the option.
            config_id: String,
            /// The new value.
            value: String,
        } => "config_changed", Runtime("the controller changes it"), Synced, alone, as_is, PASSES;
        /// The title or other facts changed.
        SessionInfo(SessionInfo) => "session_info", Agent, Written, alone, as_is, PASSES;
    }
    /// Equipment and clients of the session.
    Session(SessionEvent) {
        /// The available slash commands changed.
        AvailableCommands {
            /// All commands.
            commands: Vec<SlashCommand>,
            /// The names of those that come from the session's equipment, not from its agent; the runtime fills
            /// it.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            equipped: Vec<String>,
            /// Whether the agent's own commands are unchanged; the runtime fills it.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            own_unchanged: bool,
        } => "available_commands", Agent, Written, alone, completed, PASSES;
        /// The tools that an agent may call changed.
        ToolsChanged[ToolsChange] => "tools_changed", Runtime("the session's equipment writes it"), Written, alone, as_is, PASSES;
        /// The MCP servers of the session and the state of each.
        McpServers {
            /// All servers, by name.
            servers: Vec<McpServerStatus>,
        } => "mcp_servers", Runtime("the session's equipment writes it"), Written, alone, as_is, PASSES;
        /// A client attached, left, took control or sent a heartbeat.
        LiveSessionClient {
            /// The action of the client.
            action: LiveClientAction,
            /// The clients after it.
            state: Box<LiveClientChange>,
            /// The client that left and the reason, if one left.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            left: Option<Box<LiveClientLeft>>,
        } => "live_session_client", Agent, Written, alone, as_is, PASSES;
        /// The session was closed on request; it can be opened again.
        SessionClosed {
            /// Why it was closed.
            reason: String,
            /// The status of the session.
            status: String,
        } => "session_closed", Runtime("closing the session causes it"), Synced, alone, as_is, PASSES;
    }
}

impl AgentEvent {
    /// Returns whether every typed number of the event exists in JSON. (Untyped values cannot contain others.)
    pub fn has_finite_numbers(&self) -> bool {
        match self.family() {
            EventFamily::Context(ContextEvent::Usage(usage)) => {
                usage.cost.as_ref().is_none_or(|c| c.amount.is_finite())
            }
            EventFamily::Detail(DetailEvent::SkillMatched(matched)) => {
                matched.candidates.iter().all(|c| c.score.is_finite())
            }
            EventFamily::Delegation(DelegationEvent::Handoff { handoff, .. }) => {
                let dollars = handoff.budget_remaining.as_ref().and_then(|b| b.dollars);
                let numbers = [handoff.confidence, dollars];
                numbers.into_iter().flatten().all(f64::is_finite)
            }
            // No floating-point field.
            EventFamily::Context(ContextEvent::TranscriptCompacted(_))
            | EventFamily::Detail(
                DetailEvent::Log(_)
                | DetailEvent::FsWatch { .. }
                | DetailEvent::SkillScopeTools { .. }
                | DetailEvent::SkillNarrow(_)
                | DetailEvent::ToolSearchQuery(_)
                | DetailEvent::ToolSearchResult(_)
                | DetailEvent::TranscriptProjected(_),
            )
            | EventFamily::Delegation(
                DelegationEvent::WorkerUpdate(_) | DelegationEvent::WorkerCall(_),
            )
            | EventFamily::Message(_)
            | EventFamily::Turn(_)
            | EventFamily::Tool(_)
            | EventFamily::Permission(_)
            | EventFamily::Record(_)
            | EventFamily::Question(_)
            | EventFamily::Report(_)
            | EventFamily::Composition(_)
            | EventFamily::Skill(_)
            | EventFamily::Steering(_)
            | EventFamily::Session(_)
            | EventFamily::Setting(_) => true,
        }
    }
}
