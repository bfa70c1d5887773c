//! Tests of the route to each client, and of the meaning of its answers.

use harn_runtime::HostOffers;
use serde_json::json;

use super::*;
use crate::{Dialect, HitlCalls};

fn request(kind: HitlKind) -> HitlRequest {
    HitlRequest {
        request_id: kind.request_id("1"),
        kind,
        subject: "deploy".to_owned(),
        detail: None,
        choices: Vec::new(),
        default: None,
        to: None,
        reviewers: Vec::new(),
        quorum: 1,
        approval: None,
        mutation: None,
        agent: "harn".to_owned(),
        turn: "t".into(),
        requested_at: 0,
        deadline: 1000,
        lineage: Vec::new(),
    }
}

fn approval(kind: HitlKind) -> HitlRequest {
    let request = request(kind);
    let record = json!({
        "id": request.request_id, "action": "deploy", "args": {"to": "production"}, "principal": "s",
        "requested_at": "", "approvers_required": 1,
        "evidence_refs": [{"kind": "workspace_path", "ref": "deploy.toml"}, {"kind": "url", "ref": "x"}],
    });
    HitlRequest {
        approval: Some(serde_json::from_value(record).unwrap()),
        ..request
    }
}

fn question(choices: &[&str]) -> HitlRequest {
    HitlRequest {
        choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
        ..request(HitlKind::Question)
    }
}

fn client(profile: Profile, tools: bool, forms: bool) -> InitializeFacts {
    InitializeFacts {
        dialect: Dialect {
            hitl_calls: HitlCalls::for_client(profile, tools, forms),
            ..profile.into()
        },
        offers: HostOffers {
            tools,
            ..HostOffers::default()
        },
        declares_harn: false,
        terminal_auth: crate::terminal_auth::TerminalAuthSupport::default(),
    }
}

#[test]
fn each_client_gets_its_best_route() {
    let way = |request: &HitlRequest, client| route(request, client, "zed");
    let (free, few) = (question(&[]), question(&["a", "b"]));
    for profile in [Profile::Harn, Profile::Meta] {
        assert_eq!(way(&free, client(profile, true, true)), HitlRoute::Bridge);
    }
    assert_eq!(
        way(&free, client(Profile::Acp, true, true)),
        HitlRoute::Form
    );
    let plain = client(Profile::Harn, false, false);
    assert_eq!(way(&few, plain), HitlRoute::Choice);
    let nobody = |route| matches!(route, HitlRoute::Nobody(_));
    assert!(nobody(way(&free, plain)));
    assert!(nobody(way(&question(&["a"]), plain)));
    assert!(nobody(way(&question(&["a"; 9]), plain)));
    assert_eq!(way(&approval(HitlKind::Approval), plain), HitlRoute::Choice);
    assert_eq!(
        way(&request(HitlKind::Escalation), plain),
        HitlRoute::Choice
    );

    // The contract's own route takes precedence over a form.
    let forms = client(Profile::Harn, false, true);
    assert_eq!(way(&approval(HitlKind::Approval), forms), HitlRoute::Choice);
    assert_eq!(way(&request(HitlKind::Escalation), forms), HitlRoute::Form);
    assert_eq!(way(&free, forms), HitlRoute::Form);
    for profile in [Profile::Meta, Profile::Acp] {
        let forms = client(profile, false, true);
        assert_eq!(way(&approval(HitlKind::Approval), forms), HitlRoute::Form);
    }

    let mut control = approval(HitlKind::DualControl);
    control.quorum = 2;
    assert_eq!(way(&control, plain), HitlRoute::Choice);
    for profile in [Profile::Meta, Profile::Acp] {
        // The client could agree only once, and there is no other reviewer.
        assert!(nobody(way(&control, client(profile, false, true))));
    }
    control.reviewers = vec!["ada".to_owned(), "grace".to_owned()];
    assert!(nobody(way(&control, plain)));
    assert_eq!(route(&control, plain, "Ada"), HitlRoute::Choice);
    assert_eq!(
        way(&control, client(Profile::Harn, true, false)),
        HitlRoute::Bridge
    );
}

/// Returns a short form of a client's answer.
fn describe_answer(route: &HitlRoute, request: &HitlRequest, answer: Value) -> String {
    match interpret_answer(route, request, Profile::Harn, "zed", Ok(answer)) {
        HitlClientAnswer::Answer(response) => {
            assert_eq!(response.request_id, request.request_id);
            assert_eq!(response.reviewer.as_deref(), Some("zed"));
            let value = response.answer.or(response.approved.map(Value::from));
            let value = value.or(response.accepted.map(Value::from));
            format!("{} {:?}", value.unwrap_or_default(), response.reason)
        }
        HitlClientAnswer::Declined => "declined".to_owned(),
        HitlClientAnswer::Nothing(_) => "nothing".to_owned(),
    }
}

