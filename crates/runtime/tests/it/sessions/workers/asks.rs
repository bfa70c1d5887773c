//! Questions of workers reach the session above with their lineage; a worker may not do what its session may not
//! do.

use std::sync::Arc;

use expect_test::expect;
use harn_model::{
    AgentEvent, AskId, Decision, Envelope, ExecutionKind, MutationScope, PermissionAsked, Seq,
    StopReason, ToolKind, WorkerStatus,
};
use harn_runtime::{ASK_MODE, READ_ONLY_MODE, Subscription, TurnContext};
use tokio::sync::Notify;

use super::*;

/// Returns an agent that asks to write a file and reports the result.
fn writer() -> Arc<dyn Agent> {
    agent(async |cx: TurnContext| {
        write(&cx).await?;
        Ok(StopReason::EndTurn)
    })
}

async fn write(cx: &TurnContext) -> Result<(), AgentError> {
    let tool = cx.tool("write_file").kind(ToolKind::Edit).path("a.txt");
    match tool.ask().await {
        Ok(tool) => {
            tool.complete(()).await?;
            cx.say("written").await
        }
        Err(AgentError::Denied { reason }) => cx.say(format!("not written: {reason}")).await,
        Err(other) => Err(other),
    }
}

async fn wait_for_question(from: &mut Subscription) -> PermissionAsked {
    let is_ask = |e: &Envelope| matches!(e.event, AgentEvent::PermissionAsked(_));
    let seen = collect_until(from, is_ask).await;
    let ask = seen.into_iter().rev().find_map(|e| match e.event {
        AgentEvent::PermissionAsked(ask) => Some(*ask),
        _ => None,
    });
    ask.unwrap()
}

fn allow() -> Decision {
    Decision::Allowed {
        option_id: "allow_once".to_owned(),
        args: None,
    }
}

fn reject() -> Decision {
    Decision::Rejected {
        option_id: Some("reject_once".to_owned()),
        reason: None,
    }
}

/// Returns an agent that delegates the task `depth` levels down to the agent `deepest`.
fn nested_agent(depth: usize, deepest: fn() -> Arc<dyn Agent>) -> Arc<dyn Agent> {
    agent(move |cx: TurnContext| async move {
        let worker = cx.worker(format!("w{depth}")).task("write");
        let worker = match depth {
            1 => worker.agent(deepest()),
            _ => worker.agent(nested_agent(depth - 1, deepest)),
        };
        let report = worker.start().await?.wait_until_finished().await;
        assert_eq!(report.status, WorkerStatus::Completed);
        cx.say(report.text).await?;
        Ok(StopReason::EndTurn)
    })
}

#[tokio::test]
async fn worker_question_is_asked_in_the_session_and_answered() {
    for (decision, said) in [
        (allow(), "written"),
        (reject(), "not written: permission was not granted"),
    ] {
        let world = World::new();
        let hub = world.hub(nested_agent(1, writer));
        let session = world.session(&hub).await;
        let turn = prompt(&session, "go").await;
        let ask = wait_for_question(&mut session.subscribe(Seq::ZERO)).await;
        let [way] = &ask.lineage[..] else {
            panic!("{:?}", ask.lineage);
        };
        assert_eq!(
            (way.worker_id.as_str(), way.worker_name.as_str()),
            ("worker-1", "w1")
        );
        assert_eq!(way.session_id.as_str(), "session-2");
        assert_eq!(ask.tool_call.tool_name, "write_file");
        // The prefix distinguishes it from a call of the session itself with the same id.
        assert_eq!(ask.tool_call.tool_call_id.as_str(), "worker-1/call-1");
        let options: Vec<_> = ask.options.iter().map(|o| &*o.option_id).collect();
        assert_eq!(options, ["allow_once", "allow_session", "reject_once"]);
        // The audit is the worker's, lent by the session.
        let audit = ask.tool_call.audit.clone().unwrap();
        assert_eq!(audit.session_id, way.session_id);
        assert_eq!(audit.parent_session_id.as_ref(), Some(session.id()));
        assert_eq!(audit.worker_id.as_ref(), Some(&way.worker_id));
        assert_eq!(audit.execution_kind, Some(ExecutionKind::Worker));
        assert_eq!(audit.mutation_scope, MutationScope::ApplyWorkspace);
        // The worker has the same audit, so that both can be matched.
        let known = session.view().workers[&way.worker_id].clone();
        assert_eq!(known.audit, Some(audit));

        session.answer(ask.ask_id.clone(), decision).await;
        // The first answer wins.
        session.answer(ask.ask_id, allow()).await;
        let log = format_events(&whole_turn(&session, &turn).await);
        assert!(log.contains(&format!("said {said}\n")), "{log}");
        assert_eq!(log.matches("resolved").count(), 1, "{log}");
    }
}

