//! Tests of the answers of a custom search.

use std::sync::Arc;

use async_trait::async_trait;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::tool;
use crate::tool_search::{ToolIndex, ToolSearchFn, ToolSearchOutcome, ToolSearchStrategy};

/// A search that always returns this answer.
struct FixedSearchAnswer(Result<Value, String>);

#[async_trait]
impl ToolSearchFn for FixedSearchAnswer {
    async fn search(&self, _: &str, _: &ToolIndex) -> Result<Value, String> {
        self.0.clone()
    }
}

async fn ask(answer: Result<Value, String>, query: &str) -> ToolSearchOutcome {
    let tools: Vec<_> = ('a'..='z')
        .map(|name| tool(&name.to_string(), "", &[]))
        .collect();
    let strategy = ToolSearchStrategy::Custom {
        name: None,
        search: Arc::new(FixedSearchAnswer(answer)),
    };
    strategy
        .search(&Arc::new(ToolIndex::new(&tools)), query)
        .await
}

async fn check(answer: Value, expected: &Expect) {
    let outcome = ask(Ok(answer), "anything").await;
    expected.assert_eq(&serde_json::to_string(&outcome).unwrap());
}

#[tokio::test]
async fn every_answer_shape_is_parsed() {
    let names = expect![[r#"{"tool_names":["b","a"]}"#]];
    for answer in [
        json!({"tool_names": ["b", "a"]}),
        json!({"result": {"tool_names": ["b", "a"]}}),
        json!(["b", "a"]),
        json!(r#"["b", "a"]"#),
        json!(r#"{"result": {"tool_names": ["b", "a"]}}"#),
        // Unknown names and repetitions are dropped.
        json!({"tool_names": ["nobody", "b", "a", "b"], "more": 1}),
    ] {
        check(answer, &names).await;
    }
    let told = expect![[r#"{"tool_names":[],"diagnostic":"try broader terms"}"#]];
    for answer in [
        json!({"tool_names": [], "diagnostic": "try broader terms"}),
        json!({"result": {"tool_names": [], "diagnostic": "try broader terms"}}),
        json!({"result": {"tool_names": []}, "diagnostic": "try broader terms"}),
    ] {
        check(answer, &told).await;
    }
}

#[tokio::test]
async fn an_answer_is_truncated_to_twenty_names() {
    let all: Vec<_> = ('a'..='z').map(String::from).collect();
    let outcome = ask(Ok(json!(all)), "anything").await;
    assert_eq!(outcome.tool_names, all[..20]);
}

#[tokio::test]
async fn an_invalid_answer_becomes_a_diagnostic() {
    check(
        json!({"names": ["a"]}),
        &expect![[r#"{"tool_names":[],"diagnostic":"the search failed: its answer must have a list tool_names"}"#]],
    )
    .await;
    check(
        json!(7),
        &expect![[r#"{"tool_names":[],"diagnostic":"the search failed: its answer must be a list of names or an object with tool_names"}"#]],
    )
    .await;
    check(
        json!(["a", 1]),
        &expect![[r#"{"tool_names":[],"diagnostic":"the search failed: every tool name must be a string"}"#]],
    )
    .await;
    check(
        json!("a, b"),
        &expect![[r#"{"tool_names":[],"diagnostic":"the search failed: its text is not JSON: expected value at line 1 column 1"}"#]],
    )
    .await;
    check(
        json!(r#""[\"a\"]""#),
        &expect![[r#"{"tool_names":[],"diagnostic":"the search failed: its answer must be a list of names or an object with tool_names"}"#]],
    )
    .await;
}

#[tokio::test]
async fn a_failed_search_returns_its_error_as_diagnostic() {
    let outcome = ask(Err("index is rebuilding".to_owned()), "anything").await;
    assert_eq!(outcome.tool_names, [""; 0]);
    assert_eq!(
        outcome.diagnostic.unwrap(),
        "the search failed: index is rebuilding"
    );
    // A blank query finds nothing with any strategy.
    let outcome = ask(Ok(json!(["a"])), " ").await;
    assert!(outcome.tool_names.is_empty());
    assert!(outcome.diagnostic.unwrap().contains("blank"));
}
