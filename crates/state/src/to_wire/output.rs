//! What came of a tool call, as text: one rule for the document, the timeline and the whole output.

use harn_model::{CommandOutput, ContentBlock, OutputText, ToolContent};
use serde_json::Value;

/// What a call has put out so far, folded from its events.
#[derive(Clone)]
pub(crate) struct CallOutput {
    content: Vec<ToolContent>,
    raw: Option<Value>,
    /// What its command printed.
    printed: Option<OutputText>,
    limit: usize,
}

impl CallOutput {
    /// Of a call that shows nothing yet. Of what a command prints, the end is kept, up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            content: Vec::new(),
            raw: None,
            printed: None,
            limit,
        }
    }

    /// The call shows this, in the place of what it showed.
    pub(crate) fn show(&mut self, content: &[ToolContent]) {
        self.content = content.to_owned();
        for part in content.iter().filter_map(printed) {
            let text = &mut self.printed;
            let text = text.get_or_insert_with(|| OutputText::new(self.limit));
            text.append(part);
        }
    }

    /// The call has this result.
    pub(crate) fn set_raw(&mut self, raw: &Value) {
        self.raw = Some(raw.clone());
    }

    /// What it shows.
    pub(crate) fn content(&self) -> &[ToolContent] {
        &self.content
    }

    /// Its output as text.
    pub(crate) fn text(&self) -> String {
        let Some(whole) = &self.printed else {
            return text(&self.content, self.raw.as_ref());
        };
        let others = self.content.iter().filter(|part| printed(part).is_none());
        let others = others.filter_map(shown);
        let all = std::iter::once(whole.as_str()).chain(others);
        let all: Vec<_> = all.filter(|text| !text.is_empty()).collect();
        all.join("\n")
    }

    /// Whether the text lacks the beginning of what a command printed.
    pub(crate) fn is_cut(&self) -> bool {
        self.printed.as_ref().is_some_and(OutputText::is_cut)
    }
}

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

fn printed(content: &ToolContent) -> Option<&CommandOutput> {
    match content {
        ToolContent::Output(output) => Some(output),
        ToolContent::Content { .. } | ToolContent::Diff { .. } | ToolContent::Terminal { .. } => {
            None
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
        ToolContent::Output(output) => Some(output.text.as_str()),
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
    fn parts_of_what_a_command_prints_are_joined() {
        let part = |start: u64, text: &str| {
            ToolContent::Output(CommandOutput {
                text: text.to_owned(),
                start,
                incomplete: false,
            })
        };
        let mut output = CallOutput::new(100);
        output.show(&[part(0, "one\n")]);
        assert_eq!(output.text(), "one\n");
        output.show(&[part(2, "e\ntwo\n")]);
        assert_eq!(output.text(), "one\ntwo\n");
        output.set_raw(&json!({"exit_code": 0}));
        output.show(&[part(4, "two\n"), ToolContent::text("exit code 0\n")]);
        assert_eq!(output.text(), "one\ntwo\n\nexit code 0\n");
        assert!(!output.is_cut());
        output.show(&[part(8, &"x".repeat(100))]);
        assert_eq!((output.text(), output.is_cut()), ("x".repeat(50), true));

        let mut silent = CallOutput::new(100);
        silent.set_raw(&json!({"exit_code": 0}));
        silent.show(&[part(0, "")]);
        assert_eq!(silent.text(), "");
    }

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
