//! Parses a typed line as the answer to a form with one required field. Forms that require more fields are
//! declined.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, ElicitationAcceptAction, ElicitationAction, ElicitationContentValue,
    ElicitationMode, ElicitationPropertySchema, StringPropertySchema,
};

#[derive(Debug, PartialEq)]
pub(crate) enum FormField {
    /// A yes or a no.
    Decision,
    Choice(Vec<String>, Option<String>),
    Text(Option<String>),
}

/// Parses a line, or the end of input if `line` is none. Returns none if the line is no answer.
pub(crate) fn parse_answer(
    line: Option<&str>,
    request: &CreateElicitationRequest,
) -> Option<ElicitationAction> {
    let Some((name, field)) = required_field(request) else {
        return Some(ElicitationAction::Decline);
    };
    let typed = line.map(str::trim);
    let value: ElicitationContentValue = match (field, typed) {
        // At the end of input the user did not accept the default either.
        (_, None) => return Some(ElicitationAction::Decline),
        (FormField::Decision, Some("y" | "Y")) => true.into(),
        (FormField::Decision, Some("n" | "N" | "")) => return Some(ElicitationAction::Decline),
        (FormField::Decision, Some(_)) => return None,
        (FormField::Text(default) | FormField::Choice(_, default), Some("")) => match default {
            Some(default) => default.into(),
            None => return Some(ElicitationAction::Decline),
        },
        (FormField::Text(_), Some(text)) => text.into(),
        (FormField::Choice(choices, _), Some(typed)) => find_choice(choices, typed)?.into(),
    };
    let content = BTreeMap::from([(name, value)]);
    let accepted = ElicitationAcceptAction::new().content(content);
    Some(ElicitationAction::Accept(accepted))
}

/// Returns the choice with this text or number. The text has priority: it may be a number.
fn find_choice(choices: Vec<String>, typed: &str) -> Option<String> {
    if choices.iter().any(|choice| choice == typed) {
        return Some(typed.to_owned());
    }
    let number = typed.parse::<usize>().ok()?;
    choices.into_iter().nth(number.checked_sub(1)?)
}

/// Returns the one required field; none if the form requires more fields or a kind we cannot ask for.
pub(crate) fn required_field(request: &CreateElicitationRequest) -> Option<(String, FormField)> {
    let ElicitationMode::Form(form) = &request.mode else {
        return None;
    };
    let schema = &form.requested_schema;
    let [name] = schema.required.as_deref()? else {
        return None;
    };
    let field = match schema.properties.get(name)? {
        ElicitationPropertySchema::Boolean(_) => FormField::Decision,
        ElicitationPropertySchema::String(text) => text_field(text),
        _ => return None,
    };
    Some((name.clone(), field))
}

fn text_field(text: &StringPropertySchema) -> FormField {
    let default = text.default.clone();
    match &text.enum_values {
        Some(choices) => FormField::Choice(choices.clone(), default),
        None => FormField::Text(default),
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{
        BooleanPropertySchema, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope,
    };
    use serde_json::{Value, json};

    use super::*;

    fn form(schema: ElicitationSchema) -> CreateElicitationRequest {
        let mode = ElicitationFormMode::new(ElicitationSessionScope::new("s"), schema);
        CreateElicitationRequest::new(mode, "Which?")
    }

    fn text(field: StringPropertySchema) -> CreateElicitationRequest {
        form(ElicitationSchema::new().property("answer", field, true))
    }

    fn parse_typed(line: &str, request: &CreateElicitationRequest) -> Value {
        match parse_answer(Some(line), request) {
            Some(action) => serde_json::to_value(action).unwrap(),
            None => Value::Null,
        }
    }

    fn accept(content: Value) -> Value {
        json!({"action": "accept", "content": content})
    }

    fn decline() -> Value {
        json!({"action": "decline"})
    }

    #[test]
    fn a_decision_accepts_only_y_or_n() {
        let schema = ElicitationSchema::new()
            .property("approved", BooleanPropertySchema::new(), true)
            .property("reason", StringPropertySchema::new(), false);
        let request = form(schema);
        for yes in [" y\n", "Y"] {
            assert_eq!(
                parse_typed(yes, &request),
                accept(json!({"approved": true}))
            );
        }
        for no in ["n", "N", "\n"] {
            assert_eq!(parse_typed(no, &request), decline());
        }
        for unclear in ["yes", "1", "true"] {
            assert_eq!(parse_typed(unclear, &request), Value::Null, "{unclear}");
        }
        assert_eq!(
            parse_answer(None, &request),
            Some(ElicitationAction::Decline)
        );
    }

    #[test]
    fn a_choice_accepts_its_text_or_its_number() {
        let choices = || Some(vec!["red".to_owned(), "1".to_owned()]);
        let request = text(StringPropertySchema::new().enum_values(choices()));
        let answer = |text: &str| accept(json!({"answer": text}));
        for (line, means) in [("red", "red"), ("1", "1"), ("2\n", "1")] {
            assert_eq!(parse_typed(line, &request), answer(means), "{line}");
        }
        for unclear in ["0", "3", "Red", "-1"] {
            assert_eq!(parse_typed(unclear, &request), Value::Null, "{unclear}");
        }
        assert_eq!(parse_typed("", &request), decline());
        let field = StringPropertySchema::new().enum_values(choices());
        let request = text(field.default_value("red".to_owned()));
        assert_eq!(parse_typed("", &request), answer("red"));
        assert_eq!(
            parse_answer(None, &request),
            Some(ElicitationAction::Decline)
        );
    }

    #[test]
    fn a_text_field_accepts_any_text_and_two_fields_are_declined() {
        let request = text(StringPropertySchema::new());
        let answer = accept(json!({"answer": "8080, please"}));
        assert_eq!(parse_typed("8080, please\n", &request), answer);
        assert_eq!(parse_typed("", &request), decline());
        let two = ElicitationSchema::new().string("a", true).string("b", true);
        assert_eq!(parse_typed("x", &form(two)), decline());
    }
}
