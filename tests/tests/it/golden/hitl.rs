//! Questions to a person, at four hosts: one with the bridge, one with forms, one that only has permission
//! requests, and one that supports none of these.

use std::sync::Arc;

use harn_model::StopReason;
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use harn_tests::check_transcript;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::golden::{existing_session_params, open, prompt};

/// Sends `initialize` with these capabilities.
async fn initialize(client: &mut StrictClient, capabilities: Value) -> Value {
    let hello = json!({
        "protocolVersion": 1,
        "clientCapabilities": capabilities,
        "clientInfo": {"name": "strict", "version": "0.0.0"},
    });
    client.request("initialize", hello).await
}

fn bridge_capabilities() -> Value {
    json!({"_meta": {"harn": {"hostBridge": true}}})
}

/// Asks one question of each kind and reports each answer. After each answer it waits until the client has
/// `seen` that its answer counts: updates and responses have an order only where the protocol requires one.
async fn ask_everything(cx: TurnContext, seen: Arc<Notify>) -> Result<StopReason, AgentError> {
    let port = cx.question("Which port?").choices(["8080", "9090"]);
    let port = port.ask().await?;
    seen.notified().await;
    cx.say(format!("Port {}. ", port.text())).await?;
    let deploy = cx
        .approval("deploy")
        .args(json!({"to": "production"}))
        .evidence("workspace_path", "deploy.toml");
    let verdict = deploy.detail("Version 2 of everything").ask().await?;
    seen.notified().await;
    cx.say(format!("Deployed: {}. ", verdict.approved)).await?;
    let launch = cx.dual_control("launch").reviewers(["ada", "grace"]);
    let verdict = launch.ask().await?;
    seen.notified().await;
    cx.say(format!("Launched by {}. ", verdict.reviewers.join(", ")))
        .await?;
    let help = cx.escalation("The disk is full").assignee("on-call");
    let helper = help.ask().await?;
    seen.notified().await;
    cx.say(format!("Taken over by {}.", helper.by)).await?;
    Ok(StopReason::EndTurn)
}

/// Reads the next question of a host with the bridge and returns its id.
async fn read_question(client: &mut StrictClient, kind: &str) -> Value {
    let update = client.expect_update_of("hitl_request").await;
    let params = client.expect_notification("harn.hitl.requested").await;
    let harn = &update["_meta"]["harn"];
    assert_eq!(harn["requestId"], params["request_id"]);
    assert_eq!(harn["payload"], params["payload"]);
    assert_eq!(params["kind"], kind);
    params["request_id"].clone()
}

/// Sends the last answer that a question needs.
async fn send_last_answer(client: &mut StrictClient, seen: &Notify, answer: Value) {
    let id = client.send_request("harn.hitl.respond", answer).await;
    let update = client.expect_update_of("hitl_resolved").await;
    assert_eq!(update["_meta"]["harn"]["outcome"], "answered");
    assert_eq!(client.expect_response(&id).await, json!({"ok": true}));
    seen.notify_one();
    client.expect_update_of("agent_message_chunk").await;
}

#[tokio::test]
async fn host_with_the_bridge_answers_every_question() {
    let seen = Arc::new(Notify::new());
    let told = seen.clone();
    let agent = ScriptedAgent::new(move |cx| ask_everything(cx, told.clone()));
    let test = TestHub::new(agent);
    let mut client = test.connect();
    let hello = initialize(&mut client, bridge_capabilities()).await;
    let methods = &hello["agentCapabilities"]["_meta"]["harn"]["extensionMethods"];
    assert_eq!(
        methods["harn.hitl.respond"]["schema"],
        "hitl-respond.schema.json"
    );
    let session = open(&mut client, &test).await;
    let turn = prompt(&mut client, &session, "Go").await;

    let id = read_question(&mut client, "question").await;
    let wrong = json!({"request_id": id, "approved": true, "reviewer": "ada"});
    let error = client.request_error("harn.hitl.respond", wrong).await;
    assert_eq!(error["code"], -32602);
    let unknown = json!({"request_id": "hitl_question_other", "answer": "9090"});
    let error = client.request_error("harn.hitl.respond", unknown).await;
    assert_eq!(error["code"], -31000);
    let error = client.request_error("harn.hitl.respond", json!({})).await;
    assert_eq!(error["code"], -32602);
    let answer = json!({"request_id": id, "answer": "9090"});
    send_last_answer(&mut client, &seen, answer.clone()).await;

    let id = read_question(&mut client, "approval").await;
    let late = client.request_error("harn.hitl.respond", answer).await;
    assert_eq!(late["data"]["reason"], "unknown_request");
    let answer = json!({
        "request_id": id,
        "approved": true,
        "reviewer": "ada",
        "reason": "It was tested",
        "responded_at": "2026-11-16T09:00:00Z",
    });
    send_last_answer(&mut client, &seen, answer).await;

    let id = read_question(&mut client, "dual_control").await;
    let vote = |who: &str| json!({"request_id": id, "approved": true, "reviewer": who});
    let first = client.request("harn.hitl.respond", vote("ada")).await;
    assert_eq!(first, json!({"ok": true}));
    for (who, why) in [("ada", "answered_already"), ("mallory", "not_a_reviewer")] {
        let error = client.request_error("harn.hitl.respond", vote(who)).await;
        assert_eq!(error["data"]["reason"], why);
    }
    send_last_answer(&mut client, &seen, vote("grace")).await;

    let id = read_question(&mut client, "escalation").await;
    let answer = json!({"request_id": id, "accepted": true, "reviewer": "grace"});
    send_last_answer(&mut client, &seen, answer).await;
    let (_, result) = client.collect_updates_until(&turn).await;
    assert_eq!(result["stopReason"], "end_turn");
    client.close().await;
    check_transcript("hitl-bridge", test.recorder());
}

