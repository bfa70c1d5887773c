//! The types that every crate shares: ids, events, content blocks and the session view.
//!
//! Nothing here runs, sleeps, reads a clock or touches a disk, and no name here belongs to a wire: each front-end
//! translates its own protocol. The serde form of [`AgentEvent`] is the journal's.

mod activity;
mod approval;
mod approval_policy;
mod bridge;
mod catalogue;
mod composition;
mod confinement;
mod content;
mod control;
mod daemon;
mod decision;
mod event;
mod grant;
mod handoff;
mod hash;
mod hitl;
mod id;
mod live_client;
mod mcp;
mod mutation;
mod open_turn;
mod output;
mod pending;
mod permission;
mod plan;
mod principal;
mod reminder;
mod session;
mod shell;
mod time;
mod tool;
mod transcript;
mod turn;
mod used_ids;
mod view;
mod visible_text;
mod worker;
mod worker_call;

#[cfg(not(feature = "schema"))]
use harn_schema::JsonSchema;
#[cfg(feature = "schema")]
use schemars::JsonSchema;

pub use activity::*;
pub use approval::{ApprovalEvidence, ApprovalRequest, UndoMetadata};
pub use approval_policy::{ApprovalLists, ApprovalPolicy};
pub use bridge::{
    HostCapabilities, HostSkill, HostTool, SkillMatchRequest, SkillRef, SkillToMatch,
};
pub use catalogue::{ToolSource, ToolSpec, ToolsChange};
pub use composition::{
    ChildCall, ChildResult, CompositionRun, FailureCategory, SideEffectLevel, ToolAnnotations,
    binding_manifest_hash, snippet_hash,
};
pub use confinement::{ConfinedNetwork, ConfinedWrites, ConfinementRecord};
pub use content::{ContentBlock, Resource, ResourceLink, plain_text};
pub use control::{
    Actor, ControlKind, ControlOutcome, ControlResult, ControlStatus, ControlTarget,
};
pub use daemon::{BACKOFF_MS, DaemonChange, IdleDaemon, WakeReason, backoff_after, next_backoff};
pub use decision::{
    MatchedRule, PathKind, PolicyAction, PolicyContext, PolicyDecision, ReceiptType, RiskLabel,
    RuleSource, WorkspacePathInfo,
};
pub use event::{
    AgentEvent, Author, CompositionEvent, ContextEvent, DelegationEvent, DetailEvent, Durability,
    Envelope, EventFamily, MessageEvent, OrderedEvent, PermissionEvent, QuestionEvent, RecordEvent,
    ReportEvent, Seq, SessionEvent, SettingEvent, SkillEvent, StampedEvent, SteeringEvent,
    Timestamp, ToolEvent, TurnEvent,
};
pub use grant::{Grant, GrantEffect, GrantScope, GrantSubject};
pub use handoff::{
    EvidenceRef, HandoffArtifact, HandoffBudget, HandoffDeadline, HandoffTarget, ReceiptLink,
};
pub use hitl::{
    HitlKind, HitlOutcome, HitlRequest, HitlResponse, hitl_headline, hitl_subject, is_same_reviewer,
};
pub use id::{AskId, MessageId, Principal, SessionId, ToolCallId, TurnId, WorkerId};
pub use live_client::{
    LiveAuthor, LiveClient, LiveClientAction, LiveClientChange, LiveClientLeft, LiveClientMode,
};
pub use mcp::{McpServerSpec, McpServerStatus, McpState, McpTransport, Secret};
pub use mutation::{ExecutionKind, MutationScope, MutationSession};
pub use open_turn::{OpenCall, OpenChild, OpenQuestion, OpenRun, OpenTurn, OpenWorkerCall};
pub use output::{CallOutput, CommandOutput, OutputText, code_fence};
pub use pending::{
    DeliveryMode, PendingChange, PendingDelivery, PendingMessage, PendingQueue, PendingReminder,
};
pub use permission::{
    Decision, JudgedAct, LineageEntry, PermissionAsked, PermissionOption, PermissionOptionKind,
    PermissionRecord, PermissionResolved, PermissionRoute, RememberedGrant,
};
pub use plan::{Plan, PlanDocument, PlanEntry, PlanEntryStatus, PlanPriority, PlanStep};
pub use reminder::{
    ActiveReminder, ActiveReminders, ComingReminders, ExpiryReason, ReminderChange,
    ReminderPropagation, ReminderSource, RoleHint, SystemReminder,
};
pub use session::{
    CommandInput, ConfigChoice, ConfigOption, Cost, Mode, PromptSupport, SessionInfo, SlashCommand,
    Usage,
};
pub use shell::{
    ExecCommand, GivenShell, InvocationShell, ProcessExec, ProcessExit, SetDefaultShell,
    ShellCommand, ShellInvocation, ShellList, ShellPlatform, ShellSource, SystemShell,
};
pub use time::format_rfc3339;
pub use tool::{
    ErrorCategory, Location, McpServerTag, ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent,
    ToolExecutor, ToolKind,
};
pub use transcript::{AgentMessage, ClosedItems, OpenItems, ShownCall, TaggedItem, Transcript};
pub use turn::{
    LoopCheckpoint, Seam, StopReason, TurnEnded, TurnOutcome, TurnRecovered, TurnStarted,
};
pub use used_ids::{UsedIdKind, UsedIds};
pub use view::{QueuedTurn, SessionView};
pub use visible_text::{unfinished_sequence, visible_text};
pub use worker::{WorkerEvent, WorkerMetadata, WorkerStatus, WorkerUpdate};
pub use worker_call::{WorkerCall, WorkerCallStep};
