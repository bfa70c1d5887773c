//! Conversations pinned byte for byte in `fixtures/openharness`, as the author of a Shell sees them.

use std::fs;

use harn_model::Seq;
use harn_openharness::PATHS;
use harn_testkit::{
    TestHub, golden,
    openharness::{OpenHarnessShell, continuation_request, decision_request, intent_request},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Agent, repository_path, session_of_run};

/// All transcripts, to detect a file without a test.
const TRANSCRIPTS: &[&str] = &[
    "approval-allowed",
    "approval-always",
    "approval-plain-yes",
    "approval-refused",
    "approval-several",
    "attachments",
    "bad-input",
    "busy",
    "cancel",
    "conflict",
    "denial",
    "ending",
    "failed",
    "im-bot",
    "interrupted",
    "join",
    "minimal",
    "question",
    "restart",
    "resume",
    "running",
    "structured",
];

#[test]
fn every_file_has_its_test() {
    if golden::is_updating() {
        // The other tests are writing the files.
        return;
    }
    let files = fs::read_dir(repository_path("fixtures/openharness")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names, TRANSCRIPTS);
}

#[test]
fn every_response_matches_the_schema() {
    if golden::is_updating() {
        return;
    }
    let schema = repository_path("spec/schemas/openharness-response.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for name in TRANSCRIPTS {
        let lines = fs::read_to_string(transcript_path(name)).unwrap();
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["to"] == "client"
                && let Err(error) = schema.validate(&line["message"])
            {
                panic!("{name}: {error}: {line}");
            }
        }
    }
}

fn transcript_path(name: &str) -> std::path::PathBuf {
    repository_path(&format!("fixtures/openharness/{name}.jsonl"))
}

#[track_caller]
fn check(hub: &TestHub, name: &str) {
    assert!(TRANSCRIPTS.contains(&name), "{name} is not in the list");
    let repair = "UPDATE_EXPECT=1 cargo test -p harn-openharness --test http";
    golden::check(&transcript_path(name), &hub.recorder().transcript(), repair);
}

#[tokio::test]
async fn minimal() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::new(&hub);
    let message = json!({
        "protocol_version": "1.0.0",
        "request": {"context": {"user_intent": "hello"}},
    });
    for path in PATHS {
        let answer = shell.with_path(path).post(&message).await;
        assert_eq!(answer.text(), "You said hello.");
    }
    check(&hub, "minimal");
}

#[tokio::test]
async fn an_im_bot_gets_a_card() {
    let hub = Agent::new().hub();
    let message = json!({
        "protocol_version": "1.0.0",
        "request_id": "req_01jqxyz",
        "correlation_id": "corr_8f3a",
        "capabilities": {
            "openharness.actions.parallel": true,
            "openharness.ui.rich_cards": true,
        },
        "request": {
            "auth": {"tenant_id": "usr_9527", "credential_ref": "cred_opaque_abc"},
            "context": {
                "session_id": "sess_8848",
                "conversation_id": "conv_tab_2",
                "user_intent": "work on the onboarding",
                "task_hint": {"sop_id": "sop_onboard", "business_key": "deal_42"},
                "shell": {
                    "shell_kind": "im_bot",
                    "shell_version": "2.1.0",
                    "locale": "zh-CN",
                    "timezone": "Asia/Shanghai",
                },
                "attachments": [{"ref_id": "att_01", "mime_type": "image/png"}],
                "environment_state": {
                    "privacy_tier": "restricted",
                    "os": "macOS",
                    "active_window": "Excel",
                    "screen_hash": "a1b2c3d4",
                },
            },
        },
    });
    let answer = OpenHarnessShell::new(&hub).post(&message).await;
    assert!(answer.is_success());
    assert_eq!(answer.directives("render_ui").len(), 1);
    check(&hub, "im-bot");
}

#[tokio::test]
async fn a_capability_is_denied() {
    let hub = Agent::new().hub();
    let mut message = intent_request("req_1", "hello");
    message["capabilities"] = json!({"openharness.streaming": true, "com.example.unknown": true});
    let answer = OpenHarnessShell::new(&hub).post(&message).await;
    assert!(answer.is_success());
    let denied = answer.envelope["capability_denials"].as_array().unwrap();
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!(denied[0]["capability"], "openharness.streaming");
    check(&hub, "denial");
}

