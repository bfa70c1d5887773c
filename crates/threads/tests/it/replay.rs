//! A client that fetches the history sees the same as a client that was connected, for all events and at any
//! moment.

use harn_model::{AgentEvent, Envelope, Seq, TurnId};
use harn_testkit::{EventStrategy, ThreadScreen, every_event};
use harn_threads::{ThreadHistory, ThreadProjector};
use proptest::{collection::vec, prelude::*, sample::select};

/// Streams the events, and compares the history up to each of them with what was streamed.
fn check(events: &[Envelope]) {
    let mut projector = ThreadProjector::new("thread".into());
    let mut live = ThreadScreen::default();
    let mut told = Vec::new();
    for (at, envelope) in events.iter().enumerate() {
        projector.project(envelope, &mut told);
        for notification in told.drain(..) {
            live.fold(&serde_json::to_value(&notification).unwrap());
        }
        let mut history = ThreadHistory::new("thread".into(), 0);
        events[..=at].iter().for_each(|it| history.add(it));
        let history = history.finish();
        let times = history.iter().map(|event| event.timestamp);
        assert!(times.is_sorted_by(|a, b| a < b));
        let mut replayed = ThreadScreen::default();
        for event in history {
            replayed.fold(&serde_json::to_value(&event).unwrap());
        }
        assert_eq!(replayed, live, "after {:?}", envelope.event);
    }
}

/// Uses every event, as the runtime writes it.
#[test]
fn the_history_follows_every_event() {
    check(&every_event());
}

/// Few ids, and no order.
fn event() -> impl Strategy<Value = AgentEvent> {
    let texts = ["", "word", "word more", "line\nbreak \u{1FAA3}"];
    let text = select(texts.to_vec()).prop_map(str::to_owned);
    let events = EventStrategy::new(&["a", "b"], text).with_all_members();
    events.events(&[
        (4, "turn_started"),
        (1, "prompt_queued"),
        (1, "prompt_withdrawn"),
        (12, "agent_message_chunk"),
        (6, "agent_thought_chunk"),
        (2, "user_message"),
        (3, "tool_call"),
        (9, "tool_call_update"),
        (3, "permission_asked"),
        (3, "permission_resolved"),
        (2, "turn_ended"),
        (1, "artifact"),
        (1, "recovered"),
        (1, "session_info"),
    ])
}

fn log() -> impl Strategy<Value = Vec<Envelope>> {
    vec((event(), 0..3_u64), 0..60).prop_map(|events| {
        let (mut at, mut turns) = (0, 0);
        let events = (1..).zip(events);
        let envelope = |(seq, (event, passed)): (u64, (AgentEvent, u64))| {
            at += passed;
            if let AgentEvent::TurnStarted(_) | AgentEvent::PromptWithdrawn(_) = event {
                turns += 1;
            }
            Envelope {
                seq: Seq(seq),
                at,
                turn: (turns > 0).then(|| TurnId::from(format!("turn-{turns}"))),
                event,
            }
        };
        events.map(envelope).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_history_follows_any_events(log in log()) {
        check(&log);
    }
}
