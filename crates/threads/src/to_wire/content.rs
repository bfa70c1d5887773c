//! Content on this wire: the parts of a prompt, and the output of a tool as text.

use harn_model::{ContentBlock, ToolContent};

use crate::{
    from_wire::last_segment,
    wire::{InputPart, ToolDiff},
};

/// Converts a prompt to the parts of this wire. A block that has no part of its own is a file at its address; of
/// an embedded resource, only the address is shown.
pub(super) fn parts(blocks: &[ContentBlock]) -> Vec<InputPart> {
    let part = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => InputPart::Text { text: text.clone() },
        ContentBlock::Image {
            mime_type,
            data,
            uri,
        } => {
            let url = uri.clone();
            data_file(url, "image", mime_type, data)
        }
        ContentBlock::Audio { mime_type, data } => data_file(None, "audio", mime_type, data),
        ContentBlock::Resource(resource) => InputPart::File {
            url: resource.uri.clone(),
            filename: Some(last_segment(&resource.uri).to_owned()),
            mime: resource.mime_type.clone(),
        },
        ContentBlock::ResourceLink(link) => InputPart::File {
            url: link.uri.clone(),
            filename: Some(link.name.clone()),
            mime: link.mime_type.clone(),
        },
    };
    blocks.iter().map(part).collect()
}

/// Returns a file part; bytes without an address are in a `data:` URL.
fn data_file(url: Option<String>, name: &str, mime: &str, data: &str) -> InputPart {
    InputPart::File {
        url: url.unwrap_or_else(|| format!("data:{mime};base64,{data}")),
        filename: Some(name.to_owned()),
        mime: Some(mime.to_owned()),
    }
}

/// Returns the output of a tool as text, with a line break between two parts.
pub(super) fn shown_text(content: &[ToolContent]) -> String {
    let mut out = String::new();
    for part in content {
        let text = match part {
            ToolContent::Content { content } => match content {
                ContentBlock::Text { text } => text.as_str(),
                ContentBlock::Resource(resource) => {
                    resource.text.as_deref().unwrap_or(&resource.uri)
                }
                ContentBlock::ResourceLink(link) => &link.uri,
                // Base64 is not readable.
                ContentBlock::Image { .. } => "[image]",
                ContentBlock::Audio { .. } => "[audio]",
            },
            // The end of the call has the change itself.
            ToolContent::Diff { path, .. } => path,
            // A terminal belongs to a host, and this wire has none.
            ToolContent::Terminal { .. } => continue,
            ToolContent::Output(output) => &output.text,
        };
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(text);
    }
    out
}

/// Returns the file changes among the output of a tool.
pub(super) fn diffs(content: &[ToolContent]) -> Vec<ToolDiff> {
    let diffs = content.iter().filter_map(ToolContent::diff);
    let diffs = diffs.map(|(path, old_text, new_text)| ToolDiff {
        path: path.to_owned(),
        old_text: old_text.map(str::to_owned),
        new_text: new_text.to_owned(),
    });
    diffs.collect()
}
