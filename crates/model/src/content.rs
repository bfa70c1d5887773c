//! Content blocks: the parts of a prompt, a message or a tool result.

use serde::{Deserialize, Serialize};

/// One block of a prompt, a message or a tool result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain or Markdown text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture, base64 encoded.
    Image {
        /// Media type, such as `image/png`.
        mime_type: String,
        /// Base64 data.
        data: String,
        /// Where it came from, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
    /// A sound, base64 encoded.
    Audio {
        /// Media type, such as `audio/wav`.
        mime_type: String,
        /// Base64 data.
        data: String,
    },
    /// A resource with its content.
    Resource(Resource),
    /// A reference to a resource, without its content.
    ResourceLink(ResourceLink),
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the name of this kind of block for error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Image { .. } => "image",
            Self::Audio { .. } => "audio",
            Self::Resource(_) => "resource",
            Self::ResourceLink(_) => "resource_link",
        }
    }

    /// Returns the approximate number of bytes that this block keeps in memory.
    pub fn weight(&self) -> usize {
        match self {
            Self::Text { text } => text.len(),
            Self::Image { data, .. } | Self::Audio { data, .. } => data.len(),
            Self::Resource(r) => {
                r.text.as_ref().map_or(0, String::len) + r.blob.as_ref().map_or(0, String::len)
            }
            Self::ResourceLink(l) => l.uri.len() + l.name.len(),
        }
    }
}

/// An embedded resource: exactly one of `text` and `blob` is present.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// Media type, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes, base64 encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// A resource that the agent may fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLink {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Media type, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
}

/// Returns the texts of the blocks, joined by line breaks: texts, embedded text resources and addresses of links.
pub fn plain_text(blocks: &[ContentBlock]) -> String {
    let mut out = String::new();
    for block in blocks {
        let text = match block {
            ContentBlock::Text { text } => text.as_str(),
            ContentBlock::Resource(r) => r.text.as_deref().unwrap_or_default(),
            ContentBlock::ResourceLink(l) => l.uri.as_str(),
            ContentBlock::Image { .. } | ContentBlock::Audio { .. } => "",
        };
        if !text.is_empty() {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(text);
        }
    }
    out
}
