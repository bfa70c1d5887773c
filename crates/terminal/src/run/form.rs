//! Shows a form as a question that the user answers with a line.

use agent_client_protocol::v1::schema::CreateElicitationRequest;

use super::{permission::SHOWN, turn_printer::TurnPrinter};
use crate::{
    agent_messages::{
        call_text::escape_line_breaks,
        form::{FormField, required_field},
        permission_keys::invalid_key_message,
    },
    paint::PaintStyle,
    text,
};

/// Shows the question; returns false if a line cannot answer it.
pub(super) fn show_question(show: &mut TurnPrinter, request: &CreateElicitationRequest) -> bool {
    if required_field(request).is_none() {
        return false;
    }
    for (at, line) in request.message.lines().enumerate() {
        let (mark, style) = match at {
            0 => ("? ", PaintStyle::Bold),
            _ => ("  ", PaintStyle::Plain),
        };
        show.screen
            .write_line(&[(PaintStyle::Yellow, mark), (style, line)]);
    }
    show_field(show, request);
    true
}

/// Returns the error text for a line that is no answer.
pub(super) fn invalid_answer_message(request: &CreateElicitationRequest, typed: &str) -> String {
    let keys: &[&str] = match required_field(request) {
        Some((_, FormField::Decision)) => &["y", "n"],
        _ => &[],
    };
    invalid_key_message(keys, &text::cut(typed.trim(), SHOWN))
}

/// Shows the valid answers.
pub(super) fn show_field(show: &mut TurnPrinter, request: &CreateElicitationRequest) {
    let Some((_, field)) = required_field(request) else {
        return;
    };
    let otherwise = |default: Option<String>| match default {
        Some(default) => format!("Enter for {}", escape_line_breaks(&default)),
        None => "Enter for no answer".to_owned(),
    };
    let question = match field {
        FormField::Decision => "y, n, or Enter to refuse: ".to_owned(),
        FormField::Text(default) => format!("your answer, or {}: ", otherwise(default)),
        FormField::Choice(choices, default) => {
            for (at, choice) in choices.iter().enumerate() {
                show.screen.write_line(&[
                    (PaintStyle::Yellow, &format!("  {}) ", at + 1)),
                    (PaintStyle::Plain, &escape_line_breaks(choice)),
                ]);
            }
            format!("1 to {}, or {}: ", choices.len(), otherwise(default))
        }
    };
    show.screen
        .write_question(&[(PaintStyle::Yellow, &question)]);
}
