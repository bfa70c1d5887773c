//! Tool search inside a turn.

use std::sync::Arc;

use expect_test::expect;
use harn_model::{AgentEvent, ErrorCategory, ToolSource, ToolSpec};
use harn_runtime::NoHost;
use harn_tools::tool_search::{ToolSearch, ToolSearchOptions, tool_tokens};
use serde_json::{Value, json};

use crate::session_tools::support::run_turn;

fn tool(name: &str, description: &str, source: ToolSource) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: None,
        annotations: None,
        source,
        deprecated: false,
    }
}

fn catalogue() -> Vec<ToolSpec> {
    let tracker = || ToolSource::Mcp("tracker".to_owned());
    vec![
        tool("read_file", "Reads a file", ToolSource::Builtin),
        tool("open_issue", "Opens an issue", tracker()),
        tool("close_issue", "Closes an issue", tracker()),
        tool("deploy", "Puts it online", ToolSource::Host),
    ]
}

fn create_search(config: Value) -> Arc<ToolSearch> {
    let search = ToolSearch::new(ToolSearchOptions::try_from(config).unwrap());
    search.set_catalogue(&catalogue(), 1_000_000).unwrap();
    Arc::new(search)
}

fn loaded_names(search: &ToolSearch) -> Vec<String> {
    let tools = catalogue();
    let loaded = search.visible_tools(&tools).loaded;
    loaded.iter().map(|tool| tool.name.clone()).collect()
}

/// Returns the search events as they are stored, one per line.
fn format_searches(events: &[AgentEvent]) -> String {
    let searches = events.iter().filter_map(|event| match event {
        AgentEvent::ToolSearchQuery(query) => Some(serde_json::to_string(query).unwrap()),
        AgentEvent::ToolSearchResult(result) => Some(serde_json::to_string(result).unwrap()),
        _ => None,
    });
    searches.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn found_tool_is_loaded_at_the_next_boundary() {
    let search = create_search(json!("hybrid"));
    let shared = search.clone();
    let events = run_turn(Arc::new(NoHost), false, move |cx| {
        let search = shared.clone();
        async move {
            assert_eq!(loaded_names(&search), ["read_file"]);
            let query = json!({"limit": 5, "query": "issue"});
            let output = search.run(&cx, "call-1", query).await.unwrap();
            let found = json!({"tool_names": ["close_issue", "open_issue"]});
            assert_eq!(output.raw, Some(found));
            assert_eq!(loaded_names(&search), ["read_file"]);
            search.apply_promotions();
            assert_eq!(
                loaded_names(&search),
                ["read_file", "open_issue", "close_issue"]
            );
            // A tool that is found again is reported as promoted, and nothing changes.
            let again = json!({"query": "close"});
            search.run(&cx, "call-2", again).await.unwrap();
            let nothing = json!({"query": "weather"});
            let output = search.run(&cx, "call-3", nothing).await.unwrap();
            let said =
                json!({"tool_names": [], "diagnostic": "no tool fits; try other or broader terms"});
            assert_eq!(output.raw, Some(said));
            Ok(())
        }
    })
    .await;
    expect![[r#"
        {"tool_use_id":"call-1","name":"tool_search_tool_hybrid","query":{"limit":5,"query":"issue"},"strategy":"hybrid","mode":"client"}
        {"tool_use_id":"call-1","promoted":["close_issue","open_issue"],"strategy":"hybrid","mode":"client"}
        {"tool_use_id":"call-2","name":"tool_search_tool_hybrid","query":{"query":"close"},"strategy":"hybrid","mode":"client"}
        {"tool_use_id":"call-2","promoted":["close_issue"],"strategy":"hybrid","mode":"client"}
        {"tool_use_id":"call-3","name":"tool_search_tool_hybrid","query":{"query":"weather"},"strategy":"hybrid","mode":"client"}
        {"tool_use_id":"call-3","promoted":[],"strategy":"hybrid","mode":"client"}"#]]
    .assert_eq(&format_searches(&events));
    // A tool that leaves the catalogue loses its promotion.
    let fewer: Vec<_> = catalogue()
        .into_iter()
        .filter(|tool| tool.name != "close_issue")
        .collect();
    search.set_catalogue(&fewer, 1_000_000).unwrap();
    search.set_catalogue(&catalogue(), 1_000_000).unwrap();
    search.apply_promotions();
    assert_eq!(loaded_names(&search), ["read_file", "open_issue"]);
}

#[tokio::test]
async fn tool_above_the_budget_is_reported() {
    let one = tool_tokens(&catalogue()[2]);
    let search = create_search(json!({"budget_tokens": one}));
    let events = run_turn(Arc::new(NoHost), false, move |cx| {
        let search = search.clone();
        async move {
            let query = json!({"query": "issue"});
            let output = search.run(&cx, "call-1", query).await.unwrap();
            let said = json!({
                "tool_names": ["close_issue", "open_issue"],
                "diagnostic": "no room for open_issue; search for less at a time",
            });
            assert_eq!(output.raw, Some(said));
            Ok(())
        }
    })
    .await;
    expect![[r#"
        {"tool_use_id":"call-1","name":"tool_search_tool_bm25","query":{"query":"issue"},"strategy":"bm25","mode":"client"}
        {"tool_use_id":"call-1","promoted":["close_issue"],"strategy":"bm25","mode":"client"}"#]]
    .assert_eq(&format_searches(&events));
}

#[tokio::test]
async fn invalid_search_arguments_are_rejected_without_an_event() {
    let search = create_search(json!(true));
    let events = run_turn(Arc::new(NoHost), false, move |cx| {
        let search = search.clone();
        async move {
            let refused = search.run(&cx, "call-1", json!({"q": "issue"})).await;
            assert_eq!(
                refused.unwrap_err().category,
                ErrorCategory::SchemaValidation
            );
            let off = ToolSearch::new(ToolSearchOptions::default());
            assert!(off.run(&cx, "call-2", json!({"query": "x"})).await.is_err());
            Ok(())
        }
    })
    .await;
    assert_eq!(format_searches(&events), "");
}
