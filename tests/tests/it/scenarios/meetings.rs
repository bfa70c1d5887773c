//! Two wires in one session: a session of one continues over the other, and each request is answered once, by
//! the controller.

use harn_model::AgentEvent;

use crate::scenarios::{
    heard::{End, Heard},
    stage::Stage,
    wire::{Answer, Enter, Wire, ask, decide},
};

pub(crate) async fn session_of_one_wire_continues_on_another<A: Wire, B: Enter>() {
    let mut stage = Stage::new();
    let mut here = A::connect(&stage).await;
    let mut talk = here.begin().await;
    let mut live: Vec<Heard> = Vec::new();
    for prompt in ["greet", "look", "look in vain", "fail"] {
        live.push(ask(&mut here, &mut talk, prompt).await);
    }
    ask(&mut here, &mut talk, "write").await;
    live.push(decide(&mut here, &mut talk, Answer::Once).await);
    here.leave().await;

    // In another process, with the same state folder.
    stage.restart().await;
    let mut there = B::connect(&stage).await;
    let mut talk = B::talk_of(&stage.only_session());
    assert_eq!(there.past(&mut talk).await, live);
    let next = ask(&mut there, &mut talk, "greet").await;
    assert_eq!(next.end, End::Completed);
    there.leave().await;
}

/// Both clients are on the session while its agent asks. One of them is the controller.
pub(crate) async fn controller_decides_and_both_receive_the_result<A: Wire, B: Enter>() {
    let stage = Stage::new();
    let mut here = A::connect(&stage).await;
    let mut talk = here.begin().await;
    ask(&mut here, &mut talk, "greet").await;
    let session = stage.only_session();
    let mut there = B::connect(&stage).await;
    let mut same = B::talk_of(&session);
    there.past(&mut same).await;

    let asked = ask(&mut here, &mut talk, "write").await;
    assert_eq!(asked.end, End::Parked);
    let done = decide(&mut here, &mut talk, Answer::Once).await;
    assert_eq!(done.end, End::Completed);
    let mut told = there.heard(&mut same).await;
    // On some wires an observer receives the request too, and not only its result.
    if told.end == End::Parked {
        assert_eq!(told, asked);
        told = there.heard(&mut same).await;
    }
    assert_eq!(told, done);
    here.leave().await;
    there.leave().await;
    assert_eq!((stage.written(), decisions(&stage)), (1, 1));
}

/// Both clients are on the session while its agent asks, and the controller disconnects.
pub(crate) async fn remaining_client_decides_when_the_controller_has_left<A: Wire, B: Enter>() {
    let stage = Stage::new();
    let mut here = A::connect(&stage).await;
    let mut talk = here.begin().await;
    ask(&mut here, &mut talk, "greet").await;
    let session = stage.only_session();
    let mut there = B::connect(&stage).await;
    let mut same = B::talk_of(&session);
    there.past(&mut same).await;

    let asked = ask(&mut here, &mut talk, "write").await;
    here.leave().await;
    assert_eq!(there.heard(&mut same).await, asked);
    let done = decide(&mut there, &mut same, Answer::Once).await;
    assert_eq!(done.end, End::Completed);
    there.leave().await;
    assert_eq!((stage.written(), decisions(&stage)), (1, 1));
}

/// A permission request waits for the next client.
pub(crate) async fn request_of_one_wire_is_answered_on_another<A: Wire, B: Enter>() {
    let stage = Stage::new();
    let mut here = A::connect(&stage).await;
    let mut talk = here.begin().await;
    let asked = ask(&mut here, &mut talk, "write").await;
    assert_eq!(asked.end, End::Parked);
    here.leave().await;

    let mut there = B::connect(&stage).await;
    let mut same = B::talk_of(&stage.only_session());
    assert_eq!(there.past(&mut same).await, [asked]);
    let done = decide(&mut there, &mut same, Answer::Once).await;
    assert_eq!(done.end, End::Completed);
    there.leave().await;
    assert_eq!((stage.written(), decisions(&stage)), (1, 1));
}

/// Counts the decisions in the only session.
fn decisions(stage: &Stage) -> usize {
    let events = stage.journal(&stage.only_session());
    let decided = events
        .iter()
        .filter(|envelope| matches!(envelope.event, AgentEvent::PermissionResolved(_)));
    decided.count()
}
