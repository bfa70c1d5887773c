//! A turn from prompt to answer.

use std::time::Duration;

use harn_model::{
    AgentEvent, Cost, ErrorCategory, PlanEntry, PlanEntryStatus, PlanPriority, StopReason,
    ToolExecutor, ToolKind, Usage,
};
use harn_runtime::{AgentError, Seam, ToolOutput, TurnContext};
use harn_testkit::{FakeClock, ScriptedAgent, TestHub};
use harn_tests::check_transcript;
use serde_json::json;

use crate::golden::{initialize, open, prompt};

fn entry(content: &str, status: PlanEntryStatus, priority: PlanPriority) -> PlanEntry {
    PlanEntry {
        content: content.to_owned(),
        status,
        priority,
    }
}

/// Thinks, plans, searches for 40 ms, fails to read for 2 ms and answers.
pub(crate) async fn work(cx: TurnContext, clock: FakeClock) -> Result<StopReason, AgentError> {
    use PlanEntryStatus::{Completed, InProgress, Pending};
    use PlanPriority::{High, Medium};
    cx.think("Where is ").await?;
    cx.think("the parser?").await?;
    cx.plan(vec![
        entry("Find the parser", InProgress, High),
        entry("Answer", Pending, Medium),
    ])
    .await?;
    let search = cx
        .tool("grep")
        .kind(ToolKind::Search)
        .title("Search for `fn parse`")
        .input(json!({"pattern": "fn parse"}))
        .start()
        .await?;
    cx.seam(Seam::PreToolDispatch).await?;
    clock.advance(Duration::from_millis(40));
    let found = ToolOutput {
        raw: Some(json!({"matches": 1})),
        executor: Some(ToolExecutor::HarnBuiltin),
        ..ToolOutput::from("src/parse.rs:12: fn parse(".to_owned())
    };
    search.complete(found).await?;
    let read = cx.tool("read_file").kind(ToolKind::Read);
    let read = read.path("src/parse.rs").start().await?;
    cx.seam(Seam::PreToolDispatch).await?;
    clock.advance(Duration::from_millis(2));
    read.fail("no such file", ErrorCategory::ToolError).await?;
    cx.plan(vec![
        entry("Find the parser", Completed, High),
        entry("Answer", InProgress, Medium),
    ])
    .await?;
    cx.say("The parser is in ").await?;
    cx.say("`src/parse.rs`, line 12.").await?;
    cx.emit(AgentEvent::Usage(Usage {
        used: 1200,
        size: 200_000,
        cost: Some(Cost {
            amount: 0.0125,
            currency: "USD".to_owned(),
        }),
    }))
    .await?;
    Ok(StopReason::EndTurn)
}

/// A hub whose agent runs [`work`].
pub(crate) fn working_hub() -> TestHub {
    let clock = FakeClock::new();
    let agents = clock.clone();
    let agent = ScriptedAgent::new(move |cx| work(cx, agents.clone()));
    TestHub::builder(agent).clock(clock).build()
}

#[tokio::test]
async fn full_turn_sends_its_updates_in_order() {
    let test = working_hub();
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Where is the parser?").await;
    let (updates, result) = client.collect_updates_until(&id).await;
    assert_eq!(result, json!({"stopReason": "end_turn"}));
    let kinds: Vec<_> = updates.iter().map(|u| &u["sessionUpdate"]).collect();
    assert_eq!(
        kinds,
        [
            "agent_thought_chunk",
            "agent_thought_chunk",
            "plan",
            "tool_call",
            "tool_call_update",
            "tool_call",
            "tool_call_update",
            "plan",
            "agent_message_chunk",
            "agent_message_chunk",
            "usage_update",
            "session_info_update",
        ]
    );
    assert_eq!(updates[4]["_meta"]["harn"]["durationMs"], 40);
    client.close().await;
    check_transcript("turn", test.recorder());
}

/// An agent that forwards terminal output may split a control sequence between two chunks.
#[tokio::test]
async fn a_control_sequence_in_two_chunks_is_not_visible() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.say("All tests \u{1b}[").await?;
        cx.flush().await?;
        cx.say("32mgreen\u{1b}").await?;
        cx.flush().await?;
        cx.say("[0m.").await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "How are the tests?").await;
    let (updates, _) = client.collect_updates_until(&id).await;
    let chunks = updates
        .iter()
        .filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    let (mut text, mut visible) = (String::new(), Vec::new());
    for chunk in chunks {
        let content = &chunk["content"];
        text.push_str(content["text"].as_str().unwrap());
        let harn = &content["_meta"]["harn"];
        assert_eq!(harn["visible_delta"], harn["visible_text"]);
        visible.push(harn["visible_text"].as_str().unwrap());
    }
    assert_eq!(text, "All tests \u{1b}[32mgreen\u{1b}[0m.");
    assert_eq!(visible, ["All tests ", "green", "."]);
    client.close().await;
    check_transcript("split-control-sequence", test.recorder());
}

#[tokio::test]
async fn failed_turn_returns_an_error_and_refused_turn_a_stop_reason() {
    let agent = ScriptedAgent::new(|cx| async move {
        match cx.prompt_text().as_str() {
            "refuse" => Ok(StopReason::Refusal),
            "panic" => panic!("a panic on purpose"),
            _ => {
                cx.tool("look").kind(ToolKind::Search).start().await?;
                Err(AgentError::failed("the model is not reachable"))
            }
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "fail").await;
    client.expect_update_of("tool_call").await;
    let abandoned = client.expect_update_of("tool_call_update").await;
    assert_eq!(abandoned["status"], "failed");
    client.expect_update_of("session_info_update").await;
    let error = client.expect_error(&id).await;
    assert_eq!(error["data"]["reason"], "turn_failed");
    let id = prompt(&mut client, &session, "panic").await;
    let error = client.expect_error(&id).await;
    assert_eq!(error["data"]["reason"], "turn_failed");
    let id = prompt(&mut client, &session, "refuse").await;
    let result = client.expect_response(&id).await;
    assert_eq!(result["stopReason"], "refusal");
    client.close().await;
    check_transcript("turn-failed", test.recorder());
}
