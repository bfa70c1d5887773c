//! Accepted and refused controls: each is written with its outcome before it is answered.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use expect_test::expect;
use harn_journal::{JsonlStore, Store};
use harn_model::{
    ControlKind, ControlStatus, LiveClient, LiveClientAction, LiveClientChange, LiveClientMode,
    PendingChange, Seam, StopReason, SystemReminder,
};
use harn_runtime::Subscription;
use tokio::time::Instant;

use super::*;
use crate::sessions::crash::Filling;

#[tokio::test]
async fn accepted_message_is_in_the_journal_when_it_is_answered() {
    let mut stage = Stage::new().await;
    let (_turn, _leg) = stage.start_turn().await;
    let mut named = None;
    let content = vec![ContentBlock::text("more")];
    let injected = stage
        .session
        .inject(STEER, content.clone(), person("ann"), |id| {
            named = Some(id.clone());
        })
        .await;
    let (id, done) = injected.unwrap();
    assert_eq!(named.as_ref(), Some(&id));
    assert_eq!(done.result, ControlResult::Accepted);
    assert_eq!(done.pending, 1);

    let store = JsonlStore::new(stage.world.state());
    let (_, written) = store.read(stage.session.id()).unwrap();
    let [queued, outcome] = &written[written.len() - 2..] else {
        panic!("too few");
    };
    assert_eq!(outcome.seq, done.seq);
    let AgentEvent::Pending(change) = &queued.event else {
        panic!("{queued:?}");
    };
    let PendingChange::MessageQueued(message) = &**change else {
        panic!("{change:?}");
    };
    assert_eq!(message.message_id, id);
    assert_eq!(message.content, content);
    assert_eq!(message.mode, STEER);
    assert_eq!(message.owner, person("ann"));
    let AgentEvent::ControlOutcome(outcome) = &outcome.event else {
        panic!("{outcome:?}");
    };
    assert_eq!(outcome.control, ControlKind::Inject);
    assert_eq!(outcome.actor, person("ann"));
    assert_eq!(outcome.target.message_id, Some(id));
}

#[tokio::test]
async fn message_that_cannot_be_written_is_rejected_and_not_delivered() {
    let full = Arc::new(AtomicBool::new(false));
    let flag = full.clone();
    let mut stage = Stage::with(|config| {
        let inner = config.store.clone();
        config.store = Arc::new(Filling { inner, full: flag });
    })
    .await;
    let (_, leg) = stage.start_turn().await;
    stage.inject(STEER, "kept").await;
    full.store(true, Ordering::SeqCst);
    let refused = inject(&stage.session, STEER, "lost").await;
    assert_eq!(refused, Err(ControlError::Closed));
    assert!(leg.cx.seam(Seam::TurnStart).await.is_err());
    let again = inject(&stage.session, STEER, "lost").await;
    assert_eq!(again, Err(ControlError::Closed));

    full.store(false, Ordering::SeqCst);
    let session = stage.hub.open(stage.session.id(), None).await.unwrap();
    stage.session = session;
    assert_eq!(stage.pending_texts(), ["kept"]);
    let (turn, leg) = stage.start_turn().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["kept"]);
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test]
async fn message_is_rejected_without_an_active_prompt() {
    let mut stage = Stage::new().await;
    let none = inject(&stage.session, QUEUE, "early").await;
    assert_eq!(refusal_result(none), ControlResult::NoActivePrompt);
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "in time").await;
    leg.finish();
    stage.next_call().await.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let none = inject(&stage.session, STEER, "late").await;
    assert_eq!(refusal_result(none), ControlResult::NoActivePrompt);
    assert!(stage.pending_texts().is_empty());

    // A prompt that was sent and has not started counts.
    let turn = prompt(&stage.session, "go").await;
    stage.inject(STEER, "just").await;
    let leg = stage.next_call().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["just"]);
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test]
async fn queue_rejects_a_message_when_full() {
    let mut stage = Stage::with(|config| config.max_pending = 2).await;
    let (_, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "1").await;
    let reminder = SystemReminder::new("", "2");
    let remind = stage.session.remind(STEER, reminder.clone(), host_owner());
    let (id, _) = remind.await.unwrap();
    assert!(!id.is_empty());
    let third = inject(&stage.session, QUEUE, "3").await;
    assert_eq!(refusal_result(third), ControlResult::QueueFull);
    let third = stage.session.remind(STEER, reminder, host_owner()).await;
    assert_eq!(refusal_result(third), ControlResult::QueueFull);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["2"]);
    stage.inject(QUEUE, "3").await;
    assert_eq!(stage.pending_texts(), ["1", "3"]);
}

