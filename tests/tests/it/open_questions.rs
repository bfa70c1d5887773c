//! Open questions: they block only their own turn, and each is settled exactly once, whether the client answers
//! late, twice or never.

use std::time::Duration;

use crate::support_stress::{
    connect_and_initialize, kind, load_params, new_session_params, open, text_prompt,
};
use harn_model::{AgentEvent, Decision, SessionId, StopReason, ToolKind};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};

const ASK: &str = "session/request_permission";

/// Asks for permission to write if the prompt demands it; otherwise just answers.
async fn ask_to_write(cx: TurnContext) -> Result<StopReason, AgentError> {
    if cx.prompt_text().starts_with("write") {
        match cx.tool("write").kind(ToolKind::Edit).ask().await {
            Ok(write) => write.complete(()).await?,
            Err(AgentError::Denied { .. }) => {
                return cx.say("no").await.map(|()| StopReason::Refusal);
            }
            Err(other) => return Err(other),
        }
    }
    cx.say("done").await?;
    Ok(StopReason::EndTurn)
}

fn selected_outcome(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

/// A turn that waits for the answer to its question.
struct Parked {
    session: String,
    prompt: Value,
    ask: Value,
}

impl Parked {
    /// Sends a prompt and reads up to the question.
    async fn park(client: &mut StrictClient, session: &str) -> Self {
        let params = text_prompt(session, "write");
        let prompt = client.send_request("session/prompt", params).await;
        client.expect_update_of("tool_call").await;
        let (ask, params) = client.expect_request(ASK).await;
        assert_eq!(params["sessionId"], session);
        Self {
            session: session.to_owned(),
            prompt,
            ask,
        }
    }

    async fn allow(&self, client: &mut StrictClient) {
        client
            .respond(&self.ask, selected_outcome("allow_once"))
            .await;
    }

    /// Reads the rest of the turn and expects nothing else in between.
    async fn end(self, client: &mut StrictClient) {
        let (updates, result) = client.collect_updates_until(&self.prompt).await;
        assert_eq!(result["stopReason"], "end_turn");
        let words = updates.iter().filter(|u| kind(u) == "agent_message_chunk");
        assert_eq!(words.count(), 1, "{updates:?}");
    }
}

/// The serial dispatch loop for requests also reads answers: if it waited for this answer, it would serve none
/// of the five requests, nor read the answer.
#[tokio::test]
async fn open_question_does_not_block_further_requests() {
    let test = TestHub::new(ScriptedAgent::new(ask_to_write));
    let mut client = connect_and_initialize(&test).await;
    let session = open(&mut client, &test).await;
    let parked = Parked::park(&mut client, &session).await;

    let listed = client.request("session/list", json!({})).await;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);

    let mode = json!({"sessionId": session, "modeId": "read-only"});
    let id = client.send_request("session/set_mode", mode).await;
    let (updates, _) = client.collect_updates_until(&id).await;
    let kinds: Vec<_> = updates.iter().map(kind).collect();
    assert_eq!(kinds, ["current_mode_update", "config_option_update"]);

    let other = open(&mut client, &test).await;

    let id = client
        .send_request("session/prompt", text_prompt(&other, "hello"))
        .await;
    let (_, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "end_turn");

    let fork = client
        .request("session/fork", load_params(&test, &session))
        .await;
    assert_ne!(fork["sessionId"], session);

    parked.allow(&mut client).await;
    parked.end(&mut client).await;
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_questions_do_not_block_another_session() {
    let test = TestHub::new(ScriptedAgent::new(ask_to_write));
    let mut client = connect_and_initialize(&test).await;
    let mut parked = Vec::new();
    for _ in 0..7 {
        let session = open(&mut client, &test).await;
        parked.push(Parked::park(&mut client, &session).await);
    }
    let eighth = open(&mut client, &test).await;
    for _ in 0..10 {
        let id = client
            .send_request("session/prompt", text_prompt(&eighth, "hello"))
            .await;
        let (_, result) = client.collect_updates_until(&id).await;
        assert_eq!(result["stopReason"], "end_turn");
    }
    // Prompts behind the open questions wait only for their own session.
    let mut behind = Vec::new();
    for parked in &parked {
        let prompt = text_prompt(&parked.session, "hello");
        behind.push(client.send_request("session/prompt", prompt).await);
    }
    let id = client
        .send_request("session/prompt", text_prompt(&eighth, "hello"))
        .await;
    client.collect_updates_until(&id).await;

    // The last question is answered first.
    for (parked, behind) in parked.into_iter().zip(behind).rev() {
        parked.allow(&mut client).await;
        parked.end(&mut client).await;
        let (_, result) = client.collect_updates_until(&behind).await;
        assert_eq!(result["stopReason"], "end_turn");
    }
    client.close().await;
}

/// A client does not answer, cancels, and answers too late. Many rounds, because the withdrawal and the end of
/// the turn could race.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelled_question_is_withdrawn_before_the_turn_ends() {
    let test = TestHub::new(ScriptedAgent::new(ask_to_write));
    let mut client = connect_and_initialize(&test).await;
    let session = open(&mut client, &test).await;
    for round in 0..50 {
        let parked = Parked::park(&mut client, &session).await;
        client
            .notify("session/cancel", json!({"sessionId": session}))
            .await;
        let mut withdrawn = false;
        loop {
            match client.next().await {
                MessageFromAgent::Notification { method, params }
                    if method == "$/cancel_request" =>
                {
                    assert_eq!(params["requestId"], parked.ask, "round {round}");
                    withdrawn = true;
                }
                MessageFromAgent::Notification { method, params }
                    if method == "_harn/agentEvent" =>
                {
                    assert_eq!(params["kind"], "control_outcome", "round {round}");
                }
                MessageFromAgent::Notification { params, .. } => {
                    let update = &params["update"];
                    match kind(update) {
                        "tool_call_update" => assert_eq!(update["status"], "failed"),
                        "session_info_update" => assert_eq!(round, 0),
                        other => panic!("round {round}: {other}"),
                    }
                }
                MessageFromAgent::Response { id, result } => {
                    assert_eq!(id, parked.prompt);
                    assert_eq!(result.unwrap()["stopReason"], "cancelled");
                    assert!(withdrawn, "round {round}: not withdrawn before the end");
                    break;
                }
                MessageFromAgent::Request { method, .. } => panic!("asked for {method}"),
            }
        }
        // Too late, and twice.
        parked.allow(&mut client).await;
        let again =
            json!({"jsonrpc": "2.0", "id": parked.ask, "result": selected_outcome("allow_once")});
        client.send(&again).await;
    }
    // The late answers had no effect, and the session still works.
    let parked = Parked::park(&mut client, &session).await;
    parked.allow(&mut client).await;
    parked.end(&mut client).await;
    client.close().await;

    let decisions = decisions(&test, &session);
    assert_eq!(decisions.len(), 51);
    let (last, cancelled) = decisions.split_last().unwrap();
    assert!(last.allows());
    assert!(cancelled.iter().all(|d| *d == Decision::Cancelled));
}

