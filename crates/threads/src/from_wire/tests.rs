//! Params that are read, and the errors of those that are not.

use expect_test::expect;
use serde_json::json;

use super::*;

fn format_result<T: std::fmt::Debug>(read: ParamsResult<T>) -> String {
    match read {
        Ok(read) => format!("{read:?}\n"),
        Err(error) => format!("{} {error}\n", error.code()),
    }
}

#[test]
fn malformed_params_are_named_and_not_repeated() {
    let start = |params: Value| format_result(turn_start(Some(params)));
    let text = json!({"type": "text", "text": "Hello"});
    let rows = [
        format_result(thread_get(None)),
        format_result(thread_get(Some(json!([])))),
        format_result(thread_get(Some(json!({"threadId": null})))),
        format_result(thread_get(Some(json!({"threadId": {"secret": 1}})))),
        format_result(turn_cancel(Some(json!({"threadId": 1})))),
        format_result(turn_cancel(Some(
            json!({"threadId": "t", "turnId": ["secret"]}),
        ))),
        format_result(thread_create(Some(json!({"title": ["secret"]})))),
        format_result(thread_create(Some(json!({"directory": 1})))),
        format_result(thread_create(Some(json!("secret")))),
        format_result(thread_list(Some(json!(1)))),
        format_result(initialize(Some(json!([])))),
        start(json!({"input": [text]})),
        start(json!({"threadId": "t"})),
        start(json!({"threadId": "t", "input": "secret"})),
        start(json!({"threadId": "t", "input": []})),
        start(json!({"threadId": "t", "input": ["secret"]})),
        start(json!({"threadId": "t", "input": [text, {"text": "secret"}]})),
        start(json!({"threadId": "t", "input": [{"type": "secret"}]})),
        start(json!({"threadId": "t", "input": [{"type": "text"}]})),
        start(json!({"threadId": "t", "input": [{"type": "text", "text": 1}]})),
        start(json!({"threadId": "t", "input": [{"type": "file"}]})),
        start(json!({"threadId": "t", "input": [{"type": "file", "url": "u", "mime": 1}]})),
        start(json!({"threadId": "t", "input": [text], "model": "secret"})),
        start(json!({"threadId": "t", "input": [text], "model": {}})),
        start(json!({"threadId": "t", "input": [text], "model": {"modelID": 1}})),
        start(json!({"threadId": "t", "input": [text], "agent": 1})),
        format_result(approval_respond(Some(json!({"decision": "once"})))),
        format_result(approval_respond(Some(json!({"requestId": "r"})))),
        format_result(approval_respond(Some(
            json!({"requestId": "r", "decision": "secret"}),
        ))),
    ]
    .concat();
    assert!(!rows.contains("secret"), "{rows}");
    expect![[r#"
        -32602 threadId is missing; it must be a string
        -32602 params must be an object
        -32602 threadId is missing; it must be a string
        -32602 threadId must be a string
        -32602 threadId must be a string
        -32602 turnId must be a string
        -32602 title must be a string
        -32602 directory must be a string
        -32602 params must be an object
        -32602 params must be an object
        -32602 params must be an object
        -32602 threadId is missing; it must be a string
        -32602 input is missing; it must be an array of parts
        -32602 input must be an array of parts
        -32602 input must have at least one part
        -32602 input[0] must be an object
        -32602 input[1].type is missing; it must be a string
        -32602 input[0].type must be "text" or "file"
        -32602 input[0].text is missing; it must be a string
        -32602 input[0].text must be a string
        -32602 input[0].url is missing; it must be a string
        -32602 input[0].mime must be a string
        -32602 model must be an object
        -32602 model.modelID is missing; it must be a string
        -32602 model.modelID must be a string
        -32602 agent must be a string
        -32602 requestId is missing; it must be a string
        -32602 decision is missing; it must be a string
        -32602 decision must be "once", "always" or "reject"
    "#]]
    .assert_eq(&rows);
}

#[test]
fn known_params_are_read_and_others_ignored() {
    let rows = [
        format_result(initialize(None)),
        format_result(initialize(Some(json!({"clientInfo": 17})))),
        format_result(thread_list(Some(json!({"limit": 3})))),
        format_result(thread_create(None)),
        format_result(thread_create(Some(json!({"title": " ", "directory": ""})))),
        format_result(turn_start(Some(json!({
            "threadId": "t",
            "input": [
                {"type": "text", "text": ""},
                {"type": "file", "url": "file:///a/b.rs", "filename": "b.rs", "mime": "text/rust"},
            ],
            "model": {"providerID": "p", "modelID": "m", "x": 1},
            "agent": "code",
            "trace": true,
        })))),
    ]
    .concat();
    expect![[r#"
        ()
        ()
        ()
        ThreadCreateParams { title: None, directory: None }
        ThreadCreateParams { title: None, directory: None }
        TurnStartParams { thread_id: "t", input: [Text { text: "" }, File { url: "file:///a/b.rs", filename: Some("b.rs"), mime: Some("text/rust") }], model: Some(ModelChoice { provider_id: Some("p"), model_id: "m" }), agent: Some("code") }
    "#]].assert_eq(&rows);
}

#[test]
fn a_file_becomes_a_resource_link() {
    let file = |url: &str, filename: Option<&str>| InputPart::File {
        url: url.to_owned(),
        filename: filename.map(str::to_owned),
        mime: None,
    };
    let names = prompt(vec![
        file("file:///a/b.rs", Some("b")),
        file("file:///a/b.rs", None),
        file("https://example.org/docs/", None),
        file("///", None),
    ]);
    let names: Vec<_> = names
        .iter()
        .map(|block| match block {
            ContentBlock::ResourceLink(link) => link.name.as_str(),
            _ => "no link",
        })
        .collect();
    assert_eq!(names, ["b", "b.rs", "docs", "///"]);
}

#[test]
fn a_decision_selects_an_offered_option() {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let option = |id: &str, kind, scope| PermissionOption {
        option_id: id.to_owned(),
        name: id.to_owned(),
        kind,
        scope,
    };
    let once = option("once", AllowOnce, GrantScope::Once);
    let session = option("session", AllowAlways, GrantScope::Session);
    let always = option("always", AllowAlways, GrantScope::Always);
    let no = option("no", RejectOnce, GrantScope::Once);
    let never = option("never", RejectAlways, GrantScope::Always);
    let all = [
        once.clone(),
        session.clone(),
        always,
        no.clone(),
        never.clone(),
    ];
    let mut rows = String::new();
    for offered in [
        &all[..],
        &[once.clone(), session, no.clone()],
        &[once, no],
        &[never],
    ] {
        for decide in [
            ApprovalDecision::Once,
            ApprovalDecision::Always,
            ApprovalDecision::Reject,
        ] {
            rows += &format_result(decision(decide, offered));
        }
    }
    expect![[r#"
        (Allowed { option_id: "once", args: None }, Once)
        (Allowed { option_id: "always", args: None }, Always)
        (Rejected { option_id: Some("no"), reason: None }, Reject)
        (Allowed { option_id: "once", args: None }, Once)
        (Allowed { option_id: "session", args: None }, Always)
        (Rejected { option_id: Some("no"), reason: None }, Reject)
        (Allowed { option_id: "once", args: None }, Once)
        (Allowed { option_id: "once", args: None }, Once)
        (Rejected { option_id: Some("no"), reason: None }, Reject)
        -32602 decision: this request does not offer that decision; send another one
        -32602 decision: this request does not offer that decision; send another one
        (Rejected { option_id: None, reason: None }, Reject)
    "#]]
    .assert_eq(&rows);
}