/// Makes the agent ask, and decides.
async fn approve(shell: &OpenHarnessShell, decision: &str) -> String {
    let asked = shell.post(&intent_request("req_1", "write a note")).await;
    assert_eq!(asked.state(), "parked");
    let questions = asked.questions();
    assert_eq!(questions.len(), 1);
    let approval = json!({"approval": {"id": questions[0], "decision": decision}});
    let message = decision_request("req_2", &asked.continuation(), &approval);
    let done = shell.post(&message).await;
    assert_eq!(done.state(), "ended");
    done.text()
}

#[tokio::test]
async fn a_tool_is_allowed_once() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::new(&hub);
    assert_eq!(approve(&shell, "once").await, "It is in notes.txt.");
    let again = shell.post(&intent_request("req_3", "write a note")).await;
    assert_eq!(again.state(), "parked");
    check(&hub, "approval-allowed");
}

#[tokio::test]
async fn a_tool_is_allowed_always() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::new(&hub);
    assert_eq!(approve(&shell, "always").await, "It is in notes.txt.");
    let again = shell.post(&intent_request("req_3", "write a note")).await;
    assert_eq!(again.text(), "It is in notes.txt.");
    check(&hub, "approval-always");
}

#[tokio::test]
async fn a_tool_is_rejected() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::new(&hub);
    assert_eq!(approve(&shell, "reject").await, "Then I leave it.");
    check(&hub, "approval-refused");
}

#[tokio::test]
async fn a_yes_as_text_approves_nothing() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let asked = shell.post(&intent_request("req_1", "write a note")).await;
    let mut yes = continuation_request("req_2", &asked.continuation());
    yes["request"]["context"]["user_intent"] = json!("yes");
    let again = shell.post(&yes).await;
    assert_eq!(
        (again.state(), again.questions()),
        ("parked", asked.questions())
    );
    assert_eq!(agent.turns(), 1, "nor is it kept for later");
    check(&hub, "approval-plain-yes");
}

#[tokio::test]
async fn simultaneous_questions_are_in_one_response() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::new(&hub);
    let asked = shell.post(&intent_request("req_1", "both of them")).await;
    let questions = asked.questions();
    assert_eq!(questions.len(), 2);
    let unknown = json!({"approval": [
        {"id": questions[0], "decision": "once"},
        {"id": "ask-99", "decision": "once"},
    ]});
    let refused = shell
        .post(&decision_request("req_2", &asked.continuation(), &unknown))
        .await;
    assert_eq!(refused.code(), "approval_not_found");
    let first = json!({"approval": {"id": questions[0], "decision": "once"}});
    let one = shell
        .post(&decision_request("req_3", &asked.continuation(), &first))
        .await;
    assert_eq!(one.state(), "parked");
    assert_eq!(one.questions(), questions[1..]);
    let second = json!({"approval": {"id": questions[1], "decision": "reject"}});
    let both = shell
        .post(&decision_request("req_4", &one.continuation(), &second))
        .await;
    assert_eq!(both.text(), "One true, two false.");
    check(&hub, "approval-several");
}

/// Parallel calls ask one after another: the first question is not sent without the second.
#[tokio::test(start_paused = true)]
async fn questions_in_quick_succession_are_in_one_response() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::new(&hub);
    let asked = shell.post(&intent_request("req_1", "later")).await;
    let questions = asked.questions();
    assert_eq!(questions.len(), 2, "{questions:?}");
    let decision = |id: &String| json!({"id": id, "decision": "once"});
    let both: Vec<_> = questions.iter().map(decision).collect();
    let both = decision_request("req_2", &asked.continuation(), &json!({ "approval": both }));
    assert_eq!(shell.post(&both).await.text(), "One true, two true.");
}

#[tokio::test]
async fn attachment_without_reference_is_denied_and_the_run_continues() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let mut message = intent_request("req_1", "hello");
    message["request"]["context"]["attachments"] = json!([
        {"ref_id": "att_1", "thumbnail": "iVBORw0KGgo", "data": "c2VjcmV0"},
        {},
        {"filename": "notes.txt", "unknown": true},
        {"uri": "data:text/plain,secret"},
    ]);
    let answer = shell.post(&message).await;
    assert_eq!(answer.text(), "You said hello.");
    let denials = answer.envelope["capability_denials"].as_array().unwrap();
    let codes: Vec<_> = denials.iter().map(|it| &it["code"]).collect();
    assert_eq!(codes, ["not_supported", "missing_reference"]);
    let seen = agent.prompts().join("");
    assert!(seen.contains("openharness-ref:att_1"), "{seen}");
    assert!(
        !seen.contains("secret") && !seen.contains("c2VjcmV0"),
        "{seen}"
    );
    check(&hub, "attachments");
}

