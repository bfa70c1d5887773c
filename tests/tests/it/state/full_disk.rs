//! The disk becomes full during a run: the page receives an error and keeps its content, and when there is
//! space again the session continues.

use std::time::Duration;

use anyhow::{Result, ensure};
use harn_tests::Told;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    state::server::{Place, length},
    support_stress::in_time,
};

/// Shorter than the ping interval of a silent socket, so that no ping can detect the end.
const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn run_that_cannot_be_written_ends_with_an_error_message() -> Result<()> {
    let stream = json!([
        {"say": "before"},
        {"emit": {"type": "tool_call", "tool_call_id": "look-1", "tool_name": "look", "status": "pending"}},
        {"repeat": {"times": 100_000, "steps": [{"say": "more "}, {"sleep_ms": 1}]}},
    ]);
    let place = Place::new(json!([
        {"match": "^quick", "steps": [{"say": "done"}]},
        {"steps": stream},
    ]))?;
    let server = place.start().await?;
    let mut page = server.page(None).await?;
    let session = page.session().to_owned();
    let journal = place.journal(&session);
    page.submit("go").await?;
    let said = |it: &Value| it["messages"][2]["content"] != "" && it["messages"][2].is_object();
    in_time("the stream", page.read_until(said)).await??;

    server.limit_files(Some(length(&journal)))?;
    let failed = page.read_until(|it| it["status"] == "error");
    let shown = in_time("the end", failed).await??.clone();
    let why = shown["error"].as_str().unwrap_or_default();
    ensure!(why.contains("events.jsonl"), "it does not say what: {why}");
    let messages = shown["messages"].as_array().unwrap();
    ensure!(messages.last().unwrap()["status"] == "error", "{shown}");
    let call = &messages[1]["toolCalls"][0];
    ensure!(call["status"] == "error", "{call}");
    // The socket closes, because the run is over.
    let over = timeout(SOON, page.read_until_closed()).await??;
    ensure!(over.is_some(), "the socket broke without a farewell");

    // The disk is still full: a new client receives the error instead of a session that cannot be written.
    let (status, words) = server
        .request_rejection(&format!("/ws?session={session}"))
        .await?;
    ensure!(status == 500, "{status}: {words}");
    ensure!(words.contains("events.jsonl"), "{words}");

    // The limit is removed.
    server.limit_files(None)?;
    let mut page = server.page(Some(&session)).await?;
    let found = page.state().clone();
    ensure!(found["status"] == "error", "{found}");
    let again = found["messages"].as_array().unwrap();
    ensure!(again.len() == messages.len(), "{again:?}");
    for (was, is) in messages.iter().zip(again) {
        // The page showed only what had been written.
        ensure!(was["id"] == is["id"] && was["content"] == is["content"]);
        ensure!(was["status"] == is["status"], "{was} then {is}");
    }
    page.submit("quick").await?;
    let idle = page.read_until(|it| it["status"] == "idle");
    let state = in_time("the next run", idle).await??;
    ensure!(state["messages"][messages.len() + 1]["content"] == "done");
    page.leave().await;
    server.end().await
}

#[tokio::test]
async fn prompt_that_cannot_be_written_is_rejected_with_an_error_message() -> Result<()> {
    let place = Place::new(json!([{"steps": [{"say": "done"}]}]))?;
    let server = place.start().await?;
    let mut page = server.page(None).await?;
    let session = page.session().to_owned();
    page.submit("first").await?;
    let idle =
        page.read_until(|it| it["messages"][1]["content"] == "done" && it["status"] == "idle");
    in_time("a run", idle).await??;

    server.limit_files(Some(length(&place.journal(&session))))?;
    page.submit("second").await?;
    let mut told = Vec::new();
    let over = loop {
        match timeout(SOON, page.next()).await?? {
            Told::State | Told::Delta => {}
            Told::Error(words) => told.push(words),
            Told::Closed(why) => break why,
        }
    };
    // The message is in an error frame or in the document.
    let shown = page.state()["error"].as_str().map(str::to_owned);
    told.extend(shown);
    let why = told.join("; ");
    ensure!(why.contains("events.jsonl"), "it does not say why: {why:?}");
    ensure!(over.is_some(), "the socket broke without a farewell");

    server.limit_files(None)?;
    let mut page = server.page(Some(&session)).await?;
    page.submit("third").await?;
    let done = |it: &Value| {
        let Some([.., prompt, answer]) = it["messages"].as_array().map(Vec::as_slice) else {
            return false;
        };
        prompt["content"] == "third" && answer["content"] == "done" && it["status"] == "idle"
    };
    in_time("the next run", page.read_until(done)).await??;
    let prompts = page.state()["messages"].as_array().unwrap().iter();
    let prompts = prompts.filter(|it| it["role"] == "user");
    let prompts: Vec<_> = prompts.map(|it| it["content"].clone()).collect();
    ensure!(prompts == ["first", "third"], "{prompts:?}");
    page.leave().await;
    server.end().await
}
