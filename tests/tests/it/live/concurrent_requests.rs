//! Requests that open, join and leave a session, sent without waiting for one another: each is answered, and
//! the client receives each line of the session once, in order.

use harn_acp::EventId;
use harn_model::StopReason;
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};

use crate::live::{connect, load_params, open, prompt};

const ROUNDS: usize = 40;

fn echo() -> ScriptedAgent {
    ScriptedAgent::new(|cx| async move {
        cx.say(cx.prompt_text()).await?;
        Ok(StopReason::EndTurn)
    })
}

/// Reads until all of these requests are answered. Returns the event ids of the lines in between, and the
/// responses in the order of their arrival.
async fn read(client: &mut StrictClient, mut ids: Vec<Value>) -> (Vec<EventId>, Vec<Value>) {
    let (mut places, mut answers) = (Vec::new(), Vec::new());
    while !ids.is_empty() {
        match client.next().await {
            MessageFromAgent::Notification { params, .. } => places.extend(event_id(&params)),
            MessageFromAgent::Response { id, result } => {
                ids.retain(|it| *it != id);
                answers.push(result.unwrap());
            }
            MessageFromAgent::Request { params, .. } => panic!("asked {params}"),
        }
    }
    (places, answers)
}

fn event_id(params: &Value) -> Option<EventId> {
    let id = params["_meta"]["harn"]["eventId"].as_str()?;
    Some(id.parse().unwrap())
}

/// Reads up to the end of a turn; returns the event ids of the lines.
async fn read_until_turn_end(client: &mut StrictClient) -> Vec<EventId> {
    let mut places = Vec::new();
    loop {
        let MessageFromAgent::Notification { params, .. } = client.next().await else {
            continue;
        };
        places.extend(event_id(&params));
        if params["kind"] == "turn_ended" {
            return places;
        }
    }
}

fn assert_ascending(places: &[EventId]) {
    let grows = places.is_sorted_by(|one, next| one < next);
    assert!(grows, "{places:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_attaches_detaches_and_attaches_in_one_burst() {
    let test = TestHub::new(echo());
    let mut editor = connect(&test).await;
    let session = open(&mut editor, &test).await;
    for round in 0..ROUNDS {
        let mut pad = connect(&test).await;
        let client = json!({"sessionId": session, "clientId": "pad"});
        let mut sent = Vec::new();
        for method in ["session/attach", "session/detach", "session/attach"] {
            sent.push(pad.send_request(method, client.clone()).await);
        }
        let (mut places, answers) = read(&mut pad, sent).await;
        assert_eq!(answers[2]["client"]["client_id"], "pad");
        // The client follows the session.
        let id = prompt(&mut editor, &session, &format!("{round}")).await;
        places.extend(read_until_turn_end(&mut pad).await);
        assert_ascending(&places);
        editor.collect_updates_until(&id).await;
        // The disconnect frees the name for the next client.
        pad.hang_up().await;
    }
    editor.vanish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_opens_and_attaches_in_one_burst() {
    let test = TestHub::new(echo());
    let mut editor = connect(&test).await;
    let session = open(&mut editor, &test).await;
    let id = prompt(&mut editor, &session, "first").await;
    editor.collect_updates_until(&id).await;
    for round in 0..ROUNDS {
        for method in ["session/resume", "session/load"] {
            let mut pad = connect(&test).await;
            let opened = pad.send_request(method, load_params(&session, &test)).await;
            let client = json!({"sessionId": session, "clientId": "pad"});
            let attached = pad.send_request("session/attach", client).await;
            let (mut places, _) = read(&mut pad, vec![opened, attached]).await;
            let id = prompt(&mut editor, &session, &format!("{round}")).await;
            places.extend(read_until_turn_end(&mut pad).await);
            assert_ascending(&places);
            editor.collect_updates_until(&id).await;
            pad.hang_up().await;
        }
    }
    editor.vanish();
}

/// The client receives the rest of the closed session first, and then follows the resumed one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_client_reads_the_rest_of_a_closed_session_and_follows_the_resumed_one() {
    let agent = ScriptedAgent::new(|cx| async move {
        let many = if cx.prompt_text() == "much" { 4000 } else { 1 };
        for _ in 0..many {
            cx.say("0123456789 ".repeat(100)).await?;
        }
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut editor = connect(&test).await;
    let session = open(&mut editor, &test).await;
    let mut slow = connect(&test).await;
    slow.request("session/resume", load_params(&session, &test))
        .await;
    let id = prompt(&mut editor, &session, "much").await;
    editor.collect_updates_until(&id).await;
    let params = json!({"sessionId": session});
    let closed = editor.send_request("session/close", params).await;
    editor.collect_updates_until(&closed).await;
    let again = slow
        .send_request("session/resume", load_params(&session, &test))
        .await;
    let (places, _) = read(&mut slow, vec![again]).await;
    assert_ascending(&places);
    assert!(places.len() > 4000, "only {} lines came", places.len());
    let mine = prompt(&mut slow, &session, "more").await;
    let (updates, result) = slow.collect_updates_until(&mine).await;
    assert_eq!(result["stopReason"], "end_turn");
    let kinds = updates.iter().filter_map(|it| it["sessionUpdate"].as_str());
    assert!(kinds.into_iter().any(|it| it == "agent_message_chunk"));
    slow.vanish();
    editor.vanish();
}
