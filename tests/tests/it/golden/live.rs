//! Several clients on one session: observers, the controller, and takeovers.

use std::sync::Arc;

use harn_acp::AcpConfig;
use harn_model::{StopReason, ToolKind};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{MessageFromAgent, Recorder, ScriptedAgent, StrictClient, TestHub};
use harn_tests::check_transcript;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::golden::{existing_session_params, initialize, open, prompt};

/// An agent that sends a second chunk when the returned notifier fires.
fn two_chunk_agent() -> (ScriptedAgent, Arc<Notify>) {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let go = told.clone();
        async move {
            cx.say("One. ").await?;
            go.notified().await;
            cx.say("Two.").await?;
            Ok(StopReason::EndTurn)
        }
    });
    (agent, go)
}

/// Asks to write a file.
async fn ask_to_write(cx: TurnContext) -> Result<StopReason, AgentError> {
    let tool = cx.tool("write_file").kind(ToolKind::Edit).path("notes.md");
    match tool.ask().await {
        Ok(tool) => tool.complete(()).await?,
        Err(AgentError::Denied { reason }) => cx.say(reason).await?,
        Err(other) => return Err(other),
    }
    cx.say("Done.").await?;
    Ok(StopReason::EndTurn)
}

/// Two clients: an editor that opened a session, and a pad on its own connection.
struct Two {
    test: TestHub,
    editor: StrictClient,
    editors: Recorder,
    pad: StrictClient,
    session: Value,
}

impl Two {
    async fn with_agent(agent: ScriptedAgent) -> Self {
        let test = TestHub::new(agent);
        let editors = Recorder::default();
        editors.rename(test.workspace().display().to_string(), "/workspace");
        let config = AcpConfig::default();
        let hub = test.hub().clone();
        let mut editor = StrictClient::in_memory(hub, config, editors.clone());
        initialize(&mut editor).await;
        let session = open(&mut editor, &test).await;
        let mut pad = test.connect();
        initialize(&mut pad).await;
        Self {
            test,
            editor,
            editors,
            pad,
            session,
        }
    }

    fn client_params(&self, name: &str) -> Value {
        json!({"sessionId": self.session, "clientId": name})
    }
}

/// Sends a request and returns the update that precedes the response, and the response.
async fn request_with_client_update(
    client: &mut StrictClient,
    method: &str,
    params: Value,
) -> (Value, Value) {
    let id = client.send_request(method, params).await;
    let update = client.expect_update_of("live_session_client").await;
    (
        update["_meta"]["harn"].clone(),
        client.expect_response(&id).await,
    )
}

/// Expects an update about the clients of the session with this action.
async fn expect_client_update(client: &mut StrictClient, action: &str) -> Value {
    let update = client.expect_update_of("live_session_client").await;
    assert_eq!(update["_meta"]["harn"]["action"], action);
    update["_meta"]["harn"].clone()
}

fn merge_params(mut params: Value, more: Value) -> Value {
    let (Value::Object(params_), Value::Object(more)) = (&mut params, more) else {
        panic!("no objects");
    };
    params_.extend(more);
    params
}

