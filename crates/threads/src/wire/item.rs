//! Items: the parts of a turn, at their start and at their end.

use crate::JsonSchema;
use harn_model::{MessageId, SessionId, ToolCallId, ToolKind, TurnId};
use serde::Serialize;
use serde_json::{Map, Value};

use super::InputPart;

/// A part of a turn, at its start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its id, the same live and replayed.
    pub item_id: String,
    /// The thread it is in.
    pub thread_id: SessionId,
    /// The turn it belongs to.
    pub turn_id: TurnId,
    /// Its type, with the data that is known at its start.
    #[serde(flatten)]
    pub start: ItemStart,
}

/// The type of an item, with the data that is known at its start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ItemStart {
    /// A message of the user.
    UserMessage(UserData),
    /// A message or a thought of the agent.
    AssistantMessage(AssistantData),
    /// A tool call.
    ToolExec(Box<ToolData>),
    /// A tool call that waits for a decision.
    Approval(ApprovalData),
    /// An artifact of the agent.
    Artifact(Box<ArtifactData>),
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UserData {
    /// Its parts, as they were sent.
    pub parts: Vec<InputPart>,
}

/// A message of the agent, at its start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantData {
    /// The id of the message.
    pub part_id: MessageId,
    /// Whether it is reasoning; absent if it is not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reasoning: bool,
}

/// A tool call, at its start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolData {
    /// The id of the call.
    pub call_id: ToolCallId,
    /// The name of the tool.
    pub tool: String,
    /// Always `pending`.
    pub status: PendingStatus,
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// Its arguments, if they are known already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// The status of a call that has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Pending")]
pub enum PendingStatus {
    /// `pending`.
    #[default]
    Pending,
}

/// A question about a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalData {
    /// The id of the question, for `approval.respond`.
    pub request_id: String,
    /// The permission that is asked for: the name of the tool.
    pub permission: String,
    /// The exact subject: the command, or the files.
    pub patterns: Vec<String>,
    /// Further facts: `title`, `kind`, `input`, `command`, `diffs`, `reason`, `always`, `deadline`, `workers`.
    pub metadata: Map<String, Value>,
}

/// An artifact of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactData {
    /// Its id.
    pub artifact_id: String,
    /// The kind of artifact.
    pub kind: String,
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its media type.
    pub mime_type: String,
    /// The content to render.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub spec: Value,
    /// The text to show if the content cannot be rendered.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// The data of an item at its end. A message of the user has none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ItemEnd {
    /// The whole message of the agent.
    AssistantMessage(AssistantEnd),
    /// The end of a tool call.
    ToolExec(Box<ToolEnd>),
    /// The decision about a tool call.
    Approval(ApprovalEnd),
    /// The artifact of the agent.
    Artifact(Box<ArtifactData>),
}

/// A message of the agent, at its end.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantEnd {
    /// The id of the message.
    pub part_id: MessageId,
    /// Whether it is reasoning; absent if it is not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reasoning: bool,
    /// Its whole text.
    pub text: String,
}

/// The end of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolEnd {
    /// The id of the call.
    pub call_id: ToolCallId,
    /// The name of the tool.
    pub tool: String,
    /// The outcome of the call.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
    /// The file changes that it reported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<ToolDiff>,
}

/// The outcome of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolOutcome {
    /// The call succeeded.
    Done {
        /// Its output as text.
        output: String,
        /// Its title.
        title: String,
    },
    /// The call failed.
    Failed {
        /// The reason.
        error: String,
    },
}

/// A change to a file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Diff")]
pub struct ToolDiff {
    /// The absolute path of the file.
    pub path: String,
    /// The text before the change; absent for a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_text: Option<String>,
    /// The text after the change.
    pub new_text: String,
}

/// The decision about a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApprovalEnd {
    /// The decision.
    pub reply: ApprovalReply,
    /// The reason, if one was given or no person decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A decision in the words of this wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalReply {
    /// It was allowed this time.
    Once,
    /// It was allowed from now on.
    Always,
    /// It was rejected.
    Reject,
}
