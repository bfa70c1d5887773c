//! Reports of a run from any position.

use harn_model::{
    ErrorCategory, HitlKind, HitlOutcome, ToolCallStatus, TurnEnded, TurnRecovered, TurnStarted,
};
use harn_testkit::every_event;

use super::*;

fn fold(told: u64) -> RunFold {
    RunFold::new("s".into(), "t".into(), 0, Seq(told))
}

fn envelope(seq: u64, event: AgentEvent) -> Envelope {
    Envelope {
        seq: Seq(seq),
        at: 100 + seq,
        turn: Some("t".into()),
        event,
    }
}

fn chunk(message: &str, content: &str) -> AgentEvent {
    AgentEvent::AgentMessageChunk {
        content: content.to_owned(),
        message_id: Some(message.into()),
    }
}

fn turn_ended(outcome: TurnOutcome) -> AgentEvent {
    AgentEvent::TurnEnded(Box::new(TurnEnded { outcome }))
}

fn ask(id: &str) -> PermissionAsked {
    PermissionAsked::new(id.into(), ToolCall::new("c", "write_file"), Vec::new())
}

fn question(id: &str) -> Arc<HitlRequest> {
    Arc::new(HitlRequest {
        request_id: id.to_owned(),
        kind: HitlKind::Question,
        subject: "Which?".to_owned(),
        detail: None,
        choices: Vec::new(),
        default: None,
        to: None,
        reviewers: Vec::new(),
        quorum: 1,
        approval: None,
        mutation: None,
        agent: "agent".to_owned(),
        turn: "t".into(),
        requested_at: 0,
        deadline: 1,
        lineage: Vec::new(),
    })
}

fn story_events() -> Vec<Envelope> {
    let started = TurnStarted {
        message_id: "m0".into(),
        prompt: Vec::new(),
        live_session: None,
    };
    let call = AgentEvent::ToolCall(Box::new(ToolCall::new("c", "write_file")));
    let failed = ToolCallUpdate::failed("c", "write_file", "no", ErrorCategory::ToolError);
    let failed = AgentEvent::ToolCallUpdate(Box::new(failed));
    let events = [
        AgentEvent::TurnStarted(Box::new(started)),
        chunk("m1", "Let "),
        chunk("m1", "me "),
        chunk("m1", "see."),
        call,
        failed,
        chunk("m2", "It "),
        chunk("m2", "failed."),
        turn_ended(TurnOutcome::stopped(StopReason::EndTurn)),
    ];
    let events = events.into_iter().zip(1..);
    events.map(|(event, seq)| envelope(seq, event)).collect()
}

#[test]
fn report_has_one_message_per_step_and_the_state_of_calls() {
    let mut fold = fold(0);
    for envelope in story_events() {
        fold.apply(&envelope, |_| None);
    }
    let told = fold.report(Seq::ZERO);
    assert_eq!(told.messages, ["Let me see.", "It failed."]);
    assert_eq!(told.state, RunPhase::Ended(StopReason::EndTurn));
    assert_eq!((told.began_at, told.until), (101, 109));
    assert_eq!(told.place.after, Seq(9));
    assert_eq!(told.calls.len(), 1);
    assert_eq!(told.calls[0].status, ToolCallStatus::Failed);
    assert_eq!(told.calls[0].error.as_deref(), Some("no"));
    assert!(fold.report(Seq(9)).messages.is_empty());
    assert!(fold.report(Seq(9)).calls.is_empty());
}

#[test]
fn two_partial_reports_add_up_to_the_whole() {
    let story = story_events();
    let mut whole = fold(0);
    for envelope in &story {
        whole.apply(envelope, |_| None);
    }
    let whole = whole.report(Seq::ZERO).messages.concat();
    for cut in 0..=story.len() {
        // Live, and from the journal for a Shell that has the first part.
        let mut live = fold(0);
        let mut first = String::new();
        for (at, envelope) in story.iter().enumerate() {
            if at == cut {
                first = live.report(Seq::ZERO).messages.concat();
            }
            live.apply(envelope, |_| None);
        }
        let place = Seq(u64::try_from(cut).unwrap());
        if cut == story.len() {
            first = live.report(Seq::ZERO).messages.concat();
        }
        let second = live.report(place).messages.concat();
        assert_eq!(format!("{first}{second}"), whole, "live, cut at {cut}");
        let mut later = fold(place.0);
        for envelope in &story {
            later.apply(envelope, |_| None);
        }
        let second = later.report(place).messages.concat();
        assert_eq!(format!("{first}{second}"), whole, "replayed, cut at {cut}");
    }
}

