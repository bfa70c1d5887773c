//! Which clients receive which notifications, and which requests are rejected.

use harn_model::{StopReason, ToolKind};
use harn_runtime::AgentError;
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};

use crate::live::{connect, load_params, open, prompt};

fn writing_agent() -> ScriptedAgent {
    ScriptedAgent::new(|cx| async move {
        let tool = cx.tool("write_file").kind(ToolKind::Edit).path("notes.md");
        match tool.ask().await {
            Ok(tool) => tool.complete(()).await?,
            Err(AgentError::Denied { .. }) => cx.say("Then not.").await?,
            Err(other) => return Err(other),
        }
        Ok(StopReason::EndTurn)
    })
}

/// Returns the next `live_session_client` update: the action, and the controller before and after it.
async fn next_client_change(client: &mut StrictClient) -> (Value, Value, Value) {
    loop {
        if let MessageFromAgent::Notification { params, .. } = client.next().await
            && params["update"]["sessionUpdate"] == "live_session_client"
        {
            let harn = &params["update"]["_meta"]["harn"];
            let who = |name: &str| harn["state"][name].clone();
            let (before, now) = (who("previous_controller_id"), who("active_controller_id"));
            return (harn["action"].clone(), before, now);
        }
    }
}

async fn attach(client: &mut StrictClient, session: &Value, params: Value) {
    let mut all = json!({"sessionId": session});
    all.as_object_mut()
        .unwrap()
        .extend(params.as_object().unwrap().clone());
    let id = client.send_request("session/attach", all).await;
    client.collect_updates_until(&id).await;
}

#[tokio::test]
async fn clients_are_notified_of_control_changes_of_unnamed_clients() {
    let test = TestHub::new(writing_agent());
    let mut editor = connect(&test).await;
    let session = open(&mut editor, &test).await;
    let mut pad = connect(&test).await;
    attach(&mut pad, &session, json!({"clientId": "pad"})).await;
    let [first, second] = ["strict-1", "strict-3"].map(|name| json!(name));
    editor.hang_up().await;
    let heard = next_client_change(&mut pad).await;
    assert_eq!(heard, (json!("detached"), first, json!(null)));
    let mut other = connect(&test).await;
    other
        .request("session/resume", load_params(&session, &test))
        .await;
    let heard = next_client_change(&mut pad).await;
    assert_eq!(heard, (json!("takeover"), json!(null), second.clone()));
    // An attach under a name produces one update.
    attach(
        &mut other,
        &session,
        json!({"clientId": "desk", "mode": "controller"}),
    )
    .await;
    let heard = next_client_change(&mut pad).await;
    assert_eq!(heard, (json!("attached"), second, json!("desk")));
    pad.vanish();
    other.vanish();
}

#[tokio::test]
async fn broker_receives_the_question_again_when_control_passes_between_its_clients() {
    let test = TestHub::new(writing_agent());
    let mut broker = connect(&test).await;
    let session = open(&mut broker, &test).await;
    attach(
        &mut broker,
        &session,
        json!({"clientId": "ada", "mode": "controller"}),
    )
    .await;
    attach(&mut broker, &session, json!({"clientId": "ben"})).await;
    let running = prompt(&mut broker, &session, "Write.").await;
    let (first, params) = next_question(&mut broker).await;
    assert_eq!(params["_meta"]["harn"]["clientId"], "ada");
    let params = json!({"sessionId": session, "clientId": "ben"});
    broker.send_request("session/takeover", params).await;
    let withdrawn = loop {
        if let MessageFromAgent::Notification { method, params } = broker.next().await
            && method == "$/cancel_request"
        {
            break params["requestId"].clone();
        }
    };
    assert_eq!(withdrawn, first);
    let (second, params) = next_question(&mut broker).await;
    assert_eq!(params["_meta"]["harn"]["clientId"], "ben");
    let chosen = |option: &str| json!({"outcome": {"outcome": "selected", "optionId": option}});
    broker.respond(&first, chosen("allow_once")).await;
    broker.respond(&second, chosen("reject_once")).await;
    let (updates, _) = broker.collect_updates_until(&running).await;
    let said = updates
        .iter()
        .filter_map(|it| it["content"]["text"].as_str());
    assert_eq!(said.collect::<Vec<_>>(), ["Then not."]);
    broker.close().await;
}

