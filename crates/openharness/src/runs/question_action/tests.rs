//! Answers to every kind of question, as a table.

use expect_test::{Expect, expect};
use harn_model::{GrantScope, PermissionOption, ToolCall};

use super::*;

fn ask(options: &[(&str, PermissionOptionKind, GrantScope)]) -> PermissionAsked {
    let options = options.iter().map(|(id, kind, scope)| PermissionOption {
        option_id: (*id).to_owned(),
        name: (*id).to_owned(),
        kind: *kind,
        scope: *scope,
    });
    PermissionAsked::new("q".into(), ToolCall::new("c", "x"), options.collect())
}

fn question(kind: HitlKind) -> HitlRequest {
    HitlRequest {
        request_id: "h".to_owned(),
        kind,
        subject: "Which?".to_owned(),
        detail: None,
        choices: Vec::new(),
        default: None,
        to: None,
        reviewers: Vec::new(),
        quorum: 1,
        approval: None,
        mutation: None,
        agent: "agent".to_owned(),
        turn: "t".into(),
        requested_at: 0,
        deadline: 1,
        lineage: Vec::new(),
    }
}

fn answer(id: &str, given: AnswerValue) -> DirectiveAnswer {
    let id = id.to_owned();
    DirectiveAnswer { id, given }
}

fn all_answers() -> [AnswerValue; 4] {
    let words = AnswerValue::Words("8080".to_owned());
    [
        AnswerValue::Once,
        AnswerValue::Always,
        AnswerValue::Reject,
        words,
    ]
}

fn check(asks: &[PermissionAsked], questions: &[HitlRequest], expected: &Expect) {
    let questions: Vec<_> = questions.iter().cloned().map(Arc::new).collect();
    let ada = Principal::new("ada");
    let mut lines = String::new();
    for given in all_answers() {
        let id = if asks.is_empty() { "h" } else { "q" };
        let verdicts = [answer(id, given.clone())];
        let came = match plan_actions(&verdicts, asks, &questions, &ada) {
            Ok(deeds) => match &deeds[..] {
                [QuestionAction::Answer(_, Decision::Allowed { option_id, .. })] => {
                    format!("allowed: {option_id}")
                }
                [QuestionAction::Answer(_, Decision::Rejected { option_id, .. })] => {
                    format!("rejected: {option_id:?}")
                }
                [QuestionAction::Respond(it)] => format!(
                    "responded: {:?} {:?} {:?} {:?}",
                    it.reviewer, it.answer, it.approved, it.accepted
                ),
                [QuestionAction::Decline(id)] => format!("declined: {id}"),
                other => format!("{other:?}"),
            },
            Err(OpenHarnessError::AnswerUnfit { problem }) => problem,
            Err(other) => format!("{other:?}"),
        };
        lines.push_str(&format!("{given:?}: {came}\n"));
    }
    expected.assert_eq(&lines);
}

#[test]
fn answers_to_a_tool_call_choose_an_option() {
    use GrantScope::{Always, Once, Session};
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let usual = [
        ("once", AllowOnce, Once),
        ("session", AllowAlways, Session),
        ("always", AllowAlways, Always),
        ("no", RejectOnce, Once),
        ("never", RejectAlways, Always),
    ];
    check(
        &[ask(&usual)],
        &[],
        &expect![[r#"
        Once: allowed: once
        Always: allowed: always
        Reject: rejected: Some("no")
        Words("8080"): a permission needs a decision, not a text
    "#]],
    );
    // An answer that cannot be remembered allows the call once.
    check(
        &[ask(&usual[..1])],
        &[],
        &expect![[r#"
        Once: allowed: once
        Always: allowed: once
        Reject: rejected: None
        Words("8080"): a permission needs a decision, not a text
    "#]],
    );
    check(
        &[ask(&usual[3..])],
        &[],
        &expect![[r#"
        Once: this call can only be rejected
        Always: this call can only be rejected
        Reject: rejected: Some("no")
        Words("8080"): a permission needs a decision, not a text
    "#]],
    );
}

#[test]
fn answers_fit_the_kind_of_question() {
    check(
        &[],
        &[question(HitlKind::Question)],
        &expect![[r#"
        Once: this question needs a text as its answer
        Always: this question needs a text as its answer
        Reject: declined: h
        Words("8080"): responded: None Some(String("8080")) None None
    "#]],
    );
    check(
        &[],
        &[question(HitlKind::Approval)],
        &expect![[r#"
        Once: responded: Some("ada") None Some(true) None
        Always: responded: Some("ada") None Some(true) None
        Reject: responded: Some("ada") None Some(false) None
        Words("8080"): this question needs a decision, not a text
    "#]],
    );
    check(
        &[],
        &[question(HitlKind::DualControl)],
        &expect![[r#"
        Once: responded: Some("ada") None Some(true) None
        Always: responded: Some("ada") None Some(true) None
        Reject: responded: Some("ada") None Some(false) None
        Words("8080"): this question needs a decision, not a text
    "#]],
    );
    check(
        &[],
        &[question(HitlKind::Escalation)],
        &expect![[r#"
        Once: responded: Some("ada") None None Some(true)
        Always: responded: Some("ada") None None Some(true)
        Reject: responded: Some("ada") None None Some(false)
        Words("8080"): this question needs a decision, not a text
    "#]],
    );
}

#[test]
fn other_reviewers_and_unlisted_choices_are_rejected() {
    let mut others = question(HitlKind::Approval);
    others.reviewers = vec!["bob".to_owned()];
    check(
        &[],
        &[others],
        &expect![[r#"
        Once: another person must decide this
        Always: another person must decide this
        Reject: another person must decide this
        Words("8080"): this question needs a decision, not a text
    "#]],
    );
    let mut choices = question(HitlKind::Question);
    choices.choices = vec!["80".to_owned(), "443".to_owned()];
    check(
        &[],
        &[choices],
        &expect![[r#"
        Once: this question needs a text as its answer
        Always: this question needs a text as its answer
        Reject: declined: h
        Words("8080"): the answer must be one of 80, 443
    "#]],
    );
}

#[test]
fn one_invalid_answer_rejects_all() {
    let asks = [ask(&[(
        "once",
        PermissionOptionKind::AllowOnce,
        GrantScope::Once,
    )])];
    let ada = Principal::new("ada");
    let both = [
        answer("q", AnswerValue::Once),
        answer("z", AnswerValue::Once),
    ];
    let came = plan_actions(&both, &asks, &[], &ada);
    assert_eq!(came, Err(OpenHarnessError::QuestionUnknown));
    let twice = [
        answer("q", AnswerValue::Once),
        answer("q", AnswerValue::Reject),
    ];
    let came = plan_actions(&twice, &asks, &[], &ada);
    assert!(matches!(came, Err(OpenHarnessError::AnswerUnfit { .. })));
}
