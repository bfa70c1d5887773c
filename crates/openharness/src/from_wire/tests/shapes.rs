//! Compares the published schema of requests with the parser: each accepts what the other accepts, except for
//! two rules.

use super::*;

/// The fields for which the parser requires more than a schema can express.
const RULES: [&str; 2] = [
    "request.context.user_intent",
    "request.context.continuation",
];

#[test]
fn every_request_fits_the_schema() {
    let schema = schema("request");
    for name in fixtures::names()
        .iter()
        .filter(|name| name.starts_with("request"))
    {
        let message = fixtures::message(name);
        schema
            .validate(&message)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        read_value(&message).unwrap();
    }
}

/// Every value of every request, replaced by another one or removed.
#[test]
fn parser_and_schema_agree() {
    let schema = schema("request");
    let others = [
        json!(null),
        json!(true),
        json!(7),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("x"),
        json!([]),
        json!([1]),
        json!({}),
    ];
    let mut tried = 0;
    for name in fixtures::names()
        .iter()
        .filter(|name| name.starts_with("request"))
    {
        let message = fixtures::message(name);
        let mut places = Vec::new();
        collect_paths(&message, String::new(), &mut places);
        for place in &places {
            for other in &others {
                let mut message = message.clone();
                *message.pointer_mut(place).unwrap() = other.clone();
                assert_agreement(&schema, &message, place);
                tried += 1;
            }
            assert_agreement(&schema, &without_path(message.clone(), place), place);
        }
    }
    assert!(tried > 500, "{tried}");
}

fn assert_agreement(schema: &jsonschema::Validator, message: &Value, place: &str) {
    let fits = schema.is_valid(message);
    match read_value(message) {
        Ok(_) => assert!(
            fits,
            "taken, and no such request by the schema, at {place}: {message}"
        ),
        Err((_, OpenHarnessError::Invalid { field, .. })) => {
            let beyond = RULES.iter().any(|rule| field.starts_with(rule));
            assert!(
                !fits || beyond,
                "refused for {field}, at {place}: {message}"
            );
        }
        Err((_, OpenHarnessError::ContinuationUnknown)) => assert!(fits, "{place}: {message}"),
        Err((_, fault)) => panic!("{fault:?} at {place}: {message}"),
    }
}

fn collect_paths(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                collect_paths(member, format!("{at}/{name}"), places);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_paths(item, format!("{at}/{index}"), places);
            }
        }
        _ => {}
    }
    places.push(at);
}

fn without_path(mut message: Value, place: &str) -> Value {
    let (parent, name) = place.rsplit_once('/').unwrap_or(("", ""));
    if let Some(Value::Object(members)) = message.pointer_mut(parent) {
        members.remove(name);
    }
    message
}
