//! Permission questions: the first answer wins, and only an offered option that allows grants the call.

use expect_test::expect;
use harn_model::{
    AgentEvent, AskId, Decision, Envelope, PermissionOption, PermissionOptionKind, Seq, StopReason,
    ToolCall, ToolKind,
};
use harn_runtime::{AgentError, Controller, Question, READ_ONLY_MODE, SettingError};

use crate::support::*;

fn writer() -> std::sync::Arc<dyn harn_runtime::Agent> {
    agent(async |cx| {
        match cx
            .tool("write_file")
            .kind(ToolKind::Edit)
            .path("a.txt")
            .ask()
            .await
        {
            Ok(tool) => {
                cx.say("writing").await?;
                tool.complete(()).await?;
            }
            Err(AgentError::Denied { reason }) => cx.say(format!("not done: {reason}")).await?,
            Err(other) => return Err(other),
        }
        Ok(StopReason::EndTurn)
    })
}

async fn wait_for_question(session: &Controller) -> AskId {
    let is_ask = |e: &Envelope| matches!(e.event, AgentEvent::PermissionAsked(_));
    let seen = collect_until(&mut session.subscribe(Seq::ZERO), is_ask).await;
    let ask = seen.into_iter().find_map(|e| match e.event {
        AgentEvent::PermissionAsked(ask) => Some(ask.ask_id),
        _ => None,
    });
    ask.unwrap()
}

async fn run_with_answers(decisions: &[Decision]) -> String {
    let world = World::new();
    let hub = world.hub(writer());
    let session = world.session(&hub).await;
    let turn = prompt(&session, "write").await;
    let ask = wait_for_question(&session).await;
    for decision in decisions {
        session.answer(ask.clone(), decision.clone()).await;
    }
    format_short(&whole_turn(&session, &turn).await)
}

fn allow_option(option: &str) -> Decision {
    Decision::Allowed {
        option_id: option.to_owned(),
        args: None,
    }
}

#[tokio::test]
async fn call_allowed_once_runs() {
    expect![[r#"
        1 turn_started msg-1
        2 tool_call call-1 pending
        3 permission_escalation call-1
        4 permission_asked
        5 permission_resolved allowed
        6 permission_grant call-1
        7 tool_call_update call-1 in_progress write_file
        8 agent_message_chunk writing msg-2
        9 tool_call_update call-1 completed write_file
        10 session_info write
        11 turn_ended stopped end_turn
    "#]]
    .assert_eq(&run_with_answers(&[allow_option("allow_once")]).await);
}

#[tokio::test]
async fn the_first_answer_wins() {
    let reject = Decision::Rejected {
        option_id: Some("reject_once".into()),
        reason: None,
    };
    let log = run_with_answers(&[
        reject,
        allow_option("allow_once"),
        allow_option("allow_once"),
    ])
    .await;
    expect![[r#"
        1 turn_started msg-1
        2 tool_call call-1 pending
        3 permission_escalation call-1
        4 permission_asked
        5 permission_resolved rejected
        6 permission_deny call-1
        7 tool_call_update call-1 failed permission was not granted write_file
        8 agent_message_chunk not done: permission was not granted msg-2
        9 session_info write
        10 turn_ended stopped end_turn
    "#]]
    .assert_eq(&log);
}

#[tokio::test]
async fn reject_option_or_unknown_option_does_not_grant() {
    for option in ["reject_once", "allow_always", ""] {
        let log = run_with_answers(&[allow_option(option)]).await;
        assert!(
            log.contains("tool_call_update call-1 failed"),
            "{option}: {log}"
        );
        assert!(!log.contains("writing"), "{option}: {log}");
    }
}

#[tokio::test]
async fn denied_error_ends_the_turn_without_failing_it() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        cx.tool("write_file").kind(ToolKind::Edit).ask().await?;
        unreachable!("the ask was refused")
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "write").await;
    let ask = wait_for_question(&session).await;
    session
        .answer(
            ask,
            Decision::Unavailable {
                reason: "nobody there".into(),
            },
        )
        .await;
    let log = format_short(&whole_turn(&session, &turn).await);
    assert!(log.contains("failed nobody there"), "{log}");
    assert!(log.ends_with("turn_ended stopped end_turn\n"), "{log}");
}

#[tokio::test]
async fn read_only_mode_denies_without_asking_and_survives_a_restart() {
    let world = World::new();
    let hub = world.hub(writer());
    let session = world.session(&hub).await;
    session.set_mode(READ_ONLY_MODE).await.unwrap();
    let wrong = session.set_mode("yolo").await;
    assert!(matches!(wrong, Err(SettingError::UnknownMode { .. })));
    let turn = prompt(&session, "write").await;
    let log = format_short(&whole_turn(&session, &turn).await);
    assert!(!log.contains("permission_asked"), "{log}");
    assert!(
        log.contains("not done: the session's mode is read-only"),
        "{log}"
    );
    let id = session.id().clone();
    hub.shutdown().await;
    let again = world.hub(writer()).open(&id, None).await.unwrap();
    assert_eq!(again.mode(), READ_ONLY_MODE);
}

#[tokio::test]
async fn answer_settles_only_its_own_question() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        // The same call twice: the two questions have the same content.
        let option = PermissionOption {
            option_id: "yes".to_owned(),
            name: "Yes".to_owned(),
            kind: PermissionOptionKind::AllowOnce,
            scope: harn_model::GrantScope::Once,
        };
        let question = Question {
            tool_call: ToolCall::new("call", "write_file"),
            options: vec![option],
        };
        let (first, second) = tokio::join!(cx.ask(question.clone()), cx.ask(question));
        let allowed = |decision| matches!(decision, Ok(Decision::Allowed { .. }));
        cx.say(format!("{} {}", allowed(first), allowed(second)))
            .await?;
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    let mut open = Vec::new();
    while open.len() < 2 {
        let seen = collect_until(&mut from, |e| {
            matches!(e.event, AgentEvent::PermissionAsked(_))
        });
        open.extend(seen.await.into_iter().filter_map(|e| match e.event {
            AgentEvent::PermissionAsked(ask) => Some(ask),
            _ => None,
        }));
    }
    assert!(open.iter().all(|ask| ask.lineage.is_empty()));
    let option_id = "yes".to_owned();
    let yes = Decision::Allowed {
        option_id,
        args: None,
    };
    session.answer(open[0].ask_id.clone(), yes).await;
    let answered = open[1].ask_id.clone();
    session.answer(answered, Decision::Cancelled).await;
    let log = format_short(&whole_turn(&session, &turn).await);
    assert!(log.contains("true false"), "{log}");
}

/// The runtime announces the call if the agent did not; the call ends with the turn.
#[tokio::test]
async fn call_is_announced_before_its_question() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        let question = Question {
            tool_call: ToolCall::new("call", "write_file"),
            options: Vec::new(),
        };
        cx.ask(question).await?;
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let ask = wait_for_question(&session).await;
    let reason = "nobody is there".to_owned();
    session.answer(ask, Decision::Unavailable { reason }).await;
    let log = whole_turn(&session, &turn).await;
    let place = |is: fn(&AgentEvent) -> bool| log.iter().position(|e| is(&e.event));
    let announced = place(|e| matches!(e, AgentEvent::ToolCall(_)));
    let asked = place(|e| matches!(e, AgentEvent::PermissionAsked(_)));
    let ended = place(|e| matches!(e, AgentEvent::ToolCallUpdate(_)));
    assert!(announced.is_some() && announced < asked && asked < ended);
}
