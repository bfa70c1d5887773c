//! Kills the process between the acceptance of a message and its delivery, right after its delivery, and at
//! random moments.

use anyhow::{Context, Result, ensure};
use harn_journal::{JsonlStore, Store};
use harn_model::{AgentEvent, SessionId};
use serde_json::{Value, json};

use super::{Place, inject, is_delivery_of, is_text, prompt, read_until};
use crate::support_stress::Dice;

fn turns() -> Value {
    json!([
        {"match": "^hold", "steps": [{"say": "holding"}, {"await_cancel": {}}]},
        // Waits, takes each message, and never ends by itself.
        {"match": "^wait", "steps": [
            {"say": "waiting"},
            {"repeat": {"times": 100, "steps": [{"idle": {}}]}},
        ]},
        // Passes seams repeatedly, and never ends by itself.
        {"match": "^look", "steps": [
            {"say": "looking"},
            {"repeat": {"times": 400, "steps": [
                {"say": "word "},
                {"seam": "post_tool_dispatch"},
            ]}},
            {"await_cancel": {}},
        ]},
        {"match": "^injected", "steps": [{"say": "as a prompt"}]},
        {"steps": [{"seam": "turn_start"}, {"tell_delivered": {}}, {"say": "done"}]},
    ])
}

impl Place {
    /// Returns how often the journal has the delivery of a message.
    fn count_deliveries(&self, session: &str, id: &str) -> Result<usize> {
        let store = JsonlStore::new(self.state_dir());
        let (_, events) = store.read(&SessionId::new(session.to_owned()))?;
        let of_it = events.iter().filter(|e| {
            matches!(&e.event, AgentEvent::UserMessage { message_id, .. } if message_id.as_str() == id)
        });
        Ok(of_it.count())
    }
}

#[tokio::test]
async fn message_accepted_before_a_kill_is_delivered_once_with_the_next_prompt() -> Result<()> {
    for mode in ["steer", "queue"] {
        let place = Place::new(&turns())?;
        let mut agent = place.start().await?;
        let session = place.create(&mut agent).await?;
        agent
            .send("session/prompt", prompt(&session, "hold"))
            .await?;
        read_until(&mut agent, is_text("holding")).await?;
        let (_, id) = inject(&mut agent, &session, mode, "injected").await?;
        agent.kill().await?;
        ensure!(
            place.count_deliveries(&session, &id)? == 0,
            "{mode}: too early"
        );

        let mut agent = place.start().await?;
        place.load(&mut agent, &session).await?;
        let about = json!({"sessionId": session});
        let (_, waiting) = agent
            .request("session/pending_injections", about.clone())
            .await?;
        ensure!(waiting["pendingCount"] == 1, "{mode}: {waiting}");
        ensure!(waiting["injections"][0]["messageId"] == *id, "{waiting}");
        let (seen, stopped) = agent
            .request("session/prompt", prompt(&session, "next"))
            .await?;
        ensure!(stopped["stopReason"] == "end_turn", "{mode}: {stopped}");
        let told = seen
            .iter()
            .filter(|message| is_delivery_of(&id)(message))
            .count();
        ensure!(told == 1, "{mode}: told {told} times");
        let as_prompt = seen.iter().any(is_text("as a prompt"));
        ensure!(as_prompt == (mode == "queue"), "{mode}: {seen:?}");
        let (seen, _) = agent
            .request("session/prompt", prompt(&session, "once more"))
            .await?;
        ensure!(!seen.iter().any(is_delivery_of(&id)), "{mode}: again");
        let (_, waiting) = agent.request("session/pending_injections", about).await?;
        ensure!(waiting["pendingCount"] == 0, "{mode}: {waiting}");
        agent.end().await?;
        ensure!(place.count_deliveries(&session, &id)? == 1, "{mode}");
    }
    Ok(())
}

