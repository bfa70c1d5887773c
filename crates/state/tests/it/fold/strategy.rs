//! Random sessions: few ids, so that they collide, come early, late, twice or without their counterpart; and the
//! facts that are passed in beside the events.

use harn_model::{AgentEvent, Envelope, HitlKind, Seq};
use harn_state::{
    Presence,
    wire::{ClientFacts, ClientMode, PendingQuestion, SessionFacts},
};
use harn_testkit::EventStrategy;
use proptest::{collection::vec, option, prelude::*, sample::select};

/// A change of a document.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Event(Envelope),
    Presence(Presence),
    Questions(Vec<PendingQuestion>),
    Session(Box<SessionFacts>),
    Fail(String),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        40 => (event(), option::of(id())).prop_map(|(event, turn)| {
            Step::Event(Envelope {
                seq: Seq::ZERO,
                at: 0,
                turn: turn.map(Into::into),
                event,
            })
        }),
        1 => presence().prop_map(Step::Presence),
        1 => questions().prop_map(Step::Questions),
        1 => session().prop_map(Step::Session),
        1 => text().prop_map(Step::Fail),
    ];
    vec(step, 0..40).prop_map(|mut steps| {
        for (seq, step) in (1..).zip(&mut steps) {
            if let Step::Event(envelope) = step {
                (envelope.seq, envelope.at) = (Seq(seq), 1000 + seq);
            }
        }
        steps
    })
}

fn id() -> impl Strategy<Value = &'static str> + Clone {
    select(&["a", "b", "c"][..])
}

fn text() -> impl Strategy<Value = String> + Clone {
    let texts = [
        "",
        "word",
        "word more",
        "line\nbreak \u{1FAA3}",
        "__proto__",
    ];
    select(texts.to_vec()).prop_map(str::to_owned)
}

fn event() -> impl Strategy<Value = AgentEvent> {
    let texts = prop_oneof![
        40 => text(),
        1 => Just("long ".repeat(20_000)),
        1 => Just("line\n".repeat(12_000)),
    ];
    EventStrategy::new(&["a", "b", "c"], texts).events(&[
        (8, "turn_started"),
        (4, "prompt_queued"),
        (3, "prompt_withdrawn"),
        (6, "turn_ended"),
        (1, "recovered"),
        (8, "agent_message_chunk"),
        (8, "agent_thought_chunk"),
        (8, "pending"),
        (4, "user_message"),
        (6, "tool_call"),
        (10, "tool_call_update"),
        (4, "permission_asked"),
        (4, "permission_resolved"),
        (1, "plan"),
        (1, "worker_update"),
        (1, "usage"),
        (1, "skill_activated"),
        (1, "skill_deactivated"),
        (1, "mode_changed"),
        (1, "progress"),
        (1, "artifact"),
    ])
}

fn presence() -> impl Strategy<Value = Presence> {
    (vec(id(), 0..3), option::of(id())).prop_map(|(clients, controller)| Presence {
        clients: clients.into_iter().map(client).collect(),
        controller: controller.map(str::to_owned),
    })
}

fn client(id: &str) -> ClientFacts {
    ClientFacts {
        id: id.to_owned(),
        mode: ClientMode::Observer,
        attached_at: "0".to_owned(),
        last_seen_at: "0".to_owned(),
    }
}

fn questions() -> impl Strategy<Value = Vec<PendingQuestion>> {
    vec((id(), text()), 0..3).prop_map(|asked| {
        let questions = asked.into_iter().map(|(id, subject)| PendingQuestion {
            id: id.to_owned(),
            kind: HitlKind::Question,
            subject,
            detail: None,
            choices: Vec::new(),
            default: None,
            to: None,
            reviewers: Vec::new(),
            quorum: 1,
            requested_at: 0,
            deadline: 1,
            agent: "agent".to_owned(),
        });
        questions.collect()
    })
}

fn session() -> impl Strategy<Value = Box<SessionFacts>> {
    (option::of(text()), text()).prop_map(|(title, mode)| {
        Box::new(SessionFacts {
            title,
            mode,
            ..SessionFacts::default()
        })
    })
}
