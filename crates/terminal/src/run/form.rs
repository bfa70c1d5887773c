//! Shows a form as a question that the user answers with a line.

use agent_client_protocol::v1::schema::CreateElicitationRequest;

use super::{ask::SHOWN, show::TurnPrinter};
use crate::{
    paint::PaintStyle,
    reading::{
        call::in_one_line,
        form::{FormField, field},
        permission_keys::not_an_answer,
    },
    text,
};

/// Shows the question; returns false if a line cannot answer it.
pub(super) fn put(show: &mut TurnPrinter, request: &CreateElicitationRequest) -> bool {
    if field(request).is_none() {
        return false;
    }
    for (at, line) in request.message.lines().enumerate() {
        let (mark, style) = match at {
            0 => ("? ", PaintStyle::Bold),
            _ => ("  ", PaintStyle::Plain),
        };
        show.screen
            .line(&[(PaintStyle::Yellow, mark), (style, line)]);
    }
    put_field(show, request);
    true
}

/// Returns the error text for a line that is no answer.
pub(super) fn not_understood(request: &CreateElicitationRequest, typed: &str) -> String {
    let keys: &[&str] = match field(request) {
        Some((_, FormField::Decision)) => &["y", "n"],
        _ => &[],
    };
    not_an_answer(keys, &text::cut(typed.trim(), SHOWN))
}

/// Shows the valid answers.
pub(super) fn put_field(show: &mut TurnPrinter, request: &CreateElicitationRequest) {
    let Some((_, field)) = field(request) else {
        return;
    };
    let otherwise = |default: Option<String>| match default {
        Some(default) => format!("Enter for {}", in_one_line(&default)),
        None => "Enter for no answer".to_owned(),
    };
    let question = match field {
        FormField::Decision => "y, n, or Enter to refuse: ".to_owned(),
        FormField::Text(default) => format!("your answer, or {}: ", otherwise(default)),
        FormField::Choice(choices, default) => {
            for (at, choice) in choices.iter().enumerate() {
                show.screen.line(&[
                    (PaintStyle::Yellow, &format!("  {}) ", at + 1)),
                    (PaintStyle::Plain, &in_one_line(choice)),
                ]);
            }
            format!("1 to {}, or {}: ", choices.len(), otherwise(default))
        }
    };
    show.screen.question(&[(PaintStyle::Yellow, &question)]);
}
