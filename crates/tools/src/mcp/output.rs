//! Converts a tool result of a server into the output of a call, within limits.

use harn_model::{ContentBlock, ErrorCategory, Resource, ResourceLink, ToolContent, ToolSource};
use harn_runtime::{ToolError, ToolOutput};
use rmcp::model::{CallToolResult, ContentBlock as Given, ResourceContents};
use serde_json::Value;

use super::redact::Secrets;
use crate::markdown::cut;

/// How many bytes of text are shown, as much as a model reads at once.
const MOST_TEXT: usize = 256 * 1024;
/// How many encoded bytes of images, audio and other data are shown.
const MOST_DATA: usize = 4 * 1024 * 1024;
const MOST_BLOCKS: usize = 256;
/// The longest error, in bytes.
const LONGEST_ERROR: usize = 16 * 1024;

/// Converts a result into an output, or into an error if the result is marked as one.
pub(super) fn convert_result(
    server: &str,
    result: CallToolResult,
    secrets: &Secrets,
) -> Result<ToolOutput, ToolError> {
    let failed = result.is_error == Some(true);
    let structured = result.structured_content;
    let mut room = OutputBudget {
        text: MOST_TEXT,
        data: MOST_DATA,
    };
    let more = result.content.len() > MOST_BLOCKS;
    let given = result.content.into_iter().take(MOST_BLOCKS);
    let mut blocks: Vec<_> = given.map(|block| room.fit(block)).collect();
    if more {
        blocks.push(ContentBlock::text("[the rest is not shown]"));
    }
    let text = harn_model::plain_text(&blocks);
    if failed {
        let text = match (text.is_empty(), &structured) {
            (false, _) => text,
            (true, Some(value)) => value.to_string(),
            (true, None) => "the tool failed without giving a reason".to_owned(),
        };
        let text = cut(secrets.redact(&text), LONGEST_ERROR);
        return Err(failure(server, &text));
    }
    let structured = structured.filter(|value| value.to_string().len() <= MOST_TEXT);
    if blocks.is_empty()
        && let Some(value) = &structured
    {
        blocks.push(ContentBlock::text(value.to_string()));
    }
    let texts = (!text.is_empty()).then_some(Value::String(text));
    let content = blocks
        .into_iter()
        .map(|content| ToolContent::Content { content });
    Ok(ToolOutput {
        raw: structured.or(texts),
        content: Some(content.collect()),
        executor: Some(ToolSource::Mcp(server.to_owned()).executor()),
        ..ToolOutput::default()
    })
}

/// Builds the error for a failure of a server or of its tool.
pub(super) fn failure(server: &str, what: &str) -> ToolError {
    let message = format!("MCP server `{server}`: {what}");
    ToolError::with_category(ErrorCategory::McpServerError, message)
}

/// The number of bytes that may still be shown.
struct OutputBudget {
    text: usize,
    data: usize,
}

impl OutputBudget {
    fn fit(&mut self, block: Given) -> ContentBlock {
        self.try_fit(block).unwrap_or_else(ContentBlock::text)
    }

    /// Returns the block, or the text to show instead if its data does not fit.
    fn try_fit(&mut self, block: Given) -> Result<ContentBlock, String> {
        Ok(match block {
            Given::Text(text) => ContentBlock::text(self.take_text(text.text)),
            Given::Image(image) => ContentBlock::Image {
                mime_type: image.mime_type,
                data: self.take_data("an image", image.data)?,
                uri: None,
            },
            Given::Audio(audio) => ContentBlock::Audio {
                mime_type: audio.mime_type,
                data: self.take_data("an audio clip", audio.data)?,
            },
            Given::Resource(resource) => match resource.resource {
                ResourceContents::TextResourceContents {
                    uri,
                    mime_type,
                    text,
                    ..
                } => ContentBlock::Resource(Resource {
                    uri: self.take_text(uri),
                    mime_type,
                    text: Some(self.take_text(text)),
                    blob: None,
                }),
                ResourceContents::BlobResourceContents {
                    uri,
                    mime_type,
                    blob,
                    ..
                } => {
                    let blob = Some(self.take_data("a resource", blob)?);
                    ContentBlock::Resource(Resource {
                        uri: self.take_text(uri),
                        mime_type,
                        text: None,
                        blob,
                    })
                }
                _ => ContentBlock::text("[a resource of an unknown type]"),
            },
            Given::ResourceLink(link) => ContentBlock::ResourceLink(ResourceLink {
                uri: self.take_text(link.uri),
                name: self.take_text(link.name),
                mime_type: link.mime_type,
                title: link.title.map(|title| self.take_text(title)),
                description: link.description.map(|words| self.take_text(words)),
                size: link.size.and_then(|size| size.try_into().ok()),
            }),
            // The enum is rmcp's and may grow.
            _ => ContentBlock::text("[content of an unknown type]"),
        })
    }

    fn take_text(&mut self, text: String) -> String {
        let text = cut(text, self.text);
        self.text = self.text.saturating_sub(text.len());
        text
    }

    /// Returns the data, or the text to show instead.
    fn take_data(&mut self, what: &str, data: String) -> Result<String, String> {
        let Some(rest) = self.data.checked_sub(data.len()) else {
            let size = data.len().div_ceil(1024);
            return Err(format!("[{what} of {size} KiB, which is not shown]"));
        };
        self.data = rest;
        Ok(data)
    }
}

#[cfg(test)]
mod tests;
