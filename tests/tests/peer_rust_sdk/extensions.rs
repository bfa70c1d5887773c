//! How the Rust SDK handles everything beyond ACP, in each profile. The messages that the SDK delivers to the
//! host are compared with the lines on the wire.

use std::collections::BTreeSet;

use agent_client_protocol::v1::schema::{CancelNotification, CloseSessionRequest, StopReason};
use anyhow::{Context, Result, ensure};
use harn_tests::repository_path;
use serde_json::{Value, json};

use crate::{
    host::{Host, Place},
    open, prompt,
};

const AGENT_EVENT: &str = "_harn/agentEvent";

#[tokio::test]
async fn meta_delivers_every_advertised_extension_to_the_typed_callback() -> Result<()> {
    let host = Host::on_tour(Some("meta"));
    let harn = play_everything(&host).await?;
    assert_eq!(host.take_complaints(), [""; 0]);
    let received = carried_extensions(&host.updates());
    assert_eq!(received, carried_extensions(&updates_sent(&host)));

    let mut seen = words(&received, "sessionUpdate");
    if kinds(&host.updates()).contains("available_commands_update") {
        seen.insert("available_commands_update".to_owned());
    }
    assert_eq!(json!(seen), harn["sessionUpdateExtensions"]);
    assert!(seen.len() >= 19, "only {} are advertised", seen.len());
    // The tour reports the pinned progress; the delivered update equals the fixture.
    let pinned = std::fs::read(repository_path("fixtures/acp/progress.meta.json"))?;
    let pinned: Value = serde_json::from_slice(&pinned)?;
    assert!(received.contains(&pinned["params"]["update"]["_meta"]["harn"]));
    let mut workers = received
        .iter()
        .filter(|it| it["sessionUpdate"] == "worker_update");
    let end = workers
        .rfind(|it| it["terminal"] == true)
        .context("no worker ended")?;
    for field in [
        "workerId",
        "workerName",
        "workerTask",
        "workerMode",
        "event",
        "status",
    ] {
        assert!(end[field].is_string(), "{field} of {end}");
    }

    assert_eq!(host.events(), events_sent(&host));
    let told: Vec<_> = host
        .events()
        .into_iter()
        .map(|event| event[1].clone())
        .collect();
    let mut told = words(&told, "kind");
    let kinds = strings(&harn["extensionMethods"][AGENT_EVENT]["kinds"])?;
    let mut kinds = BTreeSet::from_iter(kinds);
    // Sent when the tools change, which no tour does.
    for kinds in [&mut told, &mut kinds] {
        kinds.remove("tools_changed");
    }
    assert_eq!(told, kinds);
    Ok(())
}

#[tokio::test]
async fn sdk_drops_the_updates_of_profile_harn() -> Result<()> {
    let host = Host::on_tour(Some("harn"));
    let harn = play_everything(&host).await?;
    let mut unknown = BTreeSet::from_iter(strings(&harn["sessionUpdateExtensions"])?);
    unknown.remove("available_commands_update");
    // Part of the contract and of ACP v2: no client of v1 knows it.
    unknown.insert("user_message".to_owned());
    assert!(unknown.is_subset(&kinds(&updates_sent(&host))));
    let delivered = kinds(&host.updates());
    assert!(unknown.is_disjoint(&delivered), "{delivered:?}");
    assert_eq!(carried_extensions(&host.updates()), [Value::Null; 0]);
    let sent = updates_sent(&host);
    let dropped = sent.iter().filter_map(|it| it["sessionUpdate"].as_str());
    let dropped = dropped.filter(|kind| unknown.contains(*kind)).count();
    let complaints = host.take_complaints();
    let complaints = complaints
        .iter()
        .filter(|it| it.contains("Handler errored") && !it.contains("agent/idle"));
    assert_eq!(complaints.count(), dropped, "one for each it dropped");
    // The SDK delivers our own notifications.
    assert_eq!(host.events(), events_sent(&host));
    Ok(())
}

#[tokio::test]
async fn acp_sends_nothing_unknown_and_shows_progress_as_thoughts_and_calls() -> Result<()> {
    let host = Host::on_tour(None);
    let harn = play_everything(&host).await?;
    assert_eq!(host.take_complaints(), [""; 0]);
    assert_eq!(harn.get("sessionUpdateExtensions"), None);
    assert_eq!(
        host.updates().len(),
        updates_sent(&host).len(),
        "every update was delivered"
    );
    assert_eq!(carried_extensions(&updates_sent(&host)), [Value::Null; 0]);
    assert_eq!(events_sent(&host), [Value::Null; 0]);
    let thoughts = host.text("agent_thought_chunk");
    for word in [
        "Indexing the workspace",
        "rust-review",
        "Is a burst allowed?",
        "Reviewer",
    ] {
        assert!(thoughts.contains(word), "{word} is nowhere in: {thoughts}");
    }
    let updates = host.updates();
    let calls = host.updates_of_kind("tool_call");
    let begun = calls
        .iter()
        .find(|it| is_tester(it))
        .context("no worker is shown")?;
    let mut worker = updates
        .iter()
        .filter(|it| it["toolCallId"] == begun["toolCallId"]);
    assert_eq!(begun["status"], "in_progress");
    assert_eq!(
        worker.next_back().map(|it| &it["status"]),
        Some(&json!("completed"))
    );
    Ok(())
}

/// Plays the turn of the tour with every update and closes the session; returns the advertised extensions.
async fn play_everything(host: &Host) -> Result<Value> {
    let place = Place::new()?;
    let (hello, stop) = host
        .visit(&place, async |agent, hello| {
            let session = open(&agent, &place).await?;
            let stop = prompt(&agent, &session, "/everything").await?;
            // Only the runtime emits the outcome of a control request, so no scenario has it.
            agent.send_notification(CancelNotification::new(session.clone()))?;
            let close = CloseSessionRequest::new(session);
            agent.send_request(close).block_task().await?;
            Ok((hello, stop))
        })
        .await?;
    ensure!(stop == StopReason::EndTurn, "stopped with {stop:?}");
    let meta = hello
        .agent_capabilities
        .meta
        .context("nothing is advertised")?;
    Ok(meta["harn"].clone())
}

fn updates_sent(host: &Host) -> Vec<Value> {
    let params = host.params_on_wire("session/update").into_iter();
    params.map(|params| params["update"].clone()).collect()
}

fn events_sent(host: &Host) -> Vec<Value> {
    let params = host.params_on_wire(AGENT_EVENT).into_iter();
    params.map(|params| json!([AGENT_EVENT, params])).collect()
}

/// Returns the extensions on the carrier: `_meta.harn` of a `session_info_update`.
fn carried_extensions(updates: &[Value]) -> Vec<Value> {
    let carriers = updates
        .iter()
        .filter(|it| it["sessionUpdate"] == "session_info_update");
    let fields = carriers.map(|it| it["_meta"]["harn"].clone());
    fields.filter(|fields| !fields.is_null()).collect()
}

/// Returns whether a tool call represents the tour's first worker.
fn is_tester(call: &Value) -> bool {
    let title = call["title"].as_str();
    title.is_some_and(|title| title.starts_with("tester: "))
}

fn kinds(updates: &[Value]) -> BTreeSet<String> {
    words(updates, "sessionUpdate")
}

fn words(values: &[Value], key: &str) -> BTreeSet<String> {
    let words = values.iter().filter_map(|value| value[key].as_str());
    words.map(str::to_owned).collect()
}

fn strings(list: &Value) -> Result<Vec<String>> {
    Ok(serde_json::from_value(list.clone())?)
}