#[test]
fn run_is_parked_while_a_question_is_open() {
    let mut fold = fold(0);
    fold.apply(
        &envelope(1, AgentEvent::PermissionAsked(Box::new(ask("q1")))),
        |_| None,
    );
    assert_eq!(fold.report(Seq(1)).state, RunPhase::Parked);
    assert_eq!(
        fold.report(Seq(1)).asks.len(),
        1,
        "whatever was told before"
    );
    let requested = |id: &str| AgentEvent::HitlRequested {
        request_id: id.to_owned(),
        kind: "question".to_owned(),
        payload: serde_json::Value::Null,
    };
    fold.apply(&envelope(2, requested("h1")), |id| Some(question(id)));
    // The agent only reports this one: no client can answer it.
    fold.apply(&envelope(3, requested("h2")), |_| None);
    assert!(fold.has_question("q1") && fold.has_question("h1") && !fold.has_question("h2"));
    let resolved = harn_model::PermissionResolved {
        ask_id: "q1".into(),
        decision: harn_model::Decision::Cancelled,
        remembered: None,
    };
    let resolved = AgentEvent::PermissionResolved(Box::new(resolved));
    fold.apply(&envelope(4, resolved), |_| None);
    assert_eq!(fold.report(Seq(4)).state, RunPhase::Parked);
    let resolved = AgentEvent::HitlResolved {
        request_id: "h1".to_owned(),
        kind: "question".to_owned(),
        outcome: HitlOutcome::Answered,
    };
    fold.apply(&envelope(5, resolved), |_| None);
    assert_eq!(fold.report(Seq(5)).state, RunPhase::Running);
}

#[test]
fn queued_run_has_no_position() {
    let queued = AgentEvent::PromptQueued(Box::new(TurnStarted {
        message_id: "m".into(),
        prompt: Vec::new(),
        live_session: None,
    }));
    let (mut waits, mut unheard) = (fold(0), fold(0));
    waits.apply(&envelope(7, queued), |_| None);
    let (told, unheard) = (waits.report(Seq::ZERO), unheard.report(Seq::ZERO));
    assert_eq!(told.state, RunPhase::Running);
    assert_eq!(told.place, unheard.place);
    assert_eq!(
        (told.began_at, told.until),
        (unheard.began_at, unheard.until)
    );
}

#[test]
fn every_kind_of_end_is_reported() {
    let recovered = TurnRecovered {
        interrupted_calls: Vec::new(),
        withdrawn_asks: Vec::new(),
        torn_bytes: 0,
    };
    let withdrawn = TurnStarted {
        message_id: "m".into(),
        prompt: Vec::new(),
        live_session: None,
    };
    let message = "out of reach".to_owned();
    let failed = RunPhase::Failed(message.clone());
    let ends = [
        (turn_ended(TurnOutcome::Failed { message }), failed),
        (
            AgentEvent::Recovered(Box::new(recovered)),
            RunPhase::Interrupted,
        ),
        (
            AgentEvent::PromptWithdrawn(Box::new(withdrawn)),
            RunPhase::Ended(StopReason::Cancelled),
        ),
    ];
    for (event, state) in ends {
        let mut fold = fold(0);
        let asked = AgentEvent::PermissionAsked(Box::new(ask("q1")));
        fold.apply(&envelope(1, asked), |_| None);
        fold.apply(&envelope(2, event), |_| None);
        let told = fold.report(Seq::ZERO);
        assert_eq!((told.state, told.asks.len()), (state, 0));
    }
}

#[test]
fn every_event_folds_into_a_finished_report() {
    let mut fold = fold(0);
    for envelope in every_event() {
        fold.apply(&envelope, |_| None);
    }
    let told = fold.report(Seq::ZERO);
    assert!(fold.is_over());
    assert!(!told.messages.is_empty() && !told.calls.is_empty());
    assert!(!told.artifacts.is_empty() && told.plan.is_some());
    let open = told.calls.iter().find(|call| !call.status.is_terminal());
    assert_eq!(open, None, "every call was settled");
}
