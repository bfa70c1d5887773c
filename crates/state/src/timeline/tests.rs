//! Every event has a readable row, and pages add up to the whole timeline.

use std::{ops::ControlFlow, path::Path};

use harn_model::{AgentEvent, Envelope, Seq, ToolCall, ToolCallStatus, ToolCallUpdate};
use harn_testkit::{every_event, golden};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::wire::TimelinePage;

/// Builds a page as it is read from a log.
fn page(events: &[Envelope], after: u64, limit: usize, q: &str) -> TimelinePage {
    let mut page = TimelinePageBuilder::new(Seq(after), limit, TimelineSearch::new(q));
    let head = events.last().map_or(Seq::ZERO, |last| last.seq);
    let from = page.read_after();
    for envelope in events.iter().filter(|envelope| envelope.seq > from) {
        if let ControlFlow::Break(page) = page.add(envelope) {
            return page;
        }
    }
    page.finish(head)
}

fn all_rows(events: &[Envelope]) -> Vec<TimelineRow> {
    page(events, 0, usize::MAX, "").rows
}

/// Reads all pages, with these limits in rotation.
fn read_all_pages(events: &[Envelope], limits: &[usize], q: &str) -> Vec<TimelineRow> {
    let mut rows = Vec::new();
    let mut after = 0;
    for limit in limits.iter().cycle() {
        let page = page(events, after, *limit, q);
        assert!(page.rows.len() <= *limit);
        rows.extend(page.rows);
        match page.next {
            Some(next) => {
                assert!(next > after, "no page is empty before the end");
                assert_eq!(page.last, next);
                after = next;
            }
            None => break,
        }
    }
    rows
}

fn log(events: Vec<AgentEvent>) -> Vec<Envelope> {
    let places = (1..).map(Seq);
    let envelope = |(seq, event)| Envelope {
        seq,
        at: 1000 + seq.0,
        turn: None,
        event,
    };
    places.zip(events).map(envelope).collect()
}

fn message_chunk(id: &str, content: &str) -> AgentEvent {
    AgentEvent::AgentMessageChunk {
        content: content.to_owned(),
        message_id: Some(id.into()),
    }
}

