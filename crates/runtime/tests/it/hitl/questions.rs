//! Questions and escalations: which answers are accepted, and what the agent receives.

use expect_test::expect;
use harn_model::{HitlKind, HitlResponse};
use harn_runtime::{AgentError, HitlError, TurnContext};
use serde_json::{Value, json};

use crate::hitl::*;

async fn ask_which_port(cx: TurnContext) -> Result<String, AgentError> {
    let question = cx.question("Which port?").choices(["8080", "9090", "8080"]);
    let answer = question.detail("Both are free.").ask().await?;
    Ok(answer.text())
}

#[tokio::test]
async fn question_is_asked_answered_and_resolved() {
    let world = World::new();
    let hub = world.hub(asking_agent(ask_which_port));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let request = wait_for_request(&session).await;
    assert_eq!(request.kind, HitlKind::Question);
    assert_eq!(request.turn, turn);
    assert_eq!(request.deadline - request.requested_at, 24 * 60 * 60 * 1000);
    assert_eq!(
        request.payload(),
        json!({
            "prompt": "Which port?",
            "detail": "Both are free.",
            "choices": ["8080", "9090"],
            "deadline_ms": 86_400_000,
        })
    );
    assert_eq!(session.hitl(&request.request_id), Some(request.clone()));

    let id = &request.request_id;
    let seq = session.hitl_respond(answer(id, "9090")).await.unwrap();
    // The response is written and published when the call returns.
    assert!(session.last_seq() >= seq);
    let twice = session.hitl_respond(answer(id, "8080")).await;
    assert_eq!(twice, Err(HitlError::Unknown(id.clone())));
    assert_eq!(session.hitl(id), None);
    let events = whole_turn(&session, &turn).await;
    expect![[r#"
        asked hitl_question_ask-1 question
        responded hitl_question_ask-1 somebody "9090"
        resolved hitl_question_ask-1 Answered
        said Ok("9090")
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&format_hitl_events(&events));
}

#[tokio::test]
async fn unfit_answer_is_rejected_with_the_reason() {
    let world = World::new();
    let hub = world.hub(asking_agent(ask_which_port));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let request = wait_for_request(&session).await;
    let id = &request.request_id;
    let wrong = [
        (
            response(id),
            r#"question: the answer must contain "answer", which is missing"#,
        ),
        (
            vote(id, "ada", true),
            r#"question: the answer must contain "answer", not "approved""#,
        ),
        (
            HitlResponse {
                accepted: Some(true),
                ..answer(id, "8080")
            },
            r#"question: the answer must contain "answer", not "accepted""#,
        ),
        (answer(id, "80"), "the answer must be one of 8080, 9090"),
        (answer(id, 8080), "the answer must be one of 8080, 9090"),
    ];
    for (wrong, why) in wrong {
        let refused = session.hitl_respond(wrong).await;
        assert_eq!(refused, Err(HitlError::Unfit(why.to_owned())));
    }
    let other = session
        .hitl_respond(answer("hitl_question_other", "8080"))
        .await;
    let unknown = "hitl_question_other".to_owned();
    assert_eq!(other, Err(HitlError::Unknown(unknown)));
    session.hitl_respond(answer(id, "8080")).await.unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert_eq!(log.matches("responded").count(), 1, "{log}");
}

#[tokio::test]
async fn question_without_choices_accepts_any_value() {
    let world = World::new();
    let hub = world.hub(asking_agent(async |cx: TurnContext| {
        let answer = cx.question("What next?").ask().await?;
        Ok((answer.value, answer.reviewer))
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let id = wait_for_request(&session).await.request_id.clone();
    let value: Value = json!({"steps": [1, 2]});
    let given = HitlResponse {
        reviewer: Some("ada".to_owned()),
        ..answer(&id, value)
    };
    session.hitl_respond(given).await.unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert!(
        log.contains(r#"said Ok((Object {"steps": Array [Number(1), Number(2)]}, Some("ada")))"#),
        "{log}"
    );
}

#[tokio::test]
async fn invalid_request_is_rejected_before_it_is_published() {
    let world = World::new();
    let hub = world.hub(asking_agent(async |cx: TurnContext| {
        let blank = cx.question(" ").ask().await.unwrap_err();
        let odd = cx
            .question("Which?")
            .choices(["a"])
            .default("b")
            .ask()
            .await;
        let alone = cx.dual_control("launch").quorum(1).ask().await.unwrap_err();
        let few = cx
            .approval("launch")
            .reviewers(["ada", "ada"])
            .quorum(2)
            .ask();
        let none = cx.approval("launch").quorum(0).ask().await.unwrap_err();
        let all = [blank, odd.unwrap_err(), alone, few.await.unwrap_err(), none];
        Ok(all.map(|error| error.to_string()).join("; "))
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    expect![[r#"
        said Ok("the question is blank; the default of a question must be one of its choices; the quorum of dual_control must be at least 2; the quorum is larger than the number of reviewers; the quorum of approval must be at least 1")
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&log);
}

#[tokio::test]
async fn escalation_returns_the_reviewer_who_accepted_or_declined() {
    for accepted in [true, false] {
        let world = World::new();
        let hub = world.hub(asking_agent(async |cx: TurnContext| {
            cx.escalation("the disk is full")
                .assignee("on-call")
                .ask()
                .await
        }));
        let session = world.session(&hub).await;
        let turn = prompt(&session, "go").await;
        let request = wait_for_request(&session).await;
        assert!(request.request_id.starts_with("hitl_escalation_"));
        assert_eq!(
            request.payload(),
            json!({"reason": "the disk is full", "to": "on-call", "deadline_ms": 86_400_000})
        );
        let id = &request.request_id;
        let nameless = HitlResponse {
            accepted: Some(accepted),
            ..response(id)
        };
        let refused = session.hitl_respond(nameless.clone()).await;
        assert!(matches!(refused, Err(HitlError::Unfit(_))), "{refused:?}");
        let given = HitlResponse {
            reviewer: Some("grace".to_owned()),
            reason: Some("I see it".to_owned()),
            ..nameless
        };
        session.hitl_respond(given).await.unwrap();
        let log = format_hitl_events(&whole_turn(&session, &turn).await);
        let said = format!(
            r#"said Ok(Takeover {{ accepted: {accepted}, by: "grace", reason: Some("I see it") }})"#
        );
        assert!(log.contains(&said), "{log}");
    }
}