#[tokio::test]
async fn observer_attaches_and_detaches() {
    let (agent, go) = two_chunk_agent();
    let mut two = Two::with_agent(agent).await;
    let running = prompt(&mut two.editor, &two.session, "Count.").await;
    two.editor.expect_update_of("agent_message_chunk").await;
    // The example of the contract.
    let said = json!({"mode": "observer", "takeover": false,
                      "_meta": {"harn": {"surface": "portal"}}});
    let attach = merge_params(two.client_params("portal"), said);
    let (update, answer) = request_with_client_update(&mut two.pad, "session/attach", attach).await;
    assert_eq!(update["action"], "attached");
    assert_eq!(answer["active_controller_id"], "strict-1");
    assert_eq!(answer["client"]["metadata"], json!({"surface": "portal"}));
    let state = &answer["_meta"]["harn"]["session"];
    assert_eq!(
        (&state["activePrompt"], &state["epoch"]),
        (&json!(true), &json!(1))
    );
    expect_client_update(&mut two.editor, "attached").await;
    let beat = merge_params(
        two.client_params("portal"),
        json!({"metadata": {"surface": "tab"}}),
    );
    request_with_client_update(&mut two.pad, "session/heartbeat", beat).await;
    expect_client_update(&mut two.editor, "heartbeat").await;
    let params = json!({"sessionId": two.session});
    let listed = two.pad.request("session/live_clients", params).await;
    assert_eq!(listed["data"][0]["client_id"], "portal");
    go.notify_one();
    two.pad.expect_update_of("agent_message_chunk").await;
    two.pad.expect_update_of("session_info_update").await;
    two.editor.collect_updates_until(&running).await;
    let gone = merge_params(two.client_params("portal"), json!({"reason": "tab_closed"}));
    let (update, answer) = request_with_client_update(&mut two.pad, "session/detach", gone).await;
    assert_eq!(update["left"]["reason"], "tab_closed");
    assert_eq!(
        (&answer["client"], &answer["clients"]),
        (&json!(null), &json!([]))
    );
    expect_client_update(&mut two.editor, "detached").await;
    // The client was attached only to observe: it receives no more updates, and a second detach is rejected.
    let running = prompt(&mut two.editor, &two.session, "Again.").await;
    go.notify_one();
    two.editor.collect_updates_until(&running).await;
    let gone = two.client_params("portal");
    let error = two.pad.request_error("session/detach", gone).await;
    assert_eq!(error["data"]["reason"], "not_attached");
    two.pad.close().await;
    two.editor.close().await;
    check_transcript("live-attach", two.test.recorder());
}

/// A client that attaches without a replay has not received the call of an open permission request. The server
/// sends the announcement once, before the first request about it.
#[tokio::test]
async fn a_client_that_attaches_within_a_call_gets_its_announcement() {
    const ASK: &str = "session/request_permission";
    let mut two = Two::with_agent(ScriptedAgent::new(ask_to_write)).await;
    let running = prompt(&mut two.editor, &two.session, "Write.").await;
    let seen = two.editor.expect_update_of("tool_call").await;
    two.editor.expect_request(ASK).await;
    let watch = two.client_params("pad");
    request_with_client_update(&mut two.pad, "session/attach", watch).await;
    expect_client_update(&mut two.editor, "attached").await;

    let takes = two.client_params("pad");
    request_with_client_update(&mut two.pad, "session/takeover", takes.clone()).await;
    let announced = two.pad.expect_update_of("tool_call").await;
    assert_eq!(announced, seen);
    let (_, params) = two.pad.expect_request(ASK).await;
    assert_eq!(params["toolCall"]["toolCallId"], seen["toolCallId"]);
    expect_client_update(&mut two.editor, "takeover").await;
    two.editor.expect_notification("$/cancel_request").await;

    let back = two.client_params("editor");
    request_with_client_update(&mut two.editor, "session/takeover", back).await;
    two.editor.expect_request(ASK).await;
    expect_client_update(&mut two.pad, "takeover").await;
    two.pad.expect_notification("$/cancel_request").await;
    request_with_client_update(&mut two.pad, "session/takeover", takes).await;
    let (ask, _) = two.pad.expect_request(ASK).await;
    let allow = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    two.pad.respond(&ask, allow).await;
    expect_client_update(&mut two.editor, "takeover").await;
    two.editor.expect_notification("$/cancel_request").await;
    two.editor.collect_updates_until(&running).await;
    for _ in 0..4 {
        two.pad.expect_update().await;
    }
    two.editor.vanish();
    two.pad.vanish();
}