/// The first of two answers counts, whatever the second contains.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn second_answer_to_a_question_is_ignored() {
    let test = TestHub::new(ScriptedAgent::new(ask_to_write));
    let mut client = connect_and_initialize(&test).await;
    let session = open(&mut client, &test).await;
    for (first, second, stop) in [
        ("reject_once", "allow_once", "refusal"),
        ("allow_once", "reject_once", "end_turn"),
    ] {
        let parked = Parked::park(&mut client, &session).await;
        client.respond(&parked.ask, selected_outcome(first)).await;
        let again = json!({"jsonrpc": "2.0", "id": parked.ask, "result": selected_outcome(second)});
        client.send(&again).await;
        let (_, result) = client.collect_updates_until(&parked.prompt).await;
        assert_eq!(result["stopReason"], stop);
    }
    client.close().await;
    let granted: Vec<_> = decisions(&test, &session)
        .iter()
        .map(Decision::allows)
        .collect();
    assert_eq!(granted, [false, true]);
}

/// An open question does not keep its session from closing, nor the agent from ending; a cancel of the request
/// has the effect of a cancel of the session.
#[tokio::test]
async fn cancel_close_and_shutdown_end_an_open_question() {
    let test = TestHub::new(ScriptedAgent::new(ask_to_write));
    let mut client = connect_and_initialize(&test).await;

    let session = open(&mut client, &test).await;
    let parked = Parked::park(&mut client, &session).await;
    client
        .notify("$/cancel_request", json!({"requestId": parked.prompt}))
        .await;
    let result = read_until_response(&mut client, &parked).await;
    assert_eq!(result["stopReason"], "cancelled");

    let parked = Parked::park(&mut client, &session).await;
    let close = client
        .send_request("session/close", json!({"sessionId": session}))
        .await;
    let result = read_until_response(&mut client, &parked).await;
    assert_eq!(result["stopReason"], "cancelled");
    client.expect_event_of("session_closed").await;
    client.expect_response(&close).await;

    let session = open(&mut client, &test).await;
    let parked = Parked::park(&mut client, &session).await;
    test.hub().shutdown().await;
    let result = read_until_response(&mut client, &parked).await;
    assert_eq!(result["stopReason"], "cancelled");
    let refused = client
        .request_error("session/new", new_session_params(&test))
        .await;
    assert_eq!(refused["data"]["reason"], "shutting_down");
    client.close().await;
    assert_eq!(decisions(&test, &session), [Decision::Cancelled]);
}

