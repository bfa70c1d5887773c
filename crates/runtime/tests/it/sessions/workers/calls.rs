//! Tool calls of workers are events of the session above too: announced before a question about them, settled
//! however the worker ends, and bounded.

use harn_journal::{JsonlStore, SessionMeta, Store};
use harn_model::{
    Decision, LineageEntry, Seq, SessionId, ToolCall, ToolCallStatus, ToolContent, ToolKind,
    TurnStarted, WorkerCall, WorkerCallStep,
};
use harn_runtime::ToolOutput;
use serde_json::json;
use tokio::sync::Notify;

use super::*;

/// Formats the steps of workers' calls and the questions about them, one per line.
fn steps_of_calls(events: &[Envelope]) -> Vec<String> {
    let line = |e: &Envelope| match &e.event {
        AgentEvent::WorkerCall(call) => {
            let (id, asked) = (call.id(), if call.asked { " asked" } else { "" });
            let worker = call.worker_id().unwrap();
            Some(match &call.step {
                WorkerCallStep::Announced(it) => format!("{id} of {worker} {:?}", it.status),
                WorkerCallStep::Asked(_) => format!("{id} is asked about"),
                WorkerCallStep::Changed(it) => format!("{id} {:?}{asked}", it.status),
            })
        }
        AgentEvent::PermissionAsked(ask) => Some(format!("ask {}", ask.tool_call.tool_call_id)),
        AgentEvent::TurnEnded(_) => Some("turn ended".to_owned()),
        AgentEvent::WorkerUpdate(u) if u.event.is_terminal() => Some(format!("{:?}", u.event)),
        _ => None,
    };
    events.iter().filter_map(line).collect()
}

/// Returns an agent that reads a file with much output, then asks to write.
fn busy_agent() -> Arc<dyn Agent> {
    agent(async |cx: TurnContext| {
        let read = cx.tool("read_file").kind(ToolKind::Read).start().await?;
        for _ in 0..50 {
            read.show(vec![ToolContent::text("line\n".repeat(100))])
                .await?;
        }
        read.complete(ToolOutput::from("x".repeat(100_000))).await?;
        let write = cx.tool("write_file").kind(ToolKind::Edit).path("a.txt");
        write.ask().await?.complete(()).await?;
        Ok(StopReason::EndTurn)
    })
}

