//! A permission request about a tool call, and every form of its answer.

use std::{sync::Arc, time::Duration};

use harn_model::{AgentEvent, SessionId, StopReason, ToolContent, ToolKind};
use harn_runtime::{AgentError, ToolOutput, TurnContext};
use harn_testkit::{MemoryRules, ScriptedAgent, StrictClient, TestHub};
use harn_tests::{check_transcript, initialize_params};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::golden::{existing_session_params, initialize, open, prompt};

/// Asks to write a note and reports the result.
async fn write_a_note(cx: TurnContext) -> Result<StopReason, AgentError> {
    let path = cx.host().absolute("notes.txt").display().to_string();
    let diff = ToolContent::Diff {
        path,
        old_text: None,
        new_text: "Remember the milk.\n".to_owned(),
    };
    let write = cx.tool("write_file").kind(ToolKind::Edit);
    let write = write.title("Write notes.txt").path("notes.txt");
    match write.content(diff).ask().await {
        Ok(write) => {
            let path = write.input()["path"].as_str().unwrap_or_default();
            let said = format!("It is in {path}.");
            write.complete(ToolOutput::default()).await?;
            cx.say(said).await?;
        }
        Err(AgentError::Denied { .. }) => cx.say("Then I leave it.").await?,
        Err(other) => return Err(other),
    }
    Ok(StopReason::EndTurn)
}

/// Asks to run a command that its title does not show.
async fn clean_up(cx: TurnContext) -> Result<StopReason, AgentError> {
    let run = cx.tool("run_command").title("Clean up");
    match run.command("rm -rf build && git status").ask().await {
        Ok(run) => run.complete(ToolOutput::default()).await?,
        Err(AgentError::Denied { .. }) => cx.say("Then I leave it.").await?,
        Err(other) => return Err(other),
    }
    Ok(StopReason::EndTurn)
}

/// Rules that ask about text files and deny writes outside the allowlist.
fn note_rules() -> Arc<MemoryRules> {
    MemoryRules::new(
        r#"
        auto_deny = ["delete_file"]
        write_path_allowlist = ["notes*", "diary/**"]

        [[rules]]
        id = "notes"
        action = "ask"
        match = { path = "*.txt" }
        "#,
    )
}

/// A hub with these rules, which can store grants.
fn hub_with_rules(book: &Arc<MemoryRules>) -> TestHub {
    let book = book.clone();
    let hub = TestHub::builder(ScriptedAgent::new(write_a_note));
    hub.config(move |config| config.rules = book.clone())
        .build()
}

fn asking_hub() -> TestHub {
    hub_with_rules(&note_rules())
}

enum Answer {
    Result(Value),
    Error(i32, &'static str),
}

fn selected_option(option: &str) -> Answer {
    Answer::Result(json!({"outcome": {"outcome": "selected", "optionId": option}}))
}

/// Sends a prompt and expects a tool call and its permission request. Returns the prompt's id, the request's id
/// and its params.
async fn prompt_until_asked(client: &mut StrictClient, session: &Value) -> (Value, Value, Value) {
    let id = prompt(client, session, "Take a note").await;
    client.expect_update_of("tool_call").await;
    let (ask, params) = client.expect_request("session/request_permission").await;
    (id, ask, params)
}

async fn answer(client: &mut StrictClient, ask: &Value, answer: Answer) {
    match answer {
        Answer::Result(result) => client.respond(ask, result).await,
        Answer::Error(code, message) => client.respond_error(ask, code, message).await,
    }
}

/// Answers the permission request with `with` and returns the updates after it.
async fn play_answer(name: &str, test: &TestHub, with: Answer) -> Vec<Value> {
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, test).await;
    let (id, ask, params) = prompt_until_asked(&mut client, &session).await;
    assert_eq!(
        params["approvalRequest"]["id"],
        params["toolCall"]["toolCallId"]
    );
    answer(&mut client, &ask, with).await;
    let (updates, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "end_turn");
    client.close().await;
    check_transcript(name, test.recorder());
    updates
}