/// Reads until the waiting prompt is answered; the client answers its withdrawn question as ACP requires.
async fn read_until_response(client: &mut StrictClient, parked: &Parked) -> Value {
    let mut withdrawn = false;
    loop {
        match client.next().await {
            MessageFromAgent::Notification { method, params } if method == "$/cancel_request" => {
                assert_eq!(params["requestId"], parked.ask);
                let cancelled = json!({"outcome": {"outcome": "cancelled"}});
                client.respond(&parked.ask, cancelled).await;
                withdrawn = true;
            }
            // Including the outcome of the cancel.
            MessageFromAgent::Notification { method, .. } => {
                assert!(matches!(&*method, "session/update" | "_harn/agentEvent"));
            }
            MessageFromAgent::Response { id, result } => {
                assert_eq!(id, parked.prompt);
                assert!(withdrawn, "not withdrawn before the end");
                return result.unwrap();
            }
            MessageFromAgent::Request { method, .. } => panic!("asked for {method}"),
        }
    }
}

/// Returns the decisions about the questions of a session, in order.
fn decisions(test: &TestHub, session: &str) -> Vec<Decision> {
    let store = harn_journal::JsonlStore::new(test.state_dir());
    let (_, events) = harn_journal::Store::read(&store, &SessionId::from(session)).unwrap();
    let resolved = events
        .into_iter()
        .filter_map(|envelope| match envelope.event {
            AgentEvent::PermissionResolved(resolved) => Some(resolved.decision),
            _ => None,
        });
    resolved.collect()
}

/// Continues whatever it receives, so that only a deadline ends it.
async fn ignore_cancel(cx: TurnContext) -> Result<StopReason, AgentError> {
    if cx.prompt_text() == "stubborn" {
        loop {
            cx.say("still here").await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    cx.say("done").await?;
    Ok(StopReason::EndTurn)
}

/// A session closes slowly if its agent does not stop. Requests to it are rejected at once meanwhile, and no
/// other request waits. The paused clock advances only when nothing else can run.
#[tokio::test(start_paused = true)]
async fn closing_session_blocks_no_other_requests() {
    let test = TestHub::new(ScriptedAgent::new(ignore_cancel));
    let mut client = connect_and_initialize(&test).await;
    let slow = open(&mut client, &test).await;
    let other = open(&mut client, &test).await;
    let prompt = text_prompt(&slow, "stubborn");
    let stuck = client.send_request("session/prompt", prompt).await;
    client.expect_update_of("agent_message_chunk").await;

    let begun = now();
    let close = json!({"sessionId": slow});
    let closing = client.send_request("session/close", close.clone()).await;
    let closing_too = client.send_request("session/close", close).await;
    // The close runs beside the dispatch loop: when the list is answered, the close has begun.
    client.request("session/list", json!({})).await;
    let mode = json!({"sessionId": slow, "modeId": "read-only"});
    let refused = client.request_error("session/set_mode", mode).await;
    assert_eq!(refused["data"]["reason"], "session_closed");
    let late = client
        .send_request("session/prompt", text_prompt(&slow, "more"))
        .await;
    let id = client
        .send_request("session/prompt", text_prompt(&other, "hello"))
        .await;
    let (_, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "end_turn");
    assert_eq!(now(), begun, "somebody waited");

    let mut owed = vec![stuck.clone(), closing, closing_too, late.clone()];
    while !owed.is_empty() {
        match client.next().await {
            MessageFromAgent::Response { id, result } => {
                owed.retain(|owed| *owed != id);
                match result {
                    Ok(result) if id == stuck => assert_eq!(result["stopReason"], "cancelled"),
                    Ok(result) => assert_eq!(result, json!({})),
                    Err(error) => {
                        assert_eq!(id, late);
                        assert_eq!(error["data"]["reason"], "session_closed");
                    }
                }
            }
            MessageFromAgent::Notification { params, .. } if params["kind"] == "session_closed" => {
            }
            MessageFromAgent::Notification { method, .. } => assert_eq!(method, "session/update"),
            MessageFromAgent::Request { method, .. } => panic!("asked for {method}"),
        }
    }
    // A cancelled agent has half a second to stop, however much it sends.
    assert_eq!(now() - begun, Duration::from_millis(500));
    client.close().await;
}

fn now() -> tokio::time::Instant {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test's own clock, which stands still"
    )]
    tokio::time::Instant::now()
}
