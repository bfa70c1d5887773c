//! Which way each client is asked, and what its answers mean.

use harn_runtime::HostOffers;
use serde_json::json;

use super::*;

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
        agent: "harn".to_owned(),
        turn: "t".into(),
        requested_at: 0,
        deadline: 1000,
        lineage: Vec::new(),
    }
}

fn question(choices: &[&str]) -> HitlRequest {
    HitlRequest {
        choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
        ..request(HitlKind::Question)
    }
}

fn client(profile: Profile, tools: bool, forms: bool) -> Facts {
    Facts {
        dialect: profile.into(),
        offers: HostOffers {
            tools,
            ..HostOffers::default()
        },
        forms,
        declares_harn: false,
    }
}

#[test]
fn each_client_is_asked_in_the_best_way_it_has() {
    let way = |request: &HitlRequest, client| route(request, client, "zed");
    let (free, few) = (question(&[]), question(&["a", "b"]));
    for profile in [Profile::Harn, Profile::Meta] {
        assert_eq!(way(&free, client(profile, true, true)), Route::Bridge);
    }
    assert_eq!(way(&free, client(Profile::Acp, true, true)), Route::Form);
    let plain = client(Profile::Harn, false, false);
    assert_eq!(way(&few, plain), Route::Choice);
    let nobody = |route| matches!(route, Route::Nobody(_));
    assert!(nobody(way(&free, plain)));
    assert!(nobody(way(&question(&["a"]), plain)));
    assert!(nobody(way(&question(&["a"; 9]), plain)));
    assert_eq!(way(&request(HitlKind::Approval), plain), Route::Choice);
    assert_eq!(way(&request(HitlKind::Escalation), plain), Route::Choice);

    let mut control = request(HitlKind::DualControl);
    control.quorum = 2;
    assert!(nobody(way(&control, plain)));
    let forms = client(Profile::Harn, false, true);
    // It could agree once, and nobody else is there to.
    assert!(nobody(way(&control, forms)));
    control.reviewers = vec!["ada".to_owned(), "grace".to_owned()];
    assert!(nobody(way(&control, forms)));
    let mut approval = request(HitlKind::Approval);
    approval.quorum = 2;
    assert!(nobody(way(&approval, forms)));
    assert_eq!(
        way(&control, client(Profile::Harn, true, false)),
        Route::Bridge
    );
}

/// What a client said, in short.
fn said(route: &Route, request: &HitlRequest, answer: Value) -> String {
    match given(route, request, "zed", Ok(answer)) {
        Given::Answer(response) => {
            assert_eq!(response.request_id, request.request_id);
            assert_eq!(response.reviewer.as_deref(), Some("zed"));
            let value = response.answer.or(response.approved.map(Value::from));
            let value = value.or(response.accepted.map(Value::from));
            format!("{} {:?}", value.unwrap_or_default(), response.reason)
        }
        Given::Declined => "declined".to_owned(),
        Given::Nothing(_) => "nothing".to_owned(),
    }
}

#[test]
fn what_a_form_means() {
    let form = |request: &HitlRequest, answer| said(&Route::Form, request, answer);
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let free = question(&[]);
    assert_eq!(form(&free, accept(json!({"answer": "80"}))), "\"80\" None");
    assert_eq!(form(&free, accept(json!({"answer": 80}))), "nothing");
    assert_eq!(form(&free, accept(json!({}))), "nothing");
    assert_eq!(form(&free, json!({"action": "decline"})), "declined");
    assert_eq!(form(&free, json!({"action": "cancel"})), "declined");
    assert_eq!(form(&free, json!({"action": "shrug"})), "nothing");
    assert_eq!(form(&free, json!(null)), "nothing");

    let approval = request(HitlKind::Approval);
    let yes = accept(json!({"approved": true, "reason": "tested"}));
    assert_eq!(form(&approval, yes), "true Some(\"tested\")");
    let no = accept(json!({"approved": false, "reason": " "}));
    assert_eq!(form(&approval, no), "false None");
    // Accepting a form is not approving what it asks about.
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
fn what_a_choice_means() {
    let choice = |request: &HitlRequest, option: &str| {
        let outcome = json!({"outcome": "selected", "optionId": option});
        said(&Route::Choice, request, json!({"outcome": outcome}))
    };
    let few = question(&["8080", "9090"]);
    assert_eq!(choice(&few, "choice_1"), "\"9090\" None");
    assert_eq!(choice(&few, "reject"), "declined");
    for odd in ["choice_2", "choice_01", "choice_+1", "approve", ""] {
        assert_eq!(choice(&few, odd), "nothing", "{odd}");
    }
    let approval = request(HitlKind::Approval);
    assert_eq!(choice(&approval, "approve"), "true None");
    assert_eq!(choice(&approval, "reject"), "false None");
    assert_eq!(choice(&approval, "allow_once"), "nothing");
    let bare = [
        (json!({"outcome": {"outcome": "cancelled"}}), "declined"),
        (json!({"outcome": {"outcome": "selected"}}), "nothing"),
        (json!({"granted": true}), "nothing"),
        (json!(null), "nothing"),
    ];
    for (answer, means) in bare {
        assert_eq!(said(&Route::Choice, &approval, answer), means);
    }
}

#[test]
fn of_an_error_no_more_is_told_than_a_line() {
    let mut error = Error::internal_error();
    error.message = format!("no\u{1b}[2J\nwindow{}", "x".repeat(1000));
    let Given::Nothing(why) = given(&Route::Form, &question(&[]), "zed", Err(error)) else {
        panic!("an error is no answer");
    };
    assert!(why.starts_with("the client could not be asked: no[2Jwindowxxx"));
    assert!(why.chars().count() < 240, "{why}");
}
