//! What came of a tool call, as text: one rule for the document, the timeline and the whole output.

use harn_model::{ContentBlock, ToolContent};
use serde_json::Value;

/// The texts that the call shows, a line break between them; where it shows none, its raw result.
pub(crate) fn text(content: &[ToolContent], raw_output: Option<&Value>) -> String {
    let shown: Vec<_> = content.iter().filter_map(shown).collect();
    if !shown.is_empty() {
        return shown.join("\n");
    }
    match raw_output {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            format!("{value:#}")
        }
    }
}

/// Changes of files are shown as such, terminals live at the host, and pictures are no text.
fn shown(content: &ToolContent) -> Option<&str> {
    let text = match content {
        ToolContent::Content { content } => match content {
            ContentBlock::Text { text } => Some(text.as_str()),
            ContentBlock::Resource(resource) => resource.text.as_deref(),
            ContentBlock::Image { .. }
            | ContentBlock::Audio { .. }
            | ContentBlock::ResourceLink(_) => None,
        },
        ToolContent::Diff { .. } | ToolContent::Terminal { .. } => None,
    };
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use harn_model::Resource;
    use serde_json::json;

    use super::*;

    #[test]
    fn shown_text_goes_before_the_raw_result() {
        let resource = |text: Option<&str>| ToolContent::Content {
            content: ContentBlock::Resource(Resource {
                uri: "file:///a".to_owned(),
                mime_type: None,
                text: text.map(str::to_owned),
                blob: None,
            }),
        };
        let diff = ToolContent::Diff {
            path: "/a".to_owned(),
            old_text: None,
            new_text: "new".to_owned(),
        };
        let picture = ToolContent::Content {
            content: ContentBlock::Image {
                mime_type: "image/png".to_owned(),
                data: "iVBORw0KGgo=".to_owned(),
                uri: None,
            },
        };
        let mixed = [
            ToolContent::text("one"),
            diff.clone(),
            resource(Some("two")),
            resource(None),
            ToolContent::text(""),
            ToolContent::text("three\n"),
        ];
        let raw = json!("raw");
        let structured = json!({"exit_code": 0});
        let null = Value::Null;
        let cases: [(&[ToolContent], Option<&Value>, &str); 7] = [
            (&mixed, Some(&raw), "one\ntwo\nthree\n"),
            (&[], None, ""),
            (&[], Some(&null), ""),
            (&[diff.clone(), picture], Some(&raw), "raw"),
            (&[ToolContent::text("")], Some(&raw), "raw"),
            (&[], Some(&structured), "{\n  \"exit_code\": 0\n}"),
            (&[diff], None, ""),
        ];
        for (content, raw, expected) in cases {
            assert_eq!(text(content, raw), expected);
        }
    }
}