/// Expects that the call ran; returns the updates.
async fn expect_call_runs(name: &str, with: Answer) -> Vec<Value> {
    let updates = play_answer(name, &asking_hub(), with).await;
    assert_eq!(updates[0]["status"], "in_progress");
    assert_eq!(updates[1]["status"], "completed");
    updates
}

/// Expects that the call did not run and that the turn continued; returns the error.
async fn expect_call_fails(name: &str, with: Answer) -> String {
    let updates = play_answer(name, &asking_hub(), with).await;
    assert_eq!(updates[0]["status"], "failed");
    let harn = &updates[0]["_meta"]["harn"];
    assert_eq!(harn["errorCategory"], "permission_denied");
    assert_eq!(updates[1]["content"]["text"], "Then I leave it.");
    harn["error"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn allow_once_runs_the_call() {
    expect_call_runs("permission-allowed", selected_option("allow_once")).await;
}

#[tokio::test]
async fn reject_once_fails_the_call() {
    let why = expect_call_fails("permission-rejected", selected_option("reject_once")).await;
    assert_eq!(why, "the client rejected the call");
}

#[tokio::test]
async fn unknown_option_fails_the_call() {
    let why = expect_call_fails(
        "permission-unknown-option",
        selected_option("allow_everything"),
    )
    .await;
    assert!(why.contains("not offered"), "{why}");
}

/// A permission request is sent to the next client of the session when the first one disconnects.
#[tokio::test]
async fn next_client_receives_the_open_request() {
    let test = asking_hub();
    let mut first = test.connect();
    initialize(&mut first).await;
    let session = open(&mut first, &test).await;
    prompt_until_asked(&mut first, &session).await;
    first.hang_up().await;

    let mut second = test.connect();
    initialize(&mut second).await;
    let resume = existing_session_params(&session, &test.workspace());
    second.request("session/resume", resume).await;
    // This client has not received the announcement of the call.
    let call = second.expect_update_of("tool_call").await;
    let (ask, params) = second.expect_request("session/request_permission").await;
    assert_eq!(params["toolCall"]["toolCallId"], call["toolCallId"]);
    answer(&mut second, &ask, selected_option("reject_once")).await;
    let settled = second.expect_update_of("tool_call_update").await;
    assert_eq!(settled["status"], "failed");
    second.expect_update_of("agent_message_chunk").await;
    second.expect_update_of("session_info_update").await;
    second.close().await;
    check_transcript("permission-disconnected", test.recorder());
}

#[tokio::test]
async fn granted_answer_runs_the_call() {
    let granted = json!({"granted": true});
    expect_call_runs("permission-granted", Answer::Result(granted)).await;
}

/// The contract's oldest form.
#[tokio::test]
async fn selected_without_an_option_runs_the_call() {
    let selected = json!({"outcome": {"outcome": "selected"}});
    expect_call_runs("permission-selected", Answer::Result(selected)).await;
}

/// The arguments of the answer replace those of the call.
#[tokio::test]
async fn granted_arguments_replace_those_of_the_call() {
    let granted = json!({"granted": true, "args": {"path": "diary/today.txt"}});
    let updates = expect_call_runs("permission-granted-args", Answer::Result(granted)).await;
    assert_eq!(updates[0]["rawInput"], json!({"path": "diary/today.txt"}));
    assert_eq!(updates[2]["content"]["text"], "It is in diary/today.txt.");
}

/// An answer cannot allow more than the rules do.
#[tokio::test]
async fn granted_arguments_that_the_rules_deny_fail_the_call() {
    let granted = json!({"granted": true, "args": {"path": "src/main.rs"}});
    let why = expect_call_fails("permission-granted-args-denied", Answer::Result(granted)).await;
    assert!(
        why.starts_with("the arguments of the answer are not allowed: "),
        "{why}"
    );
}

#[tokio::test]
async fn denied_answer_fails_the_call_with_its_reason() {
    let denied = json!({"granted": false, "reason": "not on a Friday"});
    let why = expect_call_fails("permission-not-granted", Answer::Result(denied)).await;
    assert_eq!(why, "not on a Friday");
}

#[tokio::test]
async fn error_response_fails_the_call() {
    let why = expect_call_fails("permission-error", Answer::Error(-32000, "nobody is here")).await;
    assert_eq!(why, "the client could not be asked: nobody is here");
}

#[tokio::test]
async fn client_without_the_method_fails_the_call() {
    let error = Answer::Error(-32601, "Method not found");
    let why = expect_call_fails("permission-method-not-found", error).await;
    assert!(
        why.starts_with("the client does not offer session/request_permission"),
        "{why}"
    );
}

#[tokio::test]
async fn malformed_answer_fails_the_call() {
    let odd = json!({"outcome": "selected"});
    let why = expect_call_fails("permission-malformed", Answer::Result(odd)).await;
    assert_eq!(why, "the client's answer was not understood");
}

#[tokio::test]
async fn conflicting_answer_fails_the_call() {
    let outcome = json!({"outcome": "selected", "optionId": "reject_once"});
    let both = json!({"granted": true, "outcome": outcome});
    let why = expect_call_fails("permission-conflicting", Answer::Result(both)).await;
    assert_eq!(
        why,
        "the client's answer contradicts itself about whether the call is granted"
    );
}

/// Sends `initialize` as a host that declares `_meta.harn`.
async fn initialize_as_harn(client: &mut StrictClient) {
    let wishes = json!({"profile": "harn"});
    let wishes = wishes.as_object().unwrap();
    client
        .request("initialize", initialize_params(wishes))
        .await;
}

fn option_ids(params: &Value) -> Vec<&str> {
    let options = params["options"].as_array().unwrap().iter();
    options.map(|it| it["optionId"].as_str().unwrap()).collect()
}

/// Clients that key options by kind use the last one of a kind. A client without `_meta.harn` therefore gets
/// only one lasting option to allow; the other one grants nothing even if the answer names it.
#[tokio::test]
async fn a_client_without_harn_is_not_offered_the_workspace() {
    let book = note_rules();
    let test = hub_with_rules(&book);
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let (id, ask, params) = prompt_until_asked(&mut client, &session).await;
    let offered = [
        "allow_once",
        "allow_session",
        "reject_once",
        "reject_always",
    ];
    assert_eq!(option_ids(&params), offered);
    assert_eq!(option_ids(&params["_meta"]["harn"]), offered);
    answer(&mut client, &ask, selected_option("allow_always")).await;
    let (updates, _) = client.collect_updates_until(&id).await;
    assert_eq!(updates[0]["status"], "failed");
    let why = updates[0]["_meta"]["harn"]["error"].as_str().unwrap();
    assert!(why.contains("not offered"), "{why}");
    assert!(book.remembered_ids().is_empty());
    client.close().await;
    check_transcript("permission-not-offered", test.recorder());
}

/// The way for a client without `_meta.harn` to grant a call for the workspace.
#[tokio::test]
async fn keep_command_extends_a_session_grant_to_the_workspace() {
    let book = note_rules();
    let test = hub_with_rules(&book);
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let (id, ask, _) = prompt_until_asked(&mut client, &session).await;
    answer(&mut client, &ask, selected_option("allow_session")).await;
    client.collect_updates_until(&id).await;
    let id = prompt(&mut client, &session, "/permissions keep").await;
    client.expect_update_of("agent_message_chunk").await;
    client.expect_response(&id).await;
    assert_eq!(book.remembered_ids().len(), 1);
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Take another note").await;
    let (updates, _) = client.collect_updates_until(&id).await;
    assert_eq!(updates[0]["status"], "in_progress");
    client.close().await;
}

/// Prompts twice, and answers the permission request of the first turn. Returns the updates of the second turn.
async fn prompt_twice(name: &str, option: &str, another_session: bool) -> Vec<Value> {
    let book = note_rules();
    let test = hub_with_rules(&book);
    let mut client = test.connect();
    initialize_as_harn(&mut client).await;
    let mut session = open(&mut client, &test).await;
    let (id, ask, _) = prompt_until_asked(&mut client, &session).await;
    answer(&mut client, &ask, selected_option(option)).await;
    client.collect_updates_until(&id).await;
    // The id depends on the name of the folder, which differs from run to run.
    for id in book.remembered_ids() {
        test.recorder().rename(id, "g-1");
    }
    if another_session {
        session = open(&mut client, &test).await;
    }
    let id = prompt(&mut client, &session, "Take another note").await;
    let (updates, _) = client.collect_updates_until(&id).await;
    client.close().await;
    check_transcript(name, test.recorder());
    updates
}

#[tokio::test]
async fn allow_session_covers_the_next_call_of_the_session() {
    let updates = prompt_twice("permission-allowed-session", "allow_session", false).await;
    assert_eq!(updates[0]["sessionUpdate"], "tool_call");
    assert_eq!(updates[0]["status"], "in_progress");
}

#[tokio::test]
async fn allow_always_covers_another_session() {
    let updates = prompt_twice("permission-allowed-always", "allow_always", true).await;
    assert_eq!(updates[0]["sessionUpdate"], "tool_call");
    assert_eq!(updates[0]["status"], "in_progress");
}

#[tokio::test]
async fn reject_always_covers_another_session() {
    let updates = prompt_twice("permission-rejected-always", "reject_always", true).await;
    assert_eq!(updates[1]["status"], "failed");
    let harn = &updates[1]["_meta"]["harn"];
    assert_eq!(harn["errorCategory"], "permission_denied");
}

/// Returns the call and the permission request under these rules, and the size of the request.
async fn request_under_rules(rules: &str) -> (Value, Value, usize) {
    let test = hub_with_rules(&MemoryRules::new(rules));
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Take a note").await;
    let call = client.expect_update_of("tool_call").await;
    let (ask, params) = client.expect_request("session/request_permission").await;
    answer(&mut client, &ask, selected_option("reject_once")).await;
    let (updates, _) = client.collect_updates_until(&id).await;
    let audit = &updates[0]["_meta"]["harn"]["audit"];
    assert_eq!(audit["mutation_scope"], "apply_workspace");
    assert_eq!(
        audit.get("approval_policy"),
        None,
        "an update repeats no policy"
    );
    client.close().await;
    // The request contains the name of the folder, which differs from run to run.
    let line = params.to_string();
    let size = line
        .replace(test.workspace().to_str().unwrap(), "/workspace")
        .len();
    (call, params, size)
}

#[tokio::test]
async fn a_policy_is_in_a_question_at_most_twice() {
    let (call, _, without) = request_under_rules("").await;
    let audit = &call["_meta"]["harn"]["audit"];
    assert_eq!(audit["approval_policy"], Value::Null);

    let tools: Vec<_> = (0..90).map(|n| format!("\"remove_thing_{n}\"")).collect();
    let rules: String = (0..45)
        .map(|n| format!("[[rules]]\ndeny = {{ path = \"secrets/{n}\" }}\n"))
        .collect();
    let policy = format!(
        "auto_deny = [{}]\nwrite_path_allowlist = [\"notes*\"]\n{rules}",
        tools.join(", ")
    );
    assert!(policy.len() > 3000);
    let (call, params, with) = request_under_rules(&policy).await;
    assert!(
        with <= without + 2 * policy.len(),
        "{with} bytes, {without} without a policy of {}",
        policy.len()
    );
    // The policy is complete where it is included.
    let lists = &call["_meta"]["harn"]["audit"]["approval_policy"];
    assert_eq!(lists["auto_deny"].as_array().unwrap().len(), 90);
    assert_eq!(&params["mutation"]["approval_policy"], lists);
    let undo = &params["approvalRequest"]["undo_metadata"];
    assert_eq!(undo["mutation_scope"], "apply_workspace");
    assert_eq!(undo.get("approval_policy"), None);
}

/// The receipt occurs four times in a request, so the texts of a rule are truncated in it.
#[tokio::test]
async fn long_texts_of_a_rule_are_truncated_in_a_request() {
    let (_, _, without) = request_under_rules("").await;
    let words = "é".repeat(3000);
    for [id, reason] in [["r", words.as_str()], [words.as_str(), "why"]] {
        let rule =
            format!("[[rules]]\nid = \"{id}\"\nask = {{ tool = \"*\" }}\nreason = \"{reason}\"\n");
        let (_, params, with) = request_under_rules(&rule).await;
        assert!(
            with <= without + 2 * rule.len(),
            "{with} bytes, {without} without"
        );
        let receipt = &params["policyDecision"];
        let said = [&receipt["matched_rule"]["id"], &receipt["reason"]];
        let cut = format!("{}…", "é".repeat(240));
        let expected = [id, reason].map(|it| if it == words { cut.as_str() } else { it });
        assert_eq!(said, expected);
    }
}

#[tokio::test]
async fn several_policies_are_merged_into_four_lists() {
    let (call, params, _) = request_under_rules(
        r#"
        auto_approve = ["list_*", "look"]
        auto_deny = ["drop_*"]
        write_path_allowlist = ["src/**", "notes*"]

        [[all_of]]
        auto_approve = ["look"]
        require_approval = ["publish"]
        write_path_allowlist = ["notes*"]

        [[all_of]]
        auto_deny = ["delete_file"]
        "#,
    )
    .await;
    let lists = json!({
        "auto_approve": ["look"],
        "auto_deny": ["drop_*", "delete_file"],
        "require_approval": ["publish"],
        "write_path_allowlist": ["notes*"],
    });
    assert_eq!(call["_meta"]["harn"]["audit"]["approval_policy"], lists);
    assert_eq!(params["mutation"]["approval_policy"], lists);
}

/// The request shows the whole command, regardless of its title.
#[tokio::test]
async fn request_shows_the_whole_command() {
    let test = TestHub::new(ScriptedAgent::new(clean_up));
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let (id, ask, params) = prompt_until_asked(&mut client, &session).await;
    assert_eq!(
        params["toolCall"]["content"][0]["content"]["text"],
        "```sh\nrm -rf build && git status\n```"
    );
    answer(&mut client, &ask, selected_option("reject_once")).await;
    client.collect_updates_until(&id).await;
    client.close().await;
    check_transcript("permission-command", test.recorder());
}

/// Asks to run a list of words that would be ambiguous on a line without quotes.
async fn run_words(cx: TurnContext) -> Result<StopReason, AgentError> {
    let words =
        json!({"command": ["rm", "-rf", "my files", "", "it's", "a\u{202e}b", "c\u{1b}[2J"]});
    let run = cx.tool("run_command").kind(ToolKind::Execute);
    match run.title("Clean\u{202e} up").input(words).ask().await {
        Ok(run) => run.complete(ToolOutput::default()).await?,
        Err(AgentError::Denied { .. }) => cx.say("Then I leave it.").await?,
        Err(other) => return Err(other),
    }
    Ok(StopReason::EndTurn)
}

/// The request and its event show the words in the form that the rules evaluated.
#[tokio::test]
async fn request_shows_the_quoted_words_of_a_command() {
    let test = TestHub::new(ScriptedAgent::new(run_words));
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let (id, ask, params) = prompt_until_asked(&mut client, &session).await;
    let line = r"rm -rf 'my files' '' 'it'\''s' $'a\u{202e}b' $'c\u{1b}[2J'";
    assert_eq!(
        params["toolCall"]["content"][0]["content"]["text"],
        format!("```sh\n{line}\n```")
    );
    assert_eq!(params["toolCall"]["title"], r"Clean\u{202e} up");
    answer(&mut client, &ask, selected_option("reject_once")).await;
    client.collect_updates_until(&id).await;
    client.close().await;
    let session = SessionId::from(session.as_str().unwrap());
    let log = std::fs::read_to_string(test.log_path(&session)).unwrap();
    let judged = log.lines().find_map(|written| {
        let written: Value = serde_json::from_str(written).unwrap();
        written
            .pointer("/event/judged")
            .or(written.get("judged"))
            .cloned()
    });
    assert_eq!(judged.unwrap()["line"], line);
}

/// The answer `cancelled` cancels the turn.
#[tokio::test]
async fn cancelled_answer_cancels_the_turn() {
    let test = asking_hub();
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let (id, ask, _) = prompt_until_asked(&mut client, &session).await;
    let cancelled = json!({"outcome": {"outcome": "cancelled"}});
    answer(&mut client, &ask, Answer::Result(cancelled)).await;
    let (updates, result) = client.collect_updates_until(&id).await;
    assert_eq!(updates[0]["status"], "failed");
    assert_eq!(result["stopReason"], "cancelled");
    client.close().await;
    check_transcript("permission-answered-cancelled", test.recorder());
}

/// A turn that continues only after the client has read the withdrawal of its request, so that the messages
/// have one order.
fn agent_waiting_for_withdrawal(withdrawn: &Arc<Notify>) -> ScriptedAgent {
    let seen = withdrawn.clone();
    ScriptedAgent::new(move |cx| {
        let seen = seen.clone();
        async move {
            let result = write_a_note(cx).await;
            seen.notified().await;
            result
        }
    })
}

/// A cancelled turn withdraws its request. A client still answers it, as ACP requires; the answer has no effect.
#[tokio::test]
async fn cancelled_turn_withdraws_its_request() {
    let withdrawn = Arc::new(Notify::new());
    let test = TestHub::new(agent_waiting_for_withdrawal(&withdrawn));
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let (id, ask, params) = prompt_until_asked(&mut client, &session).await;
    let cancel = json!({"sessionId": params["sessionId"]});
    client.notify("session/cancel", cancel).await;
    client.expect_event_of("control_outcome").await;
    let request = client.expect_notification("$/cancel_request").await;
    assert_eq!(request["requestId"], ask);
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    client.respond(&ask, outcome).await;
    withdrawn.notify_one();
    let (updates, result) = client.collect_updates_until(&id).await;
    assert_eq!(updates[0]["status"], "failed");
    assert_eq!(result["stopReason"], "cancelled");
    client.close().await;
    check_transcript("permission-cancelled", test.recorder());
}

/// No answer arrives until the deadline that the request contains.
#[tokio::test(start_paused = true)]
async fn request_without_an_answer_fails_at_its_deadline() {
    let test = TestHub::builder(ScriptedAgent::new(write_a_note));
    let test = test.config(|config| config.ask_deadline = Duration::from_secs(90));
    let test = test.build();
    let mut client = test.connect().with_patience(Duration::from_secs(600));
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let (id, ask, params) = prompt_until_asked(&mut client, &session).await;
    let until = "2026-01-01T00:01:30.000Z";
    assert_eq!(params["approvalRequest"]["deadline"], until);
    assert_eq!(params["_meta"]["harn"]["deadline"], until);
    let request = client.expect_notification("$/cancel_request").await;
    assert_eq!(request["requestId"], ask);
    let (updates, result) = client.collect_updates_until(&id).await;
    assert_eq!(updates[0]["status"], "failed");
    assert_eq!(result["stopReason"], "end_turn");
    // Too late.
    answer(&mut client, &ask, selected_option("allow_once")).await;
    client.close().await;
    check_transcript("permission-deadline", test.recorder());
}

/// The log names the client that received the request, once, before the answer.
#[tokio::test]
async fn log_names_the_client_that_was_asked() {
    let test = asking_hub();
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let (id, ask, params) = prompt_until_asked(&mut client, &session).await;
    answer(&mut client, &ask, selected_option("allow_once")).await;
    client.collect_updates_until(&id).await;
    client.close().await;
    let session = SessionId::from(session.as_str().unwrap());
    let log = std::fs::read_to_string(test.log_path(&session)).unwrap();
    let events = log.lines().map(|line| {
        serde_json::from_str::<harn_model::Envelope>(line)
            .unwrap()
            .event
    });
    let told = events.filter_map(|event| match event {
        AgentEvent::PermissionEscalation(record) => {
            assert!(record.policy_decision.is_some());
            Some("escalated".to_owned())
        }
        AgentEvent::PermissionAsked(_) => Some("asked".to_owned()),
        AgentEvent::LiveSessionPermissionRoute(route) => {
            assert_eq!(params["toolCall"]["toolCallId"], route.request_id.as_str());
            assert_eq!(route.client.attached_at, "1767225600");
            Some(format!("routed to {}", route.client.client_id))
        }
        AgentEvent::PermissionResolved(_) => Some("resolved".to_owned()),
        AgentEvent::PermissionGrant(record) => Some(format!("granted {}", record.escalated)),
        _ => None,
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "escalated",
            "asked",
            "routed to strict-1",
            "resolved",
            "granted true"
        ]
    );
}
