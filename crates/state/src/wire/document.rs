//! The document: what a client knows of a session. The first names of each type are the protocol's own; what
//! follows is ours, is always there, and may be ignored.

use std::{collections::BTreeSet, sync::Arc};

use crate::JsonSchema;
use harn_model::{
    Cost, GrantScope, HitlKind, PermissionOptionKind, PlanEntryStatus, PlanPriority, RiskLabel,
    Timestamp, ToolKind, WorkerStatus,
};
use serde::Serialize;
use serde_json::Value;

/// A session, as its clients see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "State")]
pub struct DocumentState {
    /// Whether the agent is at work.
    pub status: DocumentStatus,
    /// What was said, oldest first; what still waits comes last.
    pub messages: Vec<Arc<DocumentMessage>>,
    /// What went wrong, while `status` is `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is known of the session as a whole.
    pub session: SessionFacts,
    /// What the agent means to do.
    pub plan: Vec<PlanItem>,
    /// Who works for the agent.
    pub workers: Vec<WorkerFacts>,
    /// The ids of the skills that are active.
    pub skills: BTreeSet<String>,
    /// How full the context is, where known.
    pub usage: Option<UsageFacts>,
    /// Tool calls that wait for a decision, oldest first.
    pub approvals: Vec<PendingApproval>,
    /// What people are asked, oldest first.
    pub questions: Vec<PendingQuestion>,
    /// The clients that are there under a name.
    pub clients: Vec<ClientFacts>,
    /// Who controls the session, if anybody does.
    pub controller: Option<String>,
}

/// Whether an agent is at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Status")]
pub enum DocumentStatus {
    /// It is not.
    #[default]
    Idle,
    /// It is.
    Running,
    /// It failed, and can be asked again.
    Error,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Message")]
pub struct DocumentMessage {
    /// Its id, which it keeps.
    pub id: String,
    /// By whom.
    pub role: MessageRole,
    /// What.
    pub content: String,
    /// How far it is.
    pub status: MessageStatus,
    /// What the agent did beside saying it; there on messages of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<DocumentToolCall>>,
    /// When it began.
    pub at: Timestamp,
    /// What the agent thought before it said it.
    pub thought: String,
    /// What else happened since.
    pub notes: Vec<MessageNote>,
    /// Whether it was said while the agent was at work; there on messages of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steer: Option<bool>,
    /// The client that said it, where it has a name; there on messages of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Option<String>>,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Role")]
pub enum MessageRole {
    /// A person.
    User,
    /// The agent.
    Assistant,
}

/// How far a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// It waits for the agent, or the agent has not begun it.
    Pending,
    /// It grows.
    Streaming,
    /// It is whole.
    Complete,
    /// It was cut short, or never reached the agent.
    Error,
}

/// Something the agent did.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ToolCall")]
pub struct DocumentToolCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// How far it is.
    pub status: CallStatus,
    /// What it does, for people.
    pub title: String,
    /// What sort of tool it is.
    pub kind: ToolKind,
    /// When it was announced.
    pub at: Timestamp,
    /// How long it took, once that is known.
    pub duration_ms: Option<u64>,
    /// Places that it touches.
    pub locations: Vec<harn_model::Location>,
    /// Its arguments.
    pub input: Value,
    /// What it says came of it.
    pub output: String,
    /// Whether there is more of that than is shown here.
    pub cut: bool,
    /// What it changes.
    pub diffs: Vec<CallDiff>,
    /// What went wrong.
    pub error: Option<String>,
    /// Whether somebody had to decide, and how they did.
    pub approval: Option<ApprovalStatus>,
}

/// How far a tool call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It has not ended.
    Running,
    /// It ended well.
    Complete,
    /// It did not.
    Error,
}

/// What was decided about a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// Nothing yet.
    Pending,
    /// It may run.
    Approved,
    /// It may not.
    Denied,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Diff")]
pub struct CallDiff {
    /// Which file.
    pub path: String,
    /// What was there; nothing where the file is new.
    pub old_text: Option<String>,
    /// What is there then.
    pub new_text: String,
}

/// Something that happened beside what was said.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Note")]
pub struct MessageNote {
    /// What sort of thing.
    pub kind: NoteKind,
    /// What, for people.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// What sort of thing a note tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A skill came or went.
    Skill,
    /// The agent is reminded of something.
    Reminder,
    /// The session's mode changed.
    Mode,
    /// Work was handed over.
    Handoff,
    /// The agent made something.
    Artifact,
    /// How far the agent is.
    Progress,
    /// Older messages were folded away.
    Compaction,
    /// What was decided about a call.
    Permission,
    /// Anything else.
    Info,
}

