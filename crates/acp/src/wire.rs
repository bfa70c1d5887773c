//! The standard ACP updates as borrowed structs that serialise directly to bytes.
//!
//! The SDK's own types own their strings; building one for each of a million chunks would cost more than
//! writing it. Tests decode every line with the SDK's types.

use std::borrow::Cow;

use crate::JsonSchema;
use harn_model::{
    ContentBlock, Location, PlanEntryStatus, PlanPriority, ToolCallStatus, ToolContent, ToolKind,
};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::ext::{
    HarnMeta, content::ContentMeta, mcp::McpMeta, plan::PlanMeta, tool::ToolMeta,
    update::CarriedUpdate, user::UserMeta,
};

/// A standard `session/update`, without its envelope. `user_message` is part of the contract and of ACP 2.
#[allow(clippy::enum_variant_names, reason = "the names are the wire's")]
#[derive(Serialize)]
#[serde(
    tag = "sessionUpdate",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub(crate) enum StandardUpdate<'a> {
    UserMessage {
        message_id: &'a str,
        content: MessageBlocks<'a>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<HarnMeta<UserMeta<'a>>>,
    },
    UserMessageChunk {
        content: ContentBlockWire<'a>,
        message_id: &'a str,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<HarnMeta<UserMeta<'a>>>,
    },
    AgentMessageChunk {
        content: ContentBlockWire<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<&'a str>,
    },
    AgentThoughtChunk {
        content: ContentBlockWire<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<&'a str>,
    },
    ToolCall(ToolCallWire<'a>),
    ToolCallUpdate(ToolCallWire<'a>),
    Plan {
        entries: Vec<PlanEntryWire<'a>>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<HarnMeta<PlanMeta<'a>>>,
    },
    AvailableCommandsUpdate {
        available_commands: &'a [harn_model::SlashCommand],
    },
    CurrentModeUpdate {
        current_mode_id: &'a str,
    },
    ConfigOptionUpdate {
        config_options: Value,
    },
    SessionInfoUpdate {
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<HarnMeta<InfoMeta<'a>>>,
    },
    UsageUpdate {
        used: u64,
        size: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<&'a harn_model::Cost>,
    },
    Notice {
        severity: NoticeSeverity,
        title: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
    },
    CompactionUpdate {
        compaction_id: &'a str,
        status: CompactionState,
        summary: [ContentBlockWire<'a>; 1],
    },
    PlanUpdate {
        plan: PlanContent<'a>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<HarnMeta<PlanMeta<'a>>>,
    },
    PlanRemoved {
        plan_id: &'a str,
    },
    SubagentUpdate {
        session_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        state: SubagentState<'a>,
    },
    SessionMessage {
        message_id: &'a str,
        sender_session_id: &'a str,
        recipient_session_id: &'a str,
    },
    SessionMessageChunk {
        message_id: &'a str,
        content: ContentBlockWire<'a>,
    },
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoticeSeverity {
    Info,
    Warning,
    Error,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactionState {
    Completed,
}

/// A plan that is addressed by its id.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub(crate) enum PlanContent<'a> {
    Items {
        plan_id: &'a str,
        entries: Vec<PlanEntryWire<'a>>,
    },
}

/// The state of a worker's session.
#[derive(Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum SubagentState<'a> {
    Running,
    Idle {
        #[serde(flatten)]
        reason: IdleReason<'a>,
    },
}

/// The reason why a worker's session is idle.
#[derive(Serialize)]
#[serde(tag = "stopReason", rename_all = "snake_case")]
pub(crate) enum IdleReason<'a> {
    EndTurn,
    Cancelled,
    Error { error: SubagentError<'a> },
}

/// The error of a worker's session, as a JSON-RPC error.
#[derive(Serialize)]
pub(crate) struct SubagentError<'a> {
    pub(crate) code: i32,
    pub(crate) message: &'a str,
}

/// The metadata of a `session_info_update`.
#[derive(Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "it is written where it is made")]
pub(crate) enum InfoMeta<'a> {
    /// An extension update, for clients that do not know our discriminators.
    Carried(CarriedUpdate<'a>),
    Mcp(McpMeta<'a>),
}

/// A tool call, announced or changed: an update omits unchanged members.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "ToolCall")]
pub(crate) struct ToolCallWire<'a> {
    pub(crate) tool_call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'a str>,
    /// The tool's name, for clients whose schema has it. Permission requests do not repeat it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub(crate) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ToolKind>,
    pub(crate) status: ToolCallStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<ToolContentWire<'a>>>")]
    pub(crate) content: Option<ToolContents<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) locations: Option<&'a [Location]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_output: Option<&'a Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<HarnMeta<ToolMeta<'a>>>,
}

