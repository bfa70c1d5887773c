//! The copies of clients equal the document of the server: from any moment on, the operations since then turn the
//! document of that moment into the current one, by the rules of the library that clients fold with.

mod strategy;

use std::{collections::HashSet, path::Path};

use harn_model::{AgentEvent, Envelope};
use harn_state::{
    Document, DocumentChanges,
    wire::{
        ApprovalStatus, CallStatus, DocumentState, DocumentStatus, MessageRole, MessageStatus,
        SessionFacts,
    },
};
use harn_testkit::{every_event, golden, state_fold};
use proptest::prelude::*;
use serde_json::{Value, json};

use strategy::{Step, steps};

fn document_json(document: &Document) -> Value {
    serde_json::to_value(document.state()).unwrap()
}

fn apply_step(document: &mut Document, step: &Step, out: &mut DocumentChanges) {
    match step {
        Step::Event(envelope) => document.apply(envelope, out),
        Step::Presence(presence) => document.set_presence(presence.clone(), out),
        Step::Questions(questions) => document.set_questions(questions.clone(), out),
        Step::Session(session) => document.set_session((**session).clone(), out),
        Step::Fail(why) => document.fail(why, out),
    }
}

/// Applies a frame as a client does: the whole document, or operations on its copy.
fn apply_frame(copy: &mut Value, changes: &DocumentChanges, document: &Document) {
    match changes.operations() {
        None => *copy = document_json(document),
        Some(operations) => {
            let operations = serde_json::to_value(operations).unwrap();
            if let Err(problem) = state_fold::apply_all(copy, &operations) {
                panic!("{problem}\n{operations:#}\n{copy:#}");
            }
        }
    }
}

/// Checks each step as a frame of its own, and from every moment on all later steps as one frame.
fn check(steps: &[Step]) {
    let mut document = Document::new(SessionFacts::default());
    let mut copy = document_json(&document);
    let mut moments = vec![document.clone()];
    for it in steps {
        let mut changes = DocumentChanges::default();
        apply_step(&mut document, it, &mut changes);
        apply_frame(&mut copy, &changes, &document);
        assert_eq!(copy, document_json(&document), "after {it:?}");
        check_document(document.state(), it);
        moments.push(document.clone());
    }
    let last = document_json(&document);
    for (at, before) in moments.iter().enumerate() {
        let mut copy = document_json(before);
        let mut then = before.clone();
        let mut changes = DocumentChanges::default();
        steps[at..]
            .iter()
            .for_each(|it| apply_step(&mut then, it, &mut changes));
        apply_frame(&mut copy, &changes, &document);
        assert_eq!(copy, last, "from {at}");
        assert_eq!(
            document_json(&then),
            last,
            "the same steps, the same document"
        );
    }
}

/// Checks the invariants of every document.
fn check_document(state: &DocumentState, after: &Step) {
    let messages = &state.messages;
    let ids: HashSet<_> = messages.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids.len(), messages.len(), "an id twice after {after:?}");
    let waits = |role: MessageRole, status: MessageStatus| {
        role == MessageRole::User && matches!(status, MessageStatus::Pending)
    };
    let settled = messages.iter().position(|it| waits(it.role, it.status));
    let behind = &messages[settled.unwrap_or(messages.len())..];
    assert!(
        behind.iter().all(|it| waits(it.role, it.status)),
        "what waits is not last after {after:?}"
    );
    assert_eq!(
        state.error.is_some(),
        state.status == DocumentStatus::Error,
        "{after:?}"
    );
    for message in messages {
        let of_agent = message.role == MessageRole::Assistant;
        assert_eq!(message.tool_calls.is_some(), of_agent);
        assert_eq!(message.steer.is_none(), of_agent);
        assert_eq!(message.author.is_none(), of_agent);
    }
    // After the end of a run nothing seems to continue.
    let over = match after {
        Step::Event(Envelope { event, .. }) => matches!(event, AgentEvent::TurnEnded(_)),
        Step::Fail(_) => true,
        Step::Presence(_) | Step::Questions(_) | Step::Session(_) => false,
    };
    if over {
        assert_ne!(state.status, DocumentStatus::Running);
        assert!(state.approvals.is_empty());
        for message in messages {
            let of_agent = message.role == MessageRole::Assistant;
            let goes_on = message.status == MessageStatus::Streaming
                || of_agent && message.status == MessageStatus::Pending;
            assert!(!goes_on, "{message:?}");
            for call in message.tool_calls.iter().flatten() {
                assert_ne!(call.status, CallStatus::Running, "{message:?}");
                assert_ne!(call.approval, Some(ApprovalStatus::Pending), "{message:?}");
            }
        }
    }
}

