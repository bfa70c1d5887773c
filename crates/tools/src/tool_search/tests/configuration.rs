//! Tests of the configuration.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::tool_search::{
    ToolSearch, ToolSearchError, ToolSearchMode, ToolSearchOptions, ToolSearchSwitch,
};

fn read(config: Value) -> ToolSearchOptions {
    ToolSearchOptions::try_from(config).unwrap()
}

fn assert_rejected(config: Value, expected: Expect) {
    let error = ToolSearchOptions::try_from(config).unwrap_err();
    expected.assert_eq(&error.to_string());
}

#[test]
fn short_forms_are_parsed() {
    let short = |config: Value| {
        let options = read(config);
        (options.switch, options.strategy.label().to_owned())
    };
    assert_eq!(
        short(json!(true)),
        (ToolSearchSwitch::On, "bm25".to_owned())
    );
    assert_eq!(
        short(json!(false)),
        (ToolSearchSwitch::Off, "bm25".to_owned())
    );
    assert_eq!(
        short(json!("regex")),
        (ToolSearchSwitch::On, "regex".to_owned())
    );
    assert_eq!(
        short(json!("hybrid")),
        (ToolSearchSwitch::On, "hybrid".to_owned())
    );
    let default = ToolSearchOptions::default();
    assert_eq!(default.switch, ToolSearchSwitch::Auto);
    assert_eq!(short(Value::Null).0, ToolSearchSwitch::Auto);
    assert_eq!(default.name, "__harn_tool_search");
}

#[test]
fn a_table_is_parsed() {
    let options = read(json!({
        "variant": "regex", "mode": "client", "strategy": "hybrid", "always_loaded": ["b", "a"],
        "budget_tokens": 4000, "name": "find_tool", "include_stub_listing": true,
    }));
    assert_eq!(
        (options.switch, options.mode),
        (ToolSearchSwitch::On, ToolSearchMode::Client)
    );
    assert_eq!(options.strategy.label(), "hybrid");
    assert!(options.always_loaded.iter().eq(["a", "b"]));
    assert_eq!(
        (options.budget_tokens, &*options.name),
        (Some(4000), "find_tool")
    );
    assert!(options.include_stub_listing);
    let options = read(json!({"variant": "regex"}));
    assert_eq!(options.strategy.label(), "regex");
    assert_eq!(options.mode, ToolSearchMode::Auto);
    assert_eq!(read(json!({})).strategy.label(), "bm25");
}

#[test]
fn options_deserialize_from_a_file() {
    #[derive(serde::Deserialize)]
    struct ToolSearchFile {
        #[serde(default)]
        tool_search: ToolSearchOptions,
    }
    let read = |text: &str| toml::from_str::<ToolSearchFile>(text).map(|file| file.tool_search);
    assert_eq!(read("").unwrap().switch, ToolSearchSwitch::Auto);
    assert_eq!(
        read("tool_search = false").unwrap().switch,
        ToolSearchSwitch::Off
    );
    let table = read("[tool_search]\nbudget_tokens = 10").unwrap();
    assert_eq!(table.budget_tokens, Some(10));
    let error = read("tool_search = \"semantic\"").unwrap_err().to_string();
    assert!(error.contains("use bm25, regex or hybrid"), "{error}");
}

#[test]
fn an_invalid_configuration_is_rejected() {
    assert_rejected(
        json!("semantic"),
        expect![[r#"unknown tool search "semantic"; use bm25, regex or hybrid"#]],
    );
    assert_rejected(
        json!(1),
        expect![[
            r#"tool_search must be true, false, "bm25", "regex", "hybrid" or a table, not a number"#
        ]],
    );
    assert_rejected(
        json!({"budget": 1}),
        expect![
            "tool_search: unknown field `budget`, expected one of `variant`, `mode`, `strategy`, `always_loaded`, `budget_tokens`, `name`, `include_stub_listing`"
        ],
    );
    assert_rejected(
        json!({"mode": "host"}),
        expect!["tool_search: unknown variant `host`, expected one of `auto`, `native`, `client`"],
    );
    assert_rejected(
        json!({"name": " "}),
        expect!["tool_search.name is blank; leave it out for __harn_tool_search"],
    );
    let native = ToolSearch::new(read(json!({"mode": "native"})));
    let refused = native.set_catalogue(&[], 1000);
    assert_eq!(refused.unwrap_err(), ToolSearchError::Native);
}
