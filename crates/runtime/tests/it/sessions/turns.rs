//! The events of a turn, and the order in which prompts run.

use expect_test::expect;
use harn_model::{
    AgentEvent, ContentBlock, ErrorCategory, StopReason, ToolKind, TurnEnded, TurnOutcome,
};
use harn_runtime::{AgentError, HostError, PromptError, Seam, SessionFilter, ToolError};
use tokio::sync::Semaphore;

use crate::support::*;

#[tokio::test]
async fn turn_is_written_in_order_with_ids_durations_and_a_title() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        cx.think("hm").await?;
        cx.say("one ").await?;
        cx.say("two").await?;
        let tool = cx
            .tool("look")
            .kind(ToolKind::Read)
            .path("a.rs")
            .start()
            .await?;
        let text = tool
            .run(async |_| Ok::<_, HostError>("text".to_owned()))
            .await?;
        assert!(cx.seam(Seam::PostToolDispatch).await?.is_empty());
        cx.say(format!("three {text}")).await?;
        Ok(harn_model::StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "\n  What is in a.rs?  \nPlease.").await;
    let events = whole_turn(&session, &turn).await;
    expect![[r#"
        1 turn_started msg-1
        2 agent_thought_chunk hm msg-2
        3 agent_message_chunk one  msg-3
        4 agent_message_chunk two msg-3
        5 tool_call call-1 in_progress
        6 tool_call_update call-1 completed look
        7 loop_checkpoint
        8 agent_message_chunk three text msg-4
        9 session_info What is in a.rs?
        10 turn_ended stopped end_turn
    "#]]
    .assert_eq(&format_short(&events));
    let terminal = serde_json::to_value(&events[5].event).unwrap();
    assert!(terminal["duration_ms"].is_u64() && terminal["execution_duration_ms"].is_u64());
    assert_eq!(session.view().title.as_deref(), Some("What is in a.rs?"));
    assert_eq!(
        session.view().last_outcome,
        Some(TurnOutcome::stopped(harn_model::StopReason::EndTurn))
    );
}

#[tokio::test]
async fn prompts_that_arrive_while_a_turn_runs_wait_their_turn() {
    let world = World::new();
    let hub = world.hub_with(
        agent(async |cx| {
            cx.say(cx.prompt_text()).await?;
            Ok(harn_model::StopReason::EndTurn)
        }),
        |config| config.max_waiting_prompts = 100,
    );
    let session = world.session(&hub).await;
    let mut turns = Vec::new();
    for n in 0..20 {
        turns.push(prompt(&session, &format!("p{n}")).await);
    }
    let events = whole_turn(&session, turns.last().unwrap()).await;
    let said: Vec<_> = events
        .iter()
        .filter_map(|e| match &e.event {
            harn_model::AgentEvent::AgentMessageChunk { content, .. } => Some(content.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(said, (0..20).map(|n| format!("p{n}")).collect::<Vec<_>>());
    let started: Vec<_> = events
        .iter()
        .filter(|e| matches!(e.event, harn_model::AgentEvent::TurnStarted(_)))
        .filter_map(|e| e.turn.clone())
        .collect();
    assert_eq!(started, turns);
}

#[tokio::test]
async fn full_queue_and_unsupported_blocks_are_rejected() {
    static HOLD: Semaphore = Semaphore::const_new(0);
    let world = World::new();
    let hub = world.hub_with(
        agent(async |_| {
            HOLD.acquire().await.map_err(AgentError::failed)?.forget();
            Ok(harn_model::StopReason::EndTurn)
        }),
        |config| config.max_waiting_prompts = 2,
    );
    let session = world.session(&hub).await;
    for _ in 0..3 {
        prompt(&session, "x").await;
    }
    let refused = session
        .prompt(vec![ContentBlock::text("x")], |_| panic!("registered"))
        .await;
    assert!(
        matches!(refused, Err(PromptError::QueueFull { waiting: 2 })),
        "{refused:?}"
    );
    let audio = ContentBlock::Audio {
        mime_type: "audio/wav".into(),
        data: String::new(),
    };
    let refused = session.prompt(vec![audio], |_| panic!("registered")).await;
    assert!(
        matches!(refused, Err(PromptError::Unsupported { kind: "audio" })),
        "{refused:?}"
    );
    let refused = session.prompt(vec![], |_| panic!("registered")).await;
    assert!(matches!(refused, Err(PromptError::Empty)), "{refused:?}");
    HOLD.add_permits(3);
}

#[tokio::test]
async fn failures_panics_and_leftovers_are_settled() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| match cx.prompt_text().as_str() {
        "fail" => Err(AgentError::failed("no luck")),
        "panic" => panic!("on purpose"),
        "tool" => {
            let tool = cx.tool("t").kind(ToolKind::Read).start().await?;
            let failed = async |_| Err::<(), _>(ToolError::new("broken"));
            tool.run(failed).await?;
            Ok(harn_model::StopReason::EndTurn)
        }
        _ => {
            // The call is started and never completed.
            cx.tool("t").kind(ToolKind::Read).start().await?;
            Ok(harn_model::StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    let mut last = None;
    for text in ["fail", "panic", "tool", "leave"] {
        last = Some(prompt(&session, text).await);
    }
    let events = whole_turn(&session, &last.unwrap()).await;
    expect![[r#"
        1 turn_started msg-1
        2 prompt_queued msg-2
        3 prompt_queued msg-3
        4 prompt_queued msg-4
        5 session_info fail
        6 turn_ended failed no luck
        7 turn_started msg-2
        8 turn_ended failed the agent stopped unexpectedly; its log has the reason
        9 turn_started msg-3
        10 tool_call call-1 in_progress
        11 tool_call_update call-1 failed broken t
        12 turn_ended failed broken
        13 turn_started msg-4
        14 tool_call call-2 in_progress
        15 tool_call_update call-2 failed the turn ended before this tool did t
        16 turn_ended stopped end_turn
    "#]]
    .assert_eq(&format_short(&events));
    let harn_model::AgentEvent::ToolCallUpdate(update) = &events[14].event else {
        panic!("not an update");
    };
    assert_eq!(
        update.error_category,
        Some(ErrorCategory::AbandonedAtLoopExit)
    );
}

#[tokio::test]
async fn title_from_the_agent_is_listed() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        let title = Some(cx.prompt_text().to_uppercase());
        let info = harn_model::SessionInfo {
            title,
            ..harn_model::SessionInfo::default()
        };
        cx.emit(harn_model::AgentEvent::SessionInfo(info)).await?;
        Ok(harn_model::StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    for text in ["first", "second"] {
        let turn = prompt(&session, text).await;
        whole_turn(&session, &turn).await;
        let listed = hub.list(SessionFilter::default(), None).await.unwrap();
        assert_eq!(listed.sessions[0].summary.meta.title, text.to_uppercase());
    }
}

#[tokio::test]
async fn agent_cannot_emit_events_of_the_runtime() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        let ended = TurnEnded {
            outcome: TurnOutcome::stopped(StopReason::Refusal),
        };
        let refused = cx.emit(AgentEvent::TurnEnded(Box::new(ended))).await;
        let file = serde_json::json!({
            "type": "artifact", "artifact_id": "a", "kind": "file", "mime_type": "text/plain",
            "spec": {"data": "aGk="},
        });
        let inline = cx.emit(serde_json::from_value(file).unwrap()).await;
        cx.say(format!("{}\n{}", refused.unwrap_err(), inline.unwrap_err()))
            .await?;
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let seen = whole_turn(&session, &turn).await;
    expect![[r#"
        1 turn_started msg-1
        2 agent_message_chunk an agent cannot report this itself: the turn ends when the agent returns
        an artifact of the kind file carries its bytes in `spec.data`; give a `uri` instead msg-2
        3 session_info go
        4 turn_ended stopped end_turn
    "#]].assert_eq(&format_short(&seen));
}
