//! Attachments: references to what lies elsewhere. What brings its bytes along is refused.

use harn_model::ResourceLink;
use serde_json::Value;

use crate::{error::Fault, from_wire::Object};

/// The longest text in an attachment, in bytes: more is content, not a reference.
const LONGEST_TEXT: usize = 4096;

/// Members that hold content wherever they appear.
const INLINE: [&str; 8] = [
    "base64", "binary", "blob", "body", "bytes", "content", "contents", "data",
];

/// What a request refers to.
pub(crate) fn read(context: &Object<'_>) -> Result<Vec<ResourceLink>, Fault> {
    let attachments = context.objects("attachments")?;
    attachments.iter().map(link).collect()
}

fn link(attachment: &Object<'_>) -> Result<ResourceLink, Fault> {
    let inline = INLINE.iter().find(|name| has_something(attachment, name));
    if let Some(name) = inline {
        return Err(attachment.wrong(
            name,
            "brings content along; upload it and send a reference in `ref_id`, `uri` or `asset_id`",
        ));
    }
    // The names of other members are the Shell's, and so are not repeated.
    if attachment.members().any(|(_, value)| is_long(value)) {
        return Err(
            attachment.refused("has a text of more than 4096 bytes; send a reference instead")
        );
    }
    let given = |name: &str| {
        let text = attachment.text(name)?;
        Ok(text.map(str::trim).filter(|text| !text.is_empty()))
    };
    let (uri, reference, asset) = (given("uri")?, given("ref_id")?, given("asset_id")?);
    let filename = given("filename")?;
    let mime_type = given("mime_type")?.map(str::to_owned);
    let size = attachment.size("size_bytes")?;
    if uri.is_some_and(is_data) {
        return Err(attachment.wrong(
            "uri",
            "brings content along; send an address it can be had from",
        ));
    }
    let uri = match (uri, reference, asset) {
        (Some(uri), _, _) => uri.to_owned(),
        (None, Some(id), _) => format!("openharness-ref:{id}"),
        (None, None, Some(id)) => format!("openharness-asset:{id}"),
        (None, None, None) => {
            return Err(
                attachment.refused("refers to nothing; give a `ref_id`, `uri` or `asset_id`")
            );
        }
    };
    let name = filename.or(reference).or(asset).unwrap_or(&uri).to_owned();
    Ok(ResourceLink {
        uri,
        name,
        mime_type,
        title: None,
        description: None,
        size,
    })
}

fn has_something(attachment: &Object<'_>, name: &str) -> bool {
    let mut members = attachment.members();
    members.any(|(member, value)| member.eq_ignore_ascii_case(name) && !value.is_null())
}

fn is_data(uri: &str) -> bool {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("data"))
}

/// Whether there is a text in it, however deep, that is too long to be a reference.
fn is_long(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LONGEST_TEXT,
        Value::Array(items) => items.iter().any(is_long),
        Value::Object(members) => members.values().any(is_long),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn links(attachment: Value) -> Result<ResourceLink, Fault> {
        let context = json!({ "attachments": [attachment] });
        let mut links = read(&Object::root(&context).unwrap())?;
        Ok(links.remove(0))
    }

    #[test]
    fn references_become_links() {
        let table = [
            (json!({"ref_id": "att_1"}), "openharness-ref:att_1", "att_1"),
            (json!({"asset_id": "a 1"}), "openharness-asset:a 1", "a 1"),
            (
                json!({"uri": "https://e.org/x"}),
                "https://e.org/x",
                "https://e.org/x",
            ),
            (
                json!({"uri": "app:1", "ref_id": "r", "asset_id": "a"}),
                "app:1",
                "r",
            ),
            (
                json!({"ref_id": "r", "asset_id": "a"}),
                "openharness-ref:r",
                "r",
            ),
            (
                json!({"ref_id": "r", "filename": "brief.pdf"}),
                "openharness-ref:r",
                "brief.pdf",
            ),
            (
                json!({"ref_id": " ", "asset_id": "a", "data": null}),
                "openharness-asset:a",
                "a",
            ),
        ];
        for (attachment, uri, name) in table {
            let link = links(attachment.clone()).unwrap();
            assert_eq!((&*link.uri, &*link.name), (uri, name), "{attachment}");
        }
        let link = links(json!({"ref_id": "r", "mime_type": "image/png", "size_bytes": 4.0}));
        let link = link.unwrap();
        assert_eq!(
            (link.mime_type.as_deref(), link.size),
            (Some("image/png"), Some(4))
        );
    }

    #[test]
    fn what_brings_its_content_or_nothing_is_refused() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        let table = [
            (json!({}), "attachments[0]"),
            (json!({"filename": "a.txt"}), "attachments[0]"),
            (json!({"ref_id": ""}), "attachments[0]"),
            (json!({"uri": "data:text/plain,hi"}), "attachments[0].uri"),
            (json!({"uri": " DATA:;base64,aGk="}), "attachments[0].uri"),
            (
                json!({"ref_id": "r", "data": "aGk="}),
                "attachments[0].data",
            ),
            (
                json!({"ref_id": "r", "Content": {"a": 1}}),
                "attachments[0].content",
            ),
            (
                json!({"ref_id": "r", "base64": ""}),
                "attachments[0].base64",
            ),
            (json!({"ref_id": "r", "preview": long}), "attachments[0]"),
            (json!({"ref_id": "r", "x": {"y": [long]}}), "attachments[0]"),
            (
                json!({"uri": format!("https://e.org/{long}")}),
                "attachments[0]",
            ),
            (json!({"ref_id": 1}), "attachments[0].ref_id"),
            (
                json!({"ref_id": "r", "mime_type": null}),
                "attachments[0].mime_type",
            ),
            (
                json!({"ref_id": "r", "size_bytes": -1}),
                "attachments[0].size_bytes",
            ),
            (
                json!({"ref_id": "r", "size_bytes": 1.5}),
                "attachments[0].size_bytes",
            ),
        ];
        for (attachment, place) in table {
            match links(attachment.clone()) {
                Err(Fault::Invalid { field, .. }) => assert_eq!(field, place, "{attachment}"),
                other => panic!("{attachment}: {other:?}"),
            }
        }
    }
}
