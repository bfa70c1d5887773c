//! Tests of names, changes, and the check of arguments.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn tool(name: &str, source: ToolSource) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        schema: None,
        annotations: None,
        source,
        deprecated: false,
    }
}

fn with_schema(schema: Value) -> Catalogue {
    let tool = ToolSpec {
        schema: Some(schema),
        ..tool("t", ToolSource::Host)
    };
    Catalogue::new([tool])
}

fn names(catalogue: &Catalogue) -> String {
    let names: Vec<_> = catalogue.tools().map(|tool| tool.name.as_str()).collect();
    names.join(" ")
}

#[test]
fn the_first_tool_keeps_a_name() {
    let mcp = |server: &str| ToolSource::Mcp(server.to_owned());
    let catalogue = Catalogue::new([
        tool("read_file", ToolSource::Builtin),
        tool("lint", ToolSource::Host),
        tool("read_file", ToolSource::Host),
        tool("lint", mcp("ci")),
        tool("lint", ToolSource::Skill("review".to_owned())),
        tool("deploy", mcp("ci")),
    ]);
    assert_eq!(names(&catalogue), "read_file lint deploy");
    assert_eq!(catalogue.get("lint").unwrap().source, ToolSource::Host);
    expect![[r#"
        the tool "read_file" of the host is left out: this agent has one of this name
        the tool "lint" of the MCP server "ci" is left out: the host has one of this name
        the tool "lint" of the skill "review" is left out: the host has one of this name"#]]
    .assert_eq(&catalogue.warnings().join("\n"));
}

#[test]
fn a_change_lists_added_removed_and_changed_tools() {
    let before = Catalogue::new([
        tool("b", ToolSource::Builtin),
        tool("c", ToolSource::Host),
        tool("d", ToolSource::Host),
    ]);
    let mut changed = tool("c", ToolSource::Host);
    changed.description = "better".to_owned();
    let after = before.with_tools([
        tool("b", ToolSource::Builtin),
        changed,
        tool("z", ToolSource::Host),
        tool("a", ToolSource::Host),
    ]);
    let change = after.change_from(&before).unwrap();
    let list = |names: &[&str]| -> Vec<String> { names.iter().map(|&it| it.to_owned()).collect() };
    assert_eq!(change.added, list(&["a", "z"]));
    assert_eq!(change.removed, list(&["d"]));
    assert_eq!(change.changed, list(&["c"]));
    assert_eq!(change.total, 4);
    assert_eq!(after.change_from(&after), None);
    // A different order is no change.
    let turned = Catalogue::new([tool("d", ToolSource::Host), tool("b", ToolSource::Builtin)]);
    let same = Catalogue::new([tool("b", ToolSource::Builtin), tool("d", ToolSource::Host)]);
    assert_eq!(turned.change_from(&same), None);
}

#[test]
fn a_change_lists_at_most_200_names() {
    let many = |prefix: &str| {
        let names = (0..900).map(|n| format!("{prefix}{n:03}"));
        Catalogue::new(names.map(|name| tool(&name, ToolSource::Host)))
    };
    let change = many("b").change_from(&many("a")).unwrap();
    assert_eq!((change.added.len(), change.removed.len()), (200, 200));
    assert_eq!(change.added.last().unwrap(), "b199");
    assert_eq!(change.total, 900);
}

#[test]
fn an_unchanged_tool_keeps_its_compiled_schema() {
    let spec = || ToolSpec {
        schema: Some(json!({"type": "object"})),
        ..tool("t", ToolSource::Host)
    };
    let before = Catalogue::new([spec()]);
    before.check("t", &json!({})).unwrap();
    let after = before.with_tools([spec(), tool("new", ToolSource::Host)]);
    assert!(Arc::ptr_eq(&before.tools[0], &after.tools[0]));
    let other = ToolSpec {
        deprecated: true,
        ..spec()
    };
    assert!(!Arc::ptr_eq(
        &before.tools[0],
        &before.with_tools([other]).tools[0]
    ));
}

#[test]
fn an_unknown_name_suggests_similar_names() {
    let names = ["read_file", "write_file", "run_command", "fetch"];
    let catalogue = Catalogue::new(names.map(|name| tool(name, ToolSource::Builtin)));
    let told = |name: &str| catalogue.check(name, &json!({})).unwrap_err().message;
    expect![[r#"unknown tool "readfile"; similar names: read_file, write_file"#]]
        .assert_eq(&told("readfile"));
    expect![[r#"unknown tool "_file"; similar names: read_file, write_file"#]]
        .assert_eq(&told("_file"));
    expect![[r#"unknown tool "zzz"; 4 other tools exist"#]].assert_eq(&told("zzz"));
}

fn check(schema: Value, arguments: Value, expected: &Expect) {
    let told = match with_schema(schema).check("t", &arguments) {
        Ok(()) => "fine".to_owned(),
        Err(error) => {
            assert_eq!(error.category, ErrorCategory::SchemaValidation);
            error.message
        }
    };
    expected.assert_eq(&told);
}

#[test]
fn an_error_describes_how_to_correct_the_arguments() {
    let schema = || {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "line": {"type": "integer", "minimum": 1},
                "mode": {"enum": ["fast", "slow", 3]},
                "edits": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"old": {"type": ["string", "null"]}},
                    "required": ["old"],
                    "additionalProperties": false,
                }},
            },
            "required": ["path"],
            "additionalProperties": false,
        })
    };
    let on = |arguments: Value, expected: &Expect| check(schema(), arguments, expected);
    on(
        json!({"path": "a", "line": 3, "mode": "fast"}),
        &expect!["fine"],
    );
    on(
        json!({}),
        &expect!["the arguments of t do not fit: `path` is missing"],
    );
    on(
        json!({"path": 3}),
        &expect!["the arguments of t do not fit: `path` must be of the type string, not a number"],
    );
    on(
        json!({"path": ""}),
        &expect!["the arguments of t do not fit: `path`: it is shorter than 1 character"],
    );
    on(
        json!({"path": "a", "line": 0}),
        &expect!["the arguments of t do not fit: `line`: it is less than the minimum of 1"],
    );
    on(
        json!({"path": "a", "mode": "hunter2"}),
        &expect![[r#"the arguments of t do not fit: `mode` must be one of "fast", "slow", 3"#]],
    );
    on(
        json!({"pth": "a", "path": "b"}),
        &expect![
            "the arguments of t do not fit: `pth` is not expected; known arguments: `edits`, `line`, `mode`, `path`"
        ],
    );
    on(
        json!({"path": "a", "edits": [{"old": "x"}, {"old": 3}, {"new": ""}]}),
        &expect![
            "the arguments of t do not fit: `edits[1].old` must be of the type null or string, not a number; `edits[2].new` is not expected; `edits[2].old` is missing"
        ],
    );
    on(
        json!(["a"]),
        &expect!["the arguments of t do not fit: they must be a JSON object, not an array"],
    );
    on(
        json!(null),
        &expect!["the arguments of t do not fit: they must be a JSON object, not null"],
    );
}

#[test]
fn an_error_lists_at_most_four_problems() {
    let properties: serde_json::Map<String, Value> = (0..9)
        .map(|n| (format!("p{n}"), json!({"type": "string"})))
        .collect();
    let arguments: serde_json::Map<String, Value> =
        (0..9).map(|n| (format!("p{n}"), json!(n))).collect();
    let told = with_schema(json!({"properties": properties}))
        .check("t", &arguments.into())
        .unwrap_err()
        .message;
    assert!(told.ends_with("; and 5 more"), "{told}");
    assert_eq!(told.matches("must be").count(), 4, "{told}");
}

#[test]
fn an_invalid_schema_only_rejects_calls() {
    check(
        json!({"type": "sting"}),
        json!({}),
        &expect![[
            r#"the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: value is not valid under any of the schemas listed in the 'anyOf' keyword"#
        ]],
    );
    check(
        json!({"$ref": "https://schemas.example/t.json"}),
        json!({}),
        &expect![
            "the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: it refers to a schema elsewhere, which is not fetched"
        ],
    );
    check(
        json!({"$ref": "file:///etc/passwd"}),
        json!({}),
        &expect![
            "the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: it refers to a schema elsewhere, which is not fetched"
        ],
    );
    // References inside the schema are fine.
    check(
        json!({"$defs": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}),
        json!({"a": 1}),
        &expect!["fine"],
    );
    check(Value::Null, json!({"any": "thing"}), &expect!["fine"]);
    check(json!(true), json!({"any": "thing"}), &expect!["fine"]);
    let catalogue = with_schema(json!({"type": "sting"}));
    assert!(catalogue.get("t").is_some());
}

#[test]
fn the_check_of_a_hostile_pattern_ends() {
    let schema = json!({"properties": {"a": {"pattern": "^(a|a)*\\1b$"}}});
    let arguments = json!({"a": "a".repeat(40)});
    // The result does not matter; it must arrive at once.
    let _ = with_schema(schema).check("t", &arguments);
}

#[test]
fn a_chain_of_references_does_not_exhaust_the_stack() {
    let mut defs: serde_json::Map<String, Value> = (0..4000)
        .map(|n| {
            (
                format!("a{n}"),
                json!({"$ref": format!("#/$defs/a{}", n + 1)}),
            )
        })
        .collect();
    defs.insert("a4000".to_owned(), json!({"type": "object"}));
    check(
        json!({"$defs": defs, "$ref": "#/$defs/a0"}),
        json!({}),
        &expect![
            "the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: it has a chain of more than 64 references"
        ],
    );
}

#[test]
fn references_that_expand_exponentially_are_rejected() {
    let tower = |wrap: fn(Value) -> Value, top: Value| {
        let mut defs: serde_json::Map<String, Value> = (0..40)
            .map(|n| {
                let next = || json!({"$ref": format!("#/$defs/a{}", n + 1)});
                (format!("a{n}"), wrap(json!({"allOf": [next(), next()]})))
            })
            .collect();
        defs.insert("a40".to_owned(), top);
        json!({"$defs": defs, "$ref": "#/$defs/a0"})
    };
    check(
        tower(|it| it, json!({"type": "object"})),
        json!({}),
        &expect![
            "the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: its references expand it to more than 100000 values"
        ],
    );
    check(
        tower(|it| json!({"properties": {"a": it}}), json!({})),
        json!({}),
        &expect![
            "the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: its references expand it to more than 100000 values"
        ],
    );
}

/// Returns objects nested to this depth.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({"a": inner}))
}

#[test]
fn a_recursive_schema_is_rejected_when_validation_costs_too_much() {
    let twice = json!({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    check(twice.clone(), nested(3), &expect!["fine"]);
    check(
        twice,
        nested(60),
        &expect![
            "the arguments of t do not fit: checking them against the tool's schema would take too long"
        ],
    );
    let left_over = |depth: usize| {
        (0..depth).fold(
            json!({"properties": {"a": {}}}),
            |inner, _| json!({"allOf": [inner], "unevaluatedProperties": false}),
        )
    };
    check(left_over(5), json!({"a": 1}), &expect!["fine"]);
    check(
        left_over(16),
        json!({"a": 1}),
        &expect![
            "the arguments of t do not fit: checking them against the tool's schema would take too long"
        ],
    );
    check(
        json!({"$ref": "#"}),
        json!({}),
        &expect![
            "the arguments of t do not fit: checking them against the tool's schema would take too long"
        ],
    );
    check(
        json!({"allOf": [{"anyOf": [{"$ref": "#/allOf/0"}]}]}),
        json!({}),
        &expect![
            "the arguments of t do not fit: checking them against the tool's schema would take too long"
        ],
    );
}

#[test]
fn a_recursive_type_is_accepted() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"tree": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "left": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["name"],
            "additionalProperties": false,
        }},
        "properties": {"root": {"$ref": "#/$defs/tree"}},
    });
    let leaf = |name: &str| json!({"name": name});
    let tree = (0..40).fold(
        leaf("leaf"),
        |inner, _| json!({"name": "n", "left": leaf("l"), "children": [leaf("a"), inner]}),
    );
    check(schema.clone(), json!({"root": tree}), &expect!["fine"]);
    check(
        schema,
        json!({"root": {"name": "n", "children": [{"name": 3}]}}),
        &expect![
            "the arguments of t do not fit: `root.children[0].name` must be of the type string, not a number"
        ],
    );
}

