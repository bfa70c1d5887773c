//! Answers, as they are written: each is a file of `fixtures/openharness/messages`.

use std::{fmt::Write, sync::Arc};

use expect_test::expect_file;
use harn_model::{
    Artifact, AskId, GrantScope, HitlKind, HitlRequest, Lineage, PermissionAsked, PermissionOption,
    PermissionOptionKind, Plan, PlanEntry, PlanEntryStatus, PlanPriority, PolicyAction,
    PolicyContext, PolicyDecision, ReceiptType, RiskLabel, Seq, ToolCall, ToolCallId,
    ToolCallStatus, ToolContent, ToolKind, TurnId,
};
use serde_json::{Value, json};

use super::*;
use crate::{
    continuation::Place,
    error,
    fixtures::{self, folder, schema},
    from_wire::read,
    told::Call,
    wire::directive::RiskTier,
};

const NOW: Timestamp = 1_700_000_010_000;

/// What was asked, by the name of its fixture, with something changed.
fn asked(name: &str, change: impl FnOnce(&mut Value)) -> Asked {
    let mut message = fixtures::message(name);
    change(&mut message);
    read(message.to_string().as_bytes()).unwrap()
}

/// By a Shell of this kind that can do this.
fn asked_by(kind: &str, capabilities: Value) -> Asked {
    asked("request-minimal", |it| {
        it["request_id"] = json!("req_1");
        it["capabilities"] = capabilities;
        it["request"]["context"]["shell"] = json!({ "shell_kind": kind });
    })
}

fn plainly() -> Asked {
    asked_by("im_bot", json!({}))
}

fn told(state: State) -> Told {
    Told {
        place: Place {
            session: "oh_1".into(),
            turn: TurnId::new("trn_1"),
            after: Seq(12),
        },
        state,
        began_at: NOW - 8_400,
        until: NOW,
        messages: Vec::new(),
        calls: Vec::new(),
        artifacts: Vec::new(),
        plan: None,
        asks: Vec::new(),
        questions: Vec::new(),
    }
}

fn ended(messages: &[&str]) -> Told {
    Told {
        messages: messages.iter().map(|&text| text.to_owned()).collect(),
        ..told(State::Ended(StopReason::EndTurn))
    }
}

fn call(id: &str, tool: &str, kind: ToolKind, status: ToolCallStatus) -> Call {
    Call {
        id: ToolCallId::new(id),
        tool: tool.to_owned(),
        title: Some(format!("{tool} README.md")),
        kind: Some(kind),
        status,
        error: None,
    }
}

fn busy() -> Told {
    let failed = Call {
        error: Some("no such file".to_owned()),
        title: None,
        ..call("c2", "read_file", ToolKind::Read, ToolCallStatus::Failed)
    };
    let step = |content: &str, status| PlanEntry {
        content: content.to_owned(),
        status,
        priority: PlanPriority::Medium,
    };
    Told {
        calls: vec![
            call("c1", "read_file", ToolKind::Read, ToolCallStatus::Completed),
            failed,
        ],
        plan: Some(Plan::Entries(vec![
            step("Read the README", PlanEntryStatus::Completed),
            step("Count its lines", PlanEntryStatus::InProgress),
        ])),
        artifacts: vec![Artifact {
            artifact_id: "art_1".to_owned(),
            kind: "file".to_owned(),
            title: Some("Line counts".to_owned()),
            mime_type: "text/csv".to_owned(),
            spec: json!({"uri": "file:///work/lines.csv"}),
            fallback: "Line counts are in lines.csv.".to_owned(),
            size_bytes: 120,
            provenance: Value::Null,
            metadata: Value::Null,
        }],
        ..ended(&["Let me look.", "The README has **120** lines."])
    }
}

fn options(lasting: bool) -> Vec<PermissionOption> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let option = |id: &str, name: &str, kind, scope| PermissionOption {
        option_id: id.to_owned(),
        name: name.to_owned(),
        kind,
        scope,
    };
    let mut options = vec![option("y", "Allow this once", AllowOnce, GrantScope::Once)];
    if lasting {
        let always = "Always allow `cargo test` in this workspace";
        options.push(option(
            "s",
            "Allow for this session",
            AllowAlways,
            GrantScope::Session,
        ));
        options.push(option("a", always, AllowAlways, GrantScope::Always));
    }
    options.push(option(
        "n",
        "Reject this once",
        RejectOnce,
        GrantScope::Once,
    ));
    options
}

