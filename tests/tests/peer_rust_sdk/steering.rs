//! Steering through the Rust SDK: the messages that a host can send to a running turn, and the updates about
//! them. The turns of `peers/steer.yaml` wait for the host's answers, so no test depends on timing.

use agent_client_protocol::{
    Error, UntypedMessage,
    v1::schema::{
        CancelNotification, ContentBlock, PromptRequest, SessionId, StopReason, TextContent,
    },
};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{
    host::{Connection, Host, Place},
    open, prompt,
};

#[tokio::test]
async fn initialize_advertises_steering() -> Result<()> {
    let host = Host::steering("acp");
    let hello = host
        .visit_without_complaints(&Place::new()?, async |_, hello| Ok(hello))
        .await?;
    let meta = hello.meta.context("no _meta")?;
    assert_eq!(meta["steering"], json!({"supported": true}));
    // ACP has no such capability, and the SDK's types leave it out.
    let known = serde_json::to_value(hello.agent_capabilities)?;
    assert_eq!(known.get("session"), None);
    Ok(())
}

#[tokio::test]
async fn acp_delivers_a_steer_at_the_seam_and_a_queued_message_as_another_round() -> Result<()> {
    let host = Host::steering("acp");
    let sent = steer_and_queue(&host).await?;
    assert_eq!(host.take_complaints(), [""; 0]);
    assert_eq!(delivered_messages(&host), sent);
    Ok(())
}

#[tokio::test]
async fn meta_delivers_a_steer_at_the_seam_and_a_queued_message_as_another_round() -> Result<()> {
    let host = Host::steering("meta");
    let sent = steer_and_queue(&host).await?;
    assert_eq!(host.take_complaints(), [""; 0]);
    assert_eq!(delivered_messages(&host), sent);
    Ok(())
}

/// The contract's own update is on the wire; the SDK does not know it.
#[tokio::test]
async fn sdk_drops_the_delivery_updates_of_profile_harn() -> Result<()> {
    let host = Host::steering("harn");
    let sent = steer_and_queue(&host).await?;
    let updates = host.params_on_wire("session/update").into_iter();
    let updates = updates.map(|params| params["update"].clone());
    let told: Vec<_> = updates
        .filter(|it| it["sessionUpdate"] == "user_message")
        .map(|it| json!([it["messageId"], it["content"][0]["text"]]))
        .collect();
    assert_eq!(told, sent);
    assert_eq!(delivered_messages(&host), [Value::Null; 0]);
    let complaints = host.take_complaints();
    let dropped = complaints
        .iter()
        .filter(|it| it.contains("Handler errored"));
    assert_eq!(dropped.count(), 2, "{complaints:#?}");
    Ok(())
}

/// Injects two messages into a turn; returns their ids and texts in the expected order of delivery.
async fn steer_and_queue(host: &Host) -> Result<Vec<Value>> {
    let place = Place::new()?;
    let (stop, sent) = host
        .visit(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let steer = async {
                wait_for_questions(host, 1).await;
                let last = inject(&agent, &session, "queue", "Then c.txt.").await?;
                let first = inject(&agent, &session, "steer", "Mind b.txt.").await?;
                host.release();
                Ok::<_, Error>([first, last])
            };
            let (stop, sent) = tokio::join!(prompt(&agent, &session, "work"), steer);
            Ok((stop?, sent?))
        })
        .await?;
    assert_eq!(stop, StopReason::EndTurn);
    for answer in &sent {
        assert_eq!(answer["status"], "accepted");
    }
    let said = host.text("agent_message_chunk");
    assert!(said.contains("message: Mind b.txt."), "{said}");
    assert!(said.ends_with("End of the work.Answered."), "{said}");
    let [first, last] = sent;
    Ok(vec![
        json!([first["messageId"], "Mind b.txt."]),
        json!([last["messageId"], "Then c.txt."]),
    ])
}

