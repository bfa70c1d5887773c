//! The vocabulary every room shares: ids, events, content blocks and the session view.
//!
//! Nothing here runs, sleeps, reads a clock or touches a disk, and no name here belongs to a wire:
//! each front-end translates at its own edge. The serde form of [`AgentEvent`] is the journal's.

mod composition;
mod content;
mod event;
mod harn;
mod id;
mod permission;
mod plan;
mod session;
mod tool;
mod turn;
mod view;

pub use composition::{
    ChildCall, ChildResult, CompositionRun, FailureCategory, SideEffectLevel, ToolAnnotations,
};
pub use content::{ContentBlock, Resource, ResourceLink, plain_text};
pub use event::{AgentEvent, Envelope, Seq, Timestamp};
pub use harn::{
    Artifact, FsWatchEvent, HitlOutcome, LiveClientAction, LogRecord, Progress, ProgressReport,
    Reminder, SkillCandidate, SkillMatch, SkillNarrow, ToolSearchQuery, ToolSearchResult,
    TranscriptCompacted, TranscriptProjected, WorkerEvent, WorkerUpdate,
};
pub use id::{AskId, MessageId, SessionId, ToolCallId, TurnId};
pub use permission::{
    Decision, PermissionAsked, PermissionOption, PermissionOptionKind, PermissionResolved,
};
pub use plan::{Plan, PlanDocument, PlanEntry, PlanEntryStatus, PlanPriority, PlanStep};
pub use session::{
    Command, CommandInput, ConfigChoice, ConfigOption, Cost, Mode, PromptSupport, SessionInfo,
    Usage,
};
pub use tool::{
    ErrorCategory, Location, McpServerTag, ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent,
    ToolExecutor, ToolKind,
};
pub use turn::{Recovered, Seam, StopReason, TurnEnded, TurnOutcome, TurnStarted};
pub use view::{OpenCall, OpenTurn, SessionView};
