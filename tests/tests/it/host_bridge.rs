//! The effect of a host's answers: a wrong answer is a clear error that does not repeat it, a request without
//! an answer fails at its deadline, and a host without the bridge receives no request.

use std::{sync::Arc, time::Duration};

use expect_test::{Expect, expect};
use harn_acp::{AcpConfig, ext::bridge::BridgeMethod, ext::published_schemas::SCHEMAS};
use harn_model::SessionId;
use harn_runtime::HostDeadlines;
use harn_testkit::{FakeEquip, FakeHost, HostAnswer, StrictClient, TestHub, asking_agent, forms};
use harn_tests::initialize_params;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

/// Rules that allow every call: permissions are tested elsewhere.
const ALL: &str = "auto_approve = [\"*\"]";
/// A text in every wrong answer, which must be in no error.
const SECRET: &str = "hunter2";

struct Stage {
    test: TestHub,
    client: StrictClient,
    session: Value,
}

impl Stage {
    async fn new(hello: Value, acp: AcpConfig) -> Self {
        let test = TestHub::builder(asking_agent()).rules(ALL).acp(acp).build();
        // Longer than any deadline.
        let patience = Duration::from_secs(1000);
        let mut client = test.connect().with_patience(patience);
        client.request("initialize", hello).await;
        let params = json!({"cwd": test.workspace(), "mcpServers": []});
        let session = client.request("session/new", params).await["sessionId"].take();
        Self {
            test,
            client,
            session,
        }
    }

    async fn with_bridge() -> Self {
        Self::new(FakeHost::initialize_params(), AcpConfig::default()).await
    }

    /// Sends this prompt and returns the agent's text: the result of its request to the host.
    async fn prompt_and_read_text(&mut self, host: &mut FakeHost, prompt: &str) -> String {
        let text = json!([{"type": "text", "text": prompt}]);
        let params = json!({"sessionId": self.session, "prompt": text});
        let id = self.client.send_request("session/prompt", params).await;
        let (updates, result) = host.serve(&mut self.client, &id).await;
        assert_eq!(result["stopReason"], "end_turn");
        let said = updates
            .iter()
            .filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        let said = said.filter_map(|update| update["content"]["text"].as_str());
        said.collect()
    }

    async fn end(self) {
        self.client.close().await;
        self.test.hub().shutdown().await;
    }
}

fn prompt_per_method() -> impl Iterator<Item = (BridgeMethod, String)> {
    BridgeMethod::ALL.iter().map(|method| {
        let operation = match method {
            BridgeMethod::Call => " process.list_shells",
            _ => "",
        };
        (*method, format!("{}{operation}", method.name()))
    })
}

/// Sends each answer and compares the table of results.
async fn check(prompt: &str, answers: &[Value], expected: Expect) {
    let method = BridgeMethod::from_name(prompt.split(' ').next().unwrap()).unwrap();
    let mut stage = Stage::with_bridge().await;
    let mut table = String::new();
    for answer in answers {
        let mut host = FakeHost::new().with_answer(method, HostAnswer::Result(answer.clone()));
        let said = stage.prompt_and_read_text(&mut host, prompt).await;
        assert!(!said.contains(SECRET), "{said}");
        table += &format!("{answer}\n    {said}\n");
    }
    stage.end().await;
    expected.assert_eq(&table);
}