#[tokio::test]
async fn queue_rejects_a_message_above_its_byte_limit() {
    let mut stage = Stage::with(|config| config.max_pending_bytes = 100).await;
    let (_turn, _leg) = stage.start_turn().await;
    let first = stage.inject(QUEUE, &"x".repeat(60)).await;
    let more = inject(&stage.session, QUEUE, &"x".repeat(41)).await;
    assert_eq!(refusal_result(more), ControlResult::QueueFull);
    stage.inject(QUEUE, &"x".repeat(40)).await;
    let replace = async |bytes: usize| {
        let content = Ok(vec![ContentBlock::text("y".repeat(bytes))]);
        let replaced = stage
            .session
            .replace_inject(first.clone(), content, host_owner());
        replaced.await
    };
    // A replacement must fit too.
    assert_eq!(refusal_result(replace(61).await), ControlResult::QueueFull);
    assert_eq!(stage.pending_texts()[0], "x".repeat(60));
    assert_eq!(replace(60).await.unwrap().result, ControlResult::Replaced);
    assert_eq!(replace(10).await.unwrap().result, ControlResult::Replaced);
    stage.inject(QUEUE, &"x".repeat(50)).await;
}

#[tokio::test]
async fn content_that_the_agent_does_not_support_is_rejected() {
    let mut stage = Stage::new().await;
    let (_turn, _leg) = stage.start_turn().await;
    let image = ContentBlock::Image {
        mime_type: "image/png".to_owned(),
        data: "AAAA".to_owned(),
        uri: None,
    };
    for content in [Vec::new(), vec![ContentBlock::text("see"), image]] {
        let session = &stage.session;
        let injected = session.inject(STEER, content.clone(), host_owner(), |_| ());
        assert!(matches!(injected.await, Err(ControlError::Unfit(_))));
        assert!(stage.pending_texts().is_empty());
    }
    let id = stage.inject(STEER, "words").await;
    let replaced = stage
        .session
        .replace_inject(id.clone(), Ok(Vec::new()), host_owner());
    assert!(matches!(replaced.await, Err(ControlError::Unfit(_))));
    let unread = Err("content is no list".to_owned());
    let replaced = stage.session.replace_inject(id, unread, host_owner()).await;
    let unfit = ControlError::Unfit("content is no list".to_owned());
    assert_eq!(replaced, Err(unfit));
    assert_eq!(stage.pending_texts(), ["words"]);
}

#[tokio::test]
async fn only_the_sender_or_a_host_owner_can_change_a_pending_message() {
    let mut stage = Stage::new().await;
    let (_turn, _leg) = stage.start_turn().await;
    let session = &stage.session;
    let anns = vec![ContentBlock::text("ann's")];
    let injected = session.inject(STEER, anns.clone(), person("ann"), |_| ());
    let (id, _) = injected.await.unwrap();
    let theirs = ControlError::Refused {
        result: ControlResult::NotOwnerOrNotAuthorized,
        actor: person("bob"),
        owner: Some(person("ann")),
    };
    let revoked = session.revoke_inject(id.clone(), person("bob")).await;
    assert_eq!(revoked, Err(theirs.clone()));
    // The owner is checked before the content.
    let unread = Err("unreadable".to_owned());
    let replaced = session.replace_inject(id.clone(), unread, person("bob"));
    assert_eq!(replaced.await, Err(theirs));
    let replaced = session.replace_inject(id.clone(), Ok(anns), person("ann"));
    assert_eq!(replaced.await.unwrap().result, ControlResult::Replaced);
    // Only this spelling counts here; a wire translates its own.
    for (role, may) in [("host_owner", true), ("hostOwner", false), ("owner", false)] {
        let owner = Actor {
            role: role.to_owned(),
            ..person("root")
        };
        let said = vec![ContentBlock::text(role)];
        let replaced = session.replace_inject(id.clone(), Ok(said), owner).await;
        assert_eq!(replaced.is_ok(), may, "{role}");
    }
    assert_eq!(stage.pending_texts(), ["host_owner"]);
    let revoked = session.revoke_inject(id, host_owner()).await;
    assert_eq!(revoked.unwrap().result, ControlResult::Revoked);
}