#[tokio::test]
async fn pending_messages_are_listed_replaced_and_revoked() -> Result<()> {
    let place = Place::new()?;
    let host = Host::steering("meta");
    let (kept, refusals) = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let message = |answer: &Value| json!({"messageId": answer["messageId"]});
            let mut refusals = vec![error_of(inject(&agent, &session, "steer", "early").await)];
            let change = async {
                wait_for_questions(&host, 1).await;
                let kept = inject(&agent, &session, "steer", "a").await?;
                let gone = inject(&agent, &session, "queue", "b").await?;
                let mut other = message(&kept);
                other["content"] = json!("A");
                let replaced = call(&agent, &session, "session/replace_inject", other).await?;
                assert_eq!(replaced["status"], "replaced");
                for status in ["revoked", "already_revoked"] {
                    let answer =
                        call(&agent, &session, "session/revoke_inject", message(&gone)).await?;
                    assert_eq!(answer["status"], status);
                }
                let list = "session/pending_injections";
                let waiting = call(&agent, &session, list, json!({})).await?;
                assert_eq!(waiting["pendingCount"], 1);
                assert_eq!(waiting["injections"][0]["content"][0]["text"], "A");
                host.release();
                Ok::<_, Error>(kept)
            };
            let (stop, kept) = tokio::join!(prompt(&agent, &session, "work"), change);
            let (_, kept) = (stop?, kept?);
            let revoke = "session/revoke_inject";
            let late = call(&agent, &session, revoke, message(&kept)).await;
            refusals.push(error_of(late));
            let unknown = json!({"messageId": "msg_never"});
            refusals.push(error_of(call(&agent, &session, revoke, unknown).await));
            Ok((kept, refusals))
        })
        .await?;
    assert_eq!(delivered_messages(&host), [json!([kept["messageId"], "A"])]);
    assert_eq!(
        refusals,
        [
            json!([-32004, "no_active_prompt"]),
            json!([-32602, "already_delivered"]),
            json!([-32602, "unknown_message_id"]),
        ]
    );
    Ok(())
}

#[tokio::test]
async fn session_steering_has_each_of_its_outcomes() -> Result<()> {
    let place = Place::new()?;
    let host = Host::steering("acp");
    let outcomes = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let steer = async |text: &str, meta: Value| {
                let blocks = json!([{"type": "text", "text": text}]);
                let params = json!({"prompt": blocks, "_meta": meta});
                call(&agent, &session, "_session/steering", params).await
            };
            let required = json!({"steering": {"idleBehavior": "promptRequired"}});
            let injects = async {
                wait_for_questions(&host, 1).await;
                let outcome = steer("Mind b.txt.", required.clone()).await?;
                host.release();
                Ok::<_, Error>(outcome)
            };
            let (stop, injected) = tokio::join!(prompt(&agent, &session, "work"), injects);
            stop?;
            let late = steer("Too late.", required).await?;
            let detached = steer("Now.", json!({})).await?;
            let said = |host: &Host| host.text("agent_message_chunk").ends_with("Answered.");
            host.wait_until(said).await;
            Ok([injected?, late, detached])
        })
        .await?;
    assert_eq!(
        outcomes,
        [
            json!({"outcome": "injected"}),
            json!({"outcome": "promptRequired", "reason": "noRunningTurn"}),
            json!({"outcome": "startedNewTurn"}),
        ]
    );
    Ok(())
}

#[tokio::test]
async fn reminders_reach_the_agent_and_the_host_receives_updates() -> Result<()> {
    let place = Place::new()?;
    let host = Host::steering("meta");
    let refusal = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let reminds = async {
                wait_for_questions(&host, 1).await;
                let tests = json!({"mode": "finish_step", "id": "tests", "body": "Run the tests."});
                let answer = call(&agent, &session, "session/remind", tests).await?;
                assert_eq!(answer, json!({"reminderId": "tests"}));
                let brief =
                    json!({"sessionId": session, "mode": "finish_step", "body": "Be brief."});
                agent.send_notification(UntypedMessage::new("session/remind", brief)?)?;
                let odd = json!({"body": "x", "urgency": 3});
                let refusal = error_of(call(&agent, &session, "session/remind", odd).await);
                host.release();
                Ok::<_, Error>(refusal)
            };
            let (stop, refusal) = tokio::join!(prompt(&agent, &session, "work"), reminds);
            stop?;
            refusal
        })
        .await?;
    assert_eq!(refusal, json!([-32602, "invalid_reminder"]));
    let carried = host.updates_of_kind("session_info_update").into_iter();
    let carried = carried.map(|update| update["_meta"]["harn"].clone());
    let told: Vec<_> = carried
        .filter(|fields| fields["sessionUpdate"] == "reminder_emitted")
        .map(|fields| fields["reminder"]["body"].clone())
        .collect();
    assert_eq!(told, ["Run the tests.", "Be brief."]);
    Ok(())
}

/// The idle signals are events, which the SDK delivers to its host like the others.
#[tokio::test]
async fn idle_agent_sends_signals_and_can_be_woken_and_cancelled() -> Result<()> {
    let place = Place::new()?;
    let host = Host::steering("meta");
    let waits = async |iteration| {
        let seen = |host: &Host| host.idles().iter().any(|it| it["iteration"] == iteration);
        host.wait_until(seen).await;
    };
    let stop = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let wakes = async {
                waits(0).await;
                inject(&agent, &session, "queue", "Look.").await?;
                waits(1).await;
                let params = json!({"sessionId": session});
                agent.send_notification(UntypedMessage::new("agent/resume", params)?)?;
                waits(2).await;
                let cancel = call(&agent, &session, "session/cancel", json!({})).await?;
                assert_eq!(cancel["status"], "cancelled");
                Ok::<_, Error>(())
            };
            let (stop, woken) = tokio::join!(prompt(&agent, &session, "stay"), wakes);
            woken?;
            stop
        })
        .await?;
    assert_eq!(stop, StopReason::Cancelled);
    assert_eq!(host.idles()[0]["backoffMs"], 100);
    assert_eq!(delivered_messages(&host)[0][1], "Look.");
    Ok(())
}