async fn next_question(client: &mut StrictClient) -> (Value, Value) {
    loop {
        if let MessageFromAgent::Request { id, params, .. } = client.next().await {
            return (id, params);
        }
    }
}

#[tokio::test]
async fn oversized_metadata_is_rejected_and_clients_stay_attached() {
    let test = TestHub::new(writing_agent());
    let mut editor = connect(&test).await;
    let session = open(&mut editor, &test).await;
    let mut pad = connect(&test).await;
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({"in": deep});
    }
    let params = json!({"sessionId": session, "clientId": "pad", "metadata": deep});
    let error = pad.request_error("session/attach", params).await;
    assert_eq!(error["data"]["reason"], "invalid_params");
    let long = json!({"words": "x".repeat(15 * 1024)});
    for n in 0..17 {
        let client = json!({"clientId": format!("pad-{n}"), "metadata": long});
        attach(&mut pad, &session, client).await;
    }
    let params = json!({"sessionId": session, "clientId": "pad", "metadata": long});
    let error = pad.request_error("session/attach", params).await;
    assert_eq!(error["data"]["reason"], "too_much_metadata");
    // Attached clients may replace their metadata.
    let params = json!({"sessionId": session, "clientId": "pad-1", "metadata": {}});
    let beat = pad.send_request("session/heartbeat", params).await;
    next_client_change(&mut pad).await;
    pad.expect_response(&beat).await;
    attach(
        &mut pad,
        &session,
        json!({"clientId": "pad", "metadata": long}),
    )
    .await;
    pad.close().await;
    editor.vanish();
}

/// Returns the next `live_session_client` update: the action, and why the client left, if it did.
async fn next_departure(client: &mut StrictClient) -> (Value, Value) {
    loop {
        if let MessageFromAgent::Notification { params, .. } = client.next().await
            && params["update"]["sessionUpdate"] == "live_session_client"
        {
            let harn = &params["update"]["_meta"]["harn"];
            return (harn["action"].clone(), harn["left"]["reason"].clone());
        }
    }
}

#[tokio::test]
async fn fresh_attach_replaces_the_older_connection_of_the_same_client() {
    let test = TestHub::new(writing_agent());
    let mut old = connect(&test).await;
    let session = open(&mut old, &test).await;
    let desk = json!({"clientId": "desk", "mode": "controller"});
    attach(&mut old, &session, desk.clone()).await;
    let turn = prompt(&mut old, &session, "write").await;
    let (asked, _) = loop {
        if let MessageFromAgent::Request { id, method, .. } = old.next().await {
            break (id, method);
        }
    };
    old.leave_unanswered(&asked);
    // The new connection asks for control, which the older one had: the question moves to it.
    let mut new = connect(&test).await;
    attach(&mut new, &session, desk).await;
    let left = next_departure(&mut old).await;
    assert_eq!(left, (json!("detached"), json!("replaced")));
    assert_eq!(next_departure(&mut old).await.0, "attached");
    old.expect_notification("$/cancel_request").await;
    let again = loop {
        if let MessageFromAgent::Request { id, .. } = new.next().await {
            break id;
        }
    };
    let params = json!({"sessionId": session, "clientId": "desk"});
    let error = old.request_error("session/heartbeat", params).await;
    assert_eq!(error["data"]["reason"], "not_attached");
    let answer = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    new.respond(&again, answer).await;
    loop {
        if let MessageFromAgent::Response { id, .. } = old.next().await {
            assert_eq!(id, turn);
            break;
        }
    }
    // A connection that attaches as observer does not inherit the control of the older one.
    let mut watcher = connect(&test).await;
    attach(
        &mut watcher,
        &session,
        json!({"clientId": "desk", "mode": "observer"}),
    )
    .await;
    let left = loop {
        let left = next_departure(&mut new).await;
        if left.0 == "detached" {
            break left;
        }
    };
    assert_eq!(left.1, "replaced");
    let params = json!({"sessionId": session});
    let clients = watcher.request("session/live_clients", params).await;
    let control = &clients["_meta"]["harn"];
    assert_eq!(control["activeControllerId"], Value::Null);
    assert_eq!(clients["data"].as_array().unwrap().len(), 1);
    old.vanish();
    new.vanish();
    watcher.vanish();
}