#[tokio::test]
async fn intent_may_be_structured() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    for (id, context) in [
        (
            "req_1",
            json!({"user_intent": {"goal": "sum", "of": [1, 2]}}),
        ),
        ("req_2", json!({"task_hint": {"sop_id": "sop_onboard"}})),
        ("req_3", json!({"continuation": {"sop_id": "sop_onboard"}})),
    ] {
        let request = json!({ "context": context });
        let message = json!({"protocol_version": "1.0.0", "request_id": id, "request": request});
        let answer = shell.post(&message).await;
        assert_eq!(answer.state(), "ended");
        // A poll that repeats the hint starts nothing.
        let mut again = continuation_request(&format!("{id}_again"), &answer.continuation());
        again["request"]["context"]["task_hint"] = json!({"sop_id": "sop_onboard"});
        assert_eq!(shell.post(&again).await.state(), "ended");
    }
    assert_eq!(agent.turns(), 3);
    let seen = agent.prompts();
    assert!(
        seen[0].contains(r#"{\"goal\":\"sum\",\"of\":[1,2]}"#),
        "{seen:?}"
    );
    assert!(seen[1].contains("sop_onboard"), "{seen:?}");
    assert!(seen[2].contains("sop_onboard"), "{seen:?}");
    check(&hub, "structured");
}

#[tokio::test]
async fn a_question_is_answered() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::new(&hub);
    let asked = shell.post(&intent_request("req_1", "choose a port")).await;
    let questions = asked.questions();
    assert_eq!(asked.state(), "parked");
    let wrong = json!({"answer": {"id": questions[0], "text": "80"}});
    let wrong = decision_request("req_2", &asked.continuation(), &wrong);
    assert_eq!(shell.post(&wrong).await.code(), "invalid_request");
    let right = json!({"answer": {"id": questions[0], "text": "9090"}});
    let right = decision_request("req_3", &asked.continuation(), &right);
    assert_eq!(shell.post(&right).await.text(), "Port 9090.");
    let asked = shell.post(&intent_request("req_4", "deploy it")).await;
    let yes = json!({"approval": {"id": asked.questions()[0], "decision": "once"}});
    let yes = decision_request("req_5", &asked.continuation(), &yes);
    assert_eq!(shell.post(&yes).await.text(), "Deployed.");
    check(&hub, "question");
}

#[tokio::test(start_paused = true)]
async fn a_run_takes_longer_than_a_shell_waits() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let running = shell.post(&intent_request("req_1", "wait for it")).await;
    assert_eq!((running.state(), &*running.text()), ("running", "Working."));
    agent.wait_for_turn().await;
    agent.release_turn();
    let rest = continuation_request("req_2", &running.continuation());
    let rest = shell.post(&rest).await;
    assert_eq!((rest.state(), &*rest.text()), ("ended", " Done."));
    let nothing = continuation_request("req_3", &rest.continuation());
    let nothing = shell.post(&nothing).await;
    assert_eq!((nothing.state(), &*nothing.text()), ("ended", ""));
    let run = json!({"run_id": running.continuation()["run_id"]});
    let all = shell.post(&continuation_request("req_4", &run)).await;
    assert_eq!(all.text(), "Working. Done.");
    let mut more = continuation_request("req_5", &rest.continuation());
    more["request"]["context"]["user_intent"] = json!("hello");
    let more = shell.post(&more).await;
    assert_eq!(more.text(), "You said hello.");
    check(&hub, "running");
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cancelled() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let running = shell.post(&intent_request("req_1", "wait for it")).await;
    let stop = decision_request("req_2", &running.continuation(), &json!({"cancel": true}));
    let stopped = shell.post(&stop).await;
    assert_eq!(stopped.code(), "run_cancelled");
    // A repeat gets the same response and stops nothing.
    let again = shell.post(&stop).await;
    assert_eq!(again.bytes, stopped.bytes);
    let asked = shell.post(&intent_request("req_3", "write a note")).await;
    let stop = decision_request("req_4", &asked.continuation(), &json!({"cancel": true}));
    assert_eq!(shell.post(&stop).await.code(), "run_cancelled");
    check(&hub, "cancel");
}

#[tokio::test]
async fn an_agent_fails() {
    let hub = Agent::new().hub();
    let failed = OpenHarnessShell::new(&hub)
        .post(&intent_request("req_1", "fail"))
        .await;
    assert!(!failed.is_success());
    assert_eq!(failed.text(), "Let me see.");
    check(&hub, "failed");
}