fn receipt(reason: &str, risk_labels: Vec<RiskLabel>) -> PolicyDecision {
    PolicyDecision {
        receipt: ReceiptType::V1,
        action: PolicyAction::Ask,
        reason: reason.to_owned(),
        matched_rule: None,
        risk_labels,
        context: PolicyContext::default(),
    }
}

fn command() -> PermissionAsked {
    let call = ToolCall {
        title: Some("Run the tests".to_owned()),
        kind: Some(ToolKind::Execute),
        raw_input: json!({"command": "cargo test --workspace"}),
        ..ToolCall::new("c3", "shell")
    };
    PermissionAsked {
        policy_decision: Some(receipt(
            "commands ask in this mode",
            vec![RiskLabel::ApprovalRequired],
        )),
        requested_at: NOW - 10_000,
        deadline: Some(NOW + 1_790_000),
        ..PermissionAsked::new(AskId::new("ask_1"), call, options(true))
    }
}

fn edit() -> PermissionAsked {
    let location = |path: &str| harn_model::Location {
        path: path.to_owned(),
        line: None,
    };
    let call = ToolCall {
        kind: Some(ToolKind::Edit),
        raw_input: json!({"path": "NOTES.md", "text": "120 lines\n"}),
        locations: vec![location("/work/NOTES.md")],
        content: vec![ToolContent::Diff {
            path: "/work/NOTES.md".to_owned(),
            old_text: None,
            new_text: "120 lines\n".to_owned(),
        }],
        ..ToolCall::new("c4", "write_file")
    };
    PermissionAsked {
        lineage: vec![Lineage {
            worker_id: "w_1".into(),
            worker_name: "scribe".to_owned(),
            session_id: "oh_2".into(),
        }],
        ..PermissionAsked::new(AskId::new("ask_2"), call, options(false))
    }
}

fn question(kind: HitlKind, subject: &str) -> HitlRequest {
    HitlRequest {
        request_id: kind.request_id("1"),
        kind,
        subject: subject.to_owned(),
        detail: None,
        choices: Vec::new(),
        default: None,
        to: None,
        reviewers: Vec::new(),
        quorum: 1,
        approval: None,
        agent: "script".to_owned(),
        turn: TurnId::new("trn_1"),
        requested_at: NOW,
        deadline: NOW + 600_000,
        lineage: Vec::new(),
    }
}

fn parked(asks: Vec<PermissionAsked>, questions: Vec<HitlRequest>) -> Told {
    Told {
        asks,
        questions: questions.into_iter().map(Arc::new).collect(),
        ..told(State::Parked)
    }
}

