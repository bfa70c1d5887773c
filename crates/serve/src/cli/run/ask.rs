//! Permission questions: what is shown, what may be typed, and what no answer means.

use std::{borrow::Cow, fmt::Write as _};

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SelectedPermissionOutcome, ToolCallContent, ToolKind,
};
use serde_json::Value;

use super::{
    activity::lineage,
    show::{Show, block_text, symbol},
};
use crate::cli::paint::{Style, visible};

/// Puts the question: exactly what would be done, and the answers by number.
pub(super) fn put(show: &mut Show, request: &RequestPermissionRequest) {
    let call = &request.tool_call;
    let fields = &call.fields;
    let title = in_one_line(fields.title.as_deref().unwrap_or("a tool call"));
    let kind = fields.kind.unwrap_or_default();
    let screen = &mut show.screen;
    screen.line(&[
        (Style::Yellow, "? "),
        (Style::Bold, "Allow this? "),
        (Style::Cyan, symbol(kind)),
        (Style::Plain, &title),
    ]);
    let workers = lineage(request.meta.as_ref());
    if !workers.is_empty() {
        let asks = format!("  asked by the worker {}", workers.join(" > "));
        screen.line(&[(Style::Dim, &in_one_line(&asks))]);
    }
    let content = fields.content.as_deref().unwrap_or_default();
    let shows_itself = content
        .iter()
        .any(|item| matches!(item, ToolCallContent::Diff(_)));
    if let Some(input) = &fields.raw_input
        && !shows_itself
    {
        for line in input_lines(kind, input).lines() {
            screen.line(&[(Style::Plain, "  "), (Style::Bold, line)]);
        }
    }
    for item in content {
        if let ToolCallContent::Content(block) = item {
            for line in block_text(&block.content).lines() {
                screen.line(&[(Style::Plain, "  "), (Style::Plain, line)]);
            }
        }
    }
    show.diffs(&call.tool_call_id, content);
    put_options(show, &request.options);
}

/// The answers by number.
pub(super) fn put_options(show: &mut Show, options: &[PermissionOption]) {
    for (at, option) in options.iter().enumerate() {
        let number = format!("  {}) ", at + 1);
        show.screen.line(&[
            (Style::Yellow, &number),
            (Style::Plain, &in_one_line(&option.name)),
        ]);
    }
    let question = format!("a number from 1 to {}, or Enter to refuse: ", options.len());
    show.screen.question(&[(Style::Yellow, &question)]);
}

/// A name or a title with its line breaks spelt out: it hides nothing, and adds no line that could pass for
/// one of ours.
fn in_one_line(text: &str) -> Cow<'_, str> {
    match text.trim_end() {
        text if text.contains('\n') => text.replace('\n', "\\n").into(),
        text => text.into(),
    }
}

/// The arguments, so that nothing of them is hidden: a command as it would be typed, else all of them.
fn input_lines(kind: ToolKind, input: &Value) -> String {
    let command = input.get("command").and_then(Value::as_str);
    match command {
        Some(command) if kind == ToolKind::Execute => {
            let mut lines = format!("$ {}", visible(command));
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

/// What was typed.
#[derive(Debug, PartialEq)]
pub(super) enum Typed {
    /// An answer.
    Chosen(RequestPermissionOutcome),
    /// Nothing we know.
    Unclear,
}

/// Understands a line; none is the end of input.
pub(super) fn understand(line: Option<&str>, options: &[PermissionOption]) -> Typed {
    let line = line.unwrap_or_default().trim();
    if line.is_empty() {
        return Typed::Chosen(refusal(options));
    }
    let number = line.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    match number.and_then(|at| options.get(at)) {
        Some(option) => Typed::Chosen(selected(option)),
        None => Typed::Unclear,
    }
}

/// The answer of someone who is not there: this once, no.
pub(super) fn refusal(options: &[PermissionOption]) -> RequestPermissionOutcome {
    let of_kind = |kind| options.iter().find(move |option| option.kind == kind);
    of_kind(PermissionOptionKind::RejectOnce)
        .or_else(|| of_kind(PermissionOptionKind::RejectAlways))
        .map_or(RequestPermissionOutcome::Cancelled, selected)
}

fn selected(option: &PermissionOption) -> RequestPermissionOutcome {
    RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options() -> Vec<PermissionOption> {
        vec![
            PermissionOption::new("yes", "Allow", PermissionOptionKind::AllowOnce),
            PermissionOption::new("no", "Reject", PermissionOptionKind::RejectOnce),
        ]
    }

    fn chosen(id: &str) -> Typed {
        let selected = SelectedPermissionOutcome::new(id.to_owned());
        Typed::Chosen(RequestPermissionOutcome::Selected(selected))
    }

    #[test]
    fn only_a_number_allows() {
        let options = options();
        assert_eq!(understand(Some("1\n"), &options), chosen("yes"));
        assert_eq!(understand(Some(" 2 \n"), &options), chosen("no"));
        assert_eq!(understand(Some("\n"), &options), chosen("no"));
        assert_eq!(understand(None, &options), chosen("no"));
        for unclear in ["0", "3", "y", "yes", "-1", "1 2"] {
            assert_eq!(
                understand(Some(unclear), &options),
                Typed::Unclear,
                "{unclear}"
            );
        }
    }

    #[test]
    fn who_cannot_refuse_cancels() {
        let allow = vec![options().remove(0)];
        assert_eq!(refusal(&allow), RequestPermissionOutcome::Cancelled);
    }

    #[test]
    fn a_name_adds_no_line_to_the_question() {
        assert_eq!(in_one_line("Look\n"), "Look");
        assert_eq!(
            in_one_line("x\n? Allow this? Read a file"),
            "x\\n? Allow this? Read a file"
        );
    }

    #[test]
    fn a_command_is_shown_as_typed_with_everything_beside_it() {
        let input = json!({"command": "ls\u{1b}[1A; rm x", "cwd": "/w"});
        assert_eq!(
            input_lines(ToolKind::Execute, &input),
            "$ ls\\u{1b}[1A; rm x\ncwd: \"/w\""
        );
        assert_eq!(
            input_lines(ToolKind::Edit, &json!({"path": "a"})),
            "{\n  \"path\": \"a\"\n}"
        );
    }
}
