//! The document: a client's view of a session. The first members of each type are the protocol's own; the others
//! are ours, are always present, and may be ignored.

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
    /// The messages, oldest first; queued ones are last.
    pub messages: Vec<Arc<DocumentMessage>>,
    /// The error, while `status` is `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The facts of the session as a whole.
    pub session: SessionFacts,
    /// The agent's plan.
    pub plan: Vec<PlanItem>,
    /// The workers of the agent.
    pub workers: Vec<WorkerFacts>,
    /// The ids of the skills that are active.
    pub skills: BTreeSet<String>,
    /// The use of the context, if known.
    pub usage: Option<UsageFacts>,
    /// Tool calls that wait for a decision, oldest first.
    pub approvals: Vec<PendingApproval>,
    /// The open questions to people, oldest first.
    pub questions: Vec<PendingQuestion>,
    /// The connected clients that have a name.
    pub clients: Vec<ClientFacts>,
    /// The name of the controller, if there is one.
    pub controller: Option<String>,
}

/// Whether an agent is at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Status")]
pub enum DocumentStatus {
    /// No turn is running.
    #[default]
    Idle,
    /// A turn is running.
    Running,
    /// The last turn failed; a new prompt is possible.
    Error,
}

/// A message of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Message")]
pub struct DocumentMessage {
    /// Its id, which never changes.
    pub id: String,
    /// The role of its author.
    pub role: MessageRole,
    /// Its text.
    pub content: String,
    /// Its state.
    pub status: MessageStatus,
    /// The tool calls of the message; only on messages of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<DocumentToolCall>>,
    /// When it began.
    pub at: Timestamp,
    /// The agent's thought before the text.
    pub thought: String,
    /// Notes about other events since it began.
    pub notes: Vec<MessageNote>,
    /// Whether it was sent during a turn; only on messages of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steer: Option<bool>,
    /// The client that sent it, if it has a name; only on messages of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Option<String>>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Role")]
pub enum MessageRole {
    /// A person.
    User,
    /// The agent.
    Assistant,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// It waits for the agent, or the agent has not begun it.
    Pending,
    /// It grows.
    Streaming,
    /// It is complete.
    Complete,
    /// It was interrupted, or never reached the agent.
    Error,
}

/// A tool call of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ToolCall")]
pub struct DocumentToolCall {
    /// Its id.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// Its state.
    pub status: CallStatus,
    /// A description for people.
    pub title: String,
    /// The kind of tool.
    pub kind: ToolKind,
    /// When it was announced.
    pub at: Timestamp,
    /// How long it took in milliseconds, if known.
    pub duration_ms: Option<u64>,
    /// The locations that it touches.
    pub locations: Vec<harn_model::Location>,
    /// Its arguments.
    pub input: Value,
    /// Its output as text.
    pub output: String,
    /// Whether the output is longer than shown here.
    pub cut: bool,
    /// The changes of files that it makes.
    pub diffs: Vec<CallDiff>,
    /// The error, if it failed.
    pub error: Option<String>,
    /// The decision about the call, if it needed one.
    pub approval: Option<ApprovalStatus>,
}

/// The state of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It has not ended.
    Running,
    /// It succeeded.
    Complete,
    /// It did not succeed.
    Error,
}

/// The decision about a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// There is no decision yet.
    Pending,
    /// It may run.
    Approved,
    /// It may not run.
    Denied,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Diff")]
pub struct CallDiff {
    /// The path of the file.
    pub path: String,
    /// The text before the change; null for a new file.
    pub old_text: Option<String>,
    /// The text after the change.
    pub new_text: String,
}

/// A note about an event that is no message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Note")]
pub struct MessageNote {
    /// The kind of event.
    pub kind: NoteKind,
    /// A description for people.
    pub text: String,
    /// When it happened.
    pub at: Timestamp,
}

/// The kind of event of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A skill became active or inactive.
    Skill,
    /// The agent received a reminder.
    Reminder,
    /// The session's mode changed.
    Mode,
    /// Work was handed off.
    Handoff,
    /// The agent made an artifact.
    Artifact,
    /// The agent reported progress.
    Progress,
    /// Older messages were compacted.
    Compaction,
    /// A call was decided about.
    Permission,
    /// Anything else.
    Info,
}