#[tokio::test]
async fn message_delivered_before_a_kill_is_not_delivered_again() -> Result<()> {
    for mode in ["steer", "queue"] {
        let place = Place::new(&turns())?;
        let mut agent = place.start().await?;
        let session = place.create(&mut agent).await?;
        agent
            .send("session/prompt", prompt(&session, "wait"))
            .await?;
        read_until(&mut agent, is_text("waiting")).await?;
        let (before, id) = inject(&mut agent, &session, mode, "injected").await?;
        ensure!(
            !before.iter().any(is_delivery_of(&id)),
            "delivered unanswered"
        );
        read_until(&mut agent, is_delivery_of(&id)).await?;
        agent.kill().await?;
        ensure!(
            place.count_deliveries(&session, &id)? == 1,
            "{mode}: not written"
        );

        let mut agent = place.start().await?;
        place.load(&mut agent, &session).await?;
        let about = json!({"sessionId": session});
        let (_, waiting) = agent.request("session/pending_injections", about).await?;
        ensure!(waiting["pendingCount"] == 0, "{mode}: {waiting}");
        let (seen, _) = agent
            .request("session/prompt", prompt(&session, "next"))
            .await?;
        ensure!(!seen.iter().any(is_delivery_of(&id)), "{mode}: again");
        let revoke = json!({"sessionId": session, "messageId": id});
        let refused = agent.request("session/revoke_inject", revoke).await;
        let refused = format!("{:#}", refused.err().context("revoked")?);
        ensure!(refused.contains("already_delivered"), "{mode}: {refused}");
        agent.end().await?;
        ensure!(place.count_deliveries(&session, &id)? == 1, "{mode}");
    }
    Ok(())
}

/// A message with a response is delivered exactly once in the end, wherever the process was killed.
#[tokio::test]
async fn accepted_messages_are_delivered_once_after_a_kill_at_any_moment() -> Result<()> {
    const ROUNDS: usize = 12;
    let mut dice = Dice::new();
    let place = Place::new(&turns())?;
    let (mut before, mut after) = (0, 0);
    for round in 0..ROUNDS {
        let mut agent = place.start().await?;
        let session = place.create(&mut agent).await?;
        let (word, said) = [
            ("hold", "holding"),
            ("wait", "waiting"),
            ("look", "looking"),
        ][round % 3];
        agent.send("session/prompt", prompt(&session, word)).await?;
        read_until(&mut agent, is_text(said)).await?;
        let mut accepted = Vec::new();
        for n in 0..1 + dice.below(4) {
            let mode = ["steer", "queue"][dice.below(2)];
            let text = format!("injected {n}");
            let (_, id) = inject(&mut agent, &session, mode, &text).await?;
            if word == "wait" && n == 0 {
                read_until(&mut agent, is_delivery_of(&id)).await?;
            }
            accepted.push(id);
        }
        // One more message, without waiting for its response.
        let params = json!({"sessionId": session, "mode": "steer", "content": "injected last"});
        agent.send("session/inject", params).await?;
        agent.read_lines(dice.below(2)).await?;
        agent.kill().await?;
        for id in &accepted {
            match place.count_deliveries(&session, id)? {
                0 => before += 1,
                1 => after += 1,
                more => anyhow::bail!("round {round}: delivered {more} times"),
            }
        }

        let mut agent = place.start().await?;
        place.load(&mut agent, &session).await?;
        let (_, stopped) = agent
            .request("session/prompt", prompt(&session, "next"))
            .await?;
        ensure!(stopped["stopReason"] == "end_turn", "round {round}");
        agent.end().await?;
        for id in &accepted {
            let times = place.count_deliveries(&session, id)?;
            ensure!(
                times == 1,
                "round {round}: {id} was delivered {times} times"
            );
        }
    }
    // Otherwise the test proves nothing: some kills must precede the delivery and some follow it.
    ensure!(before > 0 && after > 0, "{before} before, {after} after");
    Ok(())
}
