//! Approvals and dual control: which votes count, and when the quorum is reached.

use expect_test::expect;
use harn_model::HitlResponse;
use harn_runtime::{HitlError, TurnContext};
use serde_json::json;

use crate::hitl::*;

#[tokio::test]
async fn approval_request_has_the_record_that_hosts_show() {
    let world = World::new();
    let hub = world.hub(asking_agent(async |cx: TurnContext| {
        let approval = cx.approval("deploy").args(json!({"to": "production"}));
        let approval = approval.evidence("url", "https://ci.example/41");
        let approval = approval.capabilities(["deploy.production"]);
        approval.detail("Version 2").deadline(HOUR).ask().await
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let request = wait_for_request(&session).await;
    let payload = request.payload();
    let record = &payload["approval_request"];
    assert_eq!(
        *record,
        json!({
            "id": "hitl_approval_ask-1",
            "action": "deploy",
            "args": {"to": "production"},
            "principal": "session-1",
            "requested_at": harn_model::format_rfc3339(request.requested_at),
            "deadline": harn_model::format_rfc3339(request.requested_at + 3_600_000),
            "approvers_required": 1,
            "evidence_refs": [{"kind": "url", "ref": "https://ci.example/41", "metadata": null}],
            "undo_metadata": record["undo_metadata"],
            "capabilities_requested": ["deploy.production"],
        })
    );
    assert_eq!(record["undo_metadata"]["session_id"], "session-1");
    assert_eq!(
        (&payload["action"], &payload["detail"], &payload["quorum"]),
        (&json!("deploy"), &json!("Version 2"), &json!(1))
    );
    assert_eq!(
        (&payload["reviewers"], &payload["deadline_ms"]),
        (&json!([]), &json!(3_600_000))
    );
    let id = &request.request_id;
    let nobody = session.hitl_respond(HitlResponse {
        approved: Some(true),
        ..response(id)
    });
    let why = r#"approval needs the "reviewer" who decided"#.to_owned();
    assert_eq!(nobody.await, Err(HitlError::Unfit(why)));
    session.hitl_respond(vote(id, "ada", true)).await.unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    expect![[r#"
        asked hitl_approval_ask-1 approval
        responded hitl_approval_ask-1 ada true
        resolved hitl_approval_ask-1 Answered
        said Ok(Verdict { approved: true, reviewers: ["ada"], reason: None })
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&log);
}

/// Starts a turn that asks for a launch under dual control; returns the session, the turn and the request id.
async fn launch(world: &World) -> (Controller, harn_model::TurnId, String) {
    let hub = world.hub(asking_agent(async |cx: TurnContext| {
        let launch = cx.dual_control("launch");
        launch.reviewers(["ada", "grace", "alan"]).ask().await
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let id = wait_for_request(&session).await.request_id.clone();
    (session, turn, id)
}

#[tokio::test]
async fn dual_control_needs_two_different_reviewers() {
    let world = World::new();
    let (session, turn, id) = launch(&world).await;
    session.hitl_respond(vote(&id, "ada", true)).await.unwrap();
    let twice = session.hitl_respond(vote(&id, "ada", true)).await;
    assert_eq!(twice, Err(HitlError::Twice("ada".to_owned())));
    let stranger = session.hitl_respond(vote(&id, "mallory", true)).await;
    assert!(
        matches!(&stranger, Err(HitlError::NotAReviewer { given, .. }) if given == "mallory"),
        "{stranger:?}"
    );
    assert!(session.hitl(&id).is_some());
    session
        .hitl_respond(vote(&id, "grace", true))
        .await
        .unwrap();
    let late = session.hitl_respond(vote(&id, "alan", false)).await;
    assert_eq!(late, Err(HitlError::Unknown(id)));
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    expect![[r#"
        asked hitl_dual_control_ask-1 dual_control
        responded hitl_dual_control_ask-1 ada true
        responded hitl_dual_control_ask-1 grace true
        resolved hitl_dual_control_ask-1 Answered
        said Ok(Verdict { approved: true, reviewers: ["ada", "grace"], reason: None })
        ended Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&log);
}

#[tokio::test]
async fn reviewer_names_ignore_case_and_blanks() {
    let world = World::new();
    let hub = world.hub(asking_agent(async |cx: TurnContext| {
        let launch = cx.dual_control("launch");
        launch.ask().await
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let id = wait_for_request(&session).await.request_id.clone();
    session.hitl_respond(vote(&id, "ada", true)).await.unwrap();
    for name in ["ada ", "Ada", "\tADA\n"] {
        let twice = session.hitl_respond(vote(&id, name, true)).await;
        assert_eq!(twice, Err(HitlError::Twice(name.to_owned())));
    }
    session
        .hitl_respond(vote(&id, "grace", true))
        .await
        .unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert!(log.contains(r#"reviewers: ["ada", "grace"]"#), "{log}");
}

#[tokio::test]
async fn named_reviewers_match_in_any_case_and_count_once() {
    let world = World::new();
    let (session, turn, id) = launch(&world).await;
    session.hitl_respond(vote(&id, "Ada", true)).await.unwrap();
    session
        .hitl_respond(vote(&id, "GRACE ", true))
        .await
        .unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert!(log.contains("approved: true"), "{log}");

    let world = World::new();
    let hub = world.hub(asking_agent(async |cx: TurnContext| {
        let launch = cx.dual_control("launch");
        launch.reviewers(["ada", "Ada", "ada "]).ask().await
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert!(log.contains("larger than the number of reviewers"), "{log}");
}

#[tokio::test]
async fn one_rejection_ends_the_request() {
    let world = World::new();
    let (session, turn, id) = launch(&world).await;
    session.hitl_respond(vote(&id, "ada", true)).await.unwrap();
    let refusal = HitlResponse {
        reason: Some("not on a Friday".to_owned()),
        ..vote(&id, "alan", false)
    };
    session.hitl_respond(refusal).await.unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    let said = r#"approved: false, reviewers: ["alan"], reason: Some("not on a Friday")"#;
    assert!(log.contains(said), "{log}");
}

#[tokio::test]
async fn one_of_two_concurrent_answers_wins() {
    for _ in 0..20 {
        let world = World::new();
        let hub = world.hub(asking_agent(async |cx: TurnContext| {
            let verdict = cx.approval("deploy").ask().await?;
            Ok(verdict.reviewers)
        }));
        let session = world.session(&hub).await;
        let turn = prompt(&session, "go").await;
        let id = wait_for_request(&session).await.request_id.clone();
        let answers = ["ada", "grace"].map(|who| {
            let (session, vote) = (session.clone(), vote(&id, who, who == "ada"));
            tokio::spawn(async move { session.hitl_respond(vote).await })
        });
        let [first, second] = answers;
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
        let winner = if first.is_ok() { "ada" } else { "grace" };
        let log = format_hitl_events(&whole_turn(&session, &turn).await);
        assert!(log.contains(&format!(r#"said Ok(["{winner}"])"#)), "{log}");
        assert_eq!(log.matches("resolved").count(), 1, "{log}");
    }
}

#[tokio::test]
async fn rejected_approval_can_end_the_turn() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        let _verdict = cx.approval("deploy").ask().await?.require_approval()?;
        unreachable!("it was refused")
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let id = wait_for_request(&session).await.request_id.clone();
    session.hitl_respond(vote(&id, "ada", false)).await.unwrap();
    let log = format_hitl_events(&whole_turn(&session, &turn).await);
    assert!(
        log.ends_with("ended Stopped { stop_reason: EndTurn }\n"),
        "{log}"
    );
}