/// The facts of a session as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionFacts {
    /// Its id.
    pub id: String,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// Its working directory.
    pub cwd: String,
    /// The name of the agent, for people.
    pub agent: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// Its current mode.
    pub mode: String,
    /// The available modes.
    pub modes: Vec<ModeInfo>,
    /// The options of its agent.
    pub options: Vec<OptionInfo>,
    /// The available slash commands.
    pub commands: Vec<CommandHint>,
}

/// A mode of sessions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// A description for people.
    pub description: String,
}

/// An option of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OptionInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// A description for people.
    pub description: String,
    /// Its current value.
    pub value: String,
    /// Its possible values.
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
    /// A description for people.
    pub description: String,
    /// A hint for the text after the name, if any.
    pub hint: Option<String>,
}

/// A step of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanItem {
    /// The text of the step.
    pub content: String,
    /// The progress of the step.
    pub status: PlanEntryStatus,
    /// The priority of the step.
    pub priority: PlanPriority,
}

/// A worker of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerFacts {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its task.
    pub task: String,
    /// How it runs.
    pub mode: String,
    /// Its state.
    pub status: WorkerStatus,
    /// The id of the session that it works in.
    pub session_id: Option<String>,
    /// When it began, as RFC 3339.
    pub started_at: Option<String>,
    /// When it ended, as RFC 3339.
    pub finished_at: Option<String>,
    /// The error, if it failed.
    pub error: Option<String>,
}

/// The use of the context, and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsageFacts {
    /// The number of tokens in the context.
    pub used: u64,
    /// The maximum number of tokens.
    pub size: u64,
    /// The cost so far, if known.
    pub cost: Option<Cost>,
}

/// A tool call that waits for a decision, with everything a decision needs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Approval")]
pub struct PendingApproval {
    /// The id of the question.
    pub id: String,
    /// The id of the call, which an answer names.
    pub tool_call_id: String,
    /// The name of the tool.
    pub name: String,
    /// A description for people of what it would do.
    pub title: String,
    /// The kind of tool.
    pub kind: ToolKind,
    /// Its arguments, whole.
    pub input: Value,
    /// The exact command line, if it runs one.
    pub command: Option<String>,
    /// The locations that it would touch.
    pub locations: Vec<harn_model::Location>,
    /// The changes of files that it would make, whole.
    pub diffs: Vec<CallDiff>,
    /// Other text that it shows.
    pub output: String,
    /// The reason for the question.
    pub reason: Option<String>,
    /// The risks of the call.
    pub risks: Vec<RiskLabel>,
    /// The paths that it declares, and their targets.
    pub paths: Vec<String>,
    /// The possible answers.
    pub options: Vec<ApprovalChoice>,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it is settled without an answer.
    pub deadline: Option<Timestamp>,
    /// The worker that asks, if it is not the agent itself.
    pub worker: Option<String>,
}

/// A possible answer to a question about a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApprovalChoice {
    /// Its id.
    pub id: String,
    /// Its label.
    pub name: String,
    /// Its meaning.
    pub kind: PermissionOptionKind,
    /// How long it applies.
    pub scope: GrantScope,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Question")]
pub struct PendingQuestion {
    /// Its id, which an answer names.
    pub id: String,
    /// The kind of question.
    pub kind: HitlKind,
    /// The subject of the question.
    pub subject: String,
    /// More details, if any.
    pub detail: Option<String>,
    /// The possible answers; any answer if there are none.
    pub choices: Vec<String>,
    /// The answer that counts if no person answers.
    pub default: Option<String>,
    /// The person or role that should take over.
    pub to: Option<String>,
    /// The people who may decide; any person if it is empty.
    pub reviewers: Vec<String>,
    /// How many people must agree.
    pub quorum: u64,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it is settled without an answer.
    pub deadline: Timestamp,
    /// The agent that asks.
    pub agent: String,
}

/// A connected client that has a name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Client")]
pub struct ClientFacts {
    /// Its name.
    pub id: String,
    /// Its role in the session.
    pub mode: ClientMode,
    /// When it attached, in seconds.
    pub attached_at: String,
    /// When it was last seen, in seconds.
    pub last_seen_at: String,
}

/// The role of a client in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientMode {
    /// It only receives events.
    Observer,
    /// It may prompt, answer and change settings.
    Controller,
}