/// What is known of a session as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionFacts {
    /// Its id.
    pub id: String,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// Where it works.
    pub cwd: String,
    /// The agent, for people.
    pub agent: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// Its mode.
    pub mode: String,
    /// The modes there are.
    pub modes: Vec<ModeInfo>,
    /// The options of its agent.
    pub options: Vec<OptionInfo>,
    /// The slash commands on offer.
    pub commands: Vec<CommandHint>,
}

/// A mode.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// An option of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OptionInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it is.
    pub value: String,
    /// What it may be.
    pub choices: Vec<OptionChoice>,
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Choice")]
pub struct OptionChoice {
    /// The value.
    pub value: String,
    /// Its name.
    pub name: String,
}

/// A slash command.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Hint")]
pub struct CommandHint {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What follows the name, if anything does.
    pub hint: Option<String>,
}

/// A step of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanItem {
    /// What.
    pub content: String,
    /// How far.
    pub status: PlanEntryStatus,
    /// How important.
    pub priority: PlanPriority,
}

/// Somebody who works for the agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerFacts {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub task: String,
    /// How it runs.
    pub mode: String,
    /// How far it is.
    pub status: WorkerStatus,
    /// The session it works in.
    pub session_id: Option<String>,
    /// When it began, as RFC 3339.
    pub started_at: Option<String>,
    /// When it ended, as RFC 3339.
    pub finished_at: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
}

/// How full the context is, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsageFacts {
    /// Tokens in the context.
    pub used: u64,
    /// How many there may be.
    pub size: u64,
    /// What it cost so far, where known.
    pub cost: Option<Cost>,
}

/// A tool call that waits for a decision, with all that a decision needs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Approval")]
pub struct PendingApproval {
    /// The question's id.
    pub id: String,
    /// The call's id, by which it is answered.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// What it would do, for people.
    pub title: String,
    /// What sort of tool it is.
    pub kind: ToolKind,
    /// Its arguments, whole.
    pub input: Value,
    /// The command line, letter by letter, where it is one.
    pub command: Option<String>,
    /// Places that it would touch.
    pub locations: Vec<harn_model::Location>,
    /// What it would change, whole.
    pub diffs: Vec<CallDiff>,
    /// What it says beside that.
    pub output: String,
    /// Why somebody is asked.
    pub reason: Option<String>,
    /// What makes it risky.
    pub risks: Vec<RiskLabel>,
    /// The paths that it declares, and where they lead.
    pub paths: Vec<String>,
    /// What may be answered.
    pub options: Vec<ApprovalChoice>,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it is settled without an answer.
    pub deadline: Option<Timestamp>,
    /// Who asks, where it is somebody who works for the agent.
    pub worker: Option<String>,
}

/// A possible answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApprovalChoice {
    /// Its id.
    pub id: String,
    /// Its label.
    pub name: String,
    /// What it means.
    pub kind: PermissionOptionKind,
    /// How long it holds.
    pub scope: GrantScope,
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Question")]
pub struct PendingQuestion {
    /// Its id, by which it is answered.
    pub id: String,
    /// What sort of thing.
    pub kind: HitlKind,
    /// What.
    pub subject: String,
    /// More about it.
    pub detail: Option<String>,
    /// What may be answered; anything where there are none.
    pub choices: Vec<String>,
    /// What counts where nobody answers.
    pub default: Option<String>,
    /// Who should take it over.
    pub to: Option<String>,
    /// Who may decide; anybody where nobody is named.
    pub reviewers: Vec<String>,
    /// How many have to agree.
    pub quorum: u64,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it is settled without an answer.
    pub deadline: Timestamp,
    /// Who asks.
    pub agent: String,
}

/// A client that is there under a name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Client")]
pub struct ClientFacts {
    /// Its name.
    pub id: String,
    /// What it may do.
    pub mode: ClientMode,
    /// When it came, in seconds.
    pub attached_at: String,
    /// When it was last heard of, in seconds.
    pub last_seen_at: String,
}

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientMode {
    /// Watch.
    Observer,
    /// Drive.
    Controller,
}