/// Every answer to a run, by the name of its file.
fn answers() -> Vec<(&'static str, Asked, Told, &'static str)> {
    let port = HitlRequest {
        choices: vec!["8080".to_owned(), "9090".to_owned()],
        default: Some("8080".to_owned()),
        ..question(HitlKind::Question, "Which port?")
    };
    let deploy = HitlRequest {
        detail: Some("Version 4.1, to production.".to_owned()),
        ..question(HitlKind::Approval, "deploy")
    };
    let rich = || asked("request", |_| {});
    let text = "## Result\n\nThe [README](README.md) has **120** lines, counted with `wc -l`.";
    let long = "The README has **120** lines, of which 80 are about installation, 20 are about \
                the licence, and the others about whatever its authors thought of at the time.\n\n\
                - one\n- two\n- three";
    vec![
        (
            "response",
            rich(),
            ended(&[text]),
            "What the agent said, in Markdown",
        ),
        (
            "response-steps",
            plainly(),
            ended(&["Let me look.", text]),
            "What it said step by step, as one message",
        ),
        (
            "response-plain",
            asked_by("command_shell", json!({})),
            ended(&[text]),
            "The same for a Shell that shows plain text",
        ),
        (
            "response-short",
            asked_by("tv", json!({})),
            ended(&["Let me look.", long]),
            "The last that it said, for a Shell that is read from afar",
        ),
        (
            "response-card",
            rich(),
            busy(),
            "What it did, on a card beside the text",
        ),
        (
            "response-no-card",
            plainly(),
            busy(),
            "The same for a Shell without cards",
        ),
        (
            "response-parked",
            plainly(),
            Told {
                messages: vec!["I would run the tests.".to_owned()],
                ..parked(vec![command()], Vec::new())
            },
            "A command waits for a person",
        ),
        (
            "response-parked-several",
            rich(),
            parked(vec![command(), edit()], Vec::new()),
            "Two calls wait, one of them a worker's, for a Shell that may ask about both at once",
        ),
        (
            "response-question",
            plainly(),
            parked(Vec::new(), vec![port]),
            "The agent asks a person something",
        ),
        (
            "response-question-decided",
            plainly(),
            parked(Vec::new(), vec![deploy]),
            "The agent asks for a decision",
        ),
        (
            "response-running",
            plainly(),
            Told {
                messages: vec!["This takes a while.".to_owned()],
                ..told(State::Running)
            },
            "The run takes longer than the request waits",
        ),
        (
            "response-limit",
            plainly(),
            Told {
                state: State::Ended(StopReason::MaxTokens),
                ..ended(&["The README has"])
            },
            "The agent stopped at a limit of its own",
        ),
        (
            "response-cancelled",
            plainly(),
            Told {
                state: State::Ended(StopReason::Cancelled),
                ..ended(&["Let me look."])
            },
            "The run was cancelled; what was said before is told",
        ),
        (
            "response-failed",
            plainly(),
            Told {
                state: State::Failed("the model could not be reached".to_owned()),
                ..ended(&["Let me look."])
            },
            "The agent failed; what was said before is told",
        ),
        (
            "response-interrupted",
            plainly(),
            told(State::Interrupted),
            "The engine stopped in the middle of the run",
        ),
        (
            "response-denial",
            asked_by("im_bot", json!({"openharness.streaming": true})),
            ended(&["The README has 120 lines."]),
            "The Shell wants a capability that is not there",
        ),
        (
            "response-silent",
            plainly(),
            ended(&[]),
            "The agent said nothing",
        ),
    ]
}

/// Compares with the file, and with the schemas.
fn check(name: &str, encoded: &[u8]) {
    let message: Value = serde_json::from_slice(encoded).unwrap();
    let text = serde_json::to_string_pretty(&message).unwrap() + "\n";
    expect_file![folder().join(format!("{name}.json"))].assert_eq(&text);
    let fits = |word: &str, value: &Value| {
        let schema = schema(word);
        schema
            .validate(value)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    };
    fits("response", &message);
    let response = &message["response"];
    for directive in response["action_directives"]
        .as_array()
        .into_iter()
        .flatten()
    {
        fits("directives", directive);
        // What a Shell does not know, it shows the words of.
        let words = directive["payload"]["message"].as_str();
        assert!(
            words.is_some_and(|words| !words.is_empty()),
            "{name}: {directive}"
        );
    }
    assert_eq!(
        response["status"] == "error",
        response.get("error").is_some(),
        "{name}"
    );
}

#[test]
fn answers_are_those_of_the_fixtures() {
    for (name, asked, told, _) in answers() {
        check(name, &answer(&asked, &told, NOW));
    }
}

#[test]
fn faults_are_those_of_the_fixtures() {
    let echo = Echo {
        request_id: Some("req_1".to_owned()),
        correlation_id: Some("corr_1".to_owned()),
    };
    for (name, wrong, _) in error::tests::every() {
        check(&format!("fault-{name}"), &fault(&echo, &wrong));
    }
    check(
        "fault-without-ids",
        &fault(&Echo::default(), &Fault::NotJson),
    );
}