#[tokio::test]
async fn question_from_two_levels_down_has_the_whole_lineage() {
    let world = World::new();
    let hub = world.hub(nested_agent(2, writer));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let ask = wait_for_question(&mut session.subscribe(Seq::ZERO)).await;
    let way: Vec<_> = ask.lineage.iter().map(|l| l.worker_name.as_str()).collect();
    assert_eq!(way, ["w2", "w1"]);
    assert_eq!(
        ask.tool_call.tool_call_id.as_str(),
        "worker-1/worker-2/call-1"
    );
    let audit = ask.tool_call.audit.clone().unwrap();
    assert_eq!(audit.session_id, ask.lineage[1].session_id);
    assert_eq!(
        audit.parent_session_id.as_ref(),
        Some(&ask.lineage[0].session_id)
    );
    session.answer(ask.ask_id, allow()).await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(log.contains("said written\n"), "{log}");
}

#[tokio::test]
async fn question_of_a_cancelled_worker_is_withdrawn() {
    let world = World::new();
    let give_up = Arc::new(Notify::new());
    let gave_up = give_up.clone();
    let hub = world.hub(agent(move |cx: TurnContext| {
        let give_up = gave_up.clone();
        async move {
            let worker = cx.worker("w").task("write").agent(writer()).start().await?;
            give_up.notified().await;
            worker.cancel().await?;
            cx.say("gone on").await?;
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let ask = wait_for_question(&mut session.subscribe(Seq::ZERO)).await;
    give_up.notify_one();
    let events = whole_turn(&session, &turn).await;
    expect![[r#"
        turn started
        worker-1 WorkerSpawned 1
        asked write_file for w
        resolved Cancelled
        worker-1 WorkerCancelled 1 the worker was cancelled
        said gone on
        turn Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&format_events(&events));
    // A late answer changes nothing.
    session.answer(ask.ask_id, allow()).await;
    assert_eq!(session.last_seq(), events.last().unwrap().seq);
}

#[tokio::test]
async fn answer_in_the_worker_session_withdraws_the_question_above() {
    let world = World::new();
    let hub = world.hub(nested_agent(1, writer));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let ask = wait_for_question(&mut session.subscribe(Seq::ZERO)).await;
    let child = hub.open(&ask.lineage[0].session_id, None).await.unwrap();
    let below = wait_for_question(&mut child.subscribe(Seq::ZERO)).await;
    assert!(below.lineage.is_empty());
    child.answer(below.ask_id, allow()).await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(log.contains("resolved Cancelled\n"), "{log}");
    assert!(log.contains("said written\n"), "{log}");
}

#[tokio::test]
async fn open_question_does_not_delay_other_workers() {
    let world = World::new();
    let hub = world.hub(agent(async |cx: TurnContext| {
        let parked = cx
            .worker("parked")
            .task("write")
            .agent(writer())
            .start()
            .await?;
        while cx.workers().len() < 9 {
            let quick = cx.worker("quick").task("t").agent(echo_agent("quick"));
            assert!(quick.start().await?.wait_until_finished().await.is_ok());
            cx.say("still here").await?;
        }
        assert_eq!(parked.wait_until_finished().await.text, "written");
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    let ask = wait_for_question(&mut from).await;
    let mut done = 0;
    while done < 8 {
        let seen = collect_until(&mut from, |e| {
            matches!(e.event, AgentEvent::AgentMessageChunk { .. })
        });
        let said = |e: &Envelope| matches!(e.event, AgentEvent::AgentMessageChunk { .. });
        done += seen.await.iter().filter(|e| said(e)).count();
    }
    session.answer(ask.ask_id, allow()).await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(
        log.ends_with("turn Stopped { stop_reason: EndTurn }\n"),
        "{log}"
    );
}

#[tokio::test]
async fn one_worker_can_have_several_open_questions() {
    let both = || {
        agent(async |cx: TurnContext| {
            let (one, two) = tokio::join!(write(&cx), write(&cx));
            one.and(two)?;
            Ok(StopReason::EndTurn)
        })
    };
    let world = World::new();
    let hub = world.hub(nested_agent(1, both));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    let mut open: Vec<AskId> = Vec::new();
    while open.len() < 2 {
        let seen = collect_until(&mut from, |e| {
            matches!(e.event, AgentEvent::PermissionAsked(_))
        })
        .await;
        open.extend(seen.into_iter().filter_map(|e| match e.event {
            AgentEvent::PermissionAsked(ask) => Some(ask.ask_id),
            _ => None,
        }));
    }
    // The later question is answered first.
    session.answer(open[1].clone(), allow()).await;
    session.answer(open[0].clone(), reject()).await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert_eq!(log.matches("resolved").count(), 2, "{log}");
    assert!(log.contains("written"), "{log}");
}

#[tokio::test]
async fn read_only_mode_of_a_session_applies_to_its_workers() {
    let world = World::new();
    let (ready, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (is_ready, may_go) = (ready.clone(), go.clone());
    let hub = world.hub(agent(move |cx: TurnContext| {
        let (ready, go) = (is_ready.clone(), may_go.clone());
        async move {
            let late = agent(move |cx: TurnContext| {
                let (ready, go) = (ready.clone(), go.clone());
                async move {
                    ready.notify_one();
                    go.notified().await;
                    write(&cx).await?;
                    Ok(StopReason::EndTurn)
                }
            });
            let report = cx.worker("w").task("t").agent(late).start().await?;
            cx.say(report.wait_until_finished().await.text).await?;
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    session.set_mode(READ_ONLY_MODE).await.unwrap();
    for switched in [false, true] {
        session
            .set_mode(if switched { ASK_MODE } else { READ_ONLY_MODE })
            .await
            .unwrap();
        let turn = prompt(&session, "go").await;
        ready.notified().await;
        let worker = session.view().workers.into_values().next_back().unwrap();
        assert_eq!(worker.audit.is_some(), switched);
        let child = hub
            .live_session(&worker.metadata.child_run_id.unwrap())
            .unwrap();
        assert_eq!(child.mode(), session.mode());
        session.set_mode(READ_ONLY_MODE).await.unwrap();
        assert_eq!(child.mode(), READ_ONLY_MODE);
        // The worker's own mode cannot widen it.
        child.set_mode(ASK_MODE).await.unwrap();
        assert_eq!(child.mode(), READ_ONLY_MODE);
        let mut from = child.subscribe(Seq::ZERO);
        go.notify_one();
        let events = whole_turn(&session, &turn).await;
        let log = format_events(&events);
        assert!(
            log.contains("said not written: the session's mode is read-only"),
            "{log}"
        );
        assert!(!log.contains("asked"), "{log}");
        // A call without the right to change files has no audit.
        let call = collect_until(&mut from, |e| {
            matches!(e.event, AgentEvent::ToolCallUpdate(_))
        })
        .await;
        for e in call {
            if let AgentEvent::ToolCall(call) = e.event {
                assert_eq!(call.audit, None);
            }
        }
    }
}