/// Asks questions that one client can answer alone, and reports each answer.
async fn ask_a_person(cx: TurnContext) -> Result<StopReason, AgentError> {
    let name = cx.question("What is it called?").default("nothing");
    let name = name.ask().await?;
    cx.say(format!("{}, default {}. ", name.text(), name.is_default))
        .await?;
    let port = cx.question("Which port?").choices(["8080", "9090"]);
    let port = port.ask().await?;
    cx.say(format!("Port {}. ", port.text())).await?;
    for _ in 0..2 {
        let deploy = cx.approval("deploy").args(json!({"to": "production"}));
        let verdict = deploy.detail("Version 2 of everything").ask().await?;
        let reason = verdict.reason.unwrap_or_default();
        cx.say(format!("Deployed: {} {reason}. ", verdict.approved))
            .await?;
    }
    let helper = cx
        .escalation("The disk is full")
        .assignee("on-call")
        .ask()
        .await?;
    cx.say(format!("Taken over by {}. ", helper.by)).await?;
    cx.question("Which port?").choices(["1", "2"]).ask().await?;
    unreachable!("nobody answered that")
}

const PERMISSION: &str = "session/request_permission";

/// Reads the next question as a request of this method and returns the request's id and params. A permission
/// request names a call that was announced.
async fn read_question_request(client: &mut StrictClient, method: &str) -> (Value, Value) {
    client.expect_update_of("hitl_request").await;
    if method != PERMISSION {
        return client.expect_request(method).await;
    }
    read_permission_request(client).await
}

/// Reads the announcement of a call and the permission request that names it.
async fn read_permission_request(client: &mut StrictClient) -> (Value, Value) {
    let call = client.expect_update_of("tool_call").await;
    assert_eq!(
        (&call["kind"], &call["status"]),
        (&json!("think"), &json!("pending"))
    );
    let (ask, params) = client.expect_request(PERMISSION).await;
    for name in ["toolCallId", "title", "rawInput"] {
        assert_eq!(params["toolCall"][name], call[name]);
    }
    (ask, params)
}

/// Reads the end of a question that has a call.
async fn read_settled_call(client: &mut StrictClient) -> Value {
    let call = client.expect_update_of("tool_call_update").await;
    let update = client.expect_update_of("hitl_resolved").await;
    let harn = &update["_meta"]["harn"];
    assert_eq!(harn["requestId"], call["toolCallId"]);
    let answered = harn["outcome"] == "answered";
    assert_eq!(
        call["status"],
        if answered { "completed" } else { "failed" }
    );
    update
}