#[tokio::test]
async fn message_pending_at_a_cancel_is_delivered_with_the_next_prompt() -> Result<()> {
    let place = Place::new()?;
    let host = Host::steering("acp");
    let (stops, message) = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let cancel = async {
                wait_for_questions(&host, 1).await;
                let message = inject(&agent, &session, "steer", "Mind b.txt.").await?;
                agent.send_notification(CancelNotification::new(session.clone()))?;
                Ok::<_, Error>(message)
            };
            let (first, message) = tokio::join!(prompt(&agent, &session, "work"), cancel);
            assert_eq!(delivered_messages(&host), [Value::Null; 0]);
            let second = prompt(&agent, &session, "hello").await?;
            Ok(([first?, second], message?))
        })
        .await?;
    assert_eq!(stops, [StopReason::Cancelled, StopReason::EndTurn]);
    assert_eq!(
        delivered_messages(&host),
        [json!([message["messageId"], "Mind b.txt."])]
    );
    Ok(())
}

#[tokio::test]
async fn interrupting_reminder_withdraws_the_question() -> Result<()> {
    let place = Place::new()?;
    let host = Host::steering("acp");
    let stop = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let interrupts = async {
                wait_for_questions(&host, 1).await;
                let remind = json!({"mode": "interrupt_immediate", "body": "Stop writing."});
                call(&agent, &session, "session/remind", remind).await
            };
            let (stop, reminded) = tokio::join!(prompt(&agent, &session, "work"), interrupts);
            reminded?;
            stop
        })
        .await?;
    assert_eq!(stop, StopReason::EndTurn);
    let call = host.questions()[0]["toolCall"]["toolCallId"].clone();
    assert_eq!(json!(host.withdrawn()), json!([call]));
    assert_eq!(host.last_call(), json!([call, "failed"]));
    let said = host.text("agent_message_chunk");
    assert!(said.contains("reminder: Stop writing."), "{said}");
    Ok(())
}

#[tokio::test]
async fn cancelling_a_queued_prompt_cancels_no_other() -> Result<()> {
    let place = Place::new()?;
    let host = Host::steering("acp");
    let stops = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let send = |text: &str| {
                let blocks = vec![ContentBlock::Text(TextContent::new(text))];
                agent.send_request(PromptRequest::new(session.clone(), blocks))
            };
            let running = send("slow");
            host.working.notified().await;
            let (queued, last) = (send("never"), send("hello"));
            queued.cancel()?;
            agent.send_notification(CancelNotification::new(session.clone()))?;
            Ok([
                running.block_task().await?.stop_reason,
                queued.block_task().await?.stop_reason,
                last.block_task().await?.stop_reason,
            ])
        })
        .await?;
    use StopReason::{Cancelled, EndTurn};
    assert_eq!(stops, [Cancelled, Cancelled, EndTurn]);
    assert_eq!(host.text("agent_message_chunk"), "workingAnswered.");
    Ok(())
}

/// Waits until the host has received this many questions.
pub(crate) async fn wait_for_questions(host: &Host, times: usize) {
    host.wait_until(|host| host.questions().len() == times)
        .await;
}

/// Returns the messages that the SDK delivered: id and text.
fn delivered_messages(host: &Host) -> Vec<Value> {
    let chunks = host.updates_of_kind("user_message_chunk").into_iter();
    chunks
        .map(|update| json!([update["messageId"], update["content"]["text"]]))
        .collect()
}

/// Sends a request for which the SDK has no type.
pub(crate) async fn call(
    agent: &Connection,
    session: &SessionId,
    method: &str,
    mut params: Value,
) -> Result<Value, Error> {
    params["sessionId"] = json!(session);
    let request = UntypedMessage::new(method, params)?;
    agent.send_request(request).block_task().await
}

pub(crate) async fn inject(
    agent: &Connection,
    session: &SessionId,
    mode: &str,
    text: &str,
) -> Result<Value, Error> {
    let params = json!({"mode": mode, "content": text});
    call(agent, session, "session/inject", params).await
}

/// Returns code and reason of an error, as the SDK reports them.
fn error_of(answer: Result<Value, Error>) -> Value {
    match answer {
        Ok(answer) => json!({"notRefused": answer}),
        Err(error) => {
            let reason = error.data.map(|mut data| data["reason"].take());
            json!([i32::from(error.code), reason])
        }
    }
}
