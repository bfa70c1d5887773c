//! Translates ACP's content blocks to the model's.

use agent_client_protocol::v1::schema;
use harn_model::{ContentBlock, Resource, ResourceLink};
use serde_json::Value;

/// Translates a prompt. Rejects a block of a kind this version does not know, instead of dropping it.
pub(crate) fn prompt(blocks: Vec<schema::ContentBlock>) -> Result<Vec<ContentBlock>, &'static str> {
    blocks.into_iter().map(block).collect()
}

/// Parses the content of a message: a text that is not blank, or blocks of which one is not blank.
pub(crate) fn content(content: Value) -> Result<Vec<ContentBlock>, String> {
    match content {
        Value::String(text) if text.trim().is_empty() => {
            Err("content must not be blank".to_owned())
        }
        Value::String(text) => Ok(vec![ContentBlock::text(text)]),
        Value::Array(_) => blocks("content", content),
        _ => Err("content must be a string or an array of content blocks".to_owned()),
    }
}

/// Parses blocks of which one is not blank; `member` is their name in errors.
pub(crate) fn blocks(member: &str, blocks: Value) -> Result<Vec<ContentBlock>, String> {
    if !blocks.is_array() {
        return Err(format!("{member} must be an array of content blocks"));
    }
    let read: Vec<schema::ContentBlock> =
        serde_json::from_value(blocks).map_err(|e| format!("{member}: {e}"))?;
    let blocks = prompt(read)?;
    let is_blank = |block: &ContentBlock| matches!(block, ContentBlock::Text { text } if text.trim().is_empty());
    match blocks.iter().all(is_blank) {
        true => Err(format!("{member} must not be blank")),
        false => Ok(blocks),
    }
}

fn block(block: schema::ContentBlock) -> Result<ContentBlock, &'static str> {
    Ok(match block {
        schema::ContentBlock::Text(text) => ContentBlock::text(text.text),
        schema::ContentBlock::Image(image) => ContentBlock::Image {
            mime_type: image.mime_type,
            data: image.data,
            uri: image.uri,
        },
        schema::ContentBlock::Audio(audio) => ContentBlock::Audio {
            mime_type: audio.mime_type,
            data: audio.data,
        },
        schema::ContentBlock::ResourceLink(link) => ContentBlock::ResourceLink(ResourceLink {
            uri: link.uri,
            name: link.name,
            mime_type: link.mime_type,
            title: link.title,
            description: link.description,
            size: link.size,
        }),
        schema::ContentBlock::Resource(embedded) => match embedded.resource {
            schema::EmbeddedResourceResource::TextResourceContents(text) => {
                ContentBlock::Resource(Resource {
                    uri: text.uri,
                    mime_type: text.mime_type,
                    text: Some(text.text),
                    blob: None,
                })
            }
            schema::EmbeddedResourceResource::BlobResourceContents(blob) => {
                ContentBlock::Resource(Resource {
                    uri: blob.uri,
                    mime_type: blob.mime_type,
                    text: None,
                    blob: Some(blob.blob),
                })
            }
            _ => return Err("the prompt has a resource of an unknown kind"),
        },
        _ => return Err("the prompt has a content block of an unknown kind"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blank_and_unknown_content_is_rejected() {
        assert_eq!(
            content(json!("Hello")).unwrap(),
            [ContentBlock::text("Hello")]
        );
        let text = json!({"type": "text", "text": "Hello"});
        assert_eq!(
            content(json!([text])).unwrap(),
            [ContentBlock::text("Hello")]
        );
        for odd in [
            json!(""),
            json!(" \n"),
            json!([]),
            json!([{"type": "text", "text": " "}]),
            json!([{"type": "text"}]),
            json!([{"type": "hologram"}]),
            json!(["Hello"]),
            json!({"type": "text", "text": "Hello"}),
            json!(1),
            Value::Null,
        ] {
            assert!(content(odd.clone()).is_err(), "{odd}");
        }
        assert!(blocks("prompt", json!("Hello")).is_err());
    }
}