#[tokio::test]
async fn host_with_forms_answers_questions() {
    let test = TestHub::new(ScriptedAgent::new(ask_a_person));
    let mut client = test.connect();
    // In the profile `harn`, approvals use the dialect of tool approvals, not forms.
    const CARRIER: &str = "session_info_update";
    let capabilities = json!({"elicitation": {"form": {}}, "_meta": {"harn": {"profile": "meta"}}});
    initialize(&mut client, capabilities).await;
    let session = open(&mut client, &test).await;
    let turn = prompt(&mut client, &session, "Go").await;
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let answers = [
        accept(json!({"answer": "Harn"})),
        accept(json!({"answer": "9090"})),
        accept(json!({"approved": true, "reason": "It was tested"})),
        json!({"action": "decline"}),
        accept(json!({"accepted": true})),
    ];
    for answer in answers {
        let told = client.expect_update_of(CARRIER).await;
        assert_eq!(told["_meta"]["harn"]["sessionUpdate"], "hitl_request");
        let (ask, params) = client.expect_request("elicitation/create").await;
        assert_eq!(
            (&params["mode"], &params["sessionId"]),
            (&json!("form"), &session)
        );
        client.respond(&ask, answer).await;
        let update = client.expect_update_of(CARRIER).await;
        assert_eq!(update["_meta"]["harn"]["outcome"], "answered");
        client.expect_update_of("agent_message_chunk").await;
    }
    client.expect_update_of(CARRIER).await;
    let (ask, _) = client.expect_request("elicitation/create").await;
    client.respond(&ask, json!({"action": "decline"})).await;
    let (updates, result) = client.collect_updates_until(&turn).await;
    assert_eq!(updates[0]["_meta"]["harn"]["outcome"], "cancelled");
    assert_eq!(result["stopReason"], "end_turn");
    client.close().await;
    check_transcript("hitl-form", test.recorder());
}

#[tokio::test]
async fn host_with_permission_requests_answers_questions() {
    let test = TestHub::new(ScriptedAgent::new(ask_a_person));
    let mut client = test.connect();
    initialize(&mut client, json!({})).await;
    let session = open(&mut client, &test).await;
    let turn = prompt(&mut client, &session, "Go").await;
    // This host cannot answer with text, so the default applies.
    client.expect_update_of("hitl_request").await;
    client.expect_update_of("tool_call").await;
    read_settled_call(&mut client).await;
    client.expect_update_of("agent_message_chunk").await;
    for option in ["choice_1", "approve", "reject", "approve"] {
        let (ask, params) = read_question_request(&mut client, PERMISSION).await;
        let options = params["options"].as_array().unwrap();
        assert!(
            options.iter().any(|it| it["optionId"] == option),
            "{params}"
        );
        let outcome = json!({"outcome": "selected", "optionId": option});
        client.respond(&ask, json!({"outcome": outcome})).await;
        read_settled_call(&mut client).await;
        client.expect_update_of("agent_message_chunk").await;
    }
    let (ask, _) = read_question_request(&mut client, PERMISSION).await;
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    client.respond(&ask, outcome).await;
    let (updates, result) = client.collect_updates_until(&turn).await;
    assert_eq!(updates[0]["status"], "failed");
    assert_eq!(updates[1]["_meta"]["harn"]["outcome"], "cancelled");
    assert_eq!(result["stopReason"], "end_turn");
    client.close().await;
    check_transcript("hitl-choice", test.recorder());
}

