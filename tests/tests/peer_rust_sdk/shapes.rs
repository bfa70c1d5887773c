//! Compares the pinned lines of `fixtures/clients` with the lines that the Rust SDK sends.
//! `tests/tests/it/clients.rs` pins the answers to them.

use agent_client_protocol::{Error, UntypedMessage, v1::schema::CancelNotification};
use anyhow::{Context, Result};
use harn_testkit::golden;
use harn_tests::{REPAIR, repository_path};
use serde_json::{Value, json};

use crate::{
    host::{Host, Place},
    open, prompt,
    steering::{call, inject, wait_for_questions},
};

const FILE: &str = "fixtures/clients/rust-sdk.jsonl";
const TO_AGENT: &str = "{\"to\":\"agent\",\"message\":";

#[tokio::test]
async fn steering_lines_of_the_sdk_match_the_pinned_ones() -> Result<()> {
    let place = Place::new()?;
    let host = Host::steering("acp");
    let mut names = steer(&host, &place).await?;
    let ask = host.ids("session/request_permission").pop();
    names.push((
        id_text(&ask.context("nobody was asked")?)?,
        "agent-1".into(),
    ));
    names.push((place.cwd().display().to_string(), "/workspace".into()));

    // The SDK generates random request ids.
    let sent = host.outgoing();
    for line in &sent {
        let message: Value = serde_json::from_str(line)?;
        if message.get("method").is_some() && message.get("id").is_some() {
            let ids = names
                .iter()
                .filter(|(_, name)| name.starts_with("request-"));
            let name = format!("request-{}", ids.count() + 1);
            names.push((id_text(&message["id"])?, name));
        }
    }
    let named = |line: &String| {
        let replace = |line: String, (real, name): &(String, String)| line.replace(real, name);
        names.iter().fold(line.clone(), replace)
    };
    let lines: Vec<_> = sent.iter().map(named).collect();
    let path = repository_path(FILE);
    let parsed = |line: &str| Ok(serde_json::from_str::<Value>(line)?);
    let entries: Vec<_> = lines
        .iter()
        .map(|line| format!("{TO_AGENT}{line}}}"))
        .collect();
    let sent: Vec<_> = entries.iter().map(|it| parsed(it)).collect::<Result<_>>()?;
    let file = std::fs::read_to_string(&path).unwrap_or_default();
    let pinned = file.lines().filter(|line| line.starts_with(TO_AGENT));
    let pinned: Vec<_> = pinned.map(parsed).collect::<Result<_>>()?;
    if golden::is_updating() && sent != pinned {
        // The test that replays the file adds the answers.
        return Ok(std::fs::write(path, entries.join("\n") + "\n")?);
    }
    assert_eq!(sent, pinned, "to rewrite {FILE}: {REPAIR}, twice");
    Ok(())
}

/// Uses every method to steer; returns the ids that have names.
async fn steer(host: &Host, place: &Place) -> Result<Vec<(String, String)>> {
    let (session, first, last) = host
        .visit_without_complaints(place, async |agent, _| {
            let session = open(&agent, place).await?;
            let text = |text: &str| json!([{"type": "text", "text": text}]);
            let meta = json!({"steering": {"idleBehavior": "promptRequired"}});
            let steering = json!({"prompt": text("And d.txt."), "_meta": meta});
            let call = async |method, params| call(&agent, &session, method, params).await;
            let steers = async {
                wait_for_questions(host, 1).await;
                let first = inject(&agent, &session, "steer", "Mind b.txt.").await?;
                let content = text("Then c.txt.");
                let queue = json!({"mode": "queue", "content": content});
                let last = call("session/inject", queue).await?;
                let other = text("Mind b.txt and a.txt.");
                let other = json!({"messageId": first["messageId"], "content": other});
                call("session/replace_inject", other).await?;
                let revoke = json!({"messageId": last["messageId"]});
                call("session/revoke_inject", revoke).await?;
                let remind =
                    json!({"mode": "finish_step", "body": "Run the tests.", "tags": ["tests"]});
                call("session/remind", remind).await?;
                let brief =
                    json!({"sessionId": session, "mode": "finish_step", "body": "Be brief."});
                agent.send_notification(UntypedMessage::new("session/remind", brief)?)?;
                call("_session/steering", steering.clone()).await?;
                call("session/pending_injections", json!({})).await?;
                host.release();
                Ok::<_, Error>((first["messageId"].clone(), last["messageId"].clone()))
            };
            let (stop, messages) = tokio::join!(prompt(&agent, &session, "work"), steers);
            stop?;
            let (first, last) = messages?;
            let late = call("session/revoke_inject", json!({"messageId": first})).await;
            assert!(late.is_err(), "{late:?}");
            call("_session/steering", steering).await?;

            let ends = async {
                let ready = |host: &Host| host.text("agent_message_chunk").ends_with("Ready.");
                host.wait_until(ready).await;
                let params = json!({"sessionId": session});
                agent.send_notification(UntypedMessage::new("agent/resume", params)?)?;
                agent.send_notification(CancelNotification::new(session.clone()))
            };
            let (stop, ended) = tokio::join!(prompt(&agent, &session, "stay"), ends);
            stop?;
            ended?;
            Ok((json!(session), first, last))
        })
        .await?;
    Ok(vec![
        (id_text(&session)?, "session-1".into()),
        (id_text(&first)?, "message-1".into()),
        (id_text(&last)?, "message-2".into()),
    ])
}

fn id_text(id: &Value) -> Result<String> {
    Ok(id.as_str().context("no text")?.to_owned())
}
