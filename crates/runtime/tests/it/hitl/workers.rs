//! A worker's request is sent to the top session with its lineage, and the outcome is returned to the worker.

use expect_test::expect;
use harn_model::{Seq, WorkerStatus};
use harn_runtime::{HitlError, TurnContext};

use crate::hitl::*;

/// Returns an agent whose worker `depth` levels down asks for an approval.
fn nested_agent(depth: usize) -> Arc<dyn Agent> {
    agent(move |cx: TurnContext| async move {
        if depth == 0 {
            let verdict = cx.approval("deploy").deadline(HOUR).ask().await;
            cx.say(format!("{verdict:?}")).await?;
            return Ok(StopReason::EndTurn);
        }
        let worker = cx.worker(format!("w{depth}")).task("deploy");
        let worker = worker.agent(nested_agent(depth - 1)).start().await?;
        let report = worker.wait_until_finished().await;
        assert_eq!(report.status, WorkerStatus::Completed);
        cx.say(report.text).await?;
        Ok(StopReason::EndTurn)
    })
}

#[tokio::test]
async fn worker_request_is_sent_to_the_top_session() {
    let world = World::new();
    let hub = world.hub(nested_agent(2));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let request = wait_for_request(&session).await;
    let way: Vec<_> = request.lineage.iter().map(|l| &*l.worker_name).collect();
    assert_eq!(way, ["w2", "w1"]);
    assert_eq!(request.agent, "w1");
    assert_eq!(request.turn, turn);
    let payload = request.payload();
    assert_eq!(payload["lineage"][1]["worker_id"], "worker-2");
    let record = &payload["approval_request"];
    assert_eq!(record["id"], *request.request_id);
    assert_eq!(record["principal"], "worker-2");

    let child = hub.open(&request.lineage[1].session_id, None).await;
    let child = child.unwrap();
    let below = child.open_hitl().pop().unwrap();
    assert_ne!(below.request_id, request.request_id);
    let id = &request.request_id;
    session.hitl_respond(vote(id, "ada", true)).await.unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    expect![[r#"
        asked hitl_approval_ask-3 approval
        responded hitl_approval_ask-3 ada true
        resolved hitl_approval_ask-3 Answered
        said Ok(Verdict { approved: true, reviewers: ["ada"], reason: None })
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&log);
    // The worker's own journal has the same events under its own request id.
    let resolved = |e: &Envelope| matches!(e.event, AgentEvent::TurnEnded(_));
    let events = collect_until(&mut child.subscribe(Seq::ZERO), resolved).await;
    expect![[r#"
        asked hitl_approval_ask-1 approval
        responded hitl_approval_ask-1 ada true
        resolved hitl_approval_ask-1 Answered
        said Ok(Verdict { approved: true, reviewers: ["ada"], reason: None })
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&format_hitl_events(&events));
}

#[tokio::test(start_paused = true)]
async fn worker_request_times_out_once() {
    let world = World::new();
    let hub = world.hub(nested_agent(1));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    wait_for_request(&session).await;
    tokio::time::sleep(HOUR).await;
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert_eq!(log.matches("Timeout").count(), 1, "{log}");
    assert!(log.contains("no answer arrived in time"), "{log}");
}

#[tokio::test]
async fn cancelled_worker_withdraws_its_request() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        let worker = cx.worker("w").task("deploy").agent(nested_agent(0));
        let worker = worker.start().await?;
        cx.question("Cancel it?").ask().await?;
        worker.cancel().await?;
        worker.wait_until_finished().await;
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    while session.open_hitl().len() < 2 {
        let is = |e: &Envelope| matches!(e.event, AgentEvent::HitlRequested { .. });
        collect_until(&mut from, is).await;
    }
    let open = session.open_hitl();
    let (theirs, own): (Vec<_>, Vec<_>) = open.iter().partition(|r| !r.lineage.is_empty());
    let own = &own[0].request_id;
    session.hitl_respond(answer(own, "yes")).await.unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    let theirs = &theirs[0].request_id;
    assert!(
        log.contains(&format!("resolved {theirs} Cancelled")),
        "{log}"
    );
    assert_eq!(log.matches("resolved").count(), 2, "{log}");
    let late = session.hitl_respond(vote(theirs, "ada", true)).await;
    assert_eq!(late, Err(HitlError::Unknown(theirs.clone())));
}
