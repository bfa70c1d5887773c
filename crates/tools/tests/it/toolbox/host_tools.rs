//! Tools of the host: listed, called through the rules, and removed with it.

use std::sync::atomic::Ordering;

use harn_model::{AgentEvent, ErrorCategory, ToolCallStatus, ToolExecutor};
use harn_runtime::HostError;
use serde_json::json;

use crate::toolbox::{
    fake_host::{Answer, Desk},
    support::{Rig, allow_with, assert_failed, shown_text},
};

async fn rig(names: &[&str]) -> (Rig, std::sync::Arc<Desk>) {
    let rig = Rig::new(&[]).await;
    let desk = Desk::with_tools(names);
    rig.session.set_host(desk.clone());
    (rig, desk)
}

#[tokio::test]
async fn lent_tool_is_reported_asked_about_and_called() {
    let (mut rig, desk) = rig(&["lint", "build"]).await;
    let turn = rig.call_allowed("lint", json!({"n": 1})).await;
    let [change] = turn.changes()[..] else {
        panic!("{:?}", turn.changes());
    };
    assert_eq!(change.added, ["build", "lint"]);
    assert_eq!(change.total, 11);
    let (call, end) = turn.only_call();
    assert_eq!(
        (call.tool_name.as_str(), &call.raw_input),
        ("lint", &json!({"n": 1}))
    );
    assert_eq!(end.status, ToolCallStatus::Completed);
    assert_eq!(end.executor, Some(ToolExecutor::HostBridge));
    assert_eq!(end.raw_output, Some(json!({"done": true})));
    assert_eq!(shown_text(end), "```json\n{\n  \"done\": true\n}\n```\n");
    assert_eq!(
        *desk.called.lock().unwrap(),
        [("lint".to_owned(), json!({"n": 1}))]
    );

    // Nothing changed, so no event is written.
    let turn = rig.call_allowed("build", json!({"n": 2})).await;
    assert!(turn.changes().is_empty());
    assert_eq!(desk.listed.load(Ordering::SeqCst), 2, "once a turn");

    desk.lend(&["lint"]);
    let turn = rig.call("build", json!({"n": 2})).await;
    assert_eq!(turn.changes()[0].removed, ["build"]);
    assert_failed(&turn, ErrorCategory::ToolError, "unknown tool \"build\"");
    assert_eq!(desk.called.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn invalid_arguments_do_not_reach_the_host() {
    let (mut rig, desk) = rig(&["lint"]).await;
    for (arguments, words) in [
        (json!({}), "`n` is missing"),
        (
            json!({"n": "hunter2"}),
            "`n` must be of the type integer, not a string",
        ),
        (json!([1]), "they must be a JSON object"),
        (json!(null), "`n` is missing"),
    ] {
        let turn = rig.call("lint", arguments).await;
        assert_failed(&turn, ErrorCategory::SchemaValidation, words);
        assert!(turn.agent_text().contains(words));
        assert!(!turn.agent_text().contains("hunter2"));
        assert_eq!(turn.only_call().1.executor, None);
    }
    let turn = rig
        .call_answered("lint", json!({"n": 1}), allow_with(Some(json!({"n": []}))))
        .await;
    assert_failed(&turn, ErrorCategory::SchemaValidation, "not an array");
    assert!(desk.called.lock().unwrap().is_empty());

    let other = allow_with(Some(json!({"n": 7})));
    rig.call_answered("lint", json!({"n": 1}), other).await;
    assert_eq!(
        *desk.called.lock().unwrap(),
        [("lint".to_owned(), json!({"n": 7}))]
    );
}

#[tokio::test]
async fn failed_host_tool_has_the_error_category_of_its_cause() {
    let (mut rig, desk) = rig(&["lint"]).await;
    for (error, category) in [
        (
            HostError::Host("broken".to_owned()),
            ErrorCategory::HostBridgeError,
        ),
        (
            HostError::Denied("the user said no".to_owned()),
            ErrorCategory::PermissionDenied,
        ),
        (HostError::TimedOut("builtin_call"), ErrorCategory::Timeout),
    ] {
        let words = error.to_string();
        *desk.result.lock().unwrap() = Answer::Fails(error);
        let turn = rig.call_allowed("lint", json!({"n": 1})).await;
        assert_failed(&turn, category, &words);
        assert_eq!(turn.only_call().1.executor, Some(ToolExecutor::HostBridge));
    }
}

#[tokio::test]
async fn cancelled_turn_does_not_wait_for_the_host() {
    let (mut rig, desk) = rig(&["lint"]).await;
    *desk.result.lock().unwrap() = Answer::Never;
    let turn = rig.start_turn("lint {\"n\": 1}").await;
    let asked = rig
        .collect_until(|event| matches!(event, AgentEvent::PermissionAsked(_)))
        .await;
    let ask = asked.permission_question().unwrap().ask_id.clone();
    rig.session.answer(ask, allow_with(None)).await;
    rig.collect_until(|event| matches!(event, AgentEvent::ToolCallUpdate(_)))
        .await;
    rig.session.cancel(turn).await;
    let end = rig.finish().await;
    let last = *end.updates().last().unwrap();
    assert_eq!(last.error_category, Some(ErrorCategory::Cancelled));

    // Nor while the host is asked for its tools.
    *desk.tools.lock().unwrap() = Answer::Never;
    let turn = rig.start_turn("lint {\"n\": 1}").await;
    rig.collect_until(|event| matches!(event, AgentEvent::TurnStarted(_)))
        .await;
    rig.session.cancel(turn).await;
    let end = rig.finish().await;
    assert!(end.updates().is_empty() && end.warnings().is_empty());
}

#[tokio::test]
async fn host_tool_cannot_replace_a_builtin_tool() {
    let (mut rig, desk) = rig(&["glob", "lint"]).await;
    let turn = rig.call("glob", json!({"pattern": "*"})).await;
    assert_eq!(turn.changes()[0].added, ["lint"]);
    let said = "the tool \"glob\" of the host is left out: this agent has one of this name";
    assert_eq!(turn.warnings(), [said]);
    assert_eq!(turn.only_call().1.executor, Some(ToolExecutor::HarnBuiltin));
    let turn = rig.call("glob", json!({"pattern": "*"})).await;
    assert!(turn.warnings().is_empty(), "told once");
    assert!(desk.called.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn silent_host_delays_only_its_own_turn() {
    let (mut rig, desk) = rig(&["lint"]).await;
    *desk.tools.lock().unwrap() = Answer::Never;
    #[expect(clippy::disallowed_methods, reason = "a paused clock is ours")]
    let begun = tokio::time::Instant::now();
    rig.start_turn("glob {\"pattern\": \"*\"}").await;
    // Another session is not delayed.
    let first = rig.switch_session().await;
    rig.call("glob", json!({"pattern": "*"})).await;
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());

    rig.session = first;
    rig.rewind();
    let turn = rig.finish().await;
    assert_eq!(begun.elapsed().as_secs(), 5);
    let said = "the host's tools are not available: the host did not answer \
                host/tools/list in time";
    assert_eq!(turn.warnings(), [said]);
    assert_eq!(turn.only_call().1.status, ToolCallStatus::Completed);
    // The warning is logged once until the host answers again.
    let turn = rig.call("glob", json!({"pattern": "*"})).await;
    assert!(turn.warnings().is_empty());
    desk.lend(&["lint"]);
    let turn = rig.call("glob", json!({"pattern": "*"})).await;
    assert_eq!(turn.changes()[0].added, ["lint"]);

    *desk.result.lock().unwrap() = Answer::Never;
    let turn = rig.call_allowed("lint", json!({"n": 1})).await;
    assert_failed(&turn, ErrorCategory::Timeout, "did not answer within 300 s");
}

#[tokio::test]
async fn worker_uses_the_host_tools_of_its_session() {
    let (mut rig, desk) = rig(&["lint"]).await;
    rig.start_turn("worker: lint {\"n\": 1}").await;
    let asked = rig
        .collect_until(|event| matches!(event, AgentEvent::PermissionAsked(_)))
        .await;
    let ask = asked.permission_question().unwrap().ask_id.clone();
    rig.session.answer(ask, allow_with(None)).await;
    let turn = rig.finish().await;
    assert!(turn.changes().is_empty(), "told at the session's own turn");
    assert_eq!(asked.changes().len(), 1);
    assert_eq!(desk.listed.load(Ordering::SeqCst), 1);
    assert_eq!(desk.called.lock().unwrap().len(), 1);
}