#[tokio::test]
async fn broker_reports_the_exit_of_a_client_of_another_connection() {
    let test = TestHub::new(writing_agent());
    let mut desk = connect(&test).await;
    let session = open(&mut desk, &test).await;
    attach(&mut desk, &session, json!({"clientId": "desk"})).await;
    let mut broker = connect(&test).await;
    let params = json!({"sessionId": session, "clientId": "desk"});
    let error = broker.request_error("session/detach", params).await;
    assert_eq!(error["data"]["reason"], "not_attached");
    let params = json!({"sessionId": session, "clientId": "desk", "reason": "client_exit"});
    let left = broker.request("session/detach", params).await;
    assert_eq!(left["clients"], json!([]));
    let left = next_departure(&mut desk).await;
    assert_eq!(left, (json!("detached"), json!("client_exit")));
    desk.vanish();
    broker.vanish();
}

#[tokio::test]
async fn session_with_observers_cannot_be_deleted_by_another_client() {
    let test = TestHub::new(writing_agent());
    let mut editor = connect(&test).await;
    let session = open(&mut editor, &test).await;
    let mut pad = connect(&test).await;
    attach(&mut pad, &session, json!({"clientId": "pad"})).await;
    editor.hang_up().await;
    let mut other = connect(&test).await;
    let params = json!({"sessionId": session});
    let error = other.request_error("session/delete", params.clone()).await;
    assert_eq!(error["data"]["reason"], "not_controller");
    pad.hang_up().await;
    other.request("session/delete", params).await;
    other.close().await;
}

/// The actor of a message is the client that controls the session, by its name.
#[tokio::test]
async fn inject_of_a_named_controller_has_its_name() {
    let test = TestHub::new(writing_agent());
    let mut editor = connect(&test).await;
    let session = open(&mut editor, &test).await;
    attach(
        &mut editor,
        &session,
        json!({"clientId": "desk", "mode": "controller"}),
    )
    .await;
    prompt(&mut editor, &session, "Write.").await;
    next_question(&mut editor).await;
    let unsaid = json!({"sessionId": session, "mode": "queue", "content": "Later."});
    let mut labelled = unsaid.clone();
    labelled["_meta"] = json!({"harn": {"actor": {"clientId": "somebody", "role": "guest"}}});
    for (params, role) in [(unsaid, "host_owner"), (labelled, "guest")] {
        let said = editor.request("session/inject", params).await;
        let actor = json!({"clientId": "desk", "role": role, "source": "acp"});
        assert_eq!(said["_meta"]["harn"]["actor"], actor);
        let outcome = editor.expect_event_of("control_outcome").await;
        assert_eq!(outcome["actor"], actor);
    }
    editor.vanish();
}

/// Control includes the pending messages of the previous controller.
#[tokio::test]
async fn new_controller_may_revoke_messages_of_the_previous_one() {
    let test = TestHub::new(writing_agent());
    let mut editor = connect(&test).await;
    let session = open(&mut editor, &test).await;
    attach(
        &mut editor,
        &session,
        json!({"clientId": "desk", "mode": "controller"}),
    )
    .await;
    prompt(&mut editor, &session, "Write.").await;
    next_question(&mut editor).await;
    let actor = |name: &str| json!({"harn": {"actor": {"clientId": name, "role": "guest"}}});
    let params = json!({"sessionId": session, "mode": "queue", "content": "Later.",
                        "_meta": actor("desk")});
    let said = editor.request("session/inject", params).await;
    let mut pad = connect(&test).await;
    attach(&mut pad, &session, json!({"clientId": "pad"})).await;
    let revoke =
        json!({"sessionId": session, "messageId": said["messageId"], "_meta": actor("pad")});
    let error = pad
        .request_error("session/revoke_inject", revoke.clone())
        .await;
    assert_eq!(error["data"]["reason"], "not_controller");
    let params = json!({"sessionId": session, "clientId": "pad"});
    let taken = pad.send_request("session/takeover", params).await;
    pad.collect_updates_until(&taken).await;
    next_question(&mut pad).await;
    let revoked = pad.request("session/revoke_inject", revoke).await;
    assert_eq!(revoked["status"], "revoked");
    pad.vanish();
    editor.vanish();
}