/// The content of a tool call.
pub(crate) enum ToolContents<'a> {
    /// The agent's content. A replay omits terminals of an ended process.
    Given {
        contents: &'a [ToolContent],
        terminals: bool,
    },
    /// A text, followed by the agent's content.
    Headed {
        text: &'a str,
        contents: &'a [ToolContent],
    },
    /// A text: the error of a failed call without other content, for clients that read no metadata, or the
    /// substitute for an extension.
    Text(&'a str),
}

impl Serialize for ToolContents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => [ToolContentWire::Content {
                content: ContentBlockWire::text(*text),
            }]
            .serialize(serializer),
            Self::Headed { text, contents } => {
                let head = ToolContentWire::Content {
                    content: ContentBlockWire::text(*text),
                };
                let given = contents.iter().map(ToolContentWire::from);
                serializer.collect_seq(std::iter::once(head).chain(given))
            }
            Self::Given {
                contents,
                terminals,
            } => {
                let shown = |content: &&ToolContent| {
                    *terminals || !matches!(content, ToolContent::Terminal { .. })
                };
                let given = contents.iter().filter(shown);
                serializer.collect_seq(given.map(ToolContentWire::from))
            }
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[schemars(rename = "ToolContent", deny_unknown_fields)]
enum ToolContentWire<'a> {
    Content {
        content: ContentBlockWire<'a>,
    },
    Diff {
        path: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<&'a str>,
        new_text: &'a str,
    },
    Terminal {
        terminal_id: &'a str,
    },
}

impl<'a> From<&'a ToolContent> for ToolContentWire<'a> {
    fn from(content: &'a ToolContent) -> Self {
        match content {
            ToolContent::Content { content } => Self::Content {
                content: ContentBlockWire::from(content),
            },
            ToolContent::Diff {
                path,
                old_text,
                new_text,
            } => Self::Diff {
                path,
                old_text: old_text.as_deref(),
                new_text,
            },
            ToolContent::Terminal { terminal_id } => Self::Terminal { terminal_id },
            // Clients read texts as Markdown.
            ToolContent::Output(output) => Self::Content {
                content: ContentBlockWire::text(output.to_markdown()),
            },
        }
    }
}

/// A content block.
#[derive(Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Content")]
pub(crate) enum ContentBlockWire<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<HarnMeta<ContentMeta<'a>>>,
    },
    Image {
        data: &'a str,
        mime_type: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<&'a str>,
    },
    Audio {
        data: &'a str,
        mime_type: &'a str,
    },
    Resource {
        resource: ResourceWire<'a>,
    },
    ResourceLink {
        uri: &'a str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<i64>,
    },
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Resource", deny_unknown_fields)]
pub(crate) struct ResourceWire<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<&'a str>,
}

impl<'a> ContentBlockWire<'a> {
    /// Builds a text block without metadata.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        Self::Text { text, meta: None }
    }

    /// Returns whether it is an empty text.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Text { text, .. } if text.is_empty())
    }
}

/// The content blocks of a whole message.
pub(crate) struct MessageBlocks<'a>(pub(crate) &'a [ContentBlock]);

impl<'a> MessageBlocks<'a> {
    /// Iterates over the blocks that are not empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ContentBlockWire<'a>> + use<'a> {
        let blocks = self.0.iter().map(ContentBlockWire::from);
        blocks.filter(|block| !block.is_empty())
    }
}

impl Serialize for MessageBlocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'a> From<&'a ContentBlock> for ContentBlockWire<'a> {
    fn from(block: &'a ContentBlock) -> Self {
        match block {
            ContentBlock::Text { text } => Self::text(text),
            ContentBlock::Image {
                mime_type,
                data,
                uri,
            } => Self::Image {
                data,
                mime_type,
                uri: uri.as_deref(),
            },
            ContentBlock::Audio { mime_type, data } => Self::Audio { data, mime_type },
            ContentBlock::Resource(r) => Self::Resource {
                resource: ResourceWire {
                    uri: &r.uri,
                    mime_type: r.mime_type.as_deref(),
                    text: r.text.as_deref(),
                    blob: r.blob.as_deref(),
                },
            },
            ContentBlock::ResourceLink(l) => Self::ResourceLink {
                uri: &l.uri,
                name: &l.name,
                mime_type: l.mime_type.as_deref(),
                title: l.title.as_deref(),
                description: l.description.as_deref(),
                size: l.size,
            },
        }
    }
}

#[derive(Serialize)]
pub(crate) struct PlanEntryWire<'a> {
    content: &'a str,
    priority: PlanPriority,
    status: PlanEntryStatus,
}

impl<'a> From<&'a harn_model::PlanEntry> for PlanEntryWire<'a> {
    fn from(entry: &'a harn_model::PlanEntry) -> Self {
        Self {
            content: &entry.content,
            priority: entry.priority,
            status: entry.status,
        }
    }
}