/// Nothing lies in the folder that no test writes or reads, and the page about it says what each shows.
#[test]
fn the_page_names_every_message() {
    let requests = [
        ("request", "Everything a Shell may say"),
        ("request-minimal", "The least"),
        ("request-approval", "A decision"),
        ("request-answers", "Several, and an answer in words"),
        ("request-cancel", "The run is to stop"),
        ("request-continued", "What has come of the run since?"),
    ];
    let mut rows: Vec<(String, String)> = Vec::new();
    rows.extend(requests.map(|(name, shows)| (name.to_owned(), shows.to_owned())));
    let runs = answers().into_iter();
    rows.extend(runs.map(|(name, _, _, shows)| (name.to_owned(), shows.to_owned())));
    for (name, wrong, when) in error::tests::every() {
        rows.push((
            format!("fault-{name}"),
            format!("`{}`: {when}", wrong.code()),
        ));
    }
    rows.push((
        "fault-without-ids".to_owned(),
        "A request without ids gets none back".to_owned(),
    ));
    let mut page = String::from(
        "# Messages of OpenHarness\n\nFor authors of Shells to read and to pin their tests against; our own \
         tests compare them byte for byte and\nhold them against `spec/schemas/openharness-*.schema.json`. \
         When the wire is meant to change, rewrite them and this\npage, and read the difference:\n\n```sh\n\
         UPDATE_EXPECT=1 cargo test -p harn-openharness\n```\n\n| file | shows |\n|---|---|\n",
    );
    for (name, shows) in &rows {
        writeln!(page, "| `{name}` | {shows} |").unwrap();
    }
    expect_file![folder().join("README.md")].assert_eq(&page);
    let mut named: Vec<_> = rows.into_iter().map(|(name, _)| name).collect();
    named.sort();
    assert_eq!(fixtures::names(), named);
}

#[test]
fn risk_is_what_the_tool_does_and_no_less_than_the_policy_saw() {
    use ToolKind as K;
    let tier = |kind: Option<ToolKind>, labels: Vec<RiskLabel>| {
        let mut ask = edit();
        ask.tool_call.kind = kind;
        ask.policy_decision = Some(receipt("", labels));
        let told = told(State::Parked);
        approval::of_tool(&told, &ask, NOW).risk_tier
    };
    let table = [
        (RiskTier::Safe, &[K::Read, K::Search, K::Think][..]),
        (RiskTier::Caution, &[K::Fetch, K::Edit, K::Move]),
        (RiskTier::Dangerous, &[K::Delete, K::Execute, K::Other]),
    ];
    for (expected, kinds) in table {
        for kind in kinds {
            assert_eq!(tier(Some(*kind), Vec::new()), expected, "{kind:?}");
        }
    }
    assert_eq!(tier(None, Vec::new()), RiskTier::Dangerous);
    let raised = |label| tier(Some(K::Read), vec![RiskLabel::ApprovalRequired, label]);
    assert_eq!(raised(RiskLabel::ApprovalRequired), RiskTier::Safe);
    assert_eq!(raised(RiskLabel::NetworkRule), RiskTier::Caution);
    assert_eq!(raised(RiskLabel::ExternalPath), RiskTier::Dangerous);
    assert_eq!(raised(RiskLabel::UnparsableCommand), RiskTier::Dangerous);
}

#[test]
fn what_is_overdue_is_due_now() {
    let told = told(State::Parked);
    let late = command().deadline.unwrap() + 1;
    assert_eq!(
        approval::of_tool(&told, &command(), late).deadline_ms,
        Some(0)
    );
    assert_eq!(approval::of_tool(&told, &edit(), late).deadline_ms, None);
}

#[test]
fn nothing_that_could_rewrite_a_screen_is_shown() {
    let mut ask = command();
    ask.tool_call.title = Some("ls\u{1b}[2K\rrm -rf".to_owned());
    ask.tool_call.raw_input = json!({"command": "ls\u{1b}[2K"});
    let told = Told {
        messages: vec!["\u{1b}[31mred\u{7}".to_owned()],
        ..parked(vec![ask], Vec::new())
    };
    let answer: Value = serde_json::from_slice(&answer(&plainly(), &told, NOW)).unwrap();
    let directives = &answer["response"]["action_directives"];
    assert_eq!(directives[0]["payload"]["text"], "red");
    assert_eq!(directives[1]["payload"]["title"], "lsrm -rf");
    // What is decided about is told as it is, beside the words for it.
    assert_eq!(directives[1]["payload"]["command"], "ls\u{1b}[2K");
    let words = directives[1]["payload"]["message"].as_str().unwrap();
    assert!(!words.contains('\u{1b}'), "{words:?}");
}

#[test]
fn an_agents_last_words_are_a_line() {
    let long = format!("it broke:\n\u{1b}[1m{}", "very ".repeat(200));
    let told = told(State::Failed(long));
    let answer: Value = serde_json::from_slice(&answer(&plainly(), &told, NOW)).unwrap();
    let message = answer["response"]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("it broke: very very"), "{message}");
    assert!(
        message.chars().count() <= 502 && message.ends_with(" …"),
        "{message}"
    );
}