#[tokio::test]
async fn repeat_after_a_disconnect_gets_the_response() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let message = intent_request("req_1", "wait for it");
    tokio::select! {
        answer = shell.post(&message) => panic!("{answer:?}"),
        () = agent.wait_for_turn() => {}
    }
    hub.recorder().record_note("the Shell gives up");
    agent.release_turn();
    let answer = shell.post(&message).await;
    assert_eq!(answer.text(), "Working. Done.");
    assert_eq!(agent.turns(), 1);
    check(&hub, "resume");
}

#[tokio::test]
async fn a_request_is_joined_while_it_runs() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let message = intent_request("req_1", "wait for it");
    let second = async {
        agent.wait_for_turn().await;
        let joined = shell.post(&message);
        let go_on = async {
            tokio::task::yield_now().await;
            agent.release_turn();
        };
        tokio::join!(joined, go_on).0
    };
    let (first, second) = tokio::join!(shell.post(&message), second);
    assert_eq!(first.bytes, second.bytes);
    assert_eq!(first.text(), "Working. Done.");
    assert_eq!(agent.turns(), 1);
    check(&hub, "join");
}

#[tokio::test]
async fn reused_request_id_is_a_conflict() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::new(&hub);
    shell.post(&intent_request("req_1", "hello")).await;
    let other = shell.post(&intent_request("req_1", "goodbye")).await;
    assert_eq!(other.code(), "request_id_conflict");
    check(&hub, "conflict");
}

#[tokio::test(start_paused = true)]
async fn session_rejects_a_prompt_when_its_queue_is_full() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::with_config(&hub, |config| config.waiting = 1);
    let running = shell.post(&intent_request("req_1", "wait for it")).await;
    let waiting = shell.post(&intent_request("req_2", "hello")).await;
    assert_eq!((waiting.state(), &*waiting.text()), ("running", ""));
    let busy = intent_request("req_3", "hello");
    assert_eq!(shell.post(&busy).await.code(), "engine_busy");
    agent.wait_for_turn().await;
    agent.release_turn();
    let rest = continuation_request("req_4", &running.continuation());
    assert_eq!(shell.post(&rest).await.state(), "ended");
    // Whether the next prompt waits shows in the positions after it, so send it when nothing runs.
    let session = hub
        .hub()
        .open(&session_of_run(&running), None)
        .await
        .unwrap();
    let mut events = session.subscribe(Seq::ZERO);
    while session.view().ended_turns < 2 {
        events.next().await.unwrap();
    }
    // The rejection was not final.
    assert_eq!(shell.post(&busy).await.text(), "You said hello.");
    check(&hub, "busy");
}

#[tokio::test]
async fn repeat_after_a_restart_gets_the_same_response() {
    let agent = Agent::new();
    let mut hub = agent.hub();
    let message = intent_request("req_1", "hello");
    let first = OpenHarnessShell::new(&hub).post(&message).await;
    hub.restart().await;
    hub.recorder().record_note("the engine starts anew");
    let shell = OpenHarnessShell::new(&hub);
    let again = shell.post(&message).await;
    assert_eq!(again.bytes, first.bytes);
    let conflict = shell.post(&intent_request("req_1", "goodbye")).await;
    assert_eq!(conflict.code(), "request_id_conflict");
    hub.restart().await;
    hub.recorder().record_note("the engine starts anew");
    let shell = OpenHarnessShell::new(&hub);
    let conflict = shell.post(&intent_request("req_1", "goodbye")).await;
    assert_eq!(conflict.code(), "request_id_conflict");
    let mut more = continuation_request("req_2", &first.continuation());
    more["request"]["context"]["user_intent"] = json!("goodbye");
    assert_eq!(shell.post(&more).await.text(), "You said goodbye.");
    assert_eq!(agent.turns(), 2);
    check(&hub, "restart");
}