#[tokio::test]
async fn client_events_of_an_agent_do_not_change_control() {
    let mut stage = Stage::new().await;
    let seat = crate::sessions::live_clients::connect_with_claim(&stage.session, "zed-1");
    let (_, leg) = stage.start_turn().await;
    leg.cx.emit(controller_event("mallory")).await.unwrap();
    leg.cx.flush().await.unwrap();
    assert!(seat.has_control());
    assert_eq!(stage.session.clients(), []);
    stage.inject(STEER, "still").await;
    assert_eq!(stage.pending_texts(), ["still"]);
}

/// Returns an event in which the agent claims that this client has control.
fn controller_event(name: &str) -> AgentEvent {
    let client = LiveClient {
        client_id: name.to_owned(),
        mode: LiveClientMode::Controller,
        attached_at: "1".to_owned(),
        last_seen_at: "1".to_owned(),
        prompt_injection: true,
        permission_routing: true,
        metadata: serde_json::Value::Null,
    };
    AgentEvent::LiveSessionClient {
        action: LiveClientAction::Attached,
        state: Box::new(LiveClientChange {
            client: Some(client.clone()),
            previous_controller_id: None,
            active_controller_id: Some(name.to_owned()),
            clients: vec![client],
        }),
        left: None,
    }
}

#[tokio::test]
async fn reopened_session_has_no_controller() {
    let stage = Stage::new().await;
    let seat = crate::sessions::live_clients::connect_with_claim(&stage.session, "zed-1");
    let ann = harn_runtime::AttachClient::controller("ann");
    seat.attach(ann).await.unwrap();
    let id = stage.session.id().clone();
    stage.hub.shutdown().await;
    let (agent, _legs) = played_agent();
    let hub = stage.world.hub(agent);
    let session = hub.open(&id, None).await.unwrap();
    assert_eq!(session.live_state().controller, None);
    assert_eq!(session.clients(), []);
}

#[tokio::test]
async fn rejected_steer_writes_no_event() {
    let (agent, mut legs) = super::cancel::stubborn_agent();
    let stage = Stage::with(|config| config.agent = agent).await;
    let session = &stage.session;
    let steer = async || {
        let content = vec![ContentBlock::text("more")];
        session.steer(content, person("ann"), |_| ()).await
    };
    let idle = Err(ControlError::Refused {
        result: ControlResult::NoActivePrompt,
        actor: person("ann"),
        owner: None,
    });
    let before = session.last_seq();
    assert_eq!(steer().await, idle);
    assert_eq!(session.last_seq(), before);
    let turn = prompt(session, "go").await;
    legs.recv().await.unwrap();
    assert_eq!(steer().await.unwrap().1.result, ControlResult::Accepted);
    // A cancelled turn reads no more messages; its agent has not returned yet.
    session.cancel_for(Some(turn), host_owner()).await.unwrap();
    let before = session.last_seq();
    assert_eq!(steer().await, idle);
    assert_eq!(session.last_seq(), before);
    // A prompt that waits behind it will read the message.
    prompt(session, "next").await;
    assert_eq!(steer().await.unwrap().1.result, ControlResult::Accepted);
    assert_eq!(stage.pending_texts(), ["more", "more"]);
}

