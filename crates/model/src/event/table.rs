//! The one table of events: a row for every variant of [`AgentEvent`]. A new event is a new row here, and an arm in
//! the translations that show it.
//!
//! A row is a variant with its payload, and these columns:
//!
//! 1. its name in the journal and on wires;
//! 2. who may write it: [`Author`];
//! 3. what it survives: [`Durability`];
//! 4. its order: `alone` needs nothing before it, `opens` takes an id or begins what others need, `needs` is
//!    completed or left out where nothing is open. The last two are members of [`OrderedEvent`];
//! 5. its stamp: `as_is`, or `completed` by the runtime, as a member of [`StampedEvent`];
//! 6. the message under way: the event `ENDS` or `PASSES` it.
//!
//! Payloads in square brackets are boxed, so that a text chunk, which outnumbers everything else, stays small.

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
            /// Which message; filled by the runtime.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            message_id: Option<MessageId>,
        } => "agent_message_chunk", Agent, Written, alone, completed, PASSES;
        /// Part of the agent's reasoning.
        AgentThoughtChunk {
            /// The text.
            content: String,
            /// Which message; filled by the runtime.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            message_id: Option<MessageId>,
        } => "agent_thought_chunk", Agent, Written, alone, completed, PASSES;
        /// A message of the user that reached the agent in the middle of a turn.
        UserMessage {
            /// Its id.
            message_id: MessageId,
            /// What it says.
            content: Vec<ContentBlock>,
            /// The client that said it, where one did under a name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            live_session: Option<Box<LiveAuthor>>,
        } => "user_message", Agent, Written, opens, as_is, ENDS;
    }
    /// Prompts, and the turns they become.
    Turn(TurnEvent) {
        /// A prompt was accepted and its turn began.
        TurnStarted[TurnStarted] => "turn_started", Runtime("a prompt starts the turn"), Written, opens, as_is, ENDS;
        /// A prompt was accepted and waits behind the turn that runs; the turn it will be is the envelope's.
        PromptQueued[TurnStarted] => "prompt_queued", Runtime("a prompt waits behind the turn that runs"), Written, alone, as_is, PASSES;
        /// A prompt was cancelled before its turn began; the turn it would have been is the envelope's.
        PromptWithdrawn[TurnStarted] => "prompt_withdrawn", Runtime("whoever sent a prompt cancels it"), Synced, alone, as_is, PASSES;
        /// The turn ended.
        TurnEnded[TurnEnded] => "turn_ended", Runtime("the turn ends when the agent returns"), Synced, alone, as_is, ENDS;
        /// A turn cut short by a crash was closed.
        Recovered[TurnRecovered] => "recovered", Runtime("opening a session after a crash writes it"), Written, alone, as_is, ENDS;
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
        /// The decision.
        PermissionResolved[PermissionResolved] => "permission_resolved", Runtime("a tool call asks for permission"), Synced, alone, as_is, PASSES;
    }
    /// The record behind decisions about calls.
    Record(RecordEvent) {
        /// A call may run; stays in the transcript.
        PermissionGrant[PermissionRecord] => "permission_grant", Runtime("a tool call asks for permission"), Written, alone, as_is, PASSES;
        /// A call may not run; stays in the transcript.
        PermissionDeny[PermissionRecord] => "permission_deny", Runtime("a tool call asks for permission"), Written, alone, as_is, PASSES;
        /// Somebody is going to be asked about a call; stays in the transcript.
        PermissionEscalation[PermissionRecord] => "permission_escalation", Runtime("a tool call asks for permission"), Written, alone, as_is, PASSES;
        /// A question was put to a client; stays in the transcript.
        LiveSessionPermissionRoute[PermissionRoute] => "live_session_permission_route", Runtime("a tool call asks for permission"), Written, alone, as_is, PASSES;
        /// What was remembered for the session is forgotten; stays in the transcript.
        GrantRevoked {
            /// Which grant.
            grant_id: String,
        } => "grant_revoked", Runtime("whoever controls the session revokes it"), Synced, alone, as_is, PASSES;
    }
    /// Questions to a person that are not about a call.
    Question(QuestionEvent) {
        /// A person is asked something.
        HitlRequested {
            /// The question.
            request_id: String,
            /// `question`, `approval`, `dual_control`, `escalation`.
            kind: String,
            /// What is asked.
            payload: Value,
        } => "hitl_requested", Agent, Written, opens, as_is, PASSES;
        /// Somebody answered it; stays in the transcript.
        HitlResponded[HitlResponse] => "hitl_responded", Runtime("whoever is asked answers"), Synced, alone, as_is, PASSES;
        /// That question is settled.
        HitlResolved {
            /// The question.
            request_id: String,
            /// `question`, `approval`, `dual_control`, `escalation`.
            kind: String,
            /// How it ended.
            outcome: HitlOutcome,
        } => "hitl_resolved", Agent, Synced, needs, as_is, PASSES;
    }
    /// Plans, progress and results of the agent.
    Report(ReportEvent) {
        /// There is a new plan.
        Plan {
            /// The plan.
            plan: Plan,
        } => "plan", Agent, Written, alone, completed, PASSES;
        /// The agent reports progress.
        ProgressReported[ProgressReport] => "progress_reported", Agent, Written, alone, as_is, PASSES;
        /// Something is under way.
        Progress[Progress] => "progress", Agent, Written, alone, as_is, PASSES;
        /// The agent made something.
        Artifact[Artifact] => "artifact", Agent, Written, alone, as_is, PASSES;
    }
    /// Work that another agent does.
    Delegation(DelegationEvent) {
        /// A worker changed state.
        WorkerUpdate[WorkerUpdate] => "worker_update", Agent, Written, needs, completed, PASSES;
        /// A worker's tool call was announced or changed.
        WorkerCall[WorkerCall] => "worker_call", Runtime("a worker that calls a tool writes it"), Written, needs, completed, PASSES;
        /// Work was handed over.
        Handoff {
            /// The artifact that carries it.
            artifact_id: String,
            /// The handoff itself.
            handoff: Box<HandoffArtifact>,
        } => "handoff", Agent, Written, alone, completed, PASSES;
    }
    /// Composition runs.
    Composition(CompositionEvent) {
        /// A composition run began.
        CompositionStart[CompositionRun] => "composition_start", Agent, Written, opens, as_is, PASSES;
        /// A child of it began.
        CompositionChildCall[ChildCall] => "composition_child_call", Agent, Written, needs, as_is, PASSES;
        /// A child of it ended.
        CompositionChildResult[ChildResult] => "composition_child_result", Agent, Written, needs, completed, PASSES;
        /// It ended well.
        CompositionFinish[CompositionRun] => "composition_finish", Agent, Written, needs, completed, PASSES;
        /// It ended badly.
        CompositionError[CompositionRun] => "composition_error", Agent, Written, needs, completed, PASSES;
    }
    /// Skills that are active.
    Skill(SkillEvent) {
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
        } => "skill_activated", Agent, Written, alone, as_is, PASSES;
        /// A skill became inactive.
        SkillDeactivated {
            /// The name it became active under.
            skill_name: String,
            /// Its id, where that is another than its name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            skill_id: Option<String>,
            /// In which iteration.
            iteration: u64,
        } => "skill_deactivated", Agent, Written, needs, as_is, PASSES;
    }
    /// Details of how the agent works, for hosts with a place for them.
    Detail(DetailEvent) {
        /// A line for the host's log.
        Log[LogRecord] => "log", Agent, Written, alone, as_is, PASSES;
        /// Watched files changed.
        FsWatch {
            /// Which watch.
            subscription_id: String,
            /// What changed.
            events: Vec<FsWatchEvent>,
        } => "fs_watch", Agent, Written, alone, as_is, PASSES;
        /// A skill restricts the tools in reach.
        SkillScopeTools {
            /// The name it became active under.
            skill_name: String,
            /// Its id, where that is another than its name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            skill_id: Option<String>,
            /// To these.
            allowed_tools: Vec<String>,
        } => "skill_scope_tools", Agent, Written, alone, as_is, PASSES;
        /// The tools in reach were narrowed.
        SkillNarrow[SkillNarrow] => "skill_narrow", Agent, Written, alone, as_is, PASSES;
        /// Skills were ranked; stays in the transcript.
        SkillMatched[SkillMatch] => "skill_matched", Agent, Written, alone, as_is, PASSES;
        /// The agent searched its tools.
        ToolSearchQuery[ToolSearchQuery] => "tool_search_query", Agent, Written, alone, as_is, PASSES;
        /// The search ended.
        ToolSearchResult[ToolSearchResult] => "tool_search_result", Agent, Written, alone, as_is, PASSES;
        /// A prompt was built from part of the transcript.
        TranscriptProjected[TranscriptProjected] => "transcript_projected", Agent, Written, alone, as_is, PASSES;
    }
    /// Messages, reminders and controls for an agent at work.
    Steering(SteeringEvent) {
        /// The agent passed a seam.
        LoopCheckpoint(LoopCheckpoint) => "loop_checkpoint", Runtime("passing a seam writes it"), Written, alone, as_is, PASSES;
        /// What waits for delivery changed; stays in the transcript.
        Pending[PendingChange] => "pending", Runtime("whoever steers the session writes it"), Written, alone, as_is, PASSES;
        /// A reminder was rendered into a prompt.
        ReminderEmitted[RenderedReminder] => "reminder_emitted", Agent, Written, alone, as_is, PASSES;
        /// A step in the life of a reminder; stays in the transcript.
        ReminderLifecycle[ReminderChange] => "reminder_lifecycle", Runtime("a reminder that is delivered writes it"), Written, alone, as_is, PASSES;
        /// Somebody wanted something of the running session.
        ControlOutcome[ControlOutcome] => "control_outcome", Runtime("whoever steers the session writes it"), Written, alone, as_is, PASSES;
        /// An agent that stays waits, wakes, or is ended.
        Daemon(DaemonChange) => "daemon", Runtime("waiting for more to do writes it"), Written, alone, as_is, PASSES;
    }
    /// The context of the agent.
    Context(ContextEvent) {
        /// How full the context is.
        Usage(Usage) => "usage", Agent, Written, alone, as_is, PASSES;
        /// Older messages were folded away.
        TranscriptCompacted[TranscriptCompacted] => "transcript_compacted", Agent, Written, alone, as_is, PASSES;
    }
    /// Settings of the session.
    Setting(SettingEvent) {
        /// The mode changed.
        ModeChanged {
            /// To this one.
            mode_id: String,
        } => "mode_changed", Runtime("whoever controls the session changes it"), Synced, alone, as_is, PASSES;
        /// An option changed.
        ConfigChanged {
            /// Which.
            config_id: String,
            /// To what.
            value: String,
        } => "config_changed", Runtime("whoever controls the session changes it"), Synced, alone, as_is, PASSES;
        /// The title or other facts changed.
        SessionInfo(SessionInfo) => "session_info", Agent, Written, alone, as_is, PASSES;
    }
    /// Equipment and clients of the session.
    Session(SessionEvent) {
        /// The slash commands on offer changed.
        AvailableCommands {
            /// All of them.
            commands: Vec<SlashCommand>,
            /// The names of those that come from what the session is equipped with, not from its agent; filled
            /// by the runtime.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            equipped: Vec<String>,
            /// Whether the agent's own are as they were; filled by the runtime.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            own_unchanged: bool,
        } => "available_commands", Agent, Written, alone, completed, PASSES;
        /// The tools that an agent may call are others now.
        ToolsChanged[ToolsChange] => "tools_changed", Runtime("what the session is equipped with writes it"), Written, alone, as_is, PASSES;
        /// The MCP servers of the session, and how each stands.
        McpServers {
            /// All of them, by name.
            servers: Vec<McpServerStatus>,
        } => "mcp_servers", Runtime("what the session is equipped with writes it"), Written, alone, as_is, PASSES;
        /// A client came, left, took control or is still there.
        LiveSessionClient {
            /// Which of these.
            action: LiveClientAction,
            /// The registry after it.
            state: Box<LiveClientChange>,
            /// Who left, and why, where one did.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            left: Option<Box<LiveClientLeft>>,
        } => "live_session_client", Agent, Written, alone, as_is, PASSES;
        /// The session was closed on request; it can be opened again.
        SessionClosed {
            /// Who wanted it.
            reason: String,
            /// What it is now.
            status: String,
        } => "session_closed", Runtime("whoever closes the session writes it"), Synced, alone, as_is, PASSES;
    }
}