#[tokio::test]
async fn wrong_lists_of_tools_are_rejected() {
    check(
        "host/tools/list",
        &[
            json!(null),
            json!(SECRET),
            json!({"tools": SECRET}),
            json!({"result": [{"name": "dice"}]}),
            json!([SECRET]),
            json!([{"name": "dice"}, {"title": SECRET}]),
            json!([{"name": {"is": SECRET}}]),
            json!([{"name": ""}]),
        ],
        expect![[r#"
            null
                host: the host answered: the result of host/tools/list: expected a list, or an object with the list `tools`
            "hunter2"
                host: the host answered: the result of host/tools/list: expected a list, or an object with the list `tools`
            {"tools":"hunter2"}
                host: the host answered: the result of host/tools/list: expected a list, or an object with the list `tools`
            {"result":[{"name":"dice"}]}
                host: the host answered: the result of host/tools/list: expected a list, or an object with the list `tools`
            ["hunter2"]
                host: the host answered: the result of host/tools/list: entry 1: expected an object
            [{"name":"dice"},{"title":"hunter2"}]
                host: the host answered: the result of host/tools/list: entry 2: expected `name` to be a string that is not blank
            [{"name":{"is":"hunter2"}}]
                host: the host answered: the result of host/tools/list: entry 1: expected `name` to be a string that is not blank
            [{"name":""}]
                host: the host answered: the result of host/tools/list: entry 1: expected `name` to be a string that is not blank
        "#]],
    )
    .await;
}

#[tokio::test]
async fn wrong_capabilities_are_rejected() {
    check(
        "host/capabilities",
        &[
            json!(null),
            json!([SECRET]),
            json!({"process": SECRET}),
            json!({"process": true}),
            json!({"process": {"verbs": [SECRET]}}),
            json!({"process": {"ops": 7}}),
            json!({"process": ["exec", 7]}),
        ],
        expect![[r#"
            null
                host: the host answered: the result of host/capabilities: expected an object
            ["hunter2"]
                host: the host answered: the result of host/capabilities: expected an object
            {"process":"hunter2"}
                host: the host answered: the result of host/capabilities: expected each capability to be a list of operations, or an object with `ops` or `operations`
            {"process":true}
                host: the host answered: the result of host/capabilities: expected each capability to be a list of operations, or an object with `ops` or `operations`
            {"process":{"verbs":["hunter2"]}}
                host: the host answered: the result of host/capabilities: expected each capability to be a list of operations, or an object with `ops` or `operations`
            {"process":{"ops":7}}
                host: the host answered: the result of host/capabilities: expected each capability to be a list of operations, or an object with `ops` or `operations`
            {"process":["exec",7]}
                host: the host answered: the result of host/capabilities: expected each operation to be a string that is not blank
        "#]],
    )
    .await;
}

#[tokio::test]
async fn wrong_lists_of_skills_are_rejected() {
    check(
        "skills/list",
        &[
            json!(7),
            json!({"result": {"skills": []}}),
            json!({"skills": SECRET}),
            json!([SECRET]),
            json!([{"name": SECRET}]),
            json!([{"id": SECRET}]),
            json!([{"id": "a", "name": "a"}, {"id": 7, "name": SECRET}]),
        ],
        expect![[r#"
            7
                host: the host answered: the result of skills/list: expected a list, or an object with the list `skills`
            {"result":{"skills":[]}}
                host: the host answered: the result of skills/list: expected a list, or an object with the list `skills`
            {"skills":"hunter2"}
                host: the host answered: the result of skills/list: expected a list, or an object with the list `skills`
            ["hunter2"]
                host: the host answered: the result of skills/list: entry 1: expected an object
            [{"name":"hunter2"}]
                host: the host answered: the result of skills/list: entry 1: expected `id` to be a string that is not blank
            [{"id":"hunter2"}]
                host: the host answered: the result of skills/list: entry 1: expected `name` to be a string that is not blank
            [{"id":"a","name":"a"},{"id":7,"name":"hunter2"}]
                host: the host answered: the result of skills/list: entry 2: expected `id` to be a string that is not blank
        "#]],
    )
    .await;
}

#[tokio::test]
async fn wrong_skills_are_rejected() {
    check(
        "skills/fetch",
        &[
            json!(null),
            json!([SECRET]),
            json!({"body": SECRET}),
            json!({"name": "deploy", "text": SECRET}),
            json!({"name": "deploy", "body": [SECRET]}),
            json!({"name": "deploy", "body": "", "manifest": SECRET}),
        ],
        expect![[r#"
            null
                host: the host answered: the result of skills/fetch: expected an object
            ["hunter2"]
                host: the host answered: the result of skills/fetch: expected an object
            {"body":"hunter2"}
                host: the host answered: the result of skills/fetch: expected `name` to be a string that is not blank
            {"name":"deploy","text":"hunter2"}
                host: the host answered: the result of skills/fetch: expected `body` to be a string
            {"name":"deploy","body":["hunter2"]}
                host: the host answered: the result of skills/fetch: expected `body` to be a string
            {"name":"deploy","body":"","manifest":"hunter2"}
                host: the host answered: the result of skills/fetch: expected `manifest` to be an object
        "#]],
    )
    .await;
}

/// A ranking is advice: invalid entries are left out.
#[tokio::test]
async fn invalid_entries_of_a_ranking_are_skipped() {
    check(
        "skill/match",
        &[
            json!(null),
            json!(7),
            json!({"matches": "deploy"}),
            json!({"result": []}),
            json!([null, 7, "deploy", {}, {"name": " "}, {"name": 7}]),
            json!([{"name": "a", "score": "much"}, {"name": "b", "score": -1}, {"name": "c", "score": null}]),
            json!({"matches": [{"name": "a", "score": 0}, {"name": "b", "score": 1e308, "reason": 7}]}),
        ],
        expect![[r#"
            null
                []
            7
                []
            {"matches":"deploy"}
                []
            {"result":[]}
                []
            [null,7,"deploy",{},{"name":" "},{"name":7}]
                []
            [{"name":"a","score":"much"},{"name":"b","score":-1},{"name":"c","score":null}]
                [{"name":"a","score":1.0,"reason":"host match"},{"name":"c","score":1.0,"reason":"host match"},{"name":"b","score":0.0,"reason":"host match"}]
            {"matches":[{"name":"a","score":0},{"name":"b","score":1e+308,"reason":7}]}
                [{"name":"b","score":1e+308,"reason":"host match"},{"name":"a","score":0.0,"reason":"host match"}]
        "#]],
    )
    .await;
}

/// A number outside the range of a float is no JSON to us: the server rejects the line, and the request times
/// out.
#[tokio::test(start_paused = true)]
async fn answer_with_a_score_out_of_range_is_rejected() {
    let mut stage = Stage::with_bridge().await;
    let text = json!([{"type": "text", "text": "skill/match"}]);
    let params = json!({"sessionId": stage.session, "prompt": text});
    let id = stage.client.send_request("session/prompt", params).await;
    let (ask, _) = stage.client.expect_request("skill/match").await;
    stage.client.leave_unanswered(&ask);
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":{ask},"result":{{"matches":[{{"name":"a","score":1e999}}]}}}}"#
    );
    stage.client.send_raw(line).await;
    let refused = stage.client.expect_error(&Value::Null).await;
    assert_eq!(refused["code"], -32700);
    let (updates, _) = FakeHost::new().serve(&mut stage.client, &id).await;
    let said = updates[0]["content"]["text"].as_str().unwrap();
    assert_eq!(said, timed_out(BridgeMethod::SkillMatch));
    stage.end().await;
}

#[tokio::test]
async fn wrong_results_of_operations_are_rejected() {
    check(
        "host/call process.list_shells",
        &[
            json!(null),
            json!({"shells": SECRET}),
            json!({"shells": [{"id": SECRET}], "default_shell_id": null}),
        ],
        expect![[r#"
            null
                host: the host answered: the result of process.list_shells: expected struct ShellList
            {"shells":"hunter2"}
                host: the host answered: the result of process.list_shells: expected a sequence
            {"shells":[{"id":"hunter2"}],"default_shell_id":null}
                host: the host answered: the result of process.list_shells: missing field `label`
        "#]],
    )
    .await;
    check(
        "host/call process.shell_invocation {\"shell_id\":\"zsh\",\"command\":\"ls\"}",
        &[
            json!({"program": "/bin/zsh", "args": ["-c", "ls"], "command_arg_index": 1, "shell": {"id": "zsh"}}),
            json!({"program": "/bin/zsh", "args": [], "command_arg_index": 0, "shell": {"path": SECRET}}),
            json!({"program": "/bin/zsh", "args": [], "command_arg_index": -1, "shell": {}}),
            json!([]),
        ],
        expect![[r#"
            {"program":"/bin/zsh","args":["-c","ls"],"command_arg_index":1,"shell":{"id":"zsh"}}
                {"program":"/bin/zsh","args":["-c","ls"],"command_arg_index":1,"shell":{"id":"zsh"}}
            {"program":"/bin/zsh","args":[],"command_arg_index":0,"shell":{"path":"hunter2"}}
                host: the host answered: the result of process.shell_invocation: expected a shell, or an object with its `id`
            {"program":"/bin/zsh","args":[],"command_arg_index":-1,"shell":{}}
                host: the host answered: the result of process.shell_invocation: expected u64
            []
                host: the host answered: the result of process.shell_invocation: expected an object
        "#]],
    )
    .await;
    check(
        "host/call process.exec {\"command\":\"ls\"}",
        &[
            json!({"exit_code": SECRET}),
            json!({"exit_code": 0, "signal": null, "stdout": 7, "stderr": ""}),
        ],
        expect![[r#"
            {"exit_code":"hunter2"}
                host: the host answered: the result of process.exec: expected i32
            {"exit_code":0,"signal":null,"stdout":7,"stderr":""}
                host: the host answered: the result of process.exec: expected a string
        "#]],
    )
    .await;
}

/// A wrong request of an agent does not reach the host.
#[tokio::test]
async fn arguments_that_do_not_fit_are_not_sent() {
    let mut stage = Stage::with_bridge().await;
    let mut host = FakeHost::new();
    for prompt in [
        "host/call process.reboot {}",
        "host/call process.set_default_shell {}",
    ] {
        let said = stage.prompt_and_read_text(&mut host, prompt).await;
        assert!(
            said.starts_with("unsupported:") || said.starts_with("failed:"),
            "{said}"
        );
    }
    assert!(host.requests().is_empty());
    // The alias `id` is accepted, and `shell_id` is sent.
    let prompt = "host/call process.set_default_shell {\"id\":\"zsh\"}";
    stage.prompt_and_read_text(&mut host, prompt).await;
    assert_eq!(host.requests()[0].1["args"], json!({"shell_id": "zsh"}));
    stage.end().await;
}

#[tokio::test]
async fn host_refusal_is_reported_as_denied_and_host_error_as_failure() {
    let mut stage = Stage::with_bridge().await;
    for (method, prompt) in prompt_per_method() {
        let mut host = FakeHost::new().with_answer(method, HostAnswer::Denied);
        assert_eq!(
            stage.prompt_and_read_text(&mut host, &prompt).await,
            "denied: not here"
        );
        let mut host = FakeHost::new().with_answer(method, HostAnswer::Failed);
        let failed = "host: the host answered: out of order";
        assert_eq!(stage.prompt_and_read_text(&mut host, &prompt).await, failed);
    }
    stage.end().await;
}

#[tokio::test]
async fn host_that_does_not_know_a_list_method_offers_nothing_of_that_kind() {
    let mut stage = Stage::with_bridge().await;
    let mut table = String::new();
    for (method, prompt) in prompt_per_method() {
        let mut host = FakeHost::new().with_answer(method, HostAnswer::Unknown);
        let said = stage.prompt_and_read_text(&mut host, &prompt).await;
        table += &format!("{}\n    {said}\n", method.name());
    }
    stage.end().await;
    expect![[r#"
        builtin_call
            host: the host answered: what?
        host/call
            host: the host answered: what?
        host/capabilities
            unsupported: the host does not offer operations
        host/tools/list
            unsupported: the host does not offer tools
        skill/match
            host: the host answered: what?
        skills/fetch
            host: the host answered: what?
        skills/list
            unsupported: the host does not offer skills
    "#]]
    .assert_eq(&table);
}

#[allow(
    clippy::disallowed_methods,
    reason = "the clock of the runtime stands still and is what is asked about"
)]
fn now() -> Instant {
    Instant::now()
}

fn timed_out(method: BridgeMethod) -> String {
    format!(
        "timed out: the host did not answer {} in time",
        method.name()
    )
}

#[tokio::test(start_paused = true)]
async fn request_to_a_silent_host_times_out() {
    let mut stage = Stage::with_bridge().await;
    for (method, prompt) in prompt_per_method() {
        let begun = now();
        let mut host = FakeHost::new().with_answer(method, HostAnswer::Never);
        assert_eq!(
            stage.prompt_and_read_text(&mut host, &prompt).await,
            timed_out(method)
        );
        let deadline = match method {
            BridgeMethod::BuiltinCall | BridgeMethod::Call => 300,
            _ => 60,
        };
        assert_eq!(begun.elapsed().as_secs(), deadline, "{prompt}");
    }
    stage.end().await;
}

/// The table of the docs has a row for each request: how many seconds an agent waits, and how many a turn
/// waits.
#[test]
fn docs_list_every_deadline() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/acp-extensions.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let usual = HostDeadlines::default();
    let files = ["fs/read_text_file", "fs/write_text_file"];
    let files = files
        .into_iter()
        .chain(["terminal/create", "terminal/output"]);
    let files = files.map(|name| (name, usual.request, usual.request));
    let bridge = BridgeMethod::ALL.iter().map(|method| {
        let in_turn = match method {
            BridgeMethod::BuiltinCall | BridgeMethod::Call => usual.call,
            BridgeMethod::Capabilities
            | BridgeMethod::SkillMatch
            | BridgeMethod::SkillsList
            | BridgeMethod::ToolsList => usual.list,
            BridgeMethod::SkillsFetch => usual.skill,
        };
        (method.name(), method.deadline(&usual), in_turn)
    });
    for (name, waits, in_turn) in bridge.chain(files) {
        let (waits, in_turn) = (waits.as_secs(), in_turn.as_secs());
        let row = format!("| `{name}` | {waits} s | {in_turn} s |");
        assert!(
            docs.contains(&row),
            "docs/acp-extensions.md lacks the row {row}"
        );
    }
}

/// A late answer is an error for its request, and neither that answer nor a second one counts for another
/// request.
#[tokio::test(start_paused = true)]
async fn answer_counts_once_and_only_before_the_deadline() {
    let deadlines = HostDeadlines {
        call: Duration::from_secs(3),
        request: Duration::from_secs(2),
        ..HostDeadlines::default()
    };
    let acp = AcpConfig {
        deadlines,
        ..AcpConfig::default()
    };
    let mut stage = Stage::new(FakeHost::initialize_params(), acp).await;
    for (method, prompt) in prompt_per_method() {
        let canonical = stage
            .prompt_and_read_text(&mut FakeHost::new(), &prompt)
            .await;
        let answer = forms().into_iter().find(|form| form.method == method);
        let answer = match answer {
            Some(form) => form.answer,
            None => serde_json::from_str(&canonical).unwrap(),
        };
        let begun = now();
        let mut late = FakeHost::new().with_answer(method, HostAnswer::Late(answer.clone()));
        assert_eq!(
            stage.prompt_and_read_text(&mut late, &prompt).await,
            timed_out(method)
        );
        let deadline = match method {
            BridgeMethod::BuiltinCall | BridgeMethod::Call => 3,
            _ => 2,
        };
        assert_eq!(begun.elapsed().as_secs(), deadline, "{prompt}");
        let mut twice = FakeHost::new().with_answer(method, HostAnswer::Twice(answer));
        assert_eq!(
            stage.prompt_and_read_text(&mut twice, &prompt).await,
            canonical
        );
        assert_eq!(
            stage
                .prompt_and_read_text(&mut FakeHost::new(), &prompt)
                .await,
            canonical
        );
    }
    stage.end().await;
}

#[tokio::test]
async fn host_without_the_bridge_receives_no_requests() {
    for bridge in [json!(false), json!("yes"), json!(null)] {
        let wishes = Map::from_iter([("hostBridge".to_owned(), bridge)]);
        let mut stage = Stage::new(initialize_params(&wishes), AcpConfig::default()).await;
        let mut host = FakeHost::new();
        for (_, prompt) in prompt_per_method() {
            let said = stage.prompt_and_read_text(&mut host, &prompt).await;
            assert!(said.starts_with("unsupported: "), "{said}");
        }
        // The server reads this notification and ignores it.
        stage.client.notify("skills/update", json!({})).await;
        assert!(host.requests().is_empty());
        stage.end().await;
    }
}

/// A session takes its skills from its controller.
#[tokio::test]
async fn skills_update_of_an_observer_is_ignored() {
    let equip = FakeEquip::default();
    let shared = Arc::new(equip.clone());
    let test = TestHub::builder(asking_agent())
        .config(move |config| config.equip = shared.clone())
        .build();
    let mut driver = test.connect();
    driver
        .request("initialize", FakeHost::initialize_params())
        .await;
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = driver.request("session/new", params).await["sessionId"].take();
    let id = SessionId::from(session.as_str().unwrap());
    let mut other = test.connect();
    other
        .request("initialize", FakeHost::initialize_params())
        .await;
    let resume = json!({"sessionId": session, "cwd": test.workspace()});
    other.request("session/resume", resume).await;

    // The response to a later request proves that the server has read the notification.
    other.notify("skills/update", json!({})).await;
    other.request("logout", json!({})).await;
    assert_eq!(equip.skill_update_count(&id), 0);
    driver.notify("skills/update", Value::Null).await;
    driver.request("logout", json!({})).await;
    assert_eq!(equip.skill_update_count(&id), 1);
    other.close().await;
    driver.close().await;
}

/// The published schemas accept every form of an answer that the server accepts.
#[test]
fn every_form_matches_its_schema() {
    let name = "host-bridge-results.schema.json";
    let (_, results) = SCHEMAS.iter().find(|it| it.0 == name).unwrap();
    let results: Value = serde_json::from_str(results).unwrap();
    for form in forms() {
        let mut part = results["properties"][form.method.name()].clone();
        part["$defs"] = results["$defs"].clone();
        let validator = jsonschema::validator_for(&part).unwrap();
        let answer = form.answer;
        assert!(validator.is_valid(&answer), "{answer}");
    }
}
