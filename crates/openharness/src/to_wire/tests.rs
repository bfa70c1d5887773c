//! Responses as they are written: each is a file of `fixtures/openharness/messages`.

mod samples;

use std::{fmt::Write, sync::Arc};

use expect_test::expect_file;
use harn_model::{HitlKind, RiskLabel, ToolKind};
use serde_json::{Value, json};

use self::samples::{
    NOW, all_responses, busy_report, command_ask, edit_ask, parked_report, plain_request, question,
    read_fixture, receipt, report,
};
use super::*;
use crate::{
    error,
    fixtures::{self, folder, schema},
    wire::directive::RiskTier,
};

/// Compares a response with its file and with the schemas.
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
        // A Shell shows this text for a directive that it does not know.
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
fn responses_match_the_fixtures() {
    for (name, asked, told, _) in all_responses() {
        check(name, &run_response(&asked, &told, NOW));
    }
}

#[test]
fn errors_match_the_fixtures() {
    let echo = EchoedIds {
        request_id: Some("req_1".to_owned()),
        correlation_id: Some("corr_1".to_owned()),
    };
    for (name, wrong, _) in error::tests::every_error() {
        check(&format!("fault-{name}"), &error_response(&echo, &wrong));
    }
    check(
        "fault-without-ids",
        &error_response(&EchoedIds::default(), &OpenHarnessError::NotJson),
    );
}

/// Every file of the folder belongs to a test, and the README describes it.
#[test]
fn readme_names_every_message() {
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
    let runs = all_responses().into_iter();
    rows.extend(runs.map(|(name, _, _, shows)| (name.to_owned(), shows.to_owned())));
    for (name, wrong, when) in error::tests::every_error() {
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

/// Messages come first, questions last, and the no-op at the very end.
#[test]
fn directives_are_in_order() {
    let both = |told: &RunReport, asked: &ShellRequest| -> Vec<_> {
        let answer: Value = serde_json::from_slice(&run_response(asked, told, NOW)).unwrap();
        let directives = answer["response"]["action_directives"]
            .as_array()
            .unwrap()
            .clone();
        let shown = |it: &Value| {
            let (action, execution) = (it["action_type"].as_str(), it["execution"].as_str());
            (action.unwrap().to_owned(), execution.map(str::to_owned))
        };
        directives.iter().map(shown).collect()
    };
    let everything = RunReport {
        state: RunPhase::Running,
        asks: vec![command_ask()],
        questions: vec![Arc::new(question(HitlKind::Question, "Which port?"))],
        ..busy_report()
    };
    let rich = read_fixture("request", |_| {});
    let row =
        |action: &str, beside: bool| (action.to_owned(), beside.then(|| "parallel".to_owned()));
    let expected = [
        row("render_message", false),
        row("render_ui", false),
        row("request_approval", true),
        row("dev.harn.question", true),
        row("noop", false),
    ];
    assert_eq!(both(&everything, &rich), expected);
    let one = parked_report(vec![command_ask()], Vec::new());
    assert_eq!(both(&one, &rich), [row("request_approval", false)]);
    let two = parked_report(vec![command_ask(), edit_ask()], Vec::new());
    let in_turn = [
        row("request_approval", false),
        row("request_approval", false),
    ];
    assert_eq!(both(&two, &plain_request()), in_turn);
}

/// The doubtful cases of the draft: the schema rejects what the draft does not define as a response.
#[test]
fn schema_rejects_invalid_responses() {
    let schema = schema("response");
    let parked = fixtures::message("response-parked");
    let fault = fixtures::message("fault-invalid");
    assert!(schema.is_valid(&parked) && schema.is_valid(&fault));
    let approval = "/response/action_directives/1";
    let wrong = [
        (&parked, "/response/status".to_owned(), json!("partial")),
        (&parked, "/response/status".to_owned(), json!("failure")),
        (&parked, "/response".to_owned(), json!(null)),
        (&parked, "/protocol_version".to_owned(), json!("1.0")),
        (&parked, "/request_id".to_owned(), json!("")),
        (&parked, "/request_id".to_owned(), json!(null)),
        (&parked, "/supported_capabilities".to_owned(), json!([])),
        (&parked, format!("{approval}/payload"), json!(null)),
        (&parked, format!("{approval}/deadline_ms"), json!(1.5)),
        (&parked, format!("{approval}/priority"), json!("urgent")),
        (&parked, format!("{approval}/risk_tier"), json!("harmless")),
        (
            &parked,
            format!("{approval}/action_type"),
            json!("simulate_action"),
        ),
        (
            &fault,
            "/response/error/details".to_owned(),
            json!("broken"),
        ),
        (&fault, "/response/error/code".to_owned(), json!("")),
    ];
    for (message, place, value) in wrong {
        let mut message = message.clone();
        *message.pointer_mut(&place).unwrap() = value.clone();
        assert!(!schema.is_valid(&message), "{place}: {value}");
    }
    let bare = json!({"protocol_version": "1.0.0", "status": "error", "error": {"code": "x"}});
    assert!(!schema.is_valid(&bare));
}

#[test]
fn risk_depends_on_the_tool_and_the_policy_labels() {
    use ToolKind as K;
    let tier = |kind: Option<ToolKind>, labels: Vec<RiskLabel>| {
        let mut ask = edit_ask();
        ask.tool_call.kind = kind;
        ask.policy_decision = Some(receipt("", labels));
        let told = report(RunPhase::Parked);
        approval::tool_directive(&told, &ask, NOW).risk_tier
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
fn overdue_deadline_is_zero() {
    let told = report(RunPhase::Parked);
    let late = command_ask().deadline.unwrap() + 1;
    assert_eq!(
        approval::tool_directive(&told, &command_ask(), late).deadline_ms,
        Some(0)
    );
    assert_eq!(
        approval::tool_directive(&told, &edit_ask(), late).deadline_ms,
        None
    );
}

#[test]
fn control_sequences_are_removed_from_shown_text() {
    let mut ask = command_ask();
    ask.tool_call.title = Some("ls\u{1b}[2K\rrm -rf".to_owned());
    ask.tool_call.raw_input = json!({"command": "ls\u{1b}[2K"});
    let told = RunReport {
        messages: vec!["\u{1b}[31mred\u{7}".to_owned()],
        ..parked_report(vec![ask], Vec::new())
    };
    let answer: Value =
        serde_json::from_slice(&run_response(&plain_request(), &told, NOW)).unwrap();
    let directives = &answer["response"]["action_directives"];
    assert_eq!(directives[0]["payload"]["text"], "red");
    assert_eq!(directives[1]["payload"]["title"], "lsrm -rf");
    // The data to decide about is sent unchanged, beside the text for it.
    assert_eq!(directives[1]["payload"]["command"], "ls\u{1b}[2K");
    let words = directives[1]["payload"]["message"].as_str().unwrap();
    assert!(!words.contains('\u{1b}'), "{words:?}");
}

#[test]
fn error_of_an_agent_becomes_one_line() {
    let long = format!("it broke:\n\u{1b}[1m{}", "very ".repeat(200));
    let told = report(RunPhase::Failed(long));
    let answer: Value =
        serde_json::from_slice(&run_response(&plain_request(), &told, NOW)).unwrap();
    let message = answer["response"]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("it broke: very very"), "{message}");
    assert!(
        message.chars().count() <= 502 && message.ends_with(" …"),
        "{message}"
    );
}
