//! Prompts, from submitted to answered, and messages during a run.

use harn_testkit::StateClient;
use serde_json::json;

use crate::sockets::test_agent::serve_agent;

async fn steer(client: &mut StateClient, message: &str) {
    client
        .command(json!({"type": "steer", "message": message}))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_answered() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("hello there").await;
    client.read_until_status("running").await;
    assert_eq!(
        client.messages(),
        ["user complete hello there", "assistant pending "]
    );
    client
        .read_until(|state| state["messages"][1]["content"] == "hello ")
        .await;
    assert_eq!(client.text("/messages/1/status"), "streaming");
    client.read_until_status("idle").await;
    assert_eq!(
        client.messages(),
        [
            "user complete hello there",
            "assistant complete hello there"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_queued_and_a_cancel_stops_one_turn() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("wait").await;
    client
        .read_until(|state| state["messages"][1]["toolCalls"] != json!([]))
        .await;
    client.submit("second").await;
    client.submit("third").await;
    client
        .read_until(|state| !state["messages"][3].is_null())
        .await;
    assert_eq!(
        client.messages(),
        [
            "user complete wait",
            "assistant streaming Working.",
            "user pending second",
            "user pending third",
        ]
    );
    client.command(json!({"type": "cancel"})).await;
    client.read_until_quiet().await;
    assert_eq!(
        client.messages(),
        [
            "user complete wait",
            "assistant complete Working.",
            "user complete second",
            "assistant complete second",
            "user complete third",
            "assistant complete third",
        ]
    );
    assert_eq!(client.text("/messages/1/toolCalls/0/status"), "error");
    assert_eq!(client.text("/status"), "idle");
}

#[tokio::test(start_paused = true)]
async fn a_steering_message_reaches_the_agent() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("client=ann").await;
    client.submit("wait").await;
    client.read_until_status("running").await;
    steer(&mut client, "look left").await;
    client.read_until_quiet().await;
    let pending = client.messages();
    assert_eq!(
        pending,
        [
            "user complete wait",
            "assistant complete Working.",
            "user complete look left",
            "assistant streaming Heard: look left",
        ]
    );
    assert_eq!(client.state()["messages"][2]["steer"], true);
    assert_eq!(client.text("/messages/2/author"), "ann");
    assert_eq!(client.state()["messages"][0]["steer"], false);
    steer(&mut client, "enough").await;
    client.read_until_status("idle").await;
}

/// No message is lost.
#[tokio::test(start_paused = true)]
async fn a_steering_message_without_a_turn_is_a_prompt() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    steer(&mut client, "hello").await;
    client.read_until_status("running").await;
    client.read_until_status("idle").await;
    assert_eq!(
        client.messages(),
        ["user complete hello", "assistant complete hello"]
    );
    assert_eq!(client.state()["messages"][0]["steer"], false);
}

#[tokio::test(start_paused = true)]
async fn queued_messages_can_be_withdrawn() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("ask").await;
    client
        .read_until(|state| state["approvals"] != json!([]))
        .await;
    client.submit("later").await;
    steer(&mut client, "meanwhile").await;
    client
        .read_until(|state| !state["messages"][3].is_null())
        .await;
    let of = |client: &StateClient, text: &str| {
        let messages = client.state()["messages"].as_array().unwrap().clone();
        messages
            .into_iter()
            .find(|it| it["content"] == text)
            .unwrap()
    };
    for text in ["later", "meanwhile"] {
        let waits = of(&client, text);
        assert_eq!(waits["status"], "pending");
        client
            .command(json!({"type": "withdraw", "messageId": waits["id"]}))
            .await;
        client.read_until_quiet().await;
        assert_eq!(of(&client, text)["status"], "error");
    }
    // A second withdrawal changes nothing.
    let gone = of(&client, "meanwhile");
    client
        .command(json!({"type": "withdraw", "messageId": gone["id"]}))
        .await;
    assert_eq!(client.read_until_quiet().await, []);
    client
        .command(json!({"type": "withdraw", "messageId": "nothing"}))
        .await;
    assert_eq!(client.read_error().await, "no pending message has this id");
    client.command(json!({"type": "cancel"})).await;
    client.read_until_status("idle").await;
    assert!(
        !client
            .messages()
            .iter()
            .any(|it| it.contains("assistant complete later"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_shows_its_output_as_it_grows() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("tool").await;
    client
        .read_until(|state| state["messages"][1]["toolCalls"][0]["output"] == "one")
        .await;
    assert_eq!(client.text("/messages/1/toolCalls/0/status"), "running");
    client.read_until_status("idle").await;
    let call = &client.state()["messages"][1]["toolCalls"][0];
    assert_eq!(call["output"], "one\ntwo\nthree");
    assert_eq!(call["status"], "complete");
    assert_eq!(call["title"], "Run the tests");
    let (session, call) = (client.session(), call["id"].as_str().unwrap());
    let target = format!("/state/output?session={session}&call={call}");
    assert_eq!(server.get(&target).await.body, "one\ntwo\nthree");
}

/// The error is in the document until the next run. A whole document clears it, since no operation removes
/// anything.
#[tokio::test(start_paused = true)]
async fn an_error_is_cleared_by_the_next_run() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("fail").await;
    client.read_until_status("error").await;
    assert_eq!(client.text("/error"), "the model is not reachable");
    assert_eq!(client.messages()[1], "assistant error Let me look");
    client.submit("hello").await;
    let first = client.next().await;
    assert_eq!(first, harn_testkit::ReceivedFrame::State);
    assert_eq!(client.text("/status"), "running");
    assert!(client.state().get("error").is_none());
    client.read_until_status("idle").await;
}

#[tokio::test(start_paused = true)]
async fn commands_of_a_frame_are_executed_in_order() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    client
        .send(json!([
            {"type": "submit", "prompt": "one"},
            {"type": "submit", "prompt": "two"},
            {"type": "configure", "config": {"title": "Both"}},
        ]))
        .await;
    client.read_until_quiet().await;
    assert_eq!(
        client.messages(),
        [
            "user complete one",
            "assistant complete one",
            "user complete two",
            "assistant complete two",
        ]
    );
    assert_eq!(client.text("/session/title"), "Both");
}
