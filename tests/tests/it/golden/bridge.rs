//! The host bridge: every accepted form of an answer, a request that is withdrawn with its turn, and a host
//! whose skills change.

use std::sync::Arc;

use harn_acp::ext::bridge::BridgeMethod;
use harn_model::{SessionId, StopReason};
use harn_runtime::{AgentError, HostError};
use harn_testkit::{
    FakeEquip, FakeHost, HostAnswer, ScriptedAgent, StrictClient, TestHub, asking_agent, forms,
};
use harn_tests::check_transcript;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::golden::{open, prompt};

/// Returns the first text chunk of the agent.
async fn read_agent_text(host: &mut FakeHost, client: &mut StrictClient, id: &Value) -> String {
    let (updates, _) = host.serve(client, id).await;
    let mut said = updates
        .iter()
        .filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    let text = said.next().unwrap()["content"]["text"].as_str().unwrap();
    text.to_owned()
}

#[tokio::test]
async fn every_form_of_an_answer_is_read() {
    let mut canonical = Value::Null;
    for form in forms() {
        // This method accepts any answer, so it has no forms; the transcript `host` shows it.
        if form.method == BridgeMethod::BuiltinCall {
            continue;
        }
        let method = form.method.name();
        let test = TestHub::new(asking_agent());
        let mut client = test.connect();
        client
            .request("initialize", FakeHost::initialize_params())
            .await;
        let session = open(&mut client, &test).await;
        let id = prompt(&mut client, &session, method).await;
        let answer = HostAnswer::Result(form.answer);
        let mut host = FakeHost::new().with_answer(form.method, answer);
        let heard = read_agent_text(&mut host, &mut client, &id).await;
        client.close().await;
        // Every form is parsed to the same value.
        let heard: Value = serde_json::from_str(&heard).unwrap();
        let first = forms().into_iter().find(|it| it.method == form.method);
        if first.unwrap().name == form.name {
            canonical = heard;
        } else {
            assert_eq!(heard, canonical, "{method} {}", form.name);
        }
        let method = method.trim_start_matches("host/").replace('/', "-");
        check_transcript(&format!("bridge-{method}-{}", form.name), test.recorder());
    }
}

#[tokio::test]
async fn a_command_is_run_by_the_host() {
    let rules = "auto_approve = [\"*\"]";
    let test = TestHub::builder(asking_agent()).rules(rules).build();
    let mut client = test.connect();
    client
        .request("initialize", FakeHost::initialize_params())
        .await;
    let session = open(&mut client, &test).await;
    let mut host = FakeHost::new();
    for args in [
        r#"{"command":"cargo check"}"#,
        r#"{"command":["cargo","check"],"cwd":"/workspace","env":{"CI":"1"},"timeout_ms":60000}"#,
    ] {
        let text = format!("host/call process.exec {args}");
        let id = prompt(&mut client, &session, &text).await;
        let heard = read_agent_text(&mut host, &mut client, &id).await;
        assert!(heard.contains(r#""stdout":"done\n""#), "{heard}");
    }
    client.close().await;
    check_transcript("bridge-exec", test.recorder());
}

/// After the cancel the agent waits until the client has `seen` its consequences: a withdrawn request and the
/// updates have no order among themselves, and a transcript needs one.
#[tokio::test]
async fn a_request_is_withdrawn_with_its_turn() {
    let seen = Arc::new(Notify::new());
    let signal = seen.clone();
    let test = TestHub::new(ScriptedAgent::new(move |cx| {
        let seen = signal.clone();
        async move {
            let answer = cx.host().list_tools().await;
            assert!(matches!(answer, Err(HostError::Denied(_))), "{answer:?}");
            seen.notified().await;
            Err::<StopReason, _>(AgentError::Cancelled)
        }
    }));
    let mut client = test.connect();
    client
        .request("initialize", FakeHost::initialize_params())
        .await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Look").await;
    let (ask, params) = client.expect_request("host/tools/list").await;
    assert_eq!(params, json!({}));
    let cancel = json!({"sessionId": session});
    client.notify("session/cancel", cancel).await;
    client.expect_event_of("control_outcome").await;
    client.expect_notification("$/cancel_request").await;
    client.respond_error(&ask, -32800, "cancelled").await;
    seen.notify_one();
    let (_, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "cancelled");
    client.close().await;
    check_transcript("bridge-cancelled", test.recorder());
}

#[tokio::test]
async fn skills_update_reaches_every_session() {
    let equip = FakeEquip::default();
    let shared = Arc::new(equip.clone());
    let test = TestHub::builder(asking_agent())
        .config(move |config| config.equip = shared.clone())
        .build();
    let mut client = test.connect();
    client
        .request("initialize", FakeHost::initialize_params())
        .await;
    let first = open(&mut client, &test).await;
    let second = open(&mut client, &test).await;
    client.notify("skills/update", json!({})).await;
    // Requests are handled in order, so the update is processed before these are answered.
    let mut host = FakeHost::new();
    for session in [&first, &second] {
        let id = prompt(&mut client, session, "skills/list").await;
        read_agent_text(&mut host, &mut client, &id).await;
    }
    for session in [&first, &second] {
        let id = SessionId::from(session.as_str().unwrap());
        assert_eq!(equip.skill_update_count(&id), 1);
    }
    client.close().await;
    check_transcript("bridge-skills-update", test.recorder());
}
