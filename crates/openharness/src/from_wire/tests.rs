//! Valid and invalid requests.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::{
    fixtures::{self, schema},
    request::{AnswerValue, DirectiveAnswer},
};

mod canary;
mod digest;
mod shapes;

fn read_value(message: &Value) -> Result<ShellRequest, (EchoedIds, OpenHarnessError)> {
    read(message.to_string().as_bytes())
}

/// Returns a request with this context.
fn request_with_context(context: Value) -> Value {
    json!({"protocol_version": "1.0.0", "request": {"context": context}})
}

fn wrong_field(message: &Value) -> String {
    match read_value(message) {
        Err((_, OpenHarnessError::Invalid { field, .. })) => field,
        other => panic!("{message}: {other:?}"),
    }
}

#[test]
fn full_request_is_parsed() {
    let asked = read_value(&fixtures::message("request")).unwrap();
    expect![[r#"
        ShellRequest {
            echo: EchoedIds {
                request_id: Some(
                    "req_1",
                ),
                correlation_id: Some(
                    "corr_1",
                ),
            },
            shell: ShellProfile {
                manner: Markdown,
                cards: true,
                parallel: true,
                denied: [],
            },
            line: Some(
                ConversationName {
                    session: "sess_1",
                    conversation: Some(
                        "tab_2",
                    ),
                },
            ),
            intent: Some(
                "Summarise the contract and put the dates into NOTES.md.",
            ),
            attachments: [
                ResourceLink {
                    uri: "openharness-ref:att_1",
                    name: "contract.pdf",
                    mime_type: Some(
                        "application/pdf",
                    ),
                    title: None,
                    description: None,
                    size: Some(
                        48213,
                    ),
                },
                ResourceLink {
                    uri: "https://files.example/terms.html",
                    name: "https://files.example/terms.html",
                    mime_type: None,
                    title: None,
                    description: None,
                    size: None,
                },
                ResourceLink {
                    uri: "openharness-asset:card_9",
                    name: "card_9",
                    mime_type: None,
                    title: None,
                    description: None,
                    size: None,
                },
            ],
            background: Some(
                Resource {
                    uri: "openharness:context",
                    mime_type: Some(
                        "application/json",
                    ),
                    text: Some(
                        "{\"environment_state\":{\"active_window\":\"Preview\",\"os\":\"macOS\",\"screen_hash\":\"5f1d\"},\"shell\":{\"locale\":\"en-GB\",\"shell_kind\":\"im_bot\",\"shell_version\":\"2.1.0\",\"timezone\":\"Europe/London\"},\"task_hint\":{\"business_key\":\"deal_42\",\"plugin_id\":\"notes\",\"sop_id\":\"sop_contracts\"}}",
                    ),
                    blob: None,
                },
            ),
            continuation: None,
            verdicts: [],
            cancel: false,
            digest: "df4ae1731f6b8a4a94b3fda73842c942",
        }
    "#]]
    .assert_debug_eq(&asked);
}

#[test]
fn minimal_request_is_parsed() {
    let asked = read_value(&fixtures::message("request-minimal")).unwrap();
    assert_eq!(asked.echo, EchoedIds::default());
    assert_eq!(asked.line, None);
    assert_eq!(asked.background, None);
    assert_eq!(
        asked.intent.as_deref(),
        Some("How many lines has the README?")
    );
}

#[test]
fn decisions_are_parsed() {
    let said = |name: &str| {
        let asked = read_value(&fixtures::message(name)).unwrap();
        let place = asked.continuation.map(|place| place.token());
        (place.unwrap(), asked.verdicts, asked.cancel)
    };
    let verdict = |id: &str, given| DirectiveAnswer {
        id: id.to_owned(),
        given,
    };
    let here = "ctok_oh_1.trn_1.12".to_owned();
    let once = vec![verdict("ask_1", AnswerValue::Once)];
    assert_eq!(said("request-approval"), (here.clone(), once, false));
    let several = vec![
        verdict("ask_1", AnswerValue::Reject),
        verdict("hitl_approval_2", AnswerValue::Once),
        verdict("hitl_question_1", AnswerValue::Words("8080".to_owned())),
    ];
    assert_eq!(said("request-answers"), (here.clone(), several, false));
    assert_eq!(said("request-continued"), (here, Vec::new(), false));
    let beginning = "ctok_oh_1.trn_1.0".to_owned();
    assert_eq!(said("request-cancel"), (beginning, Vec::new(), true));
}

/// The doubtful cases of the draft's schema and prose, and what the parser does.
#[test]
fn doubtful_requests_are_parsed_as_the_schema_requires() {
    let intent = |name: &str, value: Value| {
        let mut message = request_with_context(json!({"user_intent": "hi"}));
        message[name] = value;
        message
    };
    let context = |name: &str, value: Value| {
        let mut message = request_with_context(json!({"user_intent": "hi"}));
        message["request"]["context"][name] = value;
        message
    };
    let taken = [
        intent("protocol_version", json!("1.0.0-draft")),
        intent("protocol_version", json!("1.9.3-rc.1+build.5")),
        intent("capabilities", json!({})),
        intent("anything", json!({"at": ["all"]})),
        context("session_id", json!("")),
        context("conversation_id", json!("alone")),
        context("continuation", json!({"sop_id": "s"})),
        context(
            "continuation",
            json!({"run_id": "", "continuation_token": " "}),
        ),
        context("user_intent", json!({"goal": "x"})),
        context("attachments", json!([])),
        context("attachments", json!([{}])),
        context("attachments", json!([{"ref_id": "r"}, {"uri": "data:,x"}])),
        context(
            "attachments",
            json!([{"ref_id": "r", "data": "x", "unknown": {}}]),
        ),
        request_with_context(json!({"task_hint": {"sop_id": "s"}})),
        request_with_context(json!({"continuation": {"sop_id": "s"}})),
        context(
            "environment_state",
            json!({"privacy_tier": "public", "os": "x"}),
        ),
        context(
            "extensions",
            json!({"com.example": 1, "dev.harn": {"unknown": [1]}}),
        ),
        context("extensions", json!({"dev.harn": {"cancel": false}})),
    ];
    for message in taken {
        let read = read_value(&message);
        assert!(read.is_ok(), "{message}: {read:?}");
    }
    let refused = [
        (json!([]), "$"),
        (json!("hi"), "$"),
        (json!({}), "protocol_version"),
        (intent("protocol_version", json!(1)), "protocol_version"),
        (intent("protocol_version", json!(null)), "protocol_version"),
        (intent("protocol_version", json!("1.0")), "protocol_version"),
        (
            intent("protocol_version", json!("v1.0.0")),
            "protocol_version",
        ),
        (json!({"protocol_version": "1.0.0"}), "request"),
        (
            json!({"protocol_version": "1.0.0", "request": null}),
            "request",
        ),
        (
            json!({"protocol_version": "1.0.0", "request": {}}),
            "request.context.user_intent",
        ),
        (intent("response", json!({"status": "success"})), "response"),
        (intent("request_id", json!("")), "request_id"),
        (intent("request_id", json!(7)), "request_id"),
        (intent("request_id", json!("é".repeat(257))), "request_id"),
        (intent("correlation_id", json!(null)), "correlation_id"),
        (
            intent("capabilities", json!(["openharness.streaming"])),
            "capabilities",
        ),
        (
            context("user_intent", json!(["x"])),
            "request.context.user_intent",
        ),
        (
            context("user_intent", json!({})),
            "request.context.user_intent",
        ),
        (
            request_with_context(json!({"task_hint": {}, "continuation": {}})),
            "request.context.user_intent",
        ),
        (
            context("user_intent", json!(" \n")),
            "request.context.user_intent",
        ),
        (
            context("session_id", json!(9)),
            "request.context.session_id",
        ),
        (
            context("session_id", json!("x".repeat(257))),
            "request.context.session_id",
        ),
        (
            context("environment_state", json!({"privacy_tier": "hidden"})),
            "request.context.environment_state.privacy_tier",
        ),
        (
            context("shell", json!({"shell_kind": ""})),
            "request.context.shell.shell_kind",
        ),
        (
            context("attachments", json!({"ref_id": "r"})),
            "request.context.attachments",
        ),
        (
            context("attachments", json!([{"ref_id": "r"}, {"uri": 1}])),
            "request.context.attachments[1].uri",
        ),
        (
            context("extensions", json!([])),
            "request.context.extensions",
        ),
        (
            context("extensions", json!({"dev.harn": "approve"})),
            "request.context.extensions[\"dev.harn\"]",
        ),
    ];
    for (message, place) in refused {
        assert_eq!(wrong_field(&message), place, "{message}");
    }
}

#[test]
fn intent_is_text_an_object_a_hint_or_a_workflow() {
    let intent = |context: Value| read_value(&request_with_context(context)).unwrap().intent;
    let structured = json!({"user_intent": {"goal": "sum", "args": {"b": 2, "a": 1}}});
    let expected = r#"{"args":{"a":1,"b":2},"goal":"sum"}"#;
    assert_eq!(intent(structured).as_deref(), Some(expected));
    // A part that is marked as secret is not passed on.
    let part = json!({"goal": "sum", "key": {"privacy_tier": "secret", "text": "canary"}});
    let expected = r#"{"goal":"sum"}"#;
    assert_eq!(
        intent(json!({ "user_intent": part })).as_deref(),
        Some(expected)
    );
    let hint = json!({"task_hint": {"sop_id": "s"}});
    let expected = r#"{"task_hint":{"sop_id":"s"}}"#;
    assert_eq!(intent(hint).as_deref(), Some(expected));
    // Text takes precedence over a hint.
    let both = json!({"user_intent": "hi", "task_hint": {"sop_id": "s"}});
    assert_eq!(intent(both).as_deref(), Some("hi"));
    // A poll that repeats its hint asks for nothing new.
    let place = json!({"run_id": "run_oh_1.trn_1", "sop_id": "s"});
    let looks = json!({"task_hint": {"sop_id": "s"}, "continuation": place});
    assert_eq!(intent(looks), None);
}

#[test]
fn malformed_decisions_are_rejected() {
    let place = json!({"run_id": "run_oh_1.trn_1"});
    let ours = |said: Value| {
        request_with_context(json!({"continuation": place, "extensions": {"dev.harn": said}}))
    };
    let once = json!({"id": "ask_1", "decision": "once"});
    let table = [
        (json!({"approval": "yes"}), ".approval"),
        (json!({"approval": {"decision": "once"}}), ".approval.id"),
        (
            json!({"approval": {"id": "", "decision": "once"}}),
            ".approval.id",
        ),
        (json!({"approval": {"id": "a"}}), ".approval.decision"),
        (
            json!({"approval": {"id": "a", "decision": "yes"}}),
            ".approval.decision",
        ),
        (
            json!({"approval": {"id": "a", "decision": true}}),
            ".approval.decision",
        ),
        (
            json!({"approval": [once, {"id": 3, "decision": "once"}]}),
            ".approval[1].id",
        ),
        (json!({"approval": [once, 1]}), ".approval[1]"),
        (json!({"approval": [once, once]}), ".approval"),
        (
            json!({"approval": once, "answer": {"id": "ask_1", "text": "no"}}),
            ".approval",
        ),
        (json!({"answer": {"id": "q"}}), ".answer.text"),
        (json!({"answer": {"id": "q", "text": 8080}}), ".answer.text"),
        (json!({"cancel": "yes"}), ".cancel"),
        (json!({"cancel": true, "approval": once}), ".cancel"),
    ];
    for (said, place) in table {
        let place = format!("request.context.extensions[\"dev.harn\"]{place}");
        assert_eq!(wrong_field(&ours(said.clone())), place, "{said}");
    }
    // A decision needs a run, and text is no decision.
    let nowhere = |said: &Value| {
        request_with_context(json!({"user_intent": "yes", "extensions": {"dev.harn": said}}))
    };
    let undecided = nowhere(&json!({"approval": once}));
    assert_eq!(wrong_field(&undecided), "request.context.continuation");
    let cancel = "request.context.extensions[\"dev.harn\"].cancel";
    let mut stop = nowhere(&json!({"cancel": true}));
    stop["request"]["context"]["session_id"] = Value::Null;
    let context = stop["request"]["context"].as_object_mut();
    context.unwrap().remove("session_id");
    assert_eq!(wrong_field(&stop), cancel);
    let words = read_value(&request_with_context(
        json!({"user_intent": "yes, approve it", "continuation": place}),
    ));
    assert_eq!(words.unwrap().verdicts, []);
}

#[test]
fn continuation_that_was_never_issued_is_rejected() {
    for continuation in [
        json!({"run_id": "run_7d2", "continuation_token": "ctok_aq9"}),
        json!({"run_id": "run_a.b", "continuation_token": "ctok_a.c.1"}),
    ] {
        let message =
            request_with_context(json!({"user_intent": "go on", "continuation": continuation}));
        assert_eq!(
            read_value(&message).unwrap_err().1,
            OpenHarnessError::ContinuationUnknown
        );
    }
}

#[test]
fn version_error_precedes_all_others() {
    let message = json!({
        "protocol_version": "2.0.0", "request_id": "r", "correlation_id": 4, "request": "?",
    });
    let (echo, fault) = read_value(&message).unwrap_err();
    assert_eq!(fault, OpenHarnessError::Version);
    assert_eq!(
        (echo.request_id.as_deref(), echo.correlation_id),
        (Some("r"), None)
    );
}

#[test]
fn ids_of_a_rejected_body_are_found() {
    let echo = |body: &str| {
        let (echo, _) = read(body.as_bytes()).unwrap_err();
        (
            echo.request_id.unwrap_or_default(),
            echo.correlation_id.unwrap_or_default(),
        )
    };
    let both = ("r".to_owned(), "c".to_owned());
    let deep = "[".repeat(100_000);
    let bodies = [
        r#"{"request_id":"r","correlation_id":"c"}"#.to_owned(),
        r#"{"protocol_version":"1.0.0","request_id":"r","correlation_id":"c","request":{"#
            .to_owned(),
        r#"{"request_id":"r","request":{"a":[1,{}]},"correlation_id":"c",,}"#.to_owned(),
        format!(r#"{{"request_id":"r","correlation_id":"c","request":{deep}"#),
    ];
    for body in bodies {
        assert_eq!(echo(&body), both);
    }
    let none = (String::new(), String::new());
    for body in [
        "",
        "{",
        "[1",
        "\u{feff}{}",
        r#"{"request_id":7"#,
        r#"{"request_id":""}"#,
    ] {
        assert_eq!(echo(body), none, "{body}");
    }
}

#[test]
fn nesting_is_accepted_up_to_the_documented_depth() {
    let nested = |levels: usize| {
        // The message, the request, its context and the hint are four levels.
        let arrays = levels - 4;
        let deep = format!("{}{}", "[".repeat(arrays), "]".repeat(arrays));
        let context = format!(r#"{{"user_intent":"hi","task_hint":{{"a":{deep}}}}}"#);
        format!(r#"{{"protocol_version":"1.0.0","request":{{"context":{context}}}}}"#)
    };
    assert!(read(nested(127).as_bytes()).is_ok());
    assert_eq!(
        read(nested(128).as_bytes()).unwrap_err().1,
        OpenHarnessError::NotJson
    );
}

#[test]
fn body_that_is_not_json_is_rejected() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let deep = format!(r#"{{"protocol_version":"1.0.0","request":{deep}}}"#);
    for body in ["", "{", "nonsense", "{} {}", "{\"a\":1,}", deep.as_str()] {
        assert_eq!(
            read(body.as_bytes()).unwrap_err().1,
            OpenHarnessError::NotJson,
            "{body}"
        );
    }
    assert_eq!(
        read(b"{\"a\":\"\xff\"}").unwrap_err().1,
        OpenHarnessError::NotJson
    );
}

/// As many answers as a body can have: comparing each with each would keep a worker busy for seconds.
#[test]
fn many_answers_are_parsed_and_duplicates_rejected() {
    let approval = |id: usize| json!({"id": format!("ask_{id}"), "decision": "once"});
    let mut approvals: Vec<_> = (0..20_000).map(approval).collect();
    let decides = |approvals: &[Value]| {
        request_with_context(json!({
            "continuation": {"run_id": "run_a.b"},
            "extensions": {"dev.harn": {"approval": approvals}},
        }))
    };
    assert_eq!(
        read_value(&decides(&approvals)).unwrap().verdicts.len(),
        20_000
    );
    approvals.push(approval(0));
    let place = "request.context.extensions[\"dev.harn\"].approval";
    assert_eq!(wrong_field(&decides(&approvals)), place);
}
