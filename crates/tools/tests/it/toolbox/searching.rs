//! Tool search in a session: on when the catalogue is too large; a found tool is visible from the next step on.

use harn_tools::ToolboxConfig;
use serde_json::json;

use crate::toolbox::{
    fake_host::Desk,
    support::{Rig, shown_text},
};

const SEARCH: &str = "__harn_tool_search";

async fn rig(context_tokens: u64) -> Rig {
    let config = ToolboxConfig {
        context_tokens,
        ..ToolboxConfig::default()
    };
    let rig = Rig::with(&[], config).await;
    rig.session
        .set_host(Desk::with_tools(&["deploy_website", "paint_bikeshed"]));
    rig
}

#[tokio::test]
async fn large_context_makes_all_tools_visible() {
    let mut rig = rig(1_000_000).await;
    let said = rig.run_turn("visible").await.agent_text();
    assert!(
        said.contains("deploy_website") && !said.contains(SEARCH),
        "{said}"
    );
}

#[tokio::test]
async fn small_context_turns_tool_search_on() {
    let mut rig = rig(2_000).await;
    let turn = rig.run_turn("visible").await;
    let said = turn.agent_text();
    assert!(
        said.contains(SEARCH) && said.contains("read_file"),
        "{said}"
    );
    assert!(!said.contains("deploy_website"), "{said}");

    let search = format!("{SEARCH} {}\nvisible", json!({"query": "deploy website"}));
    let turn = rig.run_turn(&search).await;
    assert!(shown_text(turn.only_call().1).contains("deploy_website"));
    let seen = turn.agent_text();
    let seen = seen.rsplit_once('}').unwrap().1;
    assert!(!seen.contains("deploy_website"), "not in this step: {seen}");

    let said = rig.run_turn("visible").await.agent_text();
    assert!(said.contains("deploy_website"), "{said}");
    assert!(!said.contains("paint_bikeshed"), "{said}");
}