#[tokio::test(start_paused = true)]
async fn run_is_interrupted_by_a_crash() {
    let agent = Agent::new();
    let dying = agent.hub();
    let hub = Agent::new().hub();
    let message = intent_request("req_1", "wait for it");
    let running = OpenHarnessShell::new(&dying)
        .recorded_with(&hub)
        .post(&message)
        .await;
    assert_eq!(running.state(), "running");
    // The state of a process that is killed now.
    copy(&dying.state_dir(), &hub.state_dir());
    hub.recorder()
        .record_note("the engine is killed, and starts anew");
    let shell = OpenHarnessShell::new(&hub);
    let cut = shell
        .post(&continuation_request("req_2", &running.continuation()))
        .await;
    assert_eq!(cut.state(), "interrupted");
    let again = shell.post(&message).await;
    assert_eq!((again.state(), &*again.text()), ("interrupted", "Working."));
    check(&hub, "interrupted");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[tokio::test]
async fn shutdown_answers_a_waiting_request() {
    let agent = Agent::new();
    let hub = agent.hub();
    let ending = CancellationToken::new();
    let shell = OpenHarnessShell::with_config(&hub, |config| config.ending = ending.clone());
    let message = intent_request("req_1", "wait for it");
    let end = async {
        agent.wait_for_turn().await;
        ending.cancel();
        hub.hub().shutdown().await;
    };
    let (answer, ()) = tokio::join!(shell.post(&message), end);
    assert_eq!(answer.code(), "run_cancelled");
    let late = shell.post(&intent_request("req_2", "hello")).await;
    assert_eq!(late.code(), "engine_unavailable");
    check(&hub, "ending");
}

#[tokio::test]
async fn bad_input_gets_an_envelope() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::with_config(&hub, |config| config.body_bytes = 2048);
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let text = |message: Value| message.to_string();
    let with = |at: &str, value: Value| {
        let mut message = intent_request("req_1", "hello");
        let (parent, name) = at.rsplit_once('/').unwrap();
        message.pointer_mut(parent).unwrap()[name] = value;
        message.to_string()
    };
    let continuation = |value: Value| with("/request/context/continuation", value);
    let table: Vec<(String, u16, &str)> = vec![
        (String::new(), 400, "invalid_request"),
        ("{\"half".to_owned(), 400, "invalid_request"),
        ("\u{feff}{}".to_owned(), 400, "invalid_request"),
        ("[]".to_owned(), 400, "invalid_request"),
        (
            text(json!([intent_request("req_1", "hello")])),
            400,
            "invalid_request",
        ),
        ("\"hello\"".to_owned(), 400, "invalid_request"),
        ("{}".to_owned(), 400, "invalid_request"),
        (deep, 400, "invalid_request"),
        (
            with("/protocol_version", json!("2.0.0")),
            200,
            "protocol_version_unsupported",
        ),
        (with("/protocol_version", json!(1)), 400, "invalid_request"),
        (with("/request_id", json!(7)), 400, "invalid_request"),
        (with("/request_id", json!("")), 400, "invalid_request"),
        (with("/correlation_id", Value::Null), 400, "invalid_request"),
        (with("/capabilities", json!([])), 400, "invalid_request"),
        (with("/request", json!("hello")), 400, "invalid_request"),
        (with("/response", json!({})), 400, "invalid_request"),
        (with("/request/context", json!([])), 400, "invalid_request"),
        (
            with("/request/context/user_intent", json!({})),
            400,
            "invalid_request",
        ),
        (
            with("/request/context/user_intent", json!(" ")),
            400,
            "invalid_request",
        ),
        (
            with("/request/context/attachments", json!({})),
            400,
            "invalid_request",
        ),
        (
            with(
                "/request/context/environment_state",
                json!({"privacy_tier": "odd"}),
            ),
            400,
            "invalid_request",
        ),
        (continuation(json!("run_1")), 400, "invalid_request"),
        (continuation(json!({"run_id": 1})), 400, "invalid_request"),
        (
            continuation(json!({"run_id": "run_7d2"})),
            200,
            "continuation_not_found",
        ),
        (
            continuation(json!({"run_id": "run_../../etc.turn-1"})),
            200,
            "continuation_not_found",
        ),
        (
            continuation(json!({"run_id": "run_oh_1.turn-1"})),
            200,
            "continuation_not_found",
        ),
        (
            continuation(json!({"continuation_token": "ctok_oh_1.turn-1.7"})),
            200,
            "continuation_not_found",
        ),
        (
            with(
                "/request/context/extensions",
                json!({"dev.harn": {"cancel": 1}}),
            ),
            400,
            "invalid_request",
        ),
        (
            with(
                "/request/context/extensions",
                json!({"dev.harn": {"cancel": true}}),
            ),
            200,
            "no_active_run",
        ),
        (
            with("/request/context/padding", json!("x".repeat(2048))),
            413,
            "request_too_large",
        ),
    ];
    for (body, http, code) in table {
        let answer = shell.post_bytes(body.clone()).await;
        assert_eq!(
            (answer.http.as_u16(), answer.code()),
            (http, code),
            "{body}"
        );
    }
    assert_eq!(agent.turns(), 0);
    // The bad input has no lasting effect.
    assert!(
        shell
            .post(&intent_request("req_1", "hello"))
            .await
            .is_success()
    );
    check(&hub, "bad-input");
}
