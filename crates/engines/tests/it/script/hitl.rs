//! Steps that ask a person: which steps follow which answer.

use harn_engines::ScriptAgent;
use harn_model::{AgentEvent, HitlResponse};

use crate::script::test_session::Rig;

const SCENARIO: &str = r#"
name: people
turns:
  - match: "^question"
    steps:
      - question: {prompt: "Which port?", choices: ["8080", "9090"], on_answer: [{say: "thanks"}], on_none: [{say: "well"}]}
      - say: "."
  - match: "^approval"
    steps:
      - approval: {action: deploy, args: {to: production}, on_approve: [{say: "yes"}], on_refuse: [{say: "no"}]}
      - say: "."
  - match: "^dual"
    steps:
      - dual_control: {action: launch, reviewers: [ada, grace], on_approve: [{say: "yes"}], on_refuse: [{say: "no"}]}
      - say: "."
  - match: "^escalation"
    steps:
      - escalation: {reason: "the disk is full", to: on-call, on_accept: [{say: "yes"}], on_decline: [{say: "no"}]}
      - say: "."
"#;

/// Plays a turn, answers its question and returns the text of the agent.
async fn play_and_answer(prompt: &str, answers: &[HitlResponse], unavailable: bool) -> String {
    let mut rig = Rig::new(SCENARIO).await;
    rig.prompt(prompt).await;
    let asked = |event: &AgentEvent| matches!(event, AgentEvent::HitlRequested { .. });
    rig.collect_until(asked).await;
    let open = rig.session.open_hitl();
    let id = open[0].request_id.clone();
    for answer in answers {
        let answer = HitlResponse {
            request_id: id.clone(),
            ..answer.clone()
        };
        let taken = rig.session.hitl_respond(answer).await;
        taken.expect("an answer that counts");
    }
    if unavailable {
        rig.session
            .report_hitl_unavailable(&id, "nobody is there")
            .await;
    }
    let ended = |event: &AgentEvent| matches!(event, AgentEvent::TurnEnded(_));
    let events = rig.collect_until(ended).await;
    let said = events.iter().filter_map(|event| match event {
        AgentEvent::AgentMessageChunk { content, .. } => Some(content.as_str()),
        _ => None,
    });
    said.collect()
}

fn vote(reviewer: &str, approved: bool) -> HitlResponse {
    HitlResponse {
        reviewer: Some(reviewer.to_owned()),
        approved: Some(approved),
        ..HitlResponse::default()
    }
}

#[tokio::test]
async fn the_answer_decides_which_steps_follow() {
    let port = HitlResponse {
        answer: Some("9090".into()),
        ..HitlResponse::default()
    };
    assert_eq!(play_and_answer("question", &[port], false).await, "thanks.");
    assert_eq!(
        play_and_answer("approval", &[vote("ada", true)], false).await,
        "yes."
    );
    assert_eq!(
        play_and_answer("approval", &[vote("ada", false)], false).await,
        "no."
    );
    let both = [vote("ada", true), vote("grace", true)];
    assert_eq!(play_and_answer("dual", &both, false).await, "yes.");
    let split = [vote("ada", true), vote("grace", false)];
    assert_eq!(play_and_answer("dual", &split, false).await, "no.");
    let accepted = HitlResponse {
        reviewer: Some("grace".to_owned()),
        accepted: Some(true),
        ..HitlResponse::default()
    };
    assert_eq!(
        play_and_answer("escalation", &[accepted], false).await,
        "yes."
    );
}

#[tokio::test]
async fn turn_without_an_answer_ends_unless_on_none_has_steps() {
    let question = "Which port?\n- 8080\n- 9090";
    let played = play_and_answer("question", &[], true).await;
    assert_eq!(played, format!("{question}well."));
    let ended = play_and_answer("approval", &[], true).await;
    assert_eq!(
        ended,
        "May this be done: deploy?\n\nWith {\"to\":\"production\"}"
    );
}

#[test]
fn wrong_question_is_rejected_with_its_position() {
    let table = [
        ("question: {}", "t.yaml:3:24: question needs prompt"),
        (
            "question: {prompt: \"?\", choices: [a], default: b}",
            "t.yaml:3:61: the default must be one of the choices",
        ),
        (
            "dual_control: {action: launch, quorum: 1}",
            "t.yaml:3:53: quorum must be a whole number, 2 or more, not 1",
        ),
        (
            "escalation: {reason: help, on_yes: []}",
            "t.yaml:3:41: unknown field \"on_yes\" in escalation; its fields are reason, detail, to, \
             deadline_ms, on_accept, on_decline, on_none",
        ),
    ];
    for (step, expected) in table {
        let file = format!("name: t\nturns:\n  - steps: [{{{step}}}]\n");
        let error = ScriptAgent::parse("t.yaml", &file).expect_err("a wrong step");
        assert_eq!(error.to_string(), expected, "{step}");
    }
}
