//! Prompts from submission to the end of their turns.

use serde_json::json;

use crate::golden_state::{agent::serve_agent, check_transcript};

#[tokio::test(start_paused = true)]
async fn new_session_is_idle() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    assert_eq!(client.text("/status"), "idle");
    assert_eq!(client.read_until_quiet().await, []);
    client.close().await;
    check_transcript("connect-empty", test.recorder());
}

#[tokio::test(start_paused = true)]
async fn text_streams_into_the_document() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("Where is the parser?").await;
    client.read_until_quiet().await;
    let said = "assistant complete The parser is in `src/parse.rs`.";
    assert_eq!(client.messages()[1], said);
    client.close().await;
    check_transcript("submit-and-stream", test.recorder());
}

#[tokio::test(start_paused = true)]
async fn tool_calls_show_their_status() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("Run the tests").await;
    client.read_until_quiet().await;
    let calls = &client.state()["messages"][1]["toolCalls"];
    let statuses: Vec<_> = calls
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["status"])
        .collect();
    assert_eq!(statuses, ["complete", "complete", "error"]);
    client.close().await;
    check_transcript("tools", test.recorder());
}

#[tokio::test(start_paused = true)]
async fn queued_prompts_run_later_or_are_withdrawn() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("Look around").await;
    client.read_until_quiet().await;
    client.submit("And then?").await;
    client.submit("Never mind").await;
    client.read_until_quiet().await;
    let pending = client.text("/messages/3/id").to_owned();
    client
        .command(json!({"type": "withdraw", "messageId": pending}))
        .await;
    client.read_until_quiet().await;
    client.command(json!({"type": "cancel"})).await;
    client.read_until_quiet().await;
    assert_eq!(
        client.messages(),
        [
            "user complete Look around",
            "assistant complete Looking.",
            "user error Never mind",
            "user complete And then?",
            "assistant complete You said: And then?",
        ]
    );
    client.close().await;
    check_transcript("queue", test.recorder());
}

#[tokio::test(start_paused = true)]
async fn steer_reaches_a_running_turn_or_starts_one() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    let steer = |message: &str| json!({"type": "steer", "message": message});
    client.submit("Look around").await;
    client.read_until_quiet().await;
    client.command(steer("Only in src")).await;
    client.read_until_quiet().await;
    client.read_until_status("idle").await;
    client.read_until_quiet().await;
    assert_eq!(client.messages()[2], "user complete Only in src");
    test.recorder()
        .record_note("where nothing runs it is a prompt");
    client.command(steer("Thanks")).await;
    client.read_until_quiet().await;
    assert_eq!(client.messages()[5], "assistant complete You said: Thanks");
    client.close().await;
    check_transcript("steer", test.recorder());
}

#[tokio::test(start_paused = true)]
async fn cancel_stops_a_running_turn() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    let cancel = json!({"type": "cancel"});
    client.submit("Look around").await;
    client.read_until_quiet().await;
    client.command(cancel.clone()).await;
    client.read_until_quiet().await;
    assert_eq!(client.text("/status"), "idle");
    assert_eq!(client.text("/messages/1/status"), "complete");
    assert_eq!(client.text("/messages/1/toolCalls/0/status"), "error");
    test.recorder().record_note("with nothing to stop");
    client.command(cancel).await;
    client.read_until_quiet().await;
    client.close().await;
    check_transcript("cancel", test.recorder());
}

#[tokio::test(start_paused = true)]
async fn failed_run_shows_its_error_until_the_next() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("Ask the model").await;
    client.read_until_quiet().await;
    assert_eq!(client.text("/error"), "the model is not reachable");
    client.submit("Again").await;
    client.read_until_quiet().await;
    assert_eq!(client.state().get("error"), None);
    client.close().await;
    check_transcript("run-error-and-next", test.recorder());
}
