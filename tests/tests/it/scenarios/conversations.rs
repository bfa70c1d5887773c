//! Scenarios with one client. Each is played over every wire.

use harn_model::AgentEvent;

use crate::scenarios::{
    agent_hub::Stage,
    turns::{
        End,
        Ended::{Badly, NotYet, Well},
        expected_turn,
    },
    wire::{Answer, Wire, answer_and_wait, prompt_and_wait},
};

/// Connects and begins a conversation.
async fn begin<W: Wire>(stage: &Stage) -> (W, W::Talk) {
    let mut wire = W::connect(stage).await;
    let talk = wire.begin().await;
    (wire, talk)
}

pub(crate) async fn a_prompt_is_answered<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    // Twice: the second turn contains nothing of the first.
    for _ in 0..2 {
        let answer = prompt_and_wait(&mut wire, &mut talk, "greet").await;
        let expected = expected_turn("greet", &["Good morning."], &[], End::Completed);
        assert_eq!(answer, expected);
    }
    wire.leave().await;
}

pub(crate) async fn a_tool_runs_between_two_messages<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    let said = ["Let me look.", "There is a parser."];
    let expected = expected_turn("look", &said, &[("look", Well)], End::Completed);
    assert_eq!(
        prompt_and_wait(&mut wire, &mut talk, "look").await,
        expected
    );
    wire.leave().await;
}

pub(crate) async fn a_tool_that_fails_does_not_end_the_turn<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    let prompt = "look in vain";
    let (said, tools) = (["There is none."], [("look", Badly)]);
    let expected = expected_turn(prompt, &said, &tools, End::Completed);
    assert_eq!(
        prompt_and_wait(&mut wire, &mut talk, prompt).await,
        expected
    );
    wire.leave().await;
}

pub(crate) async fn call_allowed_once_is_asked_again<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    for round in 1..=2 {
        let parked = expected_turn("write", &[], &[("write", NotYet)], End::Parked);
        assert_eq!(prompt_and_wait(&mut wire, &mut talk, "write").await, parked);
        assert_eq!(stage.write_count(), round - 1, "before anybody allowed it");
        let said = ["It is written."];
        let done = expected_turn("write", &said, &[("write", Well)], End::Completed);
        assert_eq!(
            answer_and_wait(&mut wire, &mut talk, Answer::Once).await,
            done
        );
        assert_eq!(stage.write_count(), round);
    }
    wire.leave().await;
}

pub(crate) async fn call_always_allowed_is_not_asked_again<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    let parked = prompt_and_wait(&mut wire, &mut talk, "write").await;
    assert_eq!(parked.end, End::Parked);
    let said = ["It is written."];
    let done = expected_turn("write", &said, &[("write", Well)], End::Completed);
    assert_eq!(
        answer_and_wait(&mut wire, &mut talk, Answer::Always).await,
        done
    );
    assert_eq!(prompt_and_wait(&mut wire, &mut talk, "write").await, done);
    assert_eq!(stage.write_count(), 2);
    wire.leave().await;
}

pub(crate) async fn rejected_call_fails_and_the_turn_continues<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    let parked = prompt_and_wait(&mut wire, &mut talk, "write").await;
    assert_eq!(parked.end, End::Parked);
    let (said, tools) = (["Then I leave it."], [("write", Badly)]);
    let refused = expected_turn("write", &said, &tools, End::Completed);
    assert_eq!(
        answer_and_wait(&mut wire, &mut talk, Answer::Reject).await,
        refused
    );
    assert_eq!(stage.write_count(), 0);
    wire.leave().await;
}

pub(crate) async fn a_turn_is_cancelled_while_its_tool_runs<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    wire.prompt(&mut talk, "watch").await;
    stage.wait_until_reached().await;
    wire.cancel(&mut talk).await;
    let (said, tools) = (["I watch."], [("watch", Badly)]);
    let cancelled = expected_turn("watch", &said, &tools, End::Cancelled);
    assert_eq!(wire.wait_for_turn(&mut talk).await, cancelled);
    // The cancel does not affect the next turn.
    let next = prompt_and_wait(&mut wire, &mut talk, "greet").await;
    assert_eq!(next.end, End::Completed);
    wire.leave().await;
}