#[tokio::test]
async fn a_question_moves_with_control_and_back() {
    let mut two = Two::with_agent(ScriptedAgent::new(ask_to_write)).await;
    let running = prompt(&mut two.editor, &two.session, "Write.").await;
    two.editor.expect_update_of("tool_call").await;
    let (asked, _) = two
        .editor
        .expect_request("session/request_permission")
        .await;
    let watch = merge_params(two.client_params("pad"), json!({"lastEventId": "0"}));
    let watch = two.pad.send_request("session/attach", watch).await;
    two.pad.expect_update_of("user_message_chunk").await;
    two.pad.expect_update_of("tool_call").await;
    expect_client_update(&mut two.pad, "attached").await;
    two.pad.expect_response(&watch).await;
    expect_client_update(&mut two.editor, "attached").await;

    let takes = two.client_params("pad");
    let (update, answer) =
        request_with_client_update(&mut two.pad, "session/takeover", takes).await;
    assert_eq!(update["action"], "takeover");
    assert_eq!(answer["previous_controller_id"], "strict-1");
    let (open, _) = two.pad.expect_request("session/request_permission").await;
    expect_client_update(&mut two.editor, "takeover").await;
    let withdrawn = two.editor.expect_notification("$/cancel_request").await;
    assert_eq!(withdrawn["requestId"], asked);
    // The answer to a withdrawn request has no effect.
    let allow = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    two.editor.respond(&asked, allow.clone()).await;

    // The editor takes control back under its own name and receives the request again.
    let takes = two.client_params("editor");
    let (_, answer) = request_with_client_update(&mut two.editor, "session/takeover", takes).await;
    assert_eq!(answer["previous_controller_id"], "pad");
    let (again, _) = two
        .editor
        .expect_request("session/request_permission")
        .await;
    expect_client_update(&mut two.pad, "takeover").await;
    let withdrawn = two.pad.expect_notification("$/cancel_request").await;
    assert_eq!(withdrawn["requestId"], open);
    two.pad
        .respond(&open, json!({"outcome": {"outcome": "cancelled"}}))
        .await;
    two.editor.respond(&again, allow).await;
    two.editor.collect_updates_until(&running).await;
    for _ in 0..4 {
        two.pad.expect_update().await;
    }
    two.editor.close().await;
    expect_client_update(&mut two.pad, "detached").await;
    two.pad.close().await;
    check_transcript("live-takeover-old", &two.editors);
    check_transcript("live-takeover-new", two.test.recorder());
}

#[tokio::test]
async fn observer_may_not_change_the_session() {
    let (agent, go) = two_chunk_agent();
    let mut two = Two::with_agent(agent).await;
    let running = prompt(&mut two.editor, &two.session, "Count.").await;
    two.editor.expect_update_of("agent_message_chunk").await;
    let name = two.client_params("editor");
    request_with_client_update(
        &mut two.editor,
        "session/attach",
        merge_params(name, json!({"mode": "controller"})),
    )
    .await;
    let watch = two.client_params("pad");
    request_with_client_update(&mut two.pad, "session/attach", watch).await;
    expect_client_update(&mut two.editor, "attached").await;
    let drives = merge_params(two.client_params("pad"), json!({"mode": "controller"}));
    let error = two.pad.request_error("session/attach", drives).await;
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["reason"], "controller_exists");
    assert_eq!(error["data"]["controller"], "editor");
    let session = json!({"sessionId": two.session});
    let text = json!([{"type": "text", "text": "Stop."}]);
    for (method, more) in [
        ("session/prompt", json!({"prompt": text})),
        ("session/cancel", json!({})),
        (
            "session/inject",
            json!({"mode": "steer", "content": "Stop."}),
        ),
        ("session/revoke_inject", json!({"messageId": "msg-1"})),
        (
            "session/replace_inject",
            json!({"messageId": "msg-1", "content": "Stop."}),
        ),
        ("session/remind", json!({"body": "Stop."})),
        (
            "session/revoke_reminder",
            json!({"reminderId": "reminder-1"}),
        ),
        ("agent/resume", json!({})),
        ("_session/steering", json!({"prompt": text})),
        ("session/set_mode", json!({"modeId": "auto"})),
        (
            "session/set_config_option",
            json!({"configId": "mode", "value": "auto"}),
        ),
        ("session/close", json!({})),
        ("session/delete", json!({})),
    ] {
        let error = two
            .pad
            .request_error(method, merge_params(session.clone(), more))
            .await;
        assert_eq!(error["code"], -32602, "{method}");
        assert_eq!(error["data"]["reason"], "not_controller", "{method}");
        assert_eq!(error["data"]["controller"], "editor", "{method}");
    }
    two.pad
        .request("session/pending_injections", session.clone())
        .await;
    two.pad.notify("session/cancel", session).await;
    go.notify_one();
    let (_, result) = two.editor.collect_updates_until(&running).await;
    assert_eq!(result["stopReason"], "end_turn");
    two.pad.expect_update_of("agent_message_chunk").await;
    two.pad.expect_update_of("session_info_update").await;
    two.pad.close().await;
    expect_client_update(&mut two.editor, "detached").await;
    two.editor.close().await;
    check_transcript("live-refused", two.test.recorder());
}