/// Asks for an approval and reports the verdict.
async fn ask_for_approval(cx: TurnContext) -> Result<StopReason, AgentError> {
    let deploy = cx.approval("deploy").args(json!({"to": "production"}));
    let deploy = deploy.evidence("workspace_path", "deploy.toml");
    let verdict = deploy.ask().await?;
    let reason = verdict.reason.unwrap_or_default();
    cx.say(format!("Deployed: {} {reason}", verdict.approved))
        .await?;
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn an_approval_uses_the_dialect_of_tool_approvals() {
    let test = TestHub::builder(ScriptedAgent::new(ask_for_approval));
    let test = test.rules("auto_deny = ['drop_*']").build();
    let mut client = test.connect();
    initialize(&mut client, json!({"_meta": {"harn": {"profile": "harn"}}})).await;
    let session = open(&mut client, &test).await;
    let answers = [
        (
            json!({"outcome": {"outcome": "selected"}}),
            "Deployed: true ",
        ),
        (json!({"granted": true}), "Deployed: true "),
        (
            json!({"granted": false, "reason": "not on a Friday"}),
            "Deployed: false not on a Friday",
        ),
    ];
    for (answer, said) in answers {
        let turn = prompt(&mut client, &session, "Go").await;
        let (ask, params) = read_question_request(&mut client, PERMISSION).await;
        assert_eq!(
            params["approvalRequest"]["id"],
            params["toolCall"]["toolCallId"]
        );
        assert_eq!(params["approvalRequest"]["action"], "deploy");
        assert_eq!(params["toolCall"]["toolName"], "deploy");
        assert_eq!(params["declaredPaths"], json!(["deploy.toml"]));
        let lists = &params["mutation"]["approval_policy"];
        assert_eq!(lists["auto_deny"], json!(["drop_*"]));
        client.respond(&ask, answer).await;
        let update = read_settled_call(&mut client).await;
        assert_eq!(update["_meta"]["harn"]["outcome"], "answered");
        let update = client.expect_update_of("agent_message_chunk").await;
        assert_eq!(update["content"]["text"], said);
        client.collect_updates_until(&turn).await;
    }
    // The approval covers the arguments in the request; an answer with others approves nothing.
    let turn = prompt(&mut client, &session, "Go").await;
    let (ask, _) = read_question_request(&mut client, PERMISSION).await;
    let other = json!({"granted": true, "args": {"to": "staging"}});
    client.respond(&ask, other).await;
    let (updates, _) = client.collect_updates_until(&turn).await;
    let resolved = updates
        .iter()
        .find(|it| it["sessionUpdate"] == "hitl_resolved");
    assert_eq!(resolved.unwrap()["_meta"]["harn"]["outcome"], "cancelled");
    client.close().await;
    check_transcript("hitl-approval", test.recorder());
}

/// Asks for two approvals and reports who gave them.
async fn ask_two(cx: TurnContext) -> Result<StopReason, AgentError> {
    let verdict = cx.dual_control("launch").ask().await?;
    let mut reviewers = verdict.reviewers.clone();
    reviewers.sort();
    cx.say(format!("{}: {}", verdict.approved, reviewers.join(", ")))
        .await?;
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn one_principal_counts_once_towards_a_quorum() {
    let test = TestHub::new(ScriptedAgent::new(ask_two));
    let mut client = test.connect();
    initialize(&mut client, json!({})).await;
    let session = open(&mut client, &test).await;
    let turn = prompt(&mut client, &session, "Go").await;
    let (ask, params) = read_question_request(&mut client, PERMISSION).await;
    assert_eq!(params["approvalRequest"]["approvers_required"], 2);
    client.respond(&ask, json!({"granted": true})).await;
    let vote = |who: &str| {
        let id = &params["approvalRequest"]["id"];
        json!({"request_id": id, "approved": true, "reviewer": who})
    };
    // The same principal answers twice more, under other names. Whichever answer reaches the session first
    // counts; the others do not.
    let mut counted = 0;
    for who in ["owner", "grace"] {
        let again = client.send_request("harn.hitl.respond", vote(who)).await;
        let MessageFromAgent::Response { id, result } = client.next().await else {
            panic!("no answer");
        };
        assert_eq!(id, again);
        match result {
            Ok(_) => counted += 1,
            Err(error) => assert_eq!(error["data"]["reason"], "answered_already"),
        }
    }
    assert!(counted <= 1, "one principal counted {counted} times");
    client
        .notify("session/cancel", json!({"sessionId": session}))
        .await;
    let (updates, result) = client.collect_updates_until(&turn).await;
    assert_eq!(result["stopReason"], "cancelled");
    let is_said = |update: &&Value| update["sessionUpdate"] == "agent_message_chunk";
    assert_eq!(updates.iter().filter(is_said).count(), 0, "{updates:?}");
    client.close().await;
}

async fn ask_once(cx: TurnContext) -> Result<StopReason, AgentError> {
    let port = cx.question("Which port?").choices(["8080", "9090"]);
    let port = port.ask().await?;
    cx.say(format!("Port {}.", port.text())).await?;
    Ok(StopReason::EndTurn)
}

/// Every client receives the call of a question before the question: live, in a replay, and after a resume
/// without replay.
#[tokio::test]
async fn question_is_announced_to_later_clients() {
    let plain = || json!({"_meta": {"harn": {"profile": "acp"}}});
    let test = TestHub::new(ScriptedAgent::new(ask_once));
    let mut client = test.connect();
    initialize(&mut client, plain()).await;
    let session = open(&mut client, &test).await;
    prompt(&mut client, &session, "Go").await;
    let (_, first) = read_permission_request(&mut client).await;
    let call = &first["toolCall"]["toolCallId"];
    client.hang_up().await;

    let mut client = test.connect();
    initialize(&mut client, plain()).await;
    let load = existing_session_params(&session, &test.workspace());
    let load = client.send_request("session/load", load).await;
    let (replayed, _) = client.collect_updates_until(&load).await;
    let announced = |update: &&Value| update["sessionUpdate"] == "tool_call";
    let replayed: Vec<_> = replayed.iter().filter(announced).collect();
    assert_eq!(replayed.len(), 1);
    assert_eq!(&replayed[0]["toolCallId"], call);
    client.expect_request(PERMISSION).await;
    client.hang_up().await;

    let mut client = test.connect();
    initialize(&mut client, plain()).await;
    let resume = existing_session_params(&session, &test.workspace());
    client.request("session/resume", resume).await;
    let (ask, again) = read_permission_request(&mut client).await;
    assert_eq!(&again["toolCall"]["toolCallId"], call);
    let outcome = json!({"outcome": "selected", "optionId": "choice_1"});
    client.respond(&ask, json!({"outcome": outcome})).await;
    let ended = client.expect_update_of("tool_call_update").await;
    assert_eq!(
        (&ended["toolCallId"], &ended["status"]),
        (call, &json!("completed"))
    );
    client.expect_update_of("agent_message_chunk").await;
    client.expect_update_of("session_info_update").await;
    client.close().await;
    check_transcript("hitl-announced", test.recorder());
}

/// Asks on the first prompt; takes the second as the answer.
async fn ask_or_take(cx: TurnContext) -> Result<StopReason, AgentError> {
    if cx.prompt_text() == "Go" {
        cx.question("What is it called?").ask().await?;
    }
    cx.say(format!("It is called {}.", cx.prompt_text()))
        .await?;
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn plain_host_receives_a_question_as_text() {
    let test = TestHub::new(ScriptedAgent::new(ask_or_take));
    let mut client = test.connect();
    initialize(&mut client, json!({"_meta": {"harn": {"profile": "acp"}}})).await;
    let session = open(&mut client, &test).await;
    let turn = prompt(&mut client, &session, "Go").await;
    let (updates, result) = client.collect_updates_until(&turn).await;
    assert_eq!(result["stopReason"], "end_turn");
    let said = |update: &Value| {
        update["sessionUpdate"] == "agent_message_chunk"
            && update["content"]["text"] == "What is it called?"
    };
    assert!(updates.iter().any(said), "{updates:?}");
    let turn = prompt(&mut client, &session, "Harn").await;
    client.collect_updates_until(&turn).await;
    client.close().await;
    check_transcript("hitl-plain", test.recorder());
}

/// The withdrawal and the updates have no order, so this test has no transcript.
#[tokio::test]
async fn cancelled_turn_withdraws_its_question() {
    let test = TestHub::new(ScriptedAgent::new(ask_a_person));
    let mut client = test.connect();
    initialize(&mut client, json!({"elicitation": {"form": {}}})).await;
    let session = open(&mut client, &test).await;
    let turn = prompt(&mut client, &session, "Go").await;
    let (ask, _) = read_question_request(&mut client, "elicitation/create").await;
    let cancel = json!({"sessionId": session});
    client.notify("session/cancel", cancel).await;
    let (mut withdrawn, mut resolved) = (false, false);
    loop {
        match client.next().await {
            MessageFromAgent::Notification { method, params } if method == "$/cancel_request" => {
                assert_eq!(params["requestId"], ask);
                withdrawn = true;
            }
            MessageFromAgent::Notification { params, .. } => {
                resolved |= params["update"]["_meta"]["harn"]["outcome"] == "cancelled";
            }
            MessageFromAgent::Response { id, result } => {
                assert_eq!(id, turn);
                assert_eq!(result.unwrap()["stopReason"], "cancelled");
                break;
            }
            other @ MessageFromAgent::Request { .. } => panic!("{other:?}"),
        }
    }
    assert!(withdrawn && resolved);
    client.respond(&ask, json!({"action": "cancel"})).await;
    client.close().await;
}

#[tokio::test]
async fn reconnected_host_is_asked_again() {
    let seen = Arc::new(Notify::new());
    let agent = ScriptedAgent::new(move |cx| ask_everything(cx, seen.clone()));
    let test = TestHub::new(agent);
    let mut client = test.connect();
    initialize(&mut client, bridge_capabilities()).await;
    let session = open(&mut client, &test).await;
    prompt(&mut client, &session, "Go").await;
    let id = read_question(&mut client, "question").await;
    client.vanish();

    let mut client = test.connect();
    initialize(&mut client, bridge_capabilities()).await;
    let load = existing_session_params(&session, &test.workspace());
    let load = client.send_request("session/load", load).await;
    client.collect_updates_until(&load).await;
    let again = loop {
        if let MessageFromAgent::Notification { method, params } = client.next().await
            && method == "harn.hitl.requested"
        {
            break params["request_id"].clone();
        }
    };
    assert_eq!(again, id);
    let answer = json!({"request_id": id, "answer": "8080"});
    let answer = client.send_request("harn.hitl.respond", answer).await;
    client.expect_update_of("hitl_resolved").await;
    client.expect_response(&answer).await;
    client.hang_up().await;
}
