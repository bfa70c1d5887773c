//! A cancel ends exactly its own turn, whatever the agent does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use expect_test::expect;
use harn_model::{AgentEvent, Envelope, Seq, StopReason, ToolKind};
use harn_runtime::AgentError;
use tokio::sync::Notify;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn cancelled_turn_ends_at_the_deadline_when_the_agent_ignores_it() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        if cx.prompt_text() == "stuck" {
            cx.tool("t").kind(ToolKind::Search).start().await?;
            std::future::pending::<()>().await;
        }
        cx.say("well").await?;
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let stuck = prompt(&session, "stuck").await;
    let next = prompt(&session, "next").await;
    let mut from = session.subscribe(Seq::ZERO);
    collect_until(&mut from, |e| matches!(e.event, AgentEvent::ToolCall(_))).await;
    let before = tokio::time::Instant::now();
    session.cancel(stuck.clone()).await;
    let events = whole_turn(&session, &next).await;
    assert!(before.elapsed() >= Duration::from_secs(5));
    expect![[r#"
        1 turn_started msg-1
        2 prompt_queued msg-2
        3 tool_call call-1 in_progress
        4 tool_call_update call-1 failed the turn was cancelled t
        5 session_info stuck
        6 turn_ended stopped cancelled
        7 turn_started msg-2
        8 agent_message_chunk well msg-3
        9 turn_ended stopped end_turn
    "#]]
    .assert_eq(&format_short(&events));
}

#[tokio::test]
async fn cancel_withdraws_the_question_and_overrides_the_stop_reason() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        let asked = cx.tool("write_file").kind(ToolKind::Edit).ask().await;
        assert!(matches!(asked, Err(AgentError::Cancelled)));
        Ok(StopReason::MaxTokens)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "write").await;
    let mut from = session.subscribe(Seq::ZERO);
    collect_until(&mut from, |e: &Envelope| {
        matches!(e.event, AgentEvent::PermissionAsked(_))
    })
    .await;
    session.cancel(turn.clone()).await;
    expect![[r#"
        1 turn_started msg-1
        2 tool_call call-1 pending
        3 permission_escalation call-1
        4 permission_asked
        5 permission_resolved cancelled
        6 tool_call_update call-1 failed the turn was cancelled write_file
        7 session_info write
        8 turn_ended stopped cancelled
    "#]]
    .assert_eq(&format_short(&whole_turn(&session, &turn).await));
}

#[tokio::test]
async fn cancel_ends_only_its_own_turn() {
    let release = Arc::new(Notify::new());
    let held = release.clone();
    let world = World::new();
    let hub = world.hub(agent(move |cx| {
        let held = held.clone();
        async move {
            if cx.prompt_text() == "first" {
                held.notified().await;
            }
            cx.say(cx.prompt_text()).await?;
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    assert_eq!(session.cancel_target(), None);
    let first = prompt(&session, "first").await;
    let second = prompt(&session, "second").await;
    let third = prompt(&session, "third").await;
    assert_eq!(session.cancel_target(), Some(first.clone()));
    // The target is read while the first turn runs; it must not cancel a later turn.
    let late = session.cancel_target().unwrap();
    session.cancel(second.clone()).await;
    release.notify_one();
    collect_until(&mut session.subscribe(Seq::ZERO), is_end_of(&first)).await;
    session.cancel(late).await;
    let events = whole_turn(&session, &third).await;
    let outcomes: Vec<_> = format_short(&events)
        .lines()
        .filter(|l| l.contains("turn_ended"))
        .map(|l| l.split(' ').next_back().unwrap().to_owned())
        .collect();
    assert_eq!(outcomes, ["end_turn", "end_turn"]);
    assert_eq!(
        events
            .iter()
            .filter(|e| is_withdrawal_of(&second)(e))
            .count(),
        1
    );
    let said = format_short(&events);
    assert!(
        said.contains("chunk first")
            && said.contains("chunk third")
            && !said.contains("chunk second")
    );
    assert_eq!(session.cancel_target(), None);
}

#[tokio::test]
async fn cancel_drops_the_work_inside_a_tool() {
    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = dropped.clone();
    let world = World::new();
    let hub = world.hub(agent(move |cx| {
        let guard = OnDrop(flag.clone());
        async move {
            let tool = cx.tool("t").kind(ToolKind::Search).start().await?;
            tool.run(|_| async move {
                let _guard = guard;
                std::future::pending::<Result<(), harn_runtime::HostError>>().await
            })
            .await?;
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    collect_until(&mut session.subscribe(Seq::ZERO), |e| {
        matches!(e.event, AgentEvent::ToolCall(_))
    })
    .await;
    session.cancel(turn.clone()).await;
    whole_turn(&session, &turn).await;
    assert!(dropped.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_turn_ends_at_the_deadline_while_many_tasks_send_text() {
    let world = World::new();
    let babbler = agent(async |cx| {
        for _ in 0..8 {
            let cx = cx.clone();
            tokio::spawn(async move { while cx.say("on and on ").await.is_ok() {} });
        }
        std::future::pending::<()>().await;
        Ok(StopReason::EndTurn)
    });
    let hub = world.hub_with(babbler, |config| {
        config.cancel_deadline = Duration::from_millis(200);
    });
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    collect_until(&mut from, |e| {
        matches!(e.event, AgentEvent::AgentMessageChunk { .. })
    })
    .await;
    session.cancel(turn.clone()).await;
    // Only a turn that is never settled exceeds the time limit of `until`.
    collect_until(&mut from, is_end_of(&turn)).await;
    let outcome = session.view().last_outcome;
    assert_eq!(
        outcome,
        Some(harn_model::TurnOutcome::stopped(StopReason::Cancelled))
    );
}
