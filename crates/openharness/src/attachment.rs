//! Attachments: references to content elsewhere. An attachment that is no link is left out, and the response
//! denies it: a Shell whose user attached something invalid still gets its run.

use harn_model::ResourceLink;

use crate::{
    capabilities, error::OpenHarnessError, from_wire::MessageObject, request::CapabilityDenial,
};

/// The longest text of an attachment, in bytes: a longer one is content, not a reference.
const LONGEST_TEXT: usize = 4096;

/// Members for content. They are ignored like all unknown members, but explain a missing reference.
const INLINE: [&str; 8] = [
    "base64", "binary", "blob", "body", "bytes", "content", "contents", "data",
];

/// The most attachments that a denial names by index.
const MOST_NAMED: usize = 8;

/// The attachments of a request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RequestAttachments {
    pub(crate) links: Vec<ResourceLink>,
    /// The denials of the attachments that were left out, one for each reason.
    pub(crate) denied: Vec<CapabilityDenial>,
}

/// Why an attachment is no link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AttachmentProblem {
    BringsContent,
    RefersToNothing,
}

/// Reads the attachments of a context.
pub(crate) fn read(context: &MessageObject<'_>) -> Result<RequestAttachments, OpenHarnessError> {
    let mut links = Vec::new();
    let mut left_out = Vec::new();
    for (place, attachment) in context.objects("attachments")?.iter().enumerate() {
        match parse_link(attachment)? {
            Ok(link) => links.push(link),
            Err(why) => left_out.push((place, why)),
        }
    }
    let reasons = [
        AttachmentProblem::BringsContent,
        AttachmentProblem::RefersToNothing,
    ];
    let denied = reasons.into_iter().filter_map(|why| {
        let places = left_out.iter().filter(|(_, it)| *it == why);
        denial(why, &places.map(|(place, _)| *place).collect::<Vec<_>>())
    });
    Ok(RequestAttachments {
        denied: denied.collect(),
        links,
    })
}

fn parse_link(
    attachment: &MessageObject<'_>,
) -> Result<Result<ResourceLink, AttachmentProblem>, OpenHarnessError> {
    let given = |name: &str| {
        let text = attachment.text(name)?;
        Ok(text.map(str::trim).filter(|text| !text.is_empty()))
    };
    let (uri, reference, asset) = (given("uri")?, given("ref_id")?, given("asset_id")?);
    let (filename, mime_type) = (given("filename")?, given("mime_type")?);
    let size = attachment.size("size_bytes")?;
    let is_short = |text: &&str| text.len() <= LONGEST_TEXT;
    let address = uri.filter(is_short).filter(|uri| !is_data(uri));
    let [reference, asset, filename, mime_type] =
        [reference, asset, filename, mime_type].map(|text| text.filter(is_short));
    let uri = match (address, reference, asset) {
        (Some(uri), _, _) => uri.to_owned(),
        (None, Some(id), _) => format!("openharness-ref:{id}"),
        (None, None, Some(id)) => format!("openharness-asset:{id}"),
        (None, None, None) => {
            let content = uri.is_some() || INLINE.iter().any(|it| has_member(attachment, it));
            return Ok(Err(match content {
                true => AttachmentProblem::BringsContent,
                false => AttachmentProblem::RefersToNothing,
            }));
        }
    };
    let name = filename.or(reference).or(asset).unwrap_or(&uri).to_owned();
    Ok(Ok(ResourceLink {
        uri,
        name,
        mime_type: mime_type.map(str::to_owned),
        title: None,
        description: None,
        size,
    }))
}

/// Returns the denial of the attachments with these indexes. It is short for any number of them.
fn denial(why: AttachmentProblem, places: &[usize]) -> Option<CapabilityDenial> {
    if places.is_empty() {
        return None;
    }
    let mut which: Vec<_> = places
        .iter()
        .take(MOST_NAMED)
        .map(|place| format!("attachments[{place}]"))
        .collect();
    if places.len() > MOST_NAMED {
        which.push(format!("{} more", places.len() - MOST_NAMED));
    }
    let which = which.join(", ");
    let (code, message) = match why {
        AttachmentProblem::BringsContent => (
            "not_supported",
            format!(
                "Left out: {which}. Content is not accepted; upload it and send a reference in `ref_id`, `uri` or \
                 `asset_id`."
            ),
        ),
        AttachmentProblem::RefersToNothing => (
            "missing_reference",
            format!("Left out: {which}. Send a `ref_id`, `uri` or `asset_id`."),
        ),
    };
    Some(CapabilityDenial {
        capability: capabilities::ATTACHMENTS,
        code,
        message: message.into(),
    })
}

