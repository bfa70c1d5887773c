//! The disk format, pinned byte for byte. A change to a line that was ever written fails here.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use harn_journal::{ReadCursor, Store};
use harn_model::{AgentEvent, Seq};
use harn_testkit::{every_event, golden::is_updating};
use serde_json::Value;

use crate::workspace::{ID, Workspace, fold, word_events};

#[test]
fn every_event_is_written_as_in_the_fixture() {
    let workspace = Workspace::with_events(&every_event());
    let written = workspace.text();
    if is_updating() {
        fs::write(fixture("every-event.jsonl"), &written).unwrap();
    }
    let pinned = fs::read(fixture("every-event.jsonl")).unwrap_or_default();
    if written == pinned {
        return;
    }
    let (written, pinned) = (lines(&written), lines(&pinned));
    let first = (0..)
        .find(|&i| written.get(i) != pinned.get(i))
        .unwrap_or_default();
    panic!(
        "{}:{}: the journal's format changed.\n  pinned:  {}\n  written: {}\n\
         A line that was ever written must stay readable. If this change is meant and keeps that, run\n  \
         UPDATE_EXPECT=1 cargo test -p harn-journal",
        fixture("every-event.jsonl").display(),
        first + 1,
        pinned.get(first).map_or("(nothing)", String::as_str),
        written.get(first).map_or("(nothing)", String::as_str),
    );
}

#[test]
fn fixture_is_read_as_the_same_events() {
    let workspace = Workspace::with_text(&pinned_bytes());
    assert_eq!(workspace.store.read(&ID.into()).unwrap().1, every_event());
    let opened = workspace.store.open(&ID.into()).unwrap();
    assert_eq!(opened.view, fold(&every_event()));
}

/// What earlier releases wrote stays readable, and the log continues behind it in the current version.
#[test]
fn log_of_version_1_is_read_and_continued() {
    let old = fs::read(fixture("version-1.jsonl")).unwrap();
    let workspace = Workspace::with_text(&old);
    let (_, before) = workspace.store.read(&ID.into()).unwrap();
    for (line, envelope) in lines(&old).iter().zip(&before) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&line["v"], &line["seq"]),
            (&1.into(), &envelope.seq.0.into())
        );
        assert_eq!(
            line["event"],
            serde_json::to_value(&envelope.event).unwrap()
        );
    }
    let next = before.len() as u64 + 1;
    let mut opened = workspace.store.open(&ID.into()).unwrap();
    assert_eq!(opened.view, fold(&before));
    opened.log.append(&word_events(next, next + 1)).unwrap();
    let all = [before, word_events(next, next + 1)].concat();
    for after in [0, next - 2, next - 1, next] {
        let mut cursor = ReadCursor::starting_after(Seq(after));
        let read = opened.log.reader().read(&mut cursor, 1 << 20).unwrap();
        assert_eq!(read, all[after as usize..]);
    }
    drop(opened);
    assert_eq!(workspace.store.read(&ID.into()).unwrap().1, all);
    let text = workspace.text();
    assert!(text.starts_with(&old), "old lines were rewritten");
    assert!(text[old.len()..].starts_with(br#"{"v":2,"#));
}

#[test]
fn the_fixture_has_every_event_under_its_name() {
    let text = pinned_bytes();
    let mut found = BTreeSet::new();
    for (line, envelope) in lines(&text).iter().zip(every_event()) {
        let json: Value = serde_json::from_str(line).unwrap();
        assert_eq!(json["event"]["type"], envelope.event.name(), "{line}");
        found.insert(envelope.event.name());
    }
    let missing = AgentEvent::NAMES
        .iter()
        .filter(|name| !found.contains(*name));
    let missing: Vec<_> = missing.collect();
    assert!(
        missing.is_empty(),
        "no line for {missing:?}: add one to the story in crates/testkit/src/every_event, then run\n  UPDATE_EXPECT=1 cargo test -p harn-journal"
    );
}

/// Forms that the fixture's story lacks: it is not a worker's session, and nothing clears a reminder yet.
#[test]
fn reminder_events_of_a_worker_keep_their_format() {
    let lines = [
        r#"{"v":2,"seq":1,"at":0,"turn":"t1","event":{"type":"reminder_lifecycle","change":"inherited","reminder":{"id":"r1","body":"Be brief.","propagate":"all","role_hint":"system","source":"inherited","fired_at_turn":0,"originating_agent_id":"s0"}},"crc":"ccf9239d"}"#,
        r#"{"v":2,"seq":2,"at":0,"turn":"t1","event":{"type":"reminder_lifecycle","change":"expired","reminder_id":"r1","reason":"cleared"},"crc":"506cab35"}"#,
    ];
    let text = lines.map(|line| format!("{line}\n")).concat();
    let read = Workspace::with_text(text.as_bytes());
    let (_, events) = read.store.read(&ID.into()).unwrap();
    let kept = fold(&events[..1]).reminders;
    assert!(kept.contains("r1"));
    assert!(fold(&events).reminders.is_empty());
    let written = Workspace::with_events(&events).text();
    assert_eq!(String::from_utf8_lossy(&written), text);
}

/// Returns the pinned bytes, or the new ones while they are updated.
fn pinned_bytes() -> Vec<u8> {
    if is_updating() {
        return Workspace::with_events(&every_event()).text();
    }
    fs::read(fixture("every-event.jsonl"))
        .expect("run UPDATE_EXPECT=1 cargo test -p harn-journal to write it")
}

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journal");
    folder.join(name)
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text)
        .lines()
        .map(str::to_owned)
        .collect()
}