pub(crate) async fn a_turn_is_cancelled_while_it_waits_for_a_decision<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    let parked = prompt_and_wait(&mut wire, &mut talk, "write").await;
    assert_eq!(parked.end, End::Parked);
    wire.cancel(&mut talk).await;
    let cancelled = expected_turn("write", &[], &[("write", Badly)], End::Cancelled);
    assert_eq!(wire.wait_for_turn(&mut talk).await, cancelled);
    assert_eq!(stage.write_count(), 0);
    let next = prompt_and_wait(&mut wire, &mut talk, "greet").await;
    assert_eq!(next.end, End::Completed);
    wire.leave().await;
}

pub(crate) async fn failed_agent_reports_its_reason<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    let failed = prompt_and_wait(&mut wire, &mut talk, "fail").await;
    let end = End::Failed("the model is away".to_owned());
    assert_eq!(failed, expected_turn("fail", &["Well"], &[], end));
    let next = prompt_and_wait(&mut wire, &mut talk, "greet").await;
    assert_eq!(next.end, End::Completed);
    wire.leave().await;
}

pub(crate) async fn a_conversation_does_not_wait_for_another<W: Wire>() {
    let stage = Stage::new();
    let (mut wire, mut held) = begin::<W>(&stage).await;
    let mut parked = wire.begin().await;
    let mut free = wire.begin().await;
    wire.prompt(&mut held, "hold").await;
    stage.wait_until_reached().await;
    let asked = prompt_and_wait(&mut wire, &mut parked, "write").await;
    assert_eq!(asked.end, End::Parked);
    for _ in 0..3 {
        let answer = prompt_and_wait(&mut wire, &mut free, "greet").await;
        assert_eq!(answer.end, End::Completed);
    }
    let decided = answer_and_wait(&mut wire, &mut parked, Answer::Once).await;
    assert_eq!(decided.end, End::Completed);
    stage.let_continue();
    let expected = expected_turn("hold", &["Let go."], &[], End::Completed);
    assert_eq!(wire.wait_for_turn(&mut held).await, expected);
    wire.leave().await;
}

pub(crate) async fn history_after_a_restart_equals_the_live_turns<W: Wire>() {
    let mut stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    let mut live = Vec::new();
    for prompt in ["greet", "look", "look in vain", "fail"] {
        live.push(prompt_and_wait(&mut wire, &mut talk, prompt).await);
    }
    for answer in [Answer::Once, Answer::Reject] {
        prompt_and_wait(&mut wire, &mut talk, "write").await;
        live.push(answer_and_wait(&mut wire, &mut talk, answer).await);
    }
    prompt_and_wait(&mut wire, &mut talk, "write").await;
    wire.cancel(&mut talk).await;
    live.push(wire.wait_for_turn(&mut talk).await);
    wire.leave().await;

    stage.restart().await;
    let mut wire = W::connect(&stage).await;
    assert_eq!(wire.load_turns(&mut talk).await, live);
    let next = prompt_and_wait(&mut wire, &mut talk, "greet").await;
    assert_eq!(next.end, End::Completed);
    wire.leave().await;
}

pub(crate) async fn turn_cut_by_a_crash_is_failed_in_the_history<W: Wire>() {
    let mut stage = Stage::new();
    let (mut wire, mut talk) = begin::<W>(&stage).await;
    let first = prompt_and_wait(&mut wire, &mut talk, "greet").await;
    prompt_and_wait(&mut wire, &mut talk, "look").await;
    wire.leave().await;
    stage.hub().shutdown().await;
    let session = stage.only_session();
    stage.truncate_log_after(&session, |event| matches!(event, AgentEvent::ToolCall(_)));

    stage.restart().await;
    let mut wire = W::connect(&stage).await;
    let past = wire.load_turns(&mut talk).await;
    let [before, cut] = &past[..] else {
        panic!("not two turns: {past:?}");
    };
    assert_eq!(*before, first);
    // The text of the reason differs between wires.
    let end = cut.end.clone();
    assert!(matches!(end, End::Failed(_)), "not failed: {cut:?}");
    let tools = [("look", Badly)];
    assert_eq!(*cut, expected_turn("look", &["Let me look."], &tools, end));
    let next = prompt_and_wait(&mut wire, &mut talk, "look").await;
    assert_eq!(next.end, End::Completed);
    wire.leave().await;
}