fn is_one_of(value: &Value, of: &[&str]) -> bool {
    value.as_str().is_some_and(|value| of.contains(&value))
}

/// Checks that the document uses only the words of the protocol.
fn check_words(state: &Value) {
    assert!(is_one_of(&state["status"], &["idle", "running", "error"]));
    for message in state["messages"].as_array().unwrap() {
        let statuses = ["pending", "streaming", "complete", "error"];
        assert!(is_one_of(&message["status"], &statuses), "{message}");
        assert!(is_one_of(&message["role"], &["user", "assistant"]));
        for call in message["toolCalls"].as_array().into_iter().flatten() {
            let statuses = ["running", "complete", "error"];
            assert!(is_one_of(&call["status"], &statuses), "{call}");
        }
    }
}

#[test]
fn copies_follow_every_event() {
    let steps: Vec<_> = every_event().into_iter().map(Step::Event).collect();
    check(&steps);
    let mut document = Document::new(SessionFacts::default());
    for it in &steps {
        apply_step(&mut document, it, &mut DocumentChanges::default());
        check_words(&document_json(&document));
    }
    // The events form a story, and the document shows all of it.
    let last = document_json(&document);
    assert!(last["messages"].as_array().unwrap().len() > 10);
    for key in ["plan", "workers"] {
        assert_ne!(last[key], json!([]), "{key}");
    }
    assert!(last["usage"].is_object());
}

/// Writes the effect of each event on the document, one operation per line.
#[test]
fn every_event_makes_its_operations() {
    const LONGEST: usize = 150;
    let mut document = Document::new(SessionFacts::default());
    let mut told = String::new();
    for envelope in every_event() {
        let mut changes = DocumentChanges::default();
        document.apply(&envelope, &mut changes);
        let (seq, name) = (envelope.seq.0, envelope.event.name());
        told.push_str(&format!("{seq:3} {name}\n"));
        let Some(operations) = changes.operations() else {
            told.push_str("      the document anew\n");
            continue;
        };
        for operation in operations {
            let operation = serde_json::to_value(operation).unwrap();
            let steps = operation["path"].as_array().unwrap().iter();
            let steps: Vec<_> = steps.map(|step| step.as_str().unwrap()).collect();
            let mut value = operation["value"].to_string();
            if value.len() > LONGEST {
                value.truncate(value.floor_char_boundary(LONGEST));
                value.push('…');
            }
            let kind = operation["type"].as_str().unwrap();
            told.push_str(&format!("      {kind} {} {value}\n", steps.join(".")));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fold/every-event.txt");
    let repair = "UPDATE_EXPECT=1 cargo test -p harn-state --test it fold";
    golden::check(&path, &told, repair);
}

/// A session that is opened again has the same document.
#[test]
fn a_replay_makes_the_live_document() {
    let events = every_event();
    let mut live = Document::new(SessionFacts::default());
    for envelope in &events {
        live.apply(envelope, &mut DocumentChanges::default());
    }
    let mut replayed = Document::new(SessionFacts::default());
    let mut together = DocumentChanges::default();
    for envelope in &events {
        replayed.apply(envelope, &mut together);
    }
    assert_eq!(live.state(), replayed.state());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn copies_follow_any_session(steps in steps()) {
        check(&steps);
    }

    /// Any part of the events is a log: it may begin in the middle of a turn, and stop in one.
    #[test]
    fn copies_follow_any_part_of_the_events(from in 0_usize..400, length in 0_usize..60) {
        let events = every_event().into_iter().skip(from).take(length);
        let steps: Vec<_> = events.map(Step::Event).collect();
        check(&steps);
    }
}