#[test]
fn form_answers_are_interpreted() {
    let form = |request: &HitlRequest, answer| describe_answer(&HitlRoute::Form, request, answer);
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let free = question(&[]);
    assert_eq!(form(&free, accept(json!({"answer": "80"}))), "\"80\" None");
    assert_eq!(form(&free, accept(json!({"answer": 80}))), "nothing");
    assert_eq!(form(&free, accept(json!({}))), "nothing");
    assert_eq!(form(&free, json!({"action": "decline"})), "declined");
    assert_eq!(form(&free, json!({"action": "cancel"})), "declined");
    assert_eq!(form(&free, json!({"action": "shrug"})), "nothing");
    assert_eq!(form(&free, json!(null)), "nothing");

    let approval = approval(HitlKind::Approval);
    let yes = accept(json!({"approved": true, "reason": "tested"}));
    assert_eq!(form(&approval, yes), "true Some(\"tested\")");
    let no = accept(json!({"approved": false, "reason": " "}));
    assert_eq!(form(&approval, no), "false None");
    // Accepting a form does not approve its subject.
    assert_eq!(form(&approval, accept(json!({}))), "nothing");
    assert_eq!(
        form(&approval, accept(json!({"approved": "true"}))),
        "nothing"
    );
    assert_eq!(form(&approval, json!({"action": "accept"})), "nothing");
    assert_eq!(form(&approval, json!({"action": "decline"})), "false None");
    assert_eq!(form(&approval, json!({"action": "cancel"})), "declined");

    let escalation = request(HitlKind::Escalation);
    assert_eq!(
        form(&escalation, accept(json!({"accepted": true}))),
        "true None"
    );
}

#[test]
fn choice_answers_are_interpreted() {
    let choice = |request: &HitlRequest, option: &str| {
        let outcome = json!({"outcome": "selected", "optionId": option});
        describe_answer(&HitlRoute::Choice, request, json!({"outcome": outcome}))
    };
    let few = question(&["8080", "9090"]);
    assert_eq!(choice(&few, "choice_1"), "\"9090\" None");
    assert_eq!(choice(&few, "reject"), "declined");
    for odd in ["choice_2", "choice_01", "choice_+1", "approve", ""] {
        assert_eq!(choice(&few, odd), "nothing", "{odd}");
    }
    // The contract's answers are for approvals only.
    for wrong in [
        json!({"granted": true}),
        json!({"outcome": {"outcome": "selected"}}),
    ] {
        for asked in [&few, &request(HitlKind::Escalation)] {
            assert_eq!(
                describe_answer(&HitlRoute::Choice, asked, wrong.clone()),
                "nothing"
            );
        }
    }
}

#[test]
fn approval_accepts_the_answers_of_a_tool_call() {
    for kind in [HitlKind::Approval, HitlKind::DualControl] {
        let approval = approval(kind);
        let chose = |option: &str| json!({"outcome": {"outcome": "selected", "optionId": option}});
        let table = [
            (chose("approve"), "true None"),
            (chose("reject"), "false None"),
            (json!({"outcome": {"outcome": "selected"}}), "true None"),
            (json!({"granted": true}), "true None"),
            (json!({"granted": false}), "false None"),
            (
                json!({"granted": false, "reason": "no"}),
                "false Some(\"no\")",
            ),
            (json!({"outcome": {"outcome": "cancelled"}}), "declined"),
            // The person approves the arguments that the request shows.
            (
                json!({"granted": true, "args": {"to": "staging"}}),
                "nothing",
            ),
            (json!({"granted": true, "args": {}}), "nothing"),
            (json!({"granted": false, "args": {}}), "nothing"),
            (chose("allow_once"), "nothing"),
            (
                json!({"granted": true, "outcome": {"outcome": "cancelled"}}),
                "nothing",
            ),
            (json!({"granted": "true"}), "nothing"),
            (json!(null), "nothing"),
        ];
        for (answer, means) in table {
            let actual = describe_answer(&HitlRoute::Choice, &approval, answer.clone());
            assert_eq!(actual, means, "{answer}");
        }
    }
}

#[test]
fn an_approval_has_the_members_of_a_tool_call() {
    let approval = approval(HitlKind::Approval);
    let session = "s".into();
    for profile in [Profile::Harn, Profile::Meta, Profile::Acp] {
        let message = message(&HitlRoute::Choice, &session, &approval, profile, None);
        let params = message.unwrap().unwrap().into_parts().1;
        let beside = profile == Profile::Harn;
        let tool = params["toolCall"].get("toolName");
        assert_eq!(tool, beside.then_some(&json!("deploy")));
        assert_eq!(params["toolCall"]["toolCallId"], "hitl_approval_1");
        for place in [&params, &params["_meta"]["harn"]] {
            if place.get("options").is_none() || (!beside && *place == params) {
                continue;
            }
            assert_eq!(place["approvalRequest"]["id"], "hitl_approval_1");
            assert_eq!(place["declaredPaths"], json!(["deploy.toml"]));
            assert_eq!(place.get("mutation"), Some(&Value::Null));
        }
    }
}

#[test]
fn client_error_is_quoted_as_one_short_line() {
    let mut error = Error::internal_error();
    error.message = format!("no\u{1b}[2J\nwindow{}", "x".repeat(1000));
    let HitlClientAnswer::Nothing(why) = interpret_answer(
        &HitlRoute::Form,
        &question(&[]),
        Profile::Acp,
        "zed",
        Err(error),
    ) else {
        panic!("an error is no answer");
    };
    assert!(why.starts_with("the client could not be asked: no[2Jwindowxxx"));
    assert!(why.chars().count() < 240, "{why}");
}