fn has_member(attachment: &MessageObject<'_>, name: &str) -> bool {
    let mut members = attachment.members();
    members.any(|(member, value)| member.eq_ignore_ascii_case(name) && !value.is_null())
}

fn is_data(uri: &str) -> bool {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("data"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read_attachments(attachments: Value) -> Result<RequestAttachments, OpenHarnessError> {
        let context = json!({ "attachments": attachments });
        read(&MessageObject::root(&context).unwrap())
    }

    fn read_link(attachment: Value) -> Result<ResourceLink, OpenHarnessError> {
        let mut read = read_attachments(json!([attachment]))?;
        assert_eq!(read.denied, []);
        Ok(read.links.remove(0))
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
            let link = read_link(attachment.clone()).unwrap();
            assert_eq!((&*link.uri, &*link.name), (uri, name), "{attachment}");
        }
        let link = read_link(json!({"ref_id": "r", "mime_type": "image/png", "size_bytes": 4.0}));
        let link = link.unwrap();
        assert_eq!(
            (link.mime_type.as_deref(), link.size),
            (Some("image/png"), Some(4))
        );
    }

    #[test]
    fn unknown_members_are_ignored() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        for attachment in [
            json!({"ref_id": "r", "data": "aGk="}),
            json!({"ref_id": "r", "Content": {"a": 1}}),
            json!({"ref_id": "r", "preview": long}),
            json!({"ref_id": "r", "x": {"y": [long]}}),
            json!({"ref_id": "r", "uri": "data:,hi"}),
            json!({"ref_id": "r", "asset_id": long, "mime_type": long}),
        ] {
            let link = read_link(attachment.clone()).unwrap();
            assert_eq!(link.uri, "openharness-ref:r", "{attachment}");
            assert_eq!(link.mime_type, None);
        }
    }

    #[test]
    fn attachment_without_reference_is_left_out_and_denied() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        let (content, nothing) = ("not_supported", "missing_reference");
        for (attachment, code) in [
            (json!({}), nothing),
            (json!({"filename": "a.txt", "unknown": 1}), nothing),
            (json!({"ref_id": "", "data": null}), nothing),
            (json!({"uri": "data:text/plain,hi"}), content),
            (json!({"uri": " DATA:;base64,aGk="}), content),
            (json!({"data": "aGk="}), content),
            (json!({"filename": "a.txt", "Base64": ""}), content),
            (json!({"uri": format!("https://e.org/{long}")}), content),
        ] {
            let read = read_attachments(json!([{"ref_id": "r"}, attachment])).unwrap();
            assert_eq!(read.links.len(), 1, "{attachment}");
            let [denied] = &read.denied[..] else {
                panic!("{attachment}: {:?}", read.denied);
            };
            assert_eq!(denied.code, code, "{attachment}");
            assert_eq!(denied.capability, capabilities::ATTACHMENTS);
            assert!(denied.message.contains("attachments[1]"), "{denied:?}");
        }
    }

    /// A body can have hundreds of thousands of attachments.
    #[test]
    fn denial_of_many_attachments_is_short() {
        let mut many = vec![json!({}); 10_000];
        many[1] = json!({"data": "x"});
        let denied = read_attachments(Value::Array(many)).unwrap().denied;
        let messages: Vec<_> = denied.iter().map(|it| &*it.message).collect();
        expect_test::expect![[r#"
            [
                "Left out: attachments[1]. Content is not accepted; upload it and send a reference in `ref_id`, `uri` or `asset_id`.",
                "Left out: attachments[0], attachments[2], attachments[3], attachments[4], attachments[5], attachments[6], attachments[7], attachments[8], 9991 more. Send a `ref_id`, `uri` or `asset_id`.",
            ]
        "#]]
        .assert_debug_eq(&messages);
    }

    #[test]
    fn member_of_the_wrong_type_is_rejected() {
        let table = [
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
            match read_attachments(json!([attachment])) {
                Err(OpenHarnessError::Invalid { field, .. }) => {
                    assert_eq!(field, place, "{attachment}")
                }
                other => panic!("{attachment}: {other:?}"),
            }
        }
    }
}
