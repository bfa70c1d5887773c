//! `host/tools/list`: the tools of a host, each converted to exactly four members.

use crate::JsonSchema;
use harn_model::HostTool;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    BridgeAnswerError, BridgeMethod, BridgeRequest, into_name, into_text, parse_distinct, take_list,
};

/// The params of `host/tools/list`, which has none.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ListTools {}

impl BridgeRequest for ListTools {
    const METHOD: BridgeMethod = BridgeMethod::ToolsList;
    type Answer = Vec<HostTool>;

    /// Rejects the whole list if an entry has no name: half a list would pass for a complete one.
    fn read(answer: Value) -> Result<Vec<HostTool>, BridgeAnswerError> {
        let tools = take_list(answer, &["", "/tools", "/result/tools"]);
        let tools = tools.ok_or(BridgeAnswerError::NoList("tools"))?;
        parse_distinct("tool", tools, parse_tool, |tool| &tool.name)
    }
}

fn parse_tool(entry: Value, at: usize) -> Result<HostTool, BridgeAnswerError> {
    let Value::Object(mut entry) = entry else {
        return Err(BridgeAnswerError::Entry(at));
    };
    let member = "name";
    let name = into_name(entry.remove(member)).ok_or(BridgeAnswerError::Unnamed { at, member })?;
    let mut description = ["description", "short_description"].into_iter();
    Ok(HostTool {
        description: description
            .find_map(|member| into_text(entry.remove(member)))
            .unwrap_or_default(),
        schema: take_schema(&mut entry, &name),
        deprecated: entry.get("deprecated") == Some(&Value::Bool(true)),
        name,
    })
}

/// Returns the schema from the first of these members that is not null.
fn take_schema(entry: &mut Map<String, Value>, tool: &str) -> Value {
    let members = ["schema", "parameters", "input_schema"];
    let said = members.iter().find_map(|member| {
        let said = entry.remove(*member)?;
        (!said.is_null()).then_some(said)
    });
    match said {
        Some(schema @ Value::Object(_)) => schema,
        Some(_) => {
            tracing::warn!(
                ?tool,
                "ignored the schema of a host's tool, because it is not an object"
            );
            Value::Null
        }
        None => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(answer: Value, expected: &Expect) {
        let read = match ListTools::read(answer) {
            Ok(tools) => tools.iter().fold(String::new(), |text, tool| {
                text + &serde_json::to_string(tool).unwrap() + "\n"
            }),
            Err(misfit) => format!("{misfit}\n"),
        };
        expected.assert_eq(&read);
    }

    #[test]
    fn tool_list_may_be_bare_or_wrapped() {
        let tools = json!([{"name": "dice", "description": "Rolls", "schema": {"type": "object"}, "deprecated": true}]);
        let expected = expect![[r#"
            {"name":"dice","description":"Rolls","schema":{"type":"object"},"deprecated":true}
        "#]];
        check(json!({"tools": tools}), &expected);
        check(json!({"result": {"tools": tools}}), &expected);
        check(tools, &expected);
        check(json!([]), &expect![""]);
    }

    #[test]
    fn older_names_are_read_if_the_newer_are_absent() {
        check(
            json!([
                {"name": "a", "short_description": "A", "parameters": {"p": 1}},
                {"name": "b", "input_schema": {"i": 1}},
                {"name": "c", "description": "C", "short_description": "no", "schema": {"s": 1}, "parameters": {}, "input_schema": {}},
                {"name": "d", "description": 7, "short_description": "D", "schema": null, "parameters": {"p": 2}, "input_schema": {}},
                {"name": "e", "schema": "text", "deprecated": "yes", "more": {}},
            ]),
            &expect![[r#"
                {"name":"a","description":"A","schema":{"p":1},"deprecated":false}
                {"name":"b","description":"","schema":{"i":1},"deprecated":false}
                {"name":"c","description":"C","schema":{"s":1},"deprecated":false}
                {"name":"d","description":"D","schema":{"p":2},"deprecated":false}
                {"name":"e","description":"","schema":null,"deprecated":false}
            "#]],
        );
    }

    #[test]
    fn first_of_two_tools_with_one_name_counts() {
        check(
            json!([{"name": "a", "description": "1"}, {"name": "b"}, {"name": "a", "description": "2"}]),
            &expect![[r#"
                {"name":"a","description":"1","schema":null,"deprecated":false}
                {"name":"b","description":"","schema":null,"deprecated":false}
            "#]],
        );
    }

    #[test]
    fn malformed_tool_list_is_rejected_as_a_whole() {
        let no_list = expect![[r#"
            expected a list, or an object with the list `tools`
        "#]];
        for answer in [
            json!(null),
            json!("tools"),
            json!({}),
            json!({"tools": {}}),
            json!({"result": [{"name": "a"}]}),
        ] {
            check(answer, &no_list);
        }
        check(
            json!([{"name": "a"}, "b"]),
            &expect![[r#"
                entry 2: expected an object
            "#]],
        );
        let unnamed = expect![[r#"
            entry 1: expected `name` to be a string that is not blank
        "#]];
        for entry in [json!({}), json!({"name": 7}), json!({"name": " "})] {
            check(json!([entry]), &unnamed);
        }
    }
}