#[test]
fn every_event_has_a_readable_title() {
    let events = every_event();
    let mut told = String::new();
    for row in all_rows(&events) {
        let kind = serde_json::to_value(row.kind).unwrap();
        let kind = kind.as_str().unwrap_or_default();
        told.push_str(&format!("{:3} {kind:10} {}\n", row.seq, row.title));
        for line in row.text.lines().take(4) {
            let line = line.replace('\u{1b}', "␛");
            told.push_str(&format!("{:14} | {line}\n", ""));
        }
        assert!(!row.title.trim().is_empty(), "seq {}", row.seq);
        assert!(!row.title.contains('\n'), "seq {}", row.seq);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/timeline/every-event.txt");
    golden::check(&path, &told, "UPDATE_EXPECT=1 cargo test -p harn-state");
}

/// The names of all events without a row.
#[test]
fn only_listed_events_have_no_row() {
    let mut memory = TimelineMemory::default();
    let events = every_event();
    let left_out = events
        .iter()
        .filter(|it| rows::draft(it, &mut memory).is_none());
    let mut names: Vec<_> = left_out.map(|it| it.event.name()).collect();
    names.sort_unstable();
    names.dedup();
    // The calls of workers are in the timelines of their own sessions.
    let expected = ["live_session_client", "loop_checkpoint", "worker_call"];
    assert_eq!(names, expected);
}

#[test]
fn chunks_of_a_message_are_one_row() {
    let checkpoint = every_event();
    let checkpoint = checkpoint
        .into_iter()
        .find(|it| it.event.name() == "loop_checkpoint");
    let events = log(vec![
        message_chunk("m1", "Hel"),
        // It has no row, so it does not separate the chunks.
        checkpoint.unwrap().event,
        message_chunk("m1", "lo\nworld"),
        message_chunk("m2", "Other"),
        AgentEvent::thought("Hm"),
        message_chunk("m2", " again"),
    ]);
    let rows: Vec<_> = all_rows(&events)
        .into_iter()
        .map(|row| (row.seq, row.at, row.title, row.text))
        .collect();
    let row =
        |seq: u64, title: &str, text: &str| (seq, 1000 + seq, title.to_owned(), text.to_owned());
    let expected = [
        row(1, "Hello", "Hello\nworld"),
        row(4, "Other", "Other"),
        row(5, "Hm", "Hm"),
        row(6, "again", " again"),
    ];
    assert_eq!(rows, expected);
    // A page ends with the whole message.
    let first = page(&events, 0, 1, "");
    assert_eq!((first.rows.len(), first.next, first.last), (1, Some(3), 3));
    assert_eq!(first.rows[0].text, "Hello\nworld");
    // A reader that stopped in the middle of it receives the rest.
    let rest = page(&events[..3], 1, 10, "");
    assert_eq!((rest.rows.len(), rest.next, rest.last), (1, None, 3));
    assert_eq!((rest.rows[0].seq, &*rest.rows[0].text), (3, "lo\nworld"));
    // A reader at the end receives nothing.
    let nothing = page(&events, 6, 10, "");
    assert_eq!(
        (nothing.rows.len(), nothing.next, nothing.last),
        (0, None, 6)
    );
}

#[test]
fn a_full_page_at_the_end_has_no_next() {
    let events = log(vec![message_chunk("m1", "a"), message_chunk("m2", "b")]);
    let both = page(&events, 0, 2, "");
    assert_eq!((both.rows.len(), both.next, both.last), (2, None, 2));
}

#[test]
fn a_search_reads_the_whole_text_and_ignores_case() {
    let long = "x".repeat(10_000) + "NÄDEL";
    let events = log(vec![
        message_chunk("m1", &long[..9000]),
        message_chunk("m1", &long[9000..]),
        message_chunk("m2", "hay"),
        AgentEvent::ModeChanged {
            mode_id: "nädel".to_owned(),
        },
    ]);
    let found = page(&events, 0, 10, "nädEl");
    let seqs: Vec<_> = found.rows.iter().map(|row| row.seq).collect();
    assert_eq!((seqs, found.next, found.last), (vec![1, 4], None, 4));
    assert!(found.rows[0].text.len() <= 4096);
    assert!(found.rows[0].text.ends_with("x…"));
    assert!(page(&events, 0, 10, "needle").rows.is_empty());
    assert_eq!(read_all_pages(&events, &[1], "nädel").len(), 2);
}

/// A command is known on every page, or on none.
#[test]
fn a_command_is_known_within_the_window() {
    let title = |between: u64| {
        let mut call = ToolCall::new("c", "run_command");
        call.raw_input = json!({"command": "cargo test"});
        let mut end = ToolCallUpdate::new("c", "run_command", ToolCallStatus::Completed);
        end.execution_duration_ms = Some(1200);
        let mut events = vec![AgentEvent::ToolCall(Box::new(call))];
        events.extend((0..between).map(|_| message_chunk("m", "a")));
        events.push(AgentEvent::ToolCallUpdate(Box::new(end)));
        let events = log(events);
        let whole = all_rows(&events).pop().unwrap();
        let last = page(&events, between + 1, 1, "").rows.pop().unwrap();
        assert_eq!(whole, last);
        last.title
    };
    assert_eq!(title(0), "Ran `cargo test` — 1.2 s");
    assert_eq!(title(WINDOW - 2), "Ran `cargo test` — 1.2 s");
    assert_eq!(title(WINDOW - 1), "Done: run_command — 1.2 s");
}

#[test]
fn a_title_shows_that_a_command_has_more_lines() {
    let mut call = ToolCall::new("c", "run_command");
    call.raw_input = json!({"command": "echo hello\nrm -rf target"});
    let events = log(vec![AgentEvent::ToolCall(Box::new(call))]);
    assert_eq!(all_rows(&events)[0].title, "Called: `echo hello …`");
}

#[test]
fn a_page_fits_its_schema() {
    let schema = serde_json::to_value(schemars::schema_for!(TimelinePage)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for limit in [3, usize::MAX] {
        let page = serde_json::to_value(page(&every_event(), 0, limit, "")).unwrap();
        validator.validate(&page).unwrap();
        let names: Vec<_> = page["rows"][0].as_object().unwrap().keys().collect();
        assert_eq!(names.len(), 6, "{names:?}");
    }
}

#[test]
fn an_edit_tools_command_is_no_command_line() {
    let mut call = ToolCall::new("c", "edit");
    call.kind = Some(harn_model::ToolKind::Edit);
    call.title = Some("Edit a.rs".to_owned());
    call.raw_input = json!({"command": "str_replace"});
    let events = log(vec![AgentEvent::ToolCall(Box::new(call))]);
    assert_eq!(all_rows(&events)[0].title, "Called: Edit a.rs");
}

proptest! {
    /// For all limits and searches.
    #[test]
    fn pages_add_up_to_the_whole(
        limits in proptest::collection::vec(1usize..40, 1..6),
        q in proptest::sample::select(vec!["", "cargo", "TEST", "nothing of the sort"]),
        from in 0usize..200,
    ) {
        // Any part of the events is a log, with positions counted from one.
        let events = every_event().into_iter().skip(from).map(|it| it.event).collect();
        let events = log(events);
        let whole = page(&events, 0, usize::MAX, q);
        prop_assert_eq!(whole.next, None);
        prop_assert_eq!(read_all_pages(&events, &limits, q), whole.rows);
    }

    /// Events that join and events between them, in any order.
    #[test]
    fn chunks_are_merged_across_pages(
        steps in proptest::collection::vec(0u8..5, 0..60),
        limits in proptest::collection::vec(1usize..4, 1..4),
    ) {
        let step = |step: &u8| match step {
            0 => message_chunk("m1", "one "),
            1 => message_chunk("m2", "two "),
            2 => AgentEvent::thought("three "),
            3 => AgentEvent::ToolCallUpdate(Box::new(ToolCallUpdate::new(
                "c",
                "read",
                ToolCallStatus::InProgress,
            ))),
            _ => AgentEvent::LoopCheckpoint(harn_model::LoopCheckpoint {
                iteration: 0,
                seam: harn_model::Seam::TurnStart,
                delivered: 0,
                dispatch_skipped: false,
            }),
        };
        let events = log(steps.iter().map(step).collect());
        prop_assert_eq!(read_all_pages(&events, &limits, ""), all_rows(&events));
    }
}