#[tokio::test]
async fn every_control_writes_its_outcome() {
    let mut stage = Stage::new().await;
    let session = stage.session.clone();
    let none = inject(&session, STEER, "early").await;
    assert_eq!(refusal_result(none), ControlResult::NoActivePrompt);
    let none = session.cancel_for(None, host_owner()).await;
    assert_eq!(refusal_result(none), ControlResult::NoActivePrompt);
    let (turn, leg) = stage.start_turn().await;
    let id = stage.inject(STEER, "s").await;
    let content = || Ok(vec![ContentBlock::text("other")]);
    let replace = async || {
        session
            .replace_inject(id.clone(), content(), host_owner())
            .await
    };
    let revoke = async || session.revoke_inject(id.clone(), host_owner()).await;
    replace().await.unwrap();
    let theirs = session.revoke_inject(id.clone(), person("bob")).await;
    assert_eq!(
        refusal_result(theirs),
        ControlResult::NotOwnerOrNotAuthorized
    );
    revoke().await.unwrap();
    assert_eq!(
        revoke().await.unwrap().result,
        ControlResult::AlreadyRevoked
    );
    assert_eq!(
        refusal_result(replace().await),
        ControlResult::AlreadyRevoked
    );
    let id = MessageId::new("nothing");
    let unknown = session.revoke_inject(id.clone(), host_owner()).await;
    assert_eq!(refusal_result(unknown), ControlResult::UnknownMessageId);
    let unknown = session.replace_inject(id, content(), host_owner()).await;
    assert_eq!(refusal_result(unknown), ControlResult::UnknownMessageId);
    let id = stage.inject(STEER, "t").await;
    leg.pass_seam(Seam::TurnStart).await;
    let late = session.revoke_inject(id, host_owner()).await;
    assert_eq!(refusal_result(late), ControlResult::AlreadyDelivered);
    session
        .cancel_for(Some(turn.clone()), host_owner())
        .await
        .unwrap();
    let events = whole_turn(&session, &turn).await;
    let outcomes = events.iter().filter_map(|e| match &e.event {
        AgentEvent::ControlOutcome(it) => {
            let status = match it.status() {
                ControlStatus::Accepted => "accepted",
                ControlStatus::Idempotent => "idempotent",
                ControlStatus::Rejected => "rejected",
            };
            let result = it.result.as_str();
            let line = format!("{} {:?} {status} {result}\n", it.control_id, it.control);
            Some(line)
        }
        _ => None,
    });
    expect![[r#"
        control-1 Inject rejected no_active_prompt
        control-2 Cancel rejected no_active_prompt
        control-3 Inject accepted accepted
        control-4 ReplaceInject accepted replaced
        control-5 RevokeInject rejected not_owner_or_not_authorized
        control-6 RevokeInject accepted revoked
        control-7 RevokeInject idempotent already_revoked
        control-8 ReplaceInject rejected already_revoked
        control-9 RevokeInject rejected unknown_message_id
        control-10 ReplaceInject rejected unknown_message_id
        control-11 Inject accepted accepted
        control-12 RevokeInject rejected already_delivered
        control-13 Cancel accepted cancelled
    "#]]
    .assert_eq(&outcomes.collect::<String>());
}

/// Returns a reader that is about to fall out of the ring and that the session waits for.
async fn fall_behind(stage: &Stage, leg: &Leg) -> Subscription {
    let mut late = stage.session.subscribe_from_now();
    leg.cx.say("here").await.unwrap();
    late.next().await.unwrap();
    // This chunk fills the ring.
    leg.cx.say("x".repeat(4 * 1024)).await.unwrap();
    leg.cx.flush().await.unwrap();
    late
}

/// Controls do not wait for a late reader; the agent does.
#[tokio::test(start_paused = true)]
async fn late_reader_delays_only_the_agent() {
    let mut stage = Stage::with(|config| config.ring_bytes = 4 * 1024).await;
    let (_, leg) = stage.start_turn().await;
    let _late = fall_behind(&stage, &leg).await;
    let begun = Instant::now();
    stage.inject(STEER, "now").await;
    let id = stage.inject(QUEUE, "soon").await;
    stage.session.revoke_inject(id, host_owner()).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
    // The session waited for the reader all the same, but only once.
    leg.cx.flush().await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_millis(5));
    leg.cx.say("y".repeat(1024)).await.unwrap();
    leg.cx.flush().await.unwrap();
    leg.cx.flush().await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_millis(5));
    assert_eq!(stage.pending_texts(), ["now"]);
}

/// A reader that moves ends the agent's wait at once, even if a control interrupted that wait.
#[tokio::test(start_paused = true)]
async fn moving_reader_ends_the_wait_after_a_control() {
    let mut stage = Stage::with(|config| config.ring_bytes = 4 * 1024).await;
    let (_, leg) = stage.start_turn().await;
    let mut late = fall_behind(&stage, &leg).await;
    let begun = Instant::now();
    stage.inject(STEER, "now").await;
    while late.position() < late.head() {
        late.next().await.unwrap();
    }
    leg.cx.flush().await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
}
