//! Items: what a turn is made of, as it begins and as it ends.

use crate::JsonSchema;
use harn_model::{MessageId, SessionId, ToolCallId, ToolKind, TurnId};
use serde::Serialize;
use serde_json::{Map, Value};

use super::InputPart;

/// A part of a turn, when it begins.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its id, the same live and replayed.
    pub item_id: String,
    /// The thread it is in.
    pub thread_id: SessionId,
    /// The turn it belongs to.
    pub turn_id: TurnId,
    /// What it is.
    #[serde(flatten)]
    pub start: ItemStart,
}

/// What an item is, with what is known of it at first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ItemStart {
    /// What somebody said to the agent.
    UserMessage(UserData),
    /// What the agent says, or thinks.
    AssistantMessage(AssistantData),
    /// A tool call.
    ToolExec(Box<ToolData>),
    /// A tool call that waits for a person.
    Approval(ApprovalData),
    /// Something the agent made.
    Artifact(Box<ArtifactData>),
}

/// What somebody said.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UserData {
    /// As it was sent.
    pub parts: Vec<InputPart>,
}

/// Which message of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantData {
    /// The message.
    pub part_id: MessageId,
    /// True where it is reasoning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reasoning: bool,
}

/// Which tool is called.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolData {
    /// The call.
    pub call_id: ToolCallId,
    /// The tool.
    pub tool: String,
    /// Always `pending`.
    pub status: PendingStatus,
    /// What to show a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What sort of tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// Its arguments, where they are known already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// The one word for a call that has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Pending")]
pub enum PendingStatus {
    /// `pending`.
    #[default]
    Pending,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalData {
    /// What to name in `approval.respond`.
    pub request_id: String,
    /// What permission is asked for: the tool.
    pub permission: String,
    /// What exactly: the command, or the files.
    pub patterns: Vec<String>,
    /// What else there is to know: `title`, `kind`, `input`, `reason`, `always`, `deadline`, `workers`.
    pub metadata: Map<String, Value>,
}

/// Something the agent made.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactData {
    /// Its id.
    pub artifact_id: String,
    /// What sort.
    pub kind: String,
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Media type.
    pub mime_type: String,
    /// What to render.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub spec: Value,
    /// What to show where that cannot be rendered.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What is known of an item at its end. A message of the user has nothing to add.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ItemEnd {
    /// What the agent said.
    AssistantMessage(AssistantEnd),
    /// What became of a call.
    ToolExec(Box<ToolEnd>),
    /// What was decided.
    Approval(ApprovalEnd),
    /// What the agent made.
    Artifact(Box<ArtifactData>),
}

/// A message of the agent, whole.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantEnd {
    /// The message.
    pub part_id: MessageId,
    /// True where it is reasoning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reasoning: bool,
    /// All of its text.
    pub text: String,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolEnd {
    /// The call.
    pub call_id: ToolCallId,
    /// The tool.
    pub tool: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
    /// Files it changed, where it told of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<ToolDiff>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolOutcome {
    /// It ended well.
    Done {
        /// What it shows.
        output: String,
        /// What it was called.
        title: String,
    },
    /// It did not.
    Failed {
        /// Why.
        error: String,
    },
}

/// A change to a file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Diff")]
pub struct ToolDiff {
    /// Absolute path.
    pub path: String,
    /// What was there; absent for a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_text: Option<String>,
    /// What is there now.
    pub new_text: String,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApprovalEnd {
    /// The decision.
    pub reply: ApprovalReply,
    /// Why, where nobody chose it or somebody said why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A decision in the words of this wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalReply {
    /// Yes, this time.
    Once,
    /// Yes, from now on.
    Always,
    /// No.
    Reject,
}
