//! The output of a command, read from the last update of its call.

use std::{fs, path::Path};

use agent_client_protocol::v1::schema::{ContentBlock, ToolCallContent};
use serde_json::Value;

#[derive(Debug, Default, PartialEq)]
pub(super) struct PrintedOutput {
    pub(super) text: String,
    /// Whether the beginning of the output is missing.
    pub(super) is_cut: bool,
}

/// Returns the output of a call; none if its content is something else, such as the reason of a refusal. The
/// content shows the end of a long output; the whole is in a file that the result names.
pub(super) fn parse_output(
    content: &[ToolCallContent],
    result: Option<&Value>,
) -> Option<PrintedOutput> {
    let fact = |name: &str| result.and_then(|result| result.get(name));
    let file = fact("output_file").and_then(Value::as_str);
    if let Some(Ok(text)) = file.map(|file| fs::read_to_string(Path::new(file))) {
        let is_cut = false;
        return Some(PrintedOutput { text, is_cut });
    }
    let first = content.iter().find_map(|item| match item {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        },
        _ => None,
    });
    Some(PrintedOutput {
        text: first.and_then(strip_fences)?.to_owned(),
        is_cut: fact("truncated").and_then(Value::as_bool) == Some(true),
    })
}

/// Returns the text inside a code block.
fn strip_fences(text: &str) -> Option<&str> {
    if text == "No output.\n" {
        return Some("");
    }
    let block = text.strip_prefix("The end of the output:\n\n");
    let block = block.unwrap_or(text);
    let fence = block.len() - block.trim_start_matches('`').len();
    let (fence, inside) = block.split_at(fence);
    let inside = inside
        .strip_prefix('\n')
        .and_then(|inside| inside.strip_suffix(&format!("{fence}\n")));
    inside.filter(|_| fence.len() >= 3)
}

#[cfg(test)]
mod tests {
    use harn_model::CommandOutput;

    use super::*;

    #[test]
    fn a_code_block_is_stripped_of_its_fences() {
        for text in ["one\ntwo\n", "```\nx\n```\n", "\n\n", "`\n"] {
            for start in [0, 7] {
                let output = CommandOutput {
                    text: text.to_owned(),
                    start,
                    incomplete: false,
                };
                assert_eq!(strip_fences(&output.to_markdown()), Some(text));
            }
        }
        let none = CommandOutput::default().to_markdown();
        assert_eq!(strip_fences(&none), Some(""));
        for text in ["plain\n", "the call was refused", "`x`\n", ""] {
            assert_eq!(strip_fences(text), None);
        }
    }
}
