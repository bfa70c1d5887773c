//! Permission questions: their text, the valid answers, and the default refusal.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SelectedPermissionOutcome, ToolCallContent,
};

use super::turn_printer::TurnPrinter;
use crate::{
    agent_messages::{
        activity::{deadline, origin_lines, time_left},
        call_text::{block_text, escape_line_breaks, input_lines, symbol},
        permission_keys::{assign_keys, invalid_key_message, key_position},
    },
    paint::PaintStyle,
    text,
};

/// Shows the question: the exact call, the reason for asking, and the answers.
pub(super) fn show_question(show: &mut TurnPrinter, request: &RequestPermissionRequest) {
    let call = &request.tool_call;
    let fields = &call.fields;
    let title = escape_line_breaks(fields.title.as_deref().unwrap_or("a tool call"));
    let kind = fields.kind.unwrap_or_default();
    let screen = &mut show.screen;
    screen.write_line(&[
        (PaintStyle::Yellow, "? "),
        (PaintStyle::Bold, "Allow this? "),
        (PaintStyle::Cyan, symbol(kind)),
        (PaintStyle::Plain, &title),
    ]);
    for line in origin_lines(request.meta.as_ref()) {
        screen.write_line(&[(PaintStyle::Dim, &escape_line_breaks(&format!("  {line}")))]);
    }
    let content = fields.content.as_deref().unwrap_or_default();
    let shows_itself = content
        .iter()
        .any(|item| matches!(item, ToolCallContent::Diff(_)));
    let input = fields.raw_input.as_ref().filter(|_| !shows_itself);
    let input = input.map_or_else(String::new, |input| input_lines(kind, input));
    for line in input.lines() {
        screen.write_line(&[(PaintStyle::Plain, "  "), (PaintStyle::Bold, line)]);
    }
    for item in content {
        if let ToolCallContent::Content(block) = item {
            let text = block_text(&block.content);
            if repeats_command(text, &input) {
                continue;
            }
            for line in text.lines() {
                screen.write_line(&[(PaintStyle::Plain, "  "), (PaintStyle::Plain, line)]);
            }
        }
    }
    show.show_diffs(&call.tool_call_id, content);
    show_options(show, request);
}

/// Returns whether a text is a code block with just the command that the arguments show.
fn repeats_command(text: &str, input: &str) -> bool {
    let inside = text.trim_start_matches('`').strip_prefix("sh\n");
    let inside = inside.map(|inside| inside.trim_end_matches('`'));
    let behind =
        inside.and_then(|inside| input.strip_prefix("$ ")?.strip_prefix(inside.trim_end()));
    behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('\n'))
}

/// Shows the answers, each with its key.
pub(super) fn show_options(show: &mut TurnPrinter, request: &RequestPermissionRequest) {
    let keyed = assign_keys(&request.options);
    for (key, option) in &keyed {
        show.screen.write_line(&[
            (PaintStyle::Yellow, &format!("  {key}) ")),
            (PaintStyle::Plain, &escape_line_breaks(&option.name)),
        ]);
    }
    let left = time_left(deadline(request.meta.as_ref()), show.clock.now());
    let keys: Vec<_> = keyed.iter().map(|(key, _)| key.as_str()).collect();
    let question = format!("{}, or Enter to refuse{left}: ", keys.join(", "));
    show.screen
        .write_question(&[(PaintStyle::Yellow, &question)]);
}

/// Parses a line, or the end of input if `line` is none. The error text states what is wrong.
pub(super) fn parse_answer(
    line: Option<&str>,
    options: &[PermissionOption],
) -> Result<RequestPermissionOutcome, String> {
    let line = line.unwrap_or_default().trim();
    if line.is_empty() {
        return Ok(refusal(options));
    }
    let (keys, options): (Vec<_>, Vec<_>) = assign_keys(options).into_iter().unzip();
    let chosen = key_position(&keys, line).and_then(|at| options.get(at));
    chosen
        .map(|option| selected_outcome(option))
        .ok_or_else(|| invalid_key_message(&keys, &text::cut(line, SHOWN)))
}

/// The maximum number of characters of an invalid line that an error repeats.
pub(super) const SHOWN: usize = 20;

/// Returns the answer if the user gives none: reject once, else reject always, else cancel.
pub(super) fn refusal(options: &[PermissionOption]) -> RequestPermissionOutcome {
    let of_kind = |kind| options.iter().find(move |option| option.kind == kind);
    of_kind(PermissionOptionKind::RejectOnce)
        .or_else(|| of_kind(PermissionOptionKind::RejectAlways))
        .map_or(RequestPermissionOutcome::Cancelled, selected_outcome)
}

fn selected_outcome(option: &PermissionOption) -> RequestPermissionOutcome {
    RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_not_shown_twice() {
        let input = "$ rm 'a b'\nls\ncwd: \"/w\"";
        assert!(repeats_command("```sh\nrm 'a b'\nls\n```", input));
        for other in ["```sh\nrm 'a b'\nl\n```", "rm 'a b'", "```sh\nls\n```", ""] {
            assert!(!repeats_command(other, input), "{other}");
        }
        assert!(!repeats_command("```sh\nls\n```", ""));
    }

    fn options() -> Vec<PermissionOption> {
        use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        vec![
            PermissionOption::new("allow_once", "Allow", AllowOnce),
            PermissionOption::new("allow_session", "Allow for now", AllowAlways),
            PermissionOption::new("allow_always", "Always allow", AllowAlways),
            PermissionOption::new("reject_once", "Reject", RejectOnce),
            PermissionOption::new("reject_always", "Never", RejectAlways),
        ]
    }

    fn expected_choice(id: &str) -> Result<RequestPermissionOutcome, String> {
        let selected = SelectedPermissionOutcome::new(id.to_owned());
        Ok(RequestPermissionOutcome::Selected(selected))
    }

    #[test]
    fn only_the_letter_of_an_option_selects_it() {
        let options = options();
        let table = [
            ("y\n", "allow_once"),
            ("s", "allow_session"),
            (" w \n", "allow_always"),
            ("n", "reject_once"),
            ("x", "reject_always"),
            ("Y", "allow_once"),
            ("N", "reject_once"),
            ("\n", "reject_once"),
        ];
        for (typed, id) in table {
            assert_eq!(
                parse_answer(Some(typed), &options),
                expected_choice(id),
                "{typed:?}"
            );
        }
        assert_eq!(parse_answer(None, &options), expected_choice("reject_once"));
        for unclear in ["0", "1", "yes", "a", "A", "S", "W", "X", "no", "y n", "-1"] {
            let typed = parse_answer(Some(unclear), &options);
            let told = format!("`{unclear}` is not a valid answer; answer y, s, w, n or x");
            assert_eq!(typed, Err(told), "{unclear}");
        }
    }

    #[test]
    fn refusal_cancels_without_a_reject_option() {
        let allow = vec![options().remove(0)];
        assert_eq!(refusal(&allow), RequestPermissionOutcome::Cancelled);
    }
}
