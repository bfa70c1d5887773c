//! Decisions about tool calls, and answers to questions to people.

use harn_testkit::{StateClient, StateServer};
use serde_json::{Value, json};

use crate::sockets::test_agent::serve_agent;

/// Returns a client whose agent waits for a decision, and the id of the call.
async fn connect_and_ask(server: &StateServer, query: &str) -> (StateClient, String) {
    let mut client = server.connect(query).await;
    client.submit("ask").await;
    client
        .read_until(|state| state["approvals"] != json!([]))
        .await;
    let call = client.text("/approvals/0/toolCallId").to_owned();
    (client, call)
}

#[tokio::test(start_paused = true)]
async fn an_approval_contains_everything_for_a_decision() {
    let (_test, server) = serve_agent();
    let (client, call) = connect_and_ask(&server, "").await;
    let approval = &client.state()["approvals"][0];
    assert_eq!(approval["command"], "cargo clean");
    assert_eq!(approval["input"]["command"], "cargo clean");
    let kinds = approval["options"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds
        .map(|option| option["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"allow_once") && kinds.contains(&"reject_once"));
    let shown = &client.state()["messages"][1]["toolCalls"][0];
    assert_eq!(
        (&shown["id"], &shown["approval"]),
        (&json!(call), &json!("pending"))
    );
    assert_eq!(client.text("/status"), "running");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_approved_once_or_denied_with_a_reason() {
    let (_test, server) = serve_agent();
    let (mut client, call) = connect_and_ask(&server, "").await;
    client
        .command(json!({"type": "approve", "toolCallId": call}))
        .await;
    client.read_until_status("idle").await;
    let shown = &client.state()["messages"][1]["toolCalls"][0];
    assert_eq!(shown["approval"], "approved");
    assert_eq!(
        (&shown["status"], &shown["output"]),
        (&json!("complete"), &json!("cleaned"))
    );
    assert_eq!(client.state()["approvals"], json!([]));
    // The call is decided already.
    client
        .command(json!({"type": "deny", "toolCallId": call}))
        .await;
    let words = "no open question has this toolCallId; it may be decided already";
    assert_eq!(client.read_error().await, words);

    client.submit("ask").await;
    client
        .read_until(|state| state["approvals"] != json!([]))
        .await;
    let call = client.text("/approvals/0/toolCallId").to_owned();
    client
        .command(json!({"type": "deny", "toolCallId": call, "reason": "not today"}))
        .await;
    client.read_until_status("idle").await;
    let shown = &client.state()["messages"][3]["toolCalls"][0];
    assert_eq!(
        (&shown["status"], &shown["approval"]),
        (&json!("error"), &json!("denied"))
    );
    assert!(
        shown["error"].as_str().unwrap().contains("not today"),
        "{shown}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_option_is_chosen_by_its_id() {
    let (_test, server) = serve_agent();
    let (mut client, call) = connect_and_ask(&server, "").await;
    let options = client.state()["approvals"][0]["options"].clone();
    let of = |kind: &str| -> Value {
        let options = options.as_array().unwrap();
        options.iter().find(|it| it["kind"] == kind).unwrap()["id"].clone()
    };
    for (command, option, words) in [
        (
            "approve",
            json!("nothing"),
            "unknown optionId; known optionIds: ",
        ),
        (
            "approve",
            of("reject_once"),
            "rejects the call; send it with deny",
        ),
        (
            "deny",
            of("allow_once"),
            "allows the call; send it with approve",
        ),
    ] {
        client
            .command(json!({"type": command, "toolCallId": call, "optionId": option}))
            .await;
        let refused = client.read_error().await;
        assert!(refused.contains(words), "{refused}");
        assert_ne!(client.state()["approvals"], json!([]));
    }
    let always = of("allow_always");
    client
        .command(json!({"type": "approve", "toolCallId": call, "optionId": always}))
        .await;
    client.read_until_status("idle").await;
    // The next call needs no decision.
    client.submit("ask").await;
    client.read_until_quiet().await;
    assert_eq!(client.text("/messages/3/toolCalls/0/status"), "complete");
    assert_eq!(
        client.state()["messages"][3]["toolCalls"][0]["approval"],
        Value::Null
    );
}

/// A cancel does not allow the call.
#[tokio::test(start_paused = true)]
async fn a_question_ends_with_its_run() {
    let (_test, server) = serve_agent();
    let (mut client, _) = connect_and_ask(&server, "").await;
    client.command(json!({"type": "cancel"})).await;
    client.read_until_status("idle").await;
    client.read_until_quiet().await;
    assert_eq!(client.state()["approvals"], json!([]));
    let shown = &client.state()["messages"][1]["toolCalls"][0];
    assert_eq!(
        (&shown["status"], &shown["approval"]),
        (&json!("error"), &json!("denied"))
    );
}

#[tokio::test(start_paused = true)]
async fn only_the_controller_decides() {
    let (_test, server) = serve_agent();
    let (mut ann, call) = connect_and_ask(&server, "client=ann").await;
    let query = format!("session={}&client=bob", ann.session());
    let mut bob = server.connect(&query).await;
    assert_eq!(bob.text("/approvals/0/toolCallId"), call);
    for command in ["approve", "deny"] {
        bob.command(json!({"type": command, "toolCallId": call}))
            .await;
        let words = "only ann, which controls the session, may do this; a client with a name may send takeover";
        assert_eq!(bob.read_error().await, words);
    }
    bob.command(json!({"type": "takeover"})).await;
    bob.read_until(|state| state["controller"] == "bob").await;
    bob.command(json!({"type": "approve", "toolCallId": call}))
        .await;
    bob.read_until_status("idle").await;
    ann.read_until_quiet().await;
    assert_eq!(ann.state(), bob.state());
    assert_eq!(ann.text("/messages/1/toolCalls/0/approval"), "approved");
}

#[tokio::test(start_paused = true)]
async fn all_kinds_of_questions_are_answered() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("client=ann").await;
    let cases = [
        ("question", json!({"answer": "443"}), "port 443"),
        (
            "approval",
            json!({"approved": false, "reason": "not today"}),
            "deploy: false",
        ),
        ("escalation", json!({"accepted": true}), "taken over: true"),
    ];
    for (prompt, answer, said) in cases {
        client.submit(prompt).await;
        client
            .read_until(|state| state["questions"] != json!([]))
            .await;
        let question = client.state()["questions"][0].clone();
        assert_eq!(question["kind"], prompt);
        let mut command = json!({"type": "answer", "questionId": question["id"]});
        command
            .as_object_mut()
            .unwrap()
            .extend(answer.as_object().unwrap().clone());
        client.command(command).await;
        client.read_until_status("idle").await;
        assert_eq!(client.state()["questions"], json!([]));
        let last = client.messages().pop().unwrap();
        assert_eq!(last, format!("assistant complete {said}"));
    }
}

#[tokio::test(start_paused = true)]
async fn two_names_of_one_principal_count_as_one_reviewer() {
    let (_test, server) = serve_agent();
    let mut ann = server.connect("client=ann").await;
    let query = format!("session={}&client=bob", ann.session());
    let mut bob = server.connect(&query).await;
    ann.submit("dual").await;
    ann.read_until(|state| state["questions"] != json!([]))
        .await;
    let question = ann.state()["questions"][0].clone();
    assert_eq!(
        (&question["kind"], &question["quorum"]),
        (&json!("dual_control"), &json!(2))
    );
    let yes = json!({"type": "answer", "questionId": question["id"], "approved": true});
    ann.command(yes.clone()).await;
    ann.read_until_quiet().await;
    assert_eq!(ann.text("/status"), "running");
    let words = "\"owner\" has decided already; another reviewer must decide";
    ann.command(yes.clone()).await;
    assert_eq!(ann.read_error().await, words);
    bob.command(json!({"type": "takeover"})).await;
    bob.read_until(|state| state["controller"] == "bob").await;
    bob.command(yes).await;
    assert_eq!(bob.read_error().await, words);
    assert_eq!(bob.text("/status"), "running");
}

#[tokio::test(start_paused = true)]
async fn malformed_answers_are_rejected() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    let answer = |id: &str, with: Value| {
        let mut answer = json!({"type": "answer", "questionId": id});
        answer
            .as_object_mut()
            .unwrap()
            .extend(with.as_object().unwrap().clone());
        answer
    };
    client
        .command(answer("hitl_1", json!({"answer": "80"})))
        .await;
    let words = "no question with the id \"hitl_1\" is waiting for an answer";
    assert_eq!(client.read_error().await, words);
    client.submit("question").await;
    client
        .read_until(|state| state["questions"] != json!([]))
        .await;
    let id = client.text("/questions/0/id").to_owned();
    for with in [
        json!({"answer": "8080"}),
        json!({}),
        json!({"approved": true}),
    ] {
        client.command(answer(&id, with)).await;
        let refused = client.read_error().await;
        assert!(!refused.is_empty());
        assert_ne!(client.state()["questions"], json!([]), "{refused}");
    }
    client.command(answer(&id, json!({"answer": "80"}))).await;
    client.read_until_status("idle").await;
}
