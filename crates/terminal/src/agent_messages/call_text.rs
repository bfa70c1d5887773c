//! Tool calls and their content as text for a terminal.

use std::{borrow::Cow, fmt::Write as _};

use agent_client_protocol::v1::schema::{ContentBlock, ToolCallContent, ToolCallStatus, ToolKind};
use serde_json::Value;

use crate::paint::escape_controls;

/// Returns a symbol for the kind of a tool.
pub(crate) fn symbol(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "≡ ",
        ToolKind::Edit => "✎ ",
        ToolKind::Delete => "⌫ ",
        ToolKind::Move => "→ ",
        ToolKind::Search => "⌕ ",
        ToolKind::Execute => "$ ",
        ToolKind::Think => "… ",
        ToolKind::Fetch => "↓ ",
        _ => "• ",
    }
}

pub(crate) fn is_over(status: ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed)
}

/// Returns the text of a block, or a placeholder for it.
pub(crate) fn block_text(block: &ContentBlock) -> &str {
    match block {
        ContentBlock::Text(text) => &text.text,
        ContentBlock::ResourceLink(link) => &link.uri,
        ContentBlock::Image(_) => "[image]",
        ContentBlock::Audio(_) => "[audio]",
        _ => "[resource]",
    }
}

/// Returns the text lines in the content of a call, without the fences around code.
pub(crate) fn text_lines(content: &[ToolCallContent]) -> Vec<&str> {
    let texts = content.iter().filter_map(|item| match item {
        ToolCallContent::Content(content) => Some(block_text(&content.content)),
        _ => None,
    });
    let lines = texts.flat_map(str::lines);
    lines.filter(|line| !line.starts_with("```")).collect()
}

/// Escapes the line breaks in a name or a title, so that it hides nothing and adds no line that a user
/// could mistake for one of ours.
pub(crate) fn escape_line_breaks(text: &str) -> Cow<'_, str> {
    match text.trim_end() {
        text if text.contains('\n') => text.replace('\n', "\\n").into(),
        text => text.into(),
    }
}

/// Formats all arguments: a command as a user would type it, followed by the others; else the JSON.
pub(crate) fn input_lines(kind: ToolKind, input: &Value) -> String {
    let command = match input.get("command") {
        Some(Value::String(line)) => Some(escape_controls(line).into_owned()),
        Some(Value::Array(words)) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            let words: Option<Vec<_>> = words.collect();
            words.map(|words| harn_policy::quote_words(&words))
        }
        _ => None,
    };
    match command {
        Some(command) if kind == ToolKind::Execute => {
            let mut lines = format!("$ {command}");
            for (name, value) in input.as_object().into_iter().flatten() {
                if name != "command" {
                    // Writing to a string does not fail.
                    let _ = write!(lines, "\n{name}: {value}");
                }
            }
            lines
        }
        _ => format!("{input:#}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_title_with_line_breaks_stays_one_line() {
        assert_eq!(escape_line_breaks("Look\n"), "Look");
        assert_eq!(
            escape_line_breaks("x\n? Allow this? Read a file"),
            "x\\n? Allow this? Read a file"
        );
    }

    #[test]
    fn a_command_is_shown_with_all_other_arguments() {
        let input = json!({"command": "ls\u{1b}[1A; rm x", "cwd": "/w"});
        assert_eq!(
            input_lines(ToolKind::Execute, &input),
            "$ ls\\u{1b}[1A; rm x\ncwd: \"/w\""
        );
        let words = json!({"command": ["ls", "a b", "\u{202e}c"]});
        assert_eq!(
            input_lines(ToolKind::Execute, &words),
            r"$ ls 'a b' $'\u{202e}c'"
        );
        assert_eq!(
            input_lines(ToolKind::Edit, &json!({"path": "a"})),
            "{\n  \"path\": \"a\"\n}"
        );
    }
}
