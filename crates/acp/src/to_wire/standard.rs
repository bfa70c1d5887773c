//! The standard updates: messages, tool calls, plans.

use harn_model::{ContentBlock, LiveAuthor, MessageId, Plan, ToolCallUpdate, ToolContent};

use super::UpdateProjector;
use crate::{
    Profile,
    ext::{
        HarnMeta, content::ContentMeta, lend::RecordCow, plan::PlanMeta, tool::ToolMeta,
        user::UserMeta,
    },
    wire::{ContentBlockWire, MessageBlocks, StandardUpdate, ToolCallWire, ToolContents},
};

pub(super) fn message<'a>(
    text: &'a str,
    visible: Option<&'a str>,
    id: Option<&'a MessageId>,
) -> StandardUpdate<'a> {
    let meta = visible.map(|visible| HarnMeta::new(ContentMeta::from_chunk(visible)));
    StandardUpdate::AgentMessageChunk {
        content: ContentBlockWire::Text {
            text: text.into(),
            meta,
        },
        message_id: id.map(MessageId::as_str),
    }
}

pub(super) fn thought<'a>(text: &'a str, id: Option<&'a MessageId>) -> StandardUpdate<'a> {
    StandardUpdate::AgentThoughtChunk {
        content: ContentBlockWire::text(text),
        message_id: id.map(MessageId::as_str),
    }
}

/// Builds a tool call, with the tool's name for clients whose schema has that member.
pub(super) fn tool_call(
    call: &harn_model::ToolCall,
    replay: bool,
    named: bool,
) -> StandardUpdate<'_> {
    let is_shown =
        |content: &ToolContent| !replay || !matches!(content, ToolContent::Terminal { .. });
    StandardUpdate::ToolCall(ToolCallWire {
        tool_call_id: call.tool_call_id.as_str(),
        title: Some(call.title.as_deref().unwrap_or(&call.tool_name)),
        name: named.then_some(call.tool_name.as_str()),
        kind: call.kind,
        status: call.status,
        content: call
            .content
            .iter()
            .any(is_shown)
            .then_some(ToolContents::Given {
                contents: &call.content,
                terminals: !replay,
            }),
        locations: (!call.locations.is_empty()).then_some(call.locations.as_slice()),
        raw_input: (!call.raw_input.is_null()).then_some(&call.raw_input),
        raw_output: None,
        meta: ToolMeta::from_call(call).map(HarnMeta::new),
    })
}

pub(super) fn tool_call_update<'a>(update: &'a ToolCallUpdate, replay: bool) -> StandardUpdate<'a> {
    let content = match (&update.content, &update.error) {
        (Some(contents), _) => Some(ToolContents::Given {
            contents,
            terminals: !replay,
        }),
        (None, Some(error)) => Some(ToolContents::Text(error)),
        (None, None) => None,
    };
    StandardUpdate::ToolCallUpdate(ToolCallWire {
        tool_call_id: update.tool_call_id.as_str(),
        // The runtime sets the title; only an old log lacks it.
        title: Some(update.title.as_deref().unwrap_or(&update.tool_name)),
        name: None,
        kind: None,
        status: update.status,
        content,
        locations: update.locations.as_deref(),
        raw_input: update.raw_input.as_ref().filter(|it| !it.is_null()),
        raw_output: update.raw_output.as_ref().filter(|it| !it.is_null()),
        meta: ToolMeta::from_update(update).map(HarnMeta::new),
    })
}

impl UpdateProjector {
    /// Writes a message that reached the agent during a turn: whole in the profile `harn`, else as chunks.
    pub(super) fn write_user_message(
        &self,
        id: &MessageId,
        blocks: &[ContentBlock],
        author: Option<&LiveAuthor>,
        out: &mut Vec<u8>,
    ) {
        let content = MessageBlocks(blocks);
        match self.dialect.profile {
            Profile::Harn if content.iter().next().is_some() => {
                let message_id = id.as_str();
                self.write_update(
                    &StandardUpdate::UserMessage {
                        message_id,
                        content,
                        meta: author_meta(author),
                    },
                    out,
                );
            }
            Profile::Harn | Profile::Meta | Profile::Acp => {
                self.write_prompt(id, blocks, author, out)
            }
        }
    }

    /// Writes a prompt, as chunks for every client. Typed clients drop an unknown update, and a host that
    /// receives the extensions through such a client would lose the user's own words from every replay.
    pub(super) fn write_prompt(
        &self,
        id: &MessageId,
        blocks: &[ContentBlock],
        author: Option<&LiveAuthor>,
        out: &mut Vec<u8>,
    ) {
        for content in MessageBlocks(blocks).iter() {
            let message_id = id.as_str();
            self.write_update(
                &StandardUpdate::UserMessageChunk {
                    content,
                    message_id,
                    meta: author_meta(author),
                },
                out,
            );
        }
    }

    /// Writes a plan, also one without entries: that removes the previous plan.
    pub(super) fn write_plan(&self, plan: &Plan, out: &mut Vec<u8>) {
        if self.dialect.newer.plans {
            return self.write_plan_by_id(plan, out);
        }
        let entries = plan.entries();
        let meta = plan_meta(plan);
        let entries = entries.iter().map(Into::into).collect();
        self.write_update(&StandardUpdate::Plan { entries, meta }, out);
    }
}

/// Returns the plan's document as metadata, if there is one.
pub(super) fn plan_meta(plan: &Plan) -> Option<HarnMeta<PlanMeta<'_>>> {
    match plan {
        Plan::Entries(_) => None,
        Plan::Document(plan) => Some(HarnMeta::new(PlanMeta {
            plan: RecordCow::Borrowed(plan),
        })),
    }
}

/// Returns the author of a message as metadata.
fn author_meta(author: Option<&LiveAuthor>) -> Option<HarnMeta<UserMeta<'_>>> {
    author.map(|live_session| {
        HarnMeta::new(UserMeta {
            live_session: RecordCow::Borrowed(live_session),
        })
    })
}
