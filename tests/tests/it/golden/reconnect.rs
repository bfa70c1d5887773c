//! Clients that lose their connection and continue after the last event id they have.

use harn_model::{StopReason, ToolKind};
use harn_runtime::{AgentError, ToolOutput, TurnContext};
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use harn_tests::{check_transcript, initialize_params};
use serde_json::{Map, Value, json};

use crate::golden::{existing_session_params, open, prompt, turn::working_hub};

/// Sends `initialize` as a client with event ids, in this profile.
async fn initialize(client: &mut StrictClient, profile: &str) {
    let wishes = [("eventIds", json!(true)), ("profile", json!(profile))];
    let wishes = wishes.map(|(name, value)| (name.to_owned(), value));
    client
        .request("initialize", initialize_params(&Map::from_iter(wishes)))
        .await;
}

/// Returns the params that open a session after an event id.
fn params_after_event(session: &Value, test: &TestHub, last: &Value) -> Value {
    let mut params = existing_session_params(session, &test.workspace());
    params["lastEventId"] = last.clone();
    params
}

fn event_id(message: &MessageFromAgent) -> Value {
    match message {
        MessageFromAgent::Notification { params, .. }
        | MessageFromAgent::Request { params, .. } => params["_meta"]["harn"]["eventId"].clone(),
        MessageFromAgent::Response { .. } => Value::Null,
    }
}

/// Returns the messages before the response to this request.
async fn read_until_response(client: &mut StrictClient, to: &Value) -> Vec<MessageFromAgent> {
    let mut messages = Vec::new();
    loop {
        match client.next().await {
            MessageFromAgent::Response { id, result } if id == *to => {
                result.unwrap();
                return messages;
            }
            message => messages.push(message),
        }
    }
}

/// Plays a turn, and loads the session over another connection after the event id of the fourth line.
async fn check_load_after_event(profile: &str, name: &str) {
    let test = working_hub();
    let mut client = test.connect();
    initialize(&mut client, profile).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Where is the parser?").await;
    let live = read_until_response(&mut client, &id).await;
    test.recorder().record_note("the connection is lost");
    client.close().await;

    let mut client = test.connect();
    initialize(&mut client, profile).await;
    let params = params_after_event(&session, &test, &event_id(&live[3]));
    let id = client.send_request("session/load", params).await;
    let missed = read_until_response(&mut client, &id).await;
    assert_eq!(missed, live[4..], "{profile}");
    // The client has every event now.
    let params = params_after_event(&session, &test, &event_id(live.last().unwrap()));
    let id = client.send_request("session/resume", params).await;
    assert_eq!(read_until_response(&mut client, &id).await, []);
    client.close().await;
    check_transcript(name, test.recorder());
}

#[tokio::test]
async fn load_after_an_event_id_replays_the_rest() {
    check_load_after_event("harn", "coming-back-load").await;
}

#[tokio::test]
async fn load_after_an_event_id_replays_the_rest_to_a_plain_client() {
    check_load_after_event("acp", "coming-back-plain").await;
}

/// Asks to write a note.
async fn write_a_note(cx: TurnContext) -> Result<StopReason, AgentError> {
    cx.say("I take a note.").await?;
    let write = cx.tool("write_file").kind(ToolKind::Edit);
    let write = write.title("Write notes.txt").path("notes.txt");
    write.ask().await?.complete(ToolOutput::default()).await?;
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn resume_sends_an_open_permission_request_again() {
    let test = TestHub::new(ScriptedAgent::new(write_a_note));
    let mut client = test.connect();
    initialize(&mut client, "harn").await;
    let session = open(&mut client, &test).await;
    prompt(&mut client, &session, "Take a note").await;
    client.expect_event_of("turn_started").await;
    let said = client.next().await;
    client.expect_update_of("tool_call").await;
    let (_, asked) = client.expect_request("session/request_permission").await;
    assert!(asked["_meta"]["harn"]["eventId"].is_string(), "{asked}");
    test.recorder().record_note("the connection is lost");
    client.vanish();

    let mut client = test.connect();
    initialize(&mut client, "harn").await;
    let params = params_after_event(&session, &test, &event_id(&said));
    let id = client.send_request("session/resume", params).await;
    let missed = read_until_response(&mut client, &id).await;
    assert_eq!(
        missed.len(),
        1,
        "the call, and not the question: {missed:?}"
    );
    let (ask, again) = client.expect_request("session/request_permission").await;
    assert_eq!(again["_meta"]["harn"].get("eventId"), None, "put again");
    let yes = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    client.respond(&ask, yes).await;
    // The client that sent the prompt is gone; the stream shows the end of the turn.
    loop {
        match client.next().await {
            MessageFromAgent::Notification { params, .. } if params["kind"] == "turn_ended" => {
                break;
            }
            MessageFromAgent::Notification { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    client.close().await;
    check_transcript("coming-back-question", test.recorder());
}

#[tokio::test]
async fn invalid_event_ids_are_rejected() {
    let test = working_hub();
    let mut client = test.connect();
    initialize(&mut client, "harn").await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Where is the parser?").await;
    read_until_response(&mut client, &id).await;
    for method in ["session/load", "session/resume"] {
        for odd in [
            json!(""),
            json!(7),
            json!("07"),
            json!("0.0"),
            json!("3."),
            json!("latest"),
        ] {
            let params = params_after_event(&session, &test, &odd);
            let error = client.request_error(method, params).await;
            assert_eq!(error["code"], -32602);
            assert_eq!(error["data"]["reason"], "invalid_params", "{odd}");
        }
        let mut beyond = existing_session_params(&session, &test.workspace());
        beyond["_meta"] = json!({"harn": {"lastEventId": "1000"}});
        let error = client.request_error(method, beyond).await;
        assert_eq!(error["code"], -32602);
        assert_eq!(error["data"]["reason"], "unknown_event_id");
    }
    client.close().await;
    check_transcript("coming-back-refused", test.recorder());
}