#[tokio::test]
async fn worker_calls_are_announced_above_before_they_are_asked_about() {
    let middle = agent(async |cx: TurnContext| {
        let inner = cx
            .worker("inner")
            .task("t")
            .agent(busy_agent())
            .start()
            .await?;
        inner.wait_until_finished().await;
        Ok(StopReason::EndTurn)
    });
    let world = World::new();
    let hub = world.hub(agent(move |cx: TurnContext| {
        let middle = middle.clone();
        async move {
            let outer = cx.worker("outer").task("t").agent(middle).start().await?;
            outer.wait_until_finished().await;
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let is_ask = |e: &Envelope| matches!(e.event, AgentEvent::PermissionAsked(_));
    let seen = collect_until(&mut session.subscribe(Seq::ZERO), is_ask).await;
    let Some(AgentEvent::PermissionAsked(ask)) = seen.last().map(|e| &e.event) else {
        panic!("nobody was asked");
    };
    let allow = Decision::Allowed {
        option_id: "allow_once".to_owned(),
        args: None,
    };
    session.answer(ask.ask_id.clone(), allow).await;
    let events = whole_turn(&session, &turn).await;
    assert_eq!(
        steps_of_calls(&events),
        [
            "worker-1/worker-2/call-1 of worker-2 InProgress",
            "worker-1/worker-2/call-1 Completed",
            "worker-1/worker-2/call-2 of worker-2 Pending",
            "worker-1/worker-2/call-2 is asked about",
            "ask worker-1/worker-2/call-2",
            "worker-1/worker-2/call-2 InProgress asked",
            "worker-1/worker-2/call-2 Completed asked",
            "WorkerCompleted",
            "turn ended",
        ]
    );
    let long = events.iter().find_map(|e| match &e.event {
        AgentEvent::WorkerCall(call) => match &call.step {
            WorkerCallStep::Changed(end) => Some(end),
            WorkerCallStep::Announced(_) | WorkerCallStep::Asked(_) => None,
        },
        _ => None,
    });
    let end = long.unwrap();
    assert_eq!(end.status, ToolCallStatus::Completed);
    let shown = format!("{:?}", end.content);
    assert!(shown.contains("Too long to repeat here"), "{shown}");
    assert!(end.duration_ms.is_some());
    // The audit is the worker's.
    let audit = end.audit.as_ref().unwrap();
    assert_eq!(audit.worker_id.as_ref().unwrap().as_str(), "worker-2");
}

#[tokio::test]
async fn cancelled_worker_leaves_no_call_open_above() {
    let seen = Arc::new(Notify::new());
    let cancel = seen.clone();
    let world = World::new();
    let hub = world.hub(agent(move |cx: TurnContext| {
        let cancel = cancel.clone();
        async move {
            let stuck = agent(async |cx: TurnContext| {
                let _call = cx.tool("look").kind(ToolKind::Read).start().await?;
                std::future::pending().await
            });
            let worker = cx.worker("w").task("t").agent(stuck).start().await?;
            cancel.notified().await;
            worker.cancel().await?;
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let is_call = |e: &Envelope| matches!(e.event, AgentEvent::WorkerCall(_));
    collect_until(&mut session.subscribe(Seq::ZERO), is_call).await;
    seen.notify_one();
    let events = whole_turn(&session, &turn).await;
    assert_eq!(
        steps_of_calls(&events),
        [
            "worker-1/call-1 of worker-1 InProgress",
            "worker-1/call-1 Failed",
            "WorkerCancelled",
            "turn ended",
        ]
    );
}

#[tokio::test]
async fn recovery_fails_an_interrupted_worker_call() {
    let world = World::new();
    let lineage = LineageEntry {
        worker_id: "w".into(),
        worker_name: "w".to_owned(),
        session_id: "c".into(),
    };
    let mut call = ToolCall::new("call", "write_file");
    call.status = ToolCallStatus::InProgress;
    call.raw_input = json!({"path": "a.txt"});
    let call = AgentEvent::ToolCall(Box::new(call));
    let call = WorkerCall::from_worker_event(&call, &lineage).unwrap();
    let events = [
        AgentEvent::TurnStarted(Box::new(TurnStarted {
            message_id: "m".into(),
            prompt: Vec::new(),
            live_session: None,
        })),
        AgentEvent::WorkerCall(Box::new(call)),
    ];
    let events = events.into_iter().zip(1..).map(|(event, seq)| Envelope {
        seq: Seq(seq),
        at: seq,
        turn: Some("turn-x".into()),
        event,
    });
    let id = SessionId::new("killed");
    let meta = SessionMeta {
        v: 1,
        thread_id: id.clone(),
        title: String::new(),
        directory: world.state().to_owned(),
        additional_directories: Vec::new(),
        created: 1,
        parent: None,
        worker: None,
        principal: None,
        failed: false,
        archived: false,
    };
    let store = JsonlStore::new(world.state());
    let mut log = store.create(meta).unwrap();
    log.append(&events.collect::<Vec<_>>()).unwrap();
    drop(log);
    let hub = world.hub(echo_agent("ok"));
    hub.open(&id, None).await.unwrap();
    hub.shutdown().await;
    let (_, events) = store.read(&id).unwrap();
    let end = events.iter().find_map(|e| match &e.event {
        AgentEvent::WorkerCall(call) => match &call.step {
            WorkerCallStep::Changed(update) => Some(update),
            WorkerCallStep::Announced(_) | WorkerCallStep::Asked(_) => None,
        },
        _ => None,
    });
    let end = end.unwrap();
    assert_eq!(end.tool_call_id.as_str(), "w/call");
    assert_eq!(end.status, ToolCallStatus::Failed);
    assert!(end.error.as_ref().unwrap().starts_with("interrupted"));
}
