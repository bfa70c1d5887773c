//! Two wires in one session: a session of one continues over the other, and each request is answered once, by
//! the controller.

use harn_model::AgentEvent;

use crate::scenarios::{
    agent_hub::Stage,
    turns::{End, Heard},
    wire::{Answer, Enter, Wire, answer_and_wait, prompt_and_wait},
};

pub(crate) async fn session_of_one_wire_continues_on_another<A: Wire, B: Enter>() {
    let mut stage = Stage::new();
    let mut here = A::connect(&stage).await;
    let mut talk = here.begin().await;
    let mut live: Vec<Heard> = Vec::new();
    for prompt in ["greet", "look", "look in vain", "fail"] {
        live.push(prompt_and_wait(&mut here, &mut talk, prompt).await);
    }
    prompt_and_wait(&mut here, &mut talk, "write").await;
    live.push(answer_and_wait(&mut here, &mut talk, Answer::Once).await);
    here.leave().await;

    // In another process, with the same state folder.
    stage.restart().await;
    let mut there = B::connect(&stage).await;
    let mut talk = B::talk_from_session(&stage.only_session());
    assert_eq!(there.load_turns(&mut talk).await, live);
    let next = prompt_and_wait(&mut there, &mut talk, "greet").await;
    assert_eq!(next.end, End::Completed);
    there.leave().await;
}

/// Both clients are on the session while its agent asks. One of them is the controller.
pub(crate) async fn controller_decides_and_both_receive_the_result<A: Wire, B: Enter>() {
    let stage = Stage::new();
    let mut here = A::connect(&stage).await;
    let mut talk = here.begin().await;
    prompt_and_wait(&mut here, &mut talk, "greet").await;
    let session = stage.only_session();
    let mut there = B::connect(&stage).await;
    let mut same = B::talk_from_session(&session);
    there.load_turns(&mut same).await;

    let asked = prompt_and_wait(&mut here, &mut talk, "write").await;
    assert_eq!(asked.end, End::Parked);
    let done = answer_and_wait(&mut here, &mut talk, Answer::Once).await;
    assert_eq!(done.end, End::Completed);
    let mut told = there.wait_for_turn(&mut same).await;
    // On some wires an observer receives the request too, and not only its result.
    if told.end == End::Parked {
        assert_eq!(told, asked);
        told = there.wait_for_turn(&mut same).await;
    }
    assert_eq!(told, done);
    here.leave().await;
    there.leave().await;
    assert_eq!((stage.write_count(), count_decisions(&stage)), (1, 1));
}

/// Both clients are on the session while its agent asks, and the controller disconnects.
pub(crate) async fn remaining_client_decides_when_the_controller_has_left<A: Wire, B: Enter>() {
    let stage = Stage::new();
    let mut here = A::connect(&stage).await;
    let mut talk = here.begin().await;
    prompt_and_wait(&mut here, &mut talk, "greet").await;
    let session = stage.only_session();
    let mut there = B::connect(&stage).await;
    let mut same = B::talk_from_session(&session);
    there.load_turns(&mut same).await;

    let asked = prompt_and_wait(&mut here, &mut talk, "write").await;
    here.leave().await;
    assert_eq!(there.wait_for_turn(&mut same).await, asked);
    let done = answer_and_wait(&mut there, &mut same, Answer::Once).await;
    assert_eq!(done.end, End::Completed);
    there.leave().await;
    assert_eq!((stage.write_count(), count_decisions(&stage)), (1, 1));
}

/// A permission request waits for the next client.
pub(crate) async fn request_of_one_wire_is_answered_on_another<A: Wire, B: Enter>() {
    let stage = Stage::new();
    let mut here = A::connect(&stage).await;
    let mut talk = here.begin().await;
    let asked = prompt_and_wait(&mut here, &mut talk, "write").await;
    assert_eq!(asked.end, End::Parked);
    here.leave().await;

    let mut there = B::connect(&stage).await;
    let mut same = B::talk_from_session(&stage.only_session());
    assert_eq!(there.load_turns(&mut same).await, [asked]);
    let done = answer_and_wait(&mut there, &mut same, Answer::Once).await;
    assert_eq!(done.end, End::Completed);
    there.leave().await;
    assert_eq!((stage.write_count(), count_decisions(&stage)), (1, 1));
}

/// Counts the decisions in the only session.
fn count_decisions(stage: &Stage) -> usize {
    let events = stage.read_journal(&stage.only_session());
    let decided = events
        .iter()
        .filter(|envelope| matches!(envelope.event, AgentEvent::PermissionResolved(_)));
    decided.count()
}
