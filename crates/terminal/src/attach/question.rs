//! Questions of the agent: their text and their answers.

use std::{path::Path, str::Lines, time::Duration};

use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction, PermissionOption,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, ToolCallContent,
};
use harn_model::{GrantScope, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::{protocol::QuestionRequest, screen_text::escape_line};
use crate::{
    agent_messages::{
        activity::{deadline, origin_lines, permission},
        call_text::{block_text, input_lines, symbol},
        diff::unified_diff,
        form::{self, FormField},
        permission_keys::{assign_keys, invalid_key_message, key_position},
    },
    paint::PaintStyle,
};

#[derive(Debug)]
pub(super) struct ShownQuestion {
    pub(super) id: Value,
    /// The subject of the question, as one line.
    pub(super) title: String,
    /// The exact call and the reason for asking.
    pub(super) body: Vec<(PaintStyle, String)>,
    /// The answers that have a key.
    pub(super) options: Vec<AnswerOption>,
    /// Whether the user types the answer, as a text or a number, instead of pressing one key.
    pub(super) takes_text: bool,
    pub(super) deadline: Option<Timestamp>,
    pub(super) since: Duration,
    about: AttachQuestionKind,
}

#[derive(Debug)]
pub(super) struct AnswerOption {
    /// The key to press or, if the answer is typed, the text to type.
    pub(super) key: String,
    pub(super) name: String,
    /// The scope of the answer, if it is known.
    pub(super) scope: Option<&'static str>,
}

#[derive(Debug)]
enum AttachQuestionKind {
    Permission(Vec<String>),
    Form(Box<CreateElicitationRequest>),
}

impl ShownQuestion {
    /// Parses a question; none if the user cannot answer it here.
    pub(super) fn read(asked: &QuestionRequest, cwd: &Path, since: Duration) -> Option<Self> {
        let (id, params) = (asked.id.clone(), asked.params.get());
        if asked.form {
            return Self::from_form(id, serde_json::from_str(params).ok()?, since);
        }
        let request: RequestPermissionRequest = serde_json::from_str(params).ok()?;
        let scopes = permission(request.meta.as_ref()).map(|meta| meta.options);
        let scopes = scopes.unwrap_or_default();
        let scope = |id: &str| {
            let option = scopes.iter().find(|option| option.option_id == id)?;
            Some(match option.scope {
                GrantScope::Once => "once",
                GrantScope::Session => "session",
                GrantScope::Always => "always",
            })
        };
        let keyed = assign_keys(&request.options);
        let answer = |(key, option): &(String, &PermissionOption)| AnswerOption {
            key: key.clone(),
            name: escape_line(&option.name),
            scope: scope(&option.option_id.0),
        };
        let ids = keyed.iter().map(|(_, it)| it.option_id.0.to_string());
        Some(Self {
            id,
            title: title(&request),
            body: body(&request, cwd),
            options: keyed.iter().map(answer).collect(),
            // A number of two digits is not a key.
            takes_text: keyed.iter().any(|(key, _)| key.len() > 1),
            deadline: deadline(request.meta.as_ref()),
            since,
            about: AttachQuestionKind::Permission(ids.collect()),
        })
    }

    fn from_form(id: Value, request: CreateElicitationRequest, since: Duration) -> Option<Self> {
        let (_, field) = form::required_field(&request)?;
        let plain = |key: String, text: &str| AnswerOption {
            key,
            name: escape_line(text),
            scope: None,
        };
        let (options, takes_text) = match field {
            FormField::Decision => {
                let options = [("y", "Yes"), ("n", "No")];
                let options = options.map(|(key, it)| plain(key.to_owned(), it));
                (options.into(), false)
            }
            FormField::Choice(choices, _) => {
                let numbered = (1..).zip(&choices);
                let option = |(number, it): (usize, &String)| plain(number.to_string(), it);
                (numbered.map(option).collect(), true)
            }
            FormField::Text(_) => (Vec::new(), true),
        };
        let mut lines = request.message.lines();
        let title = escape_line(lines.next().unwrap_or_default());
        let mut body = styled_lines(PaintStyle::Plain, lines).collect();
        limit_lines(&mut body);
        Some(Self {
            id,
            title,
            body,
            options,
            takes_text,
            deadline: None,
            since,
            about: AttachQuestionKind::Form(Box::new(request)),
        })
    }

    /// Returns the index of the option with this key.
    pub(super) fn position(&self, key: &str) -> Option<usize> {
        key_position(&self.keys(), key)
    }

    /// Returns the error text for a key without a meaning.
    pub(super) fn invalid_key_message(&self, key: &str) -> String {
        invalid_key_message(&self.keys(), key)
    }

    fn keys(&self) -> Vec<&str> {
        self.options.iter().map(|it| it.key.as_str()).collect()
    }

    /// Returns the answer of the option at this index.
    pub(super) fn choose(&self, at: usize) -> Option<Value> {
        match &self.about {
            AttachQuestionKind::Permission(ids) => {
                let chosen = SelectedPermissionOutcome::new(ids.get(at)?.clone());
                let outcome = RequestPermissionOutcome::Selected(chosen);
                value(RequestPermissionResponse::new(outcome))
            }
            // Only a decision has keys; the user types a choice.
            AttachQuestionKind::Form(_) => self.answer_from_text(&self.options.get(at)?.key),
        }
    }

    /// Returns the answer that a typed text means; none if it is no answer.
    pub(super) fn answer_from_text(&self, text: &str) -> Option<Value> {
        let AttachQuestionKind::Form(request) = &self.about else {
            return self.choose(self.position(text.trim())?);
        };
        let action = form::parse_answer(Some(text), request)?;
        value(CreateElicitationResponse::new(action))
    }
}

/// Returns the answer to a form that cannot be shown here.
pub(super) fn decline_answer() -> Option<Value> {
    value(CreateElicitationResponse::new(ElicitationAction::Decline))
}

fn value(answer: impl Serialize) -> Option<Value> {
    serde_json::to_value(answer).ok()
}

fn title(request: &RequestPermissionRequest) -> String {
    let fields = &request.tool_call.fields;
    let title = escape_line(fields.title.as_deref().unwrap_or("a tool call"));
    format!("{}{title}", symbol(fields.kind.unwrap_or_default()))
}

/// The limits of a body: a user would not read more, and drawing it would take too long.
const LINES: usize = 4000;
const BYTES: usize = 256 * 1024;

/// Cuts a body that is too long and adds a line that states it.
fn limit_lines(lines: &mut Vec<(PaintStyle, String)>) {
    let mut bytes = 0;
    let mut fits = |(_, line): &(PaintStyle, String)| {
        bytes += line.len();
        bytes <= BYTES
    };
    let kept = lines.iter().take(LINES).take_while(|it| fits(it)).count();
    let more = lines.len() - kept;
    if more > 0 {
        lines.truncate(kept);
        let words =
            format!("… and {more} more lines, too many to show: if unsure, reject the call");
        lines.push((PaintStyle::Yellow, words));
    }
}

fn styled_lines(style: PaintStyle, lines: Lines<'_>) -> impl Iterator<Item = (PaintStyle, String)> {
    lines.map(move |line| (style, line.to_owned()))
}

/// Returns the exact call and the reason for asking. If something is left out, a line states it.
fn body(request: &RequestPermissionRequest, cwd: &Path) -> Vec<(PaintStyle, String)> {
    let fields = &request.tool_call.fields;
    let content = fields.content.as_deref().unwrap_or_default();
    let is_diff = |item: &ToolCallContent| matches!(item, ToolCallContent::Diff(_));
    let mut lines = Vec::new();
    let kind = fields.kind.unwrap_or_default();
    if let Some(input) = &fields.raw_input
        && !content.iter().any(is_diff)
    {
        let input = input_lines(kind, input);
        lines.extend(styled_lines(PaintStyle::Bold, input.lines()));
    }
    for item in content {
        match item {
            ToolCallContent::Content(block) => {
                let text = block_text(&block.content);
                let shown = lines.iter().map(|(_, line)| line.trim_start_matches("$ "));
                // The command is already shown as it would be typed.
                let fenced: Vec<_> = text.lines().filter(|it| !it.starts_with("```")).collect();
                if !shown.eq(fenced.iter().copied()) {
                    lines.extend(styled_lines(PaintStyle::Plain, text.lines()));
                }
            }
            ToolCallContent::Diff(diff) => lines.extend(unified_diff(diff, cwd)),
            _ => {}
        }
    }
    limit_lines(&mut lines);
    let asked_by = origin_lines(request.meta.as_ref());
    lines.extend(asked_by.map(|line| (PaintStyle::Dim, escape_line(&line))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_body_is_cut_and_marked() {
        let line = |text: &str| (PaintStyle::Plain, text.to_owned());
        let mut short = vec![line("a"); LINES];
        limit_lines(&mut short);
        assert_eq!(short.len(), LINES);
        for mut long in [
            vec![line("a"); LINES + 5],
            vec![line("a"), line(&"b".repeat(BYTES))],
        ] {
            limit_lines(&mut long);
            let (look, words) = long.pop().unwrap();
            assert!(words.contains("more lines, too many"), "{words}");
            assert_eq!((look, &long[0]), (PaintStyle::Yellow, &line("a")));
        }
    }
}
