//! Tests of the window, the pieces of long messages, and entries that change in place.

use serde_json::{Value, json};

use harn_acp::client::vendor_meta;

use super::*;
use crate::agent_messages::activity::JobState;

fn texts(transcript: &TranscriptWindow) -> Vec<String> {
    let entries = transcript.first..transcript.end();
    let text = |number| match transcript.entry(number).unwrap() {
        TranscriptEntry::Said(said) => said.text.clone(),
        TranscriptEntry::Note(_, text) => text.clone(),
        other => format!("{other:?}"),
    };
    entries.map(text).collect()
}

fn window_with_limits(entries: usize, bytes: usize) -> TranscriptWindow {
    TranscriptWindow {
        bounds: TranscriptLimits { entries, bytes },
        ..TranscriptWindow::default()
    }
}

#[test]
fn chunks_of_one_message_become_one_entry() {
    let mut transcript = TranscriptWindow::default();
    transcript.add_text(MessageAuthor::Agent, Some("a"), "one ");
    transcript.add_text(MessageAuthor::Agent, Some("a"), "two");
    transcript.add_text(MessageAuthor::Agent, Some("b"), "three");
    transcript.add_text(MessageAuthor::Person(None), Some("c"), "x");
    transcript.add_text(MessageAuthor::Person(None), Some("c"), "y");
    assert_eq!(texts(&transcript), ["one two", "three", "x\ny"]);
    assert!(transcript.has_message("a") && !transcript.has_message("d"));
}

#[test]
fn a_long_message_is_split_without_loss() {
    let line = "words and words\n".repeat(100);
    let mut whole = String::new();
    let mut transcript = TranscriptWindow::default();
    for _ in 0..40 {
        transcript.add_text(MessageAuthor::Agent, Some("a"), &line);
        whole.push_str(&line);
    }
    // Without a line break, at once and in small parts.
    let endless = "é".repeat(10 * PIECE);
    transcript.add_text(MessageAuthor::Agent, Some("a"), &endless);
    whole.push_str(&endless);
    for _ in 0..10_000 {
        transcript.add_text(MessageAuthor::Agent, Some("a"), "no end ");
        whole.push_str("no end ");
    }
    assert_eq!(texts(&transcript).concat(), whole);
    assert!(transcript.end() > 10);
    let longest = texts(&transcript).iter().map(String::len).max();
    assert!(longest.unwrap() <= 4 * PIECE, "{longest:?}");
}

#[test]
fn old_entries_are_dropped_and_counted() {
    let mut transcript = window_with_limits(3, usize::MAX);
    for number in 0..5 {
        transcript.add_note(NoteLevel::Note, format!("{number}"));
    }
    assert_eq!(transcript.first, 2);
    assert_eq!(texts(&transcript), ["2", "3", "4"]);
    let mut transcript = window_with_limits(usize::MAX, 10_000);
    for _ in 0..100 {
        transcript.add_note(NoteLevel::Note, "x".repeat(744));
    }
    assert_eq!(transcript.end() - transcript.first, 10);
    assert!(transcript.bytes <= 10_000);
    // The reason of a failure counts as well.
    let mut transcript = window_with_limits(usize::MAX, 10_000);
    for number in 0..100 {
        let reason = "x".repeat(744);
        let job = Job {
            id: "w".to_owned(),
            name: String::new(),
            task: None,
            state: JobState::Failed(reason.clone()),
            took: None,
        };
        transcript.set_job(job);
        let id = number.to_string();
        let mut call = call(&id, "read");
        call.meta = Some(vendor_meta(json!({"error": reason})));
        transcript.add_call(call);
    }
    assert!(transcript.end() - transcript.first <= 10);
}

fn call(id: &str, kind: &str) -> AcpToolCall {
    let call = json!({"toolCallId": id, "title": "Do", "kind": kind, "status": "pending"});
    serde_json::from_value(call).unwrap()
}

type AcpToolCall = agent_client_protocol::v1::schema::ToolCall;

fn call_update(transcript: &mut TranscriptWindow, update: Value, harn: Value) {
    let mut update: agent_client_protocol::v1::schema::ToolCallUpdate =
        serde_json::from_value(update).unwrap();
    update.meta = Some(vendor_meta(harn));
    transcript.update_call(update);
}

#[test]
fn updates_change_the_entry_of_their_call() {
    let mut transcript = TranscriptWindow::default();
    transcript.add_call(call("c", "execute"));
    transcript.add_note(NoteLevel::Note, "meanwhile");
    let content = json!([{"type": "content", "content": {"type": "text", "text": "out\n"}},
                         {"type": "diff", "path": "/w/a", "oldText": "1\n", "newText": "2\n"}]);
    transcript.cwd = "/w".into();
    let done = json!({"toolCallId": "c", "status": "completed", "content": content,
                      "rawInput": {"command": "make"}});
    call_update(&mut transcript, done, json!({"durationMs": 40}));
    // The call has ended; later updates do not change it.
    let late = json!({"toolCallId": "c", "status": "failed"});
    call_update(&mut transcript, late, json!({}));
    let Some(TranscriptEntry::Call(call)) = transcript.entry(0) else {
        panic!("no call");
    };
    assert_eq!(format!("{:?}", call.status), "Completed");
    assert_eq!(call.took, Some(40));
    assert_eq!(
        (call.input.as_str(), call.output.as_str()),
        ("$ make", "out")
    );
    assert_eq!(call.diff[1].1, "+++ a");
    assert_eq!(transcript.end(), 2);
}

#[test]
fn the_content_of_a_call_is_bounded() {
    let mut transcript = TranscriptWindow::default();
    transcript.add_call(call("c", "execute"));
    let text = "line of output\n".repeat(100_000);
    let lines: String = (0..5000).map(|number| format!("{number}\n")).collect();
    let content = json!([{"type": "content", "content": {"type": "text", "text": text}},
                         {"type": "diff", "path": "/w/a", "newText": lines}]);
    let more = json!({"toolCallId": "c", "content": content});
    call_update(&mut transcript, more, json!({}));
    assert!(transcript.bytes < 200_000, "{}", transcript.bytes);
    let Some(TranscriptEntry::Call(call)) = transcript.entry(0) else {
        panic!("no call");
    };
    assert!(call.output.starts_with("…\nline"));
    assert_eq!(call.diff.last().unwrap().1, "… 4003 more lines");
}

#[test]
fn plans_and_workers_change_in_place() {
    let step = |content: &str, status: &str| {
        let step = json!({"content": content, "priority": "high", "status": status});
        serde_json::from_value::<PlanEntry>(step).unwrap()
    };
    let mut transcript = TranscriptWindow::default();
    transcript.set_plan(vec![step("a", "pending")]);
    transcript.set_plan(vec![step("a", "completed")]);
    assert_eq!(transcript.end(), 1);
    transcript.set_plan(vec![step("b", "pending")]);
    transcript.start_new_plan();
    transcript.set_plan(vec![step("b", "pending")]);
    assert_eq!(transcript.end(), 3);
    let worker = |state| {
        AgentActivity::Job(Job {
            id: "w".to_owned(),
            name: "left".to_owned(),
            task: Some("Look".to_owned()),
            took: Some(1500),
            state,
        })
    };
    transcript.add_activity(worker(JobState::Running));
    transcript.add_activity(worker(JobState::Failed("dark".to_owned())));
    assert_eq!(transcript.end(), 4);
    let Some(TranscriptEntry::Job(job)) = transcript.entry(3) else {
        panic!("no job");
    };
    assert_eq!(job.state, JobState::Failed("dark".to_owned()));
    assert_eq!(job.took, Some(1500));
}
