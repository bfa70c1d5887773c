//! A client that fetches the history sees what a client saw that was there: whatever happens, and whenever it
//! fetches it.

use harn_model::{
    AgentEvent, Artifact, AskId, ContentBlock, Decision, Envelope, GrantScope, MessageId,
    PermissionAsked, PermissionOption, PermissionOptionKind, PermissionResolved, Recovered, Seq,
    SessionInfo, StopReason, ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent, TurnEnded,
    TurnId, TurnOutcome, TurnStarted,
};
use harn_testkit::{ThreadScreen, every_event};
use harn_threads::{History, Projector};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::Value;

/// Streams the events, and holds the history up to each of them against what was streamed.
fn check(events: &[Envelope]) {
    let mut projector = Projector::new("thread".into());
    let mut live = ThreadScreen::default();
    let mut told = Vec::new();
    for (at, envelope) in events.iter().enumerate() {
        projector.project(envelope, &mut told);
        for notification in told.drain(..) {
            live.take(&serde_json::to_value(&notification).unwrap());
        }
        let mut history = History::new("thread".into(), 0);
        events[..=at].iter().for_each(|it| history.add(it));
        let history = history.finish();
        let times = history.iter().map(|event| event.timestamp);
        assert!(times.is_sorted_by(|a, b| a < b));
        let mut replayed = ThreadScreen::default();
        for event in history {
            replayed.take(&serde_json::to_value(&event).unwrap());
        }
        assert_eq!(replayed, live, "after {:?}", envelope.event);
    }
}

/// Everything that can happen, as the runtime writes it.
#[test]
fn of_a_session_in_which_everything_happens() {
    check(&every_event());
}

fn id() -> impl Strategy<Value = &'static str> + Clone {
    select(&["a", "b"][..])
}

fn text() -> impl Strategy<Value = String> + Clone {
    let texts = ["", "word", "word more", "line\nbreak \u{1FAA3}"];
    select(texts.to_vec()).prop_map(str::to_owned)
}

fn content() -> impl Strategy<Value = Vec<ToolContent>> {
    vec(text().prop_map(ToolContent::text), 0..3)
}

fn status() -> impl Strategy<Value = ToolCallStatus> {
    select(vec![
        ToolCallStatus::Pending,
        ToolCallStatus::InProgress,
        ToolCallStatus::Completed,
        ToolCallStatus::Failed,
    ])
}

fn prompt() -> impl Strategy<Value = Box<TurnStarted>> {
    (id(), text()).prop_map(|(id, text)| {
        Box::new(TurnStarted {
            message_id: id.into(),
            prompt: vec![ContentBlock::text(text)],
            live_session: None,
        })
    })
}

fn tool() -> impl Strategy<Value = AgentEvent> {
    let called = (id(), status(), content()).prop_map(|(id, status, content)| {
        AgentEvent::ToolCall(Box::new(ToolCall {
            status,
            content,
            ..ToolCall::new(id, "look")
        }))
    });
    let updated = (id(), status(), option::of(content()), option::of(text())).prop_map(
        |(id, status, content, title)| {
            AgentEvent::ToolCallUpdate(Box::new(ToolCallUpdate {
                content,
                raw_input: title.clone().map(Value::from),
                title,
                ..ToolCallUpdate::new(id, "look", status)
            }))
        },
    );
    prop_oneof![1 => called, 3 => updated]
}

fn approval() -> impl Strategy<Value = AgentEvent> {
    let kinds = [
        PermissionOptionKind::AllowOnce,
        PermissionOptionKind::AllowAlways,
        PermissionOptionKind::RejectOnce,
    ];
    let options = kinds.map(|kind| PermissionOption {
        option_id: format!("{kind:?}"),
        name: format!("{kind:?}"),
        kind,
        scope: GrantScope::Session,
    });
    let asked = (id(), id()).prop_map(move |(ask, call)| {
        let call = ToolCall::new(call, "look");
        let ask = PermissionAsked::new(AskId::from(ask), call, options.to_vec());
        AgentEvent::PermissionAsked(Box::new(ask))
    });
    let decision = select(vec![
        Decision::Allowed {
            option_id: "AllowAlways".to_owned(),
            args: None,
        },
        Decision::Rejected {
            option_id: None,
            reason: None,
        },
        Decision::Cancelled,
    ]);
    let resolved = (id(), decision).prop_map(|(ask, decision)| {
        AgentEvent::PermissionResolved(Box::new(PermissionResolved {
            ask_id: ask.into(),
            decision,
            remembered: None,
        }))
    });
    prop_oneof![asked, resolved]
}

/// Few ids, and nothing in order.
fn event() -> impl Strategy<Value = AgentEvent> {
    let message = |id: &str| Some(MessageId::from(id));
    let said = (id(), text()).prop_map(move |(id, content)| AgentEvent::AgentMessageChunk {
        content,
        message_id: message(id),
    });
    let thought = (id(), text()).prop_map(move |(id, content)| AgentEvent::AgentThoughtChunk {
        content,
        message_id: message(id),
    });
    let interjected = (id(), text()).prop_map(|(id, text)| AgentEvent::UserMessage {
        message_id: id.into(),
        content: vec![ContentBlock::text(text)],
        live_session: None,
    });
    let outcome = select(vec![
        TurnOutcome::stopped(StopReason::EndTurn),
        TurnOutcome::stopped(StopReason::Cancelled),
        TurnOutcome::Failed {
            message: "it did not work".to_owned(),
        },
    ]);
    let ended = outcome.prop_map(|outcome| AgentEvent::TurnEnded(Box::new(TurnEnded { outcome })));
    let made = text().prop_map(|fallback| {
        AgentEvent::Artifact(Box::new(Artifact {
            artifact_id: "a".to_owned(),
            kind: "note".to_owned(),
            title: None,
            mime_type: "text/plain".to_owned(),
            spec: Value::Null,
            fallback,
            size_bytes: 0,
            provenance: Value::Null,
            metadata: Value::Null,
        }))
    });
    let recovered = Just(AgentEvent::Recovered(Box::new(Recovered {
        interrupted_calls: Vec::new(),
        withdrawn_asks: Vec::new(),
        torn_bytes: 0,
    })));
    let titled = (option::of(text()), any::<bool>())
        .prop_map(|(title, chosen)| AgentEvent::SessionInfo(SessionInfo { title, chosen }));
    prop_oneof![
        4 => prompt().prop_map(AgentEvent::TurnStarted),
        1 => prompt().prop_map(AgentEvent::PromptQueued),
        1 => prompt().prop_map(AgentEvent::PromptWithdrawn),
        12 => said,
        6 => thought,
        2 => interjected,
        12 => tool(),
        6 => approval(),
        2 => ended,
        1 => made,
        1 => recovered,
        1 => titled,
    ]
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
    fn of_whatever_happens(log in log()) {
        check(&log);
    }
}