#[tokio::test]
async fn broker_attaches_several_clients_on_one_connection() {
    let (agent, go) = two_chunk_agent();
    let mut two = Two::with_agent(agent).await;
    for name in ["ada", "ben"] {
        let watch = two.client_params(name);
        request_with_client_update(&mut two.pad, "session/attach", watch).await;
        expect_client_update(&mut two.editor, "attached").await;
    }
    let drives = json!({"mode": "controller", "takeover": true, "promptInjection": true});
    let takes = merge_params(two.client_params("ada"), drives);
    request_with_client_update(&mut two.pad, "session/attach", takes).await;
    expect_client_update(&mut two.editor, "takeover").await;
    let text = json!([{"type": "text", "text": "Count."}]);
    let by = |name: &str| json!({"harn": {"actor": {"clientId": name}}});
    let params = |name: &str| json!({"sessionId": two.session, "prompt": text, "_meta": by(name)});
    let (ben, ada) = (params("ben"), params("ada"));
    let error = two.pad.request_error("session/prompt", ben).await;
    assert_eq!(error["data"]["reason"], "not_controller");
    let running = two.pad.send_request("session/prompt", ada).await;
    let said = two.editor.expect_update_of("user_message_chunk").await;
    assert_eq!(said["_meta"]["harn"]["live_session"]["client_id"], "ada");
    go.notify_one();
    two.pad.collect_updates_until(&running).await;
    for _ in 0..3 {
        two.editor.expect_update().await;
    }
    // The end of the connection detaches all its clients.
    two.pad.close().await;
    let first = expect_client_update(&mut two.editor, "detached").await;
    assert_eq!(
        first["left"],
        json!({"client_id": "ada", "reason": "client_exit"})
    );
    let second = expect_client_update(&mut two.editor, "detached").await;
    assert_eq!(second["state"]["clients"], json!([]));
    // There is no controller; the client that opened the session becomes it with its next request.
    let running = prompt(&mut two.editor, &two.session, "Again.").await;
    go.notify_one();
    two.editor.collect_updates_until(&running).await;
    two.editor.close().await;
    check_transcript("live-broker", two.test.recorder());
    check_transcript("live-exit", &two.editors);
}

#[tokio::test]
async fn second_editor_may_prompt_when_the_first_has_left() {
    let (agent, go) = two_chunk_agent();
    let mut two = Two::with_agent(agent).await;
    let params = existing_session_params(&two.session, &two.test.workspace());
    two.pad.request("session/load", params).await;
    let running = prompt(&mut two.editor, &two.session, "Count.").await;
    two.editor.expect_update_of("agent_message_chunk").await;
    two.pad.expect_update_of("user_message_chunk").await;
    two.pad.expect_update_of("agent_message_chunk").await;
    let refused = prompt(&mut two.pad, &two.session, "Mine.").await;
    let error = two.pad.expect_error(&refused).await;
    assert_eq!(error["data"]["reason"], "not_controller");
    assert_eq!(error["data"]["controller"], "strict-1");
    go.notify_one();
    two.editor.collect_updates_until(&running).await;
    two.pad.expect_update_of("agent_message_chunk").await;
    two.pad.expect_update_of("session_info_update").await;
    two.editor.close().await;
    let running = prompt(&mut two.pad, &two.session, "Mine.").await;
    go.notify_one();
    let (_, result) = two.pad.collect_updates_until(&running).await;
    assert_eq!(result["stopReason"], "end_turn");
    two.pad.close().await;
    check_transcript("live-implicit", two.test.recorder());
}

