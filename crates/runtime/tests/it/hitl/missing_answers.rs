//! Requests without an answer: the deadline passes, no person can be asked, or the turn or the process ends.

use std::time::Duration;

use expect_test::expect;
use harn_model::{HitlOutcome, Seq};
use harn_runtime::{AgentError, HitlError, TurnContext};
use serde_json::json;

use crate::hitl::*;

async fn ask_what_next(cx: TurnContext) -> Result<String, AgentError> {
    Ok(cx.question("What next?").deadline(HOUR).ask().await?.text())
}

#[tokio::test(start_paused = true)]
async fn question_times_out_without_an_answer() {
    let world = World::new();
    let hub = world.hub(asking_agent(ask_what_next));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let id = wait_for_request(&session).await.request_id.clone();
    tokio::time::sleep(HOUR - Duration::from_secs(1)).await;
    assert!(session.hitl(&id).is_some());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let events = whole_turn(&session, &turn).await;
    expect![[r#"
        asked hitl_question_ask-1 question
        resolved hitl_question_ask-1 Timeout
        said Err(Unanswered { reason: "no answer arrived in time" })
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&format_hitl_events(&events));
    let late = session.hitl_respond(answer(&id, "sleep")).await;
    assert_eq!(late, Err(HitlError::Unknown(id)));
}

#[tokio::test(start_paused = true)]
async fn requests_time_out_after_a_day_by_default() {
    let world = World::new();
    let hub = world.hub(asking_agent(async |cx: TurnContext| {
        let (question, approval, control, escalation) = tokio::join!(
            cx.question("What next?").default("stop").ask(),
            cx.approval("deploy").ask(),
            cx.dual_control("launch").ask(),
            cx.escalation("help").ask(),
        );
        let question = question.unwrap();
        assert!(question.is_default);
        assert_eq!(question.text(), "stop");
        let others = [
            approval.unwrap_err(),
            control.unwrap_err(),
            escalation.unwrap_err(),
        ];
        Ok(others)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    wait_for_request(&session).await;
    tokio::time::sleep(HOUR * 24).await;
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert_eq!(log.matches("Timeout").count(), 4, "{log}");
    assert_eq!(log.matches("no answer arrived in time").count(), 3, "{log}");
}

#[tokio::test]
async fn unavailable_question_is_cancelled_and_shown_as_text() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        cx.say("Let me see. ").await?;
        let question = cx.question("Which port?").choices(["8080", "9090"]);
        question.ask().await?;
        unreachable!("nobody answered")
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let id = wait_for_request(&session).await.request_id.clone();
    session
        .report_hitl_unavailable(&id, "there is nobody")
        .await;
    // The second report has no effect.
    session
        .report_hitl_unavailable(&id, "there is nobody")
        .await;
    let events = whole_turn(&session, &turn).await;
    expect![[r#"
        said Let me see. 
        asked hitl_question_ask-1 question
        said Which port?
        - 8080
        - 9090
        resolved hitl_question_ask-1 Cancelled
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&format_hitl_events(&events));
    let ids = events.iter().filter_map(|e| match &e.event {
        AgentEvent::AgentMessageChunk { message_id, .. } => message_id.clone(),
        _ => None,
    });
    let ids: Vec<_> = ids.collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn unavailable_question_returns_its_default() {
    let world = World::new();
    let hub = world.hub(asking_agent(async |cx: TurnContext| {
        let answer = cx.question("Go on?").default("yes").ask().await?;
        Ok((answer.text(), answer.is_default))
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let id = wait_for_request(&session).await.request_id.clone();
    session
        .report_hitl_unavailable(&id, "there is nobody")
        .await;
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    expect![[r#"
        asked hitl_question_ask-1 question
        resolved hitl_question_ask-1 Cancelled
        said Ok(("yes", true))
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&log);
}

#[tokio::test]
async fn declined_question_is_cancelled() {
    let world = World::new();
    let hub = world.hub(asking_agent(ask_what_next));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let id = wait_for_request(&session).await.request_id.clone();
    session.decline_hitl(&id).await;
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert!(
        log.contains("resolved hitl_question_ask-1 Cancelled"),
        "{log}"
    );
    assert!(log.contains("declined to answer"), "{log}");
}

#[tokio::test]
async fn cancelled_turn_cancels_its_questions() {
    let world = World::new();
    let hub = world.hub(asking_agent(ask_what_next));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let id = wait_for_request(&session).await.request_id.clone();
    session.cancel(turn.clone()).await;
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    expect![[r#"
        asked hitl_question_ask-1 question
        resolved hitl_question_ask-1 Cancelled
        ended Stopped { stop_reason: Cancelled }
    "#]]
    .assert_eq(&log);
    assert!(session.open_hitl().is_empty());
    let late = session.hitl_respond(answer(&id, "sleep")).await;
    assert_eq!(late, Err(HitlError::Unknown(id)));
}

#[tokio::test]
async fn ended_turn_cancels_a_question_it_does_not_await() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        let mut asking = std::pin::pin!(cx.question("What next?").ask());
        tokio::select! {
            biased;
            _ = &mut asking => unreachable!("nobody answers"),
            done = cx.flush() => done?,
        }
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert!(
        log.contains("resolved hitl_question_ask-1 Cancelled"),
        "{log}"
    );
    assert!(session.open_hitl().is_empty());
}

#[tokio::test]
async fn recovery_cancels_open_requests() {
    let world = World::new();
    let hub = world.hub(asking_agent(ask_what_next));
    let session = world.session(&hub).await;
    prompt(&session, "go").await;
    let request = wait_for_request(&session).await;
    // The journal as a killed process leaves it.
    let copy = World::new();
    let threads = std::path::Path::new("threads").join(session.id().as_str());
    std::fs::create_dir_all(copy.state().join(&threads)).unwrap();
    for file in ["events.jsonl", "meta.json"] {
        let at = threads.join(file);
        std::fs::copy(world.state().join(&at), copy.state().join(&at)).unwrap();
    }
    let again = copy.hub(asking_agent(ask_what_next));
    let again = again.open(session.id(), None).await.unwrap();
    assert!(again.open_hitl().is_empty());
    let recovered = |e: &Envelope| matches!(e.event, AgentEvent::Recovered(_));
    let events = collect_until(&mut again.subscribe(Seq::ZERO), recovered).await;
    let ends = events.iter().filter_map(|e| match &e.event {
        AgentEvent::HitlResolved {
            request_id,
            outcome,
            ..
        } => Some((request_id.clone(), *outcome)),
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends, [(request.request_id.clone(), HitlOutcome::Cancelled)]);
    let late = again
        .hitl_respond(answer(&request.request_id, "sleep"))
        .await;
    assert_eq!(late, Err(HitlError::Unknown(request.request_id.clone())));
}

#[tokio::test]
async fn request_that_an_agent_emits_itself_cannot_be_answered() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        let told = AgentEvent::HitlRequested {
            request_id: "hitl_question_theirs".to_owned(),
            kind: "question".to_owned(),
            payload: json!({"prompt": "Which port?"}),
        };
        cx.emit(told).await?;
        let own = cx.question("What next?");
        let ask = own.ask();
        // The agent cannot resolve its own request either, although the id is easy to guess.
        let settle = async {
            let resolved = |id: &str| AgentEvent::HitlResolved {
                request_id: id.to_owned(),
                kind: "question".to_owned(),
                outcome: HitlOutcome::Answered,
            };
            cx.flush().await?;
            cx.emit(resolved("hitl_question_ask-1")).await?;
            cx.emit(resolved("hitl_question_theirs")).await
        };
        let (answer, settled) = tokio::join!(ask, settle);
        settled?;
        cx.say(answer?.text()).await?;
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let theirs = |e: &Envelope| matches!(e.event, AgentEvent::HitlResolved { .. });
    collect_until(&mut session.subscribe(Seq::ZERO), theirs).await;
    let open = session.open_hitl();
    assert_eq!(open.len(), 1);
    let refused = session
        .hitl_respond(answer("hitl_question_theirs", "80"))
        .await;
    assert!(matches!(refused, Err(HitlError::Unknown(_))), "{refused:?}");
    session
        .hitl_respond(answer(&open[0].request_id, "sleep"))
        .await
        .unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    expect![[r#"
        asked hitl_question_theirs question
        asked hitl_question_ask-1 question
        resolved hitl_question_theirs Answered
        responded hitl_question_ask-1 somebody "sleep"
        resolved hitl_question_ask-1 Answered
        said sleep
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&log);
}
