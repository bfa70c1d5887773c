//! The output of a tool call as text: one rule for the document, the timeline and `/state/output`.

use harn_model::{CallOutput, ContentBlock, OutputText, ToolContent};
use serde_json::Value;

/// Returns the whole output of a call so far.
pub(crate) fn whole_text(output: &CallOutput) -> String {
    let Some(whole) = &output.printed else {
        return text(&output.content, output.raw.as_ref());
    };
    let others = output
        .content
        .iter()
        .filter(|part| part.command_output().is_none());
    let all = std::iter::once(whole.as_str()).chain(others.filter_map(shown_text));
    let all: Vec<_> = all.filter(|text| !text.is_empty()).collect();
    all.join("\n")
}

/// Whether the text lacks the beginning of a command's printed text.
pub(crate) fn is_cut(output: &CallOutput) -> bool {
    output.printed.as_ref().is_some_and(OutputText::is_cut)
}

/// Returns the texts that a call shows, joined by line breaks; if it shows none, its raw result.
pub(crate) fn text(content: &[ToolContent], raw_output: Option<&Value>) -> String {
    let shown: Vec<_> = content.iter().filter_map(shown_text).collect();
    if !shown.is_empty() {
        return shown.join("\n");
    }
    raw_output.and_then(format_json).unwrap_or_default()
}

/// Formats JSON for people; `None` for null.
pub(crate) fn format_json(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Some(format!("{value:#}"))
        }
    }
}

/// Returns the text of a content part. Diffs are shown as such, terminals are at the host, and pictures are no
/// text.
fn shown_text(content: &ToolContent) -> Option<&str> {
    let text = match content {
        ToolContent::Content { content } => match content {
            ContentBlock::Text { text } => Some(text.as_str()),
            ContentBlock::Resource(resource) => resource.text.as_deref(),
            ContentBlock::Image { .. }
            | ContentBlock::Audio { .. }
            | ContentBlock::ResourceLink(_) => None,
        },
        ToolContent::Output(output) => Some(output.text.as_str()),
        ToolContent::Diff { .. } | ToolContent::Terminal { .. } => None,
    };
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use harn_model::{CommandOutput, Resource};
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_printed_output_are_joined() {
        let part = |start: u64, text: &str| {
            ToolContent::Output(CommandOutput {
                text: text.to_owned(),
                start,
                incomplete: false,
            })
        };
        let mut output = CallOutput::default();
        output.replace_content(&[part(0, "one\n")], 100);
        assert_eq!(whole_text(&output), "one\n");
        output.replace_content(&[part(2, "e\ntwo\n")], 100);
        assert_eq!(whole_text(&output), "one\ntwo\n");
        output.raw = Some(json!({"exit_code": 0}));
        output.replace_content(&[part(4, "two\n"), ToolContent::text("exit code 0\n")], 100);
        assert_eq!(whole_text(&output), "one\ntwo\n\nexit code 0\n");
        assert!(!is_cut(&output));
        output.replace_content(&[part(8, &"x".repeat(100))], 100);
        assert_eq!(
            (whole_text(&output), is_cut(&output)),
            ("x".repeat(50), true)
        );

        let mut silent = CallOutput {
            raw: Some(json!({"exit_code": 0})),
            ..CallOutput::default()
        };
        silent.replace_content(&[part(0, "")], 100);
        assert_eq!(whole_text(&silent), "");
    }

    #[test]
    fn shown_text_precedes_the_raw_result() {
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