#[test]
fn schemas_and_arguments_above_a_limit_are_rejected() {
    let deep = (0..70).fold(json!({}), |inner, _| json!({"not": inner}));
    check(
        deep,
        json!({}),
        &expect![
            "the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: it is nested deeper than 64"
        ],
    );
    let long = json!({"description": "x".repeat(300 * 1024)});
    check(
        long,
        json!({}),
        &expect![
            "the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: it is longer than 262144 bytes"
        ],
    );
    check(
        json!({"enum": vec![0; 30_000]}),
        json!({}),
        &expect![
            "the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: it has more than 20000 values"
        ],
    );
    check(
        json!({}),
        nested(200),
        &expect!["the arguments of t do not fit: they are nested deeper than 128"],
    );
    check(
        json!({}),
        json!({"a": "x".repeat(17 * 1024 * 1024)}),
        &expect!["the arguments of t do not fit: they are longer than 16777216 bytes"],
    );
    check(
        json!({"$defs": {"a": {"$anchor": "x"}}, "$ref": "#x"}),
        json!({}),
        &expect![
            "the arguments of t do not fit: the tool's own schema is wrong, so it cannot be called: it defines names with `$anchor`; refer to `#/$defs/NAME` instead"
        ],
    );
    // A property may have the name of a keyword.
    check(
        json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}, "$anchor": {}}}),
        json!({"$ref": "x"}),
        &expect!["fine"],
    );
    check(
        json!({"$defs": {"a b": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/a%20b"}}}),
        json!({"a": 1}),
        &expect!["fine"],
    );
}

#[test]
fn schemas_just_below_the_limits_are_validated() {
    let mut defs: serde_json::Map<String, Value> = (0..60)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/a{}", n + 1)});
            (
                format!("a{n}"),
                json!({"anyOf": [{"oneOf": [{"allOf": [next]}]}]}),
            )
        })
        .collect();
    defs.insert("a60".to_owned(), json!({"required": ["a"]}));
    let schema = json!({"$defs": defs, "$ref": "#/$defs/a0"});
    check(schema.clone(), json!({"a": 1}), &expect!["fine"]);
    assert!(with_schema(schema).check("t", &json!({})).is_err());
    let tree = json!({"additionalProperties": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}});
    check(tree, nested(80), &expect!["fine"]);
    let ours = json!({"$id": "https://x.example/t.json#", "$defs": {"n": {"type": "null"}},
        "properties": {"a": {"$ref": "https://x.example/t.json#/$defs/n"}}});
    check(ours, json!({"a": null}), &expect!["fine"]);
}
