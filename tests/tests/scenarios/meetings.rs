//! Two wires in one session: what was begun over one goes on over the other, and what both are asked is
//! answered once.

use harn_model::AgentEvent;

use crate::{
    heard::{End, Heard},
    stage::Stage,
    wire::{Answer, Enter, Wire, ask, decide},
};

pub(crate) async fn what_was_said_here_is_told_there<A: Wire, B: Enter>() {
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

    // In another process, on the same folder.
    stage.restart().await;
    let mut there = B::connect(&stage).await;
    let mut talk = B::talk_of(&stage.only_session());
    assert_eq!(there.past(&mut talk).await, live);
    let next = ask(&mut there, &mut talk, "greet").await;
    assert_eq!(next.end, End::Completed);
    there.leave().await;
}

/// Both are on the session while its agent asks; the one that did not prompt answers.
pub(crate) async fn what_both_are_asked_is_answered_once<A: Wire, B: Enter>() {
    let stage = Stage::new();
    let mut here = A::connect(&stage).await;
    let mut talk = here.begin().await;
    ask(&mut here, &mut talk, "greet").await;
    let session = stage.only_session();
    let mut there = B::connect(&stage).await;
    let mut same = B::talk_of(&session);
    there.past(&mut same).await;

    for (round, answerer) in [true, false].into_iter().enumerate() {
        let asked = ask(&mut here, &mut talk, "write").await;
        assert_eq!(asked.end, End::Parked);
        assert_eq!(there.heard(&mut same).await, asked);
        let (done, told) = if answerer {
            let told = decide(&mut there, &mut same, Answer::Once).await;
            (here.heard(&mut talk).await, told)
        } else {
            let done = decide(&mut here, &mut talk, Answer::Once).await;
            (done, there.heard(&mut same).await)
        };
        assert_eq!(done.end, End::Completed);
        assert_eq!(told, done);
        assert_eq!(stage.written(), round + 1);
    }
    here.leave().await;
    there.leave().await;
    let events = stage.journal(&session);
    let decided = events
        .iter()
        .filter(|envelope| matches!(envelope.event, AgentEvent::PermissionResolved(_)));
    assert_eq!(decided.count(), 2);
}
