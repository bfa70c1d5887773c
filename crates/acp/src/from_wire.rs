//! From ACP's content blocks to ours.

use agent_client_protocol::v1::schema;
use harn_model::{ContentBlock, Resource, ResourceLink};

/// A prompt. A block of a kind this version does not know is refused, never dropped.
pub(crate) fn prompt(blocks: Vec<schema::ContentBlock>) -> Result<Vec<ContentBlock>, &'static str> {
    blocks.into_iter().map(block).collect()
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