#[tokio::test]
async fn invalid_params_are_rejected() {
    let mut two = Two::with_agent(ScriptedAgent::silent()).await;
    let long = "x".repeat(129);
    for (method, params, reason) in [
        (
            "session/attach",
            json!({"sessionId": "nowhere", "clientId": "pad"}),
            "unknown_session",
        ),
        (
            "session/live_clients",
            json!({"sessionId": "nowhere"}),
            "unknown_session",
        ),
        (
            "session/attach",
            merge_params(two.client_params("pad"), json!({"clientId": " "})),
            "invalid_params",
        ),
        (
            "session/attach",
            merge_params(two.client_params("pad"), json!({"clientId": long})),
            "invalid_params",
        ),
        (
            "session/attach",
            merge_params(two.client_params("pad"), json!({"mode": "driver"})),
            "invalid_params",
        ),
        (
            "session/attach",
            merge_params(two.client_params("pad"), json!({"heartbeatSeconds": 0})),
            "invalid_params",
        ),
        (
            "session/attach",
            merge_params(two.client_params("pad"), json!({"lastEventId": "99"})),
            "unknown_event_id",
        ),
        (
            "session/attach",
            merge_params(two.client_params("pad"), json!({"metadata": "tab"})),
            "invalid_params",
        ),
        (
            "session/heartbeat",
            two.client_params("pad"),
            "not_attached",
        ),
        (
            "session/list",
            json!({"liveState": "dead"}),
            "invalid_params",
        ),
    ] {
        let error = two.pad.request_error(method, params).await;
        assert_eq!(error["code"], -32602, "{method}");
        assert_eq!(error["data"]["reason"], reason, "{method} {error}");
    }
    check_transcript("live-unread", two.test.recorder());
    // Not in the transcript: the listing contains modification times of the disk.
    let filter = json!({"filter": {"liveState": ["live"]}});
    let listed = two.pad.request("session/list", filter).await;
    assert_eq!(
        listed["sessions"][0]["_meta"]["harn"]["controllerId"],
        "strict-1"
    );
    let filter = json!({"_meta": {"harn": {"liveState": "persisted"}}});
    let listed = two.pad.request("session/list", filter).await;
    assert_eq!(listed["sessions"], json!([]));
    two.pad.close().await;
    two.editor.close().await;
}

/// A client that attaches after an event id receives the later events, then its own update.
#[tokio::test]
async fn attach_after_an_event_id_replays_the_rest() {
    let (agent, go) = two_chunk_agent();
    let mut two = Two::with_agent(agent).await;
    go.notify_one();
    let running = prompt(&mut two.editor, &two.session, "Count.").await;
    two.editor.collect_updates_until(&running).await;
    let attach = merge_params(two.client_params("pad"), json!({"lastEventId": "0"}));
    let id = two.pad.send_request("session/attach", attach).await;
    let mut kinds = Vec::new();
    let answer = loop {
        match two.pad.next().await {
            MessageFromAgent::Notification { params, .. } => {
                kinds.push(params["update"]["sessionUpdate"].clone());
            }
            MessageFromAgent::Response { id: of, result } => {
                assert_eq!(of, id);
                break result.unwrap();
            }
            MessageFromAgent::Request { method, .. } => panic!("asked {method}"),
        }
    };
    let whole = [
        "user_message_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "session_info_update",
        "live_session_client",
    ];
    assert_eq!(kinds, whole);
    assert_eq!(answer["_meta"]["harn"]["session"]["title"], "Count.");
    expect_client_update(&mut two.editor, "attached").await;
    // A second attach on the same connection replays nothing.
    let attach = merge_params(
        two.client_params("pad"),
        json!({"lastEventId": answer["_meta"]["harn"]["session"]["lastEventId"]}),
    );
    request_with_client_update(&mut two.pad, "session/attach", attach).await;
    expect_client_update(&mut two.editor, "attached").await;
    two.pad.close().await;
    expect_client_update(&mut two.editor, "detached").await;
    two.editor.close().await;
    check_transcript("live-behind", two.test.recorder());
}
