//! Decisions about calls, answers to questions, and settings.

use serde_json::{Value, json};

use crate::golden_state::{agent::serve_agent, check_transcript};

async fn check_decision(name: &str, decision: Value, said: &str) {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("Clean up").await;
    client.read_until_quiet().await;
    assert_eq!(client.text("/approvals/0/command"), "cargo clean");
    let mut command = decision;
    command["toolCallId"] = client.state()["approvals"][0]["toolCallId"].clone();
    client.command(command.clone()).await;
    client.read_until_quiet().await;
    assert!(
        client.messages()[2].ends_with(said),
        "{:?}",
        client.messages()
    );
    test.recorder().record_note("too late");
    client.command(command).await;
    client.read_error().await;
    client.close().await;
    check_transcript(name, test.recorder());
}

#[tokio::test(start_paused = true)]
async fn approve_runs_the_call() {
    check_decision("approval-approved", json!({"type": "approve"}), "Done.").await;
}

#[tokio::test(start_paused = true)]
async fn deny_fails_the_call() {
    let decision = json!({"type": "deny", "reason": "I need it"});
    check_decision("approval-denied", decision, "Then not.").await;
}

#[tokio::test(start_paused = true)]
async fn controller_answers_questions_of_every_kind() {
    let (test, server) = serve_agent();
    let mut client = server.connect("client=ada").await;
    client.submit("Ship it").await;
    client.read_until_quiet().await;
    for answer in [
        json!({"answer": "80"}),
        json!({"approved": false, "reason": "not on a Friday"}),
        json!({"accepted": true}),
        json!({"approved": true}),
    ] {
        let id = &client.state()["questions"][0]["id"];
        let mut command = json!({"type": "answer", "questionId": id});
        let answer = answer.as_object().unwrap().clone();
        command.as_object_mut().unwrap().extend(answer);
        client.command(command).await;
        client.read_until_quiet().await;
    }
    // Two principals have to agree; two connections of one principal count once.
    let question = client.text("/questions/0/id").to_owned();
    let mut other = server.connect("session=session-1&client=grace").await;
    client.read_until_quiet().await;
    other.command(json!({"type": "takeover"})).await;
    other.read_until_quiet().await;
    client.read_until_quiet().await;
    let yes = json!({"type": "answer", "questionId": question, "approved": true});
    other.command(yes).await;
    other.read_error().await;
    other.command(json!({"type": "cancel"})).await;
    other.read_until_quiet().await;
    client.read_until_quiet().await;
    assert_eq!(client.state(), other.state());
    let content = "Port 80.Not deployed.Somebody looks after it.";
    assert_eq!(client.text("/messages/1/content"), content);
    other.close().await;
    client.read_until_quiet().await;
    client.close().await;
    check_transcript("questions", test.recorder());
}

#[tokio::test(start_paused = true)]
async fn configure_changes_settings() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    for config in [
        json!({"permissionMode": "accept-edits", "model": "large"}),
        json!({"title": "Where the parser is"}),
    ] {
        client
            .command(json!({"type": "configure", "config": config}))
            .await;
        client.read_until_quiet().await;
    }
    assert_eq!(client.text("/session/mode"), "accept-edits");
    assert_eq!(client.text("/session/options/0/value"), "large");
    for config in [
        json!({"permissionMode": "everything"}),
        json!({"model": "huge"}),
        json!({"temperature": 0.5}),
        json!({"title": ""}),
    ] {
        client
            .command(json!({"type": "configure", "config": config}))
            .await;
        client.read_error().await;
    }
    client.close().await;
    check_transcript("configure", test.recorder());
}
