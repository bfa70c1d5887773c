//! The disk format, pinned byte for byte. A change to a line that was ever written fails here.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use harn_journal::Store;
use harn_model::AgentEvent;
use serde_json::Value;

use crate::{
    every_event::every_event,
    workspace::{ID, Workspace, fold},
};

/// One table for both directions: no event without a name here, and no name without an event in the
/// fixture.
macro_rules! names {
    ($($pattern:pat => $name:literal,)*) => {
        const NAMES: &[&str] = &[$($name),*];

        fn name(event: &AgentEvent) -> &'static str {
            match event {
                $($pattern => $name,)*
            }
        }
    };
}

names! {
    AgentEvent::AgentMessageChunk { .. } => "agent_message_chunk",
    AgentEvent::AgentThoughtChunk { .. } => "agent_thought_chunk",
    AgentEvent::UserMessage { .. } => "user_message",
    AgentEvent::ToolCall(_) => "tool_call",
    AgentEvent::ToolCallUpdate(_) => "tool_call_update",
    AgentEvent::Plan { .. } => "plan",
    AgentEvent::ProgressReported(_) => "progress_reported",
    AgentEvent::Progress(_) => "progress",
    AgentEvent::Log(_) => "log",
    AgentEvent::Artifact(_) => "artifact",
    AgentEvent::FsWatch { .. } => "fs_watch",
    AgentEvent::Handoff { .. } => "handoff",
    AgentEvent::WorkerUpdate(_) => "worker_update",
    AgentEvent::SkillActivated { .. } => "skill_activated",
    AgentEvent::SkillDeactivated { .. } => "skill_deactivated",
    AgentEvent::SkillScopeTools { .. } => "skill_scope_tools",
    AgentEvent::SkillNarrow(_) => "skill_narrow",
    AgentEvent::SkillMatched(_) => "skill_matched",
    AgentEvent::ToolSearchQuery(_) => "tool_search_query",
    AgentEvent::ToolSearchResult(_) => "tool_search_result",
    AgentEvent::TranscriptCompacted(_) => "transcript_compacted",
    AgentEvent::TranscriptProjected(_) => "transcript_projected",
    AgentEvent::ReminderEmitted(_) => "reminder_emitted",
    AgentEvent::HitlRequested { .. } => "hitl_requested",
    AgentEvent::HitlResolved { .. } => "hitl_resolved",
    AgentEvent::AvailableCommands { .. } => "available_commands",
    AgentEvent::LiveSessionClient { .. } => "live_session_client",
    AgentEvent::CompositionStart(_) => "composition_start",
    AgentEvent::CompositionChildCall(_) => "composition_child_call",
    AgentEvent::CompositionChildResult(_) => "composition_child_result",
    AgentEvent::CompositionFinish(_) => "composition_finish",
    AgentEvent::CompositionError(_) => "composition_error",
    AgentEvent::LoopCheckpoint(_) => "loop_checkpoint",
    AgentEvent::TurnStarted(_) => "turn_started",
    AgentEvent::TurnEnded(_) => "turn_ended",
    AgentEvent::PermissionAsked(_) => "permission_asked",
    AgentEvent::PermissionResolved(_) => "permission_resolved",
    AgentEvent::Usage(_) => "usage",
    AgentEvent::ModeChanged { .. } => "mode_changed",
    AgentEvent::ConfigChanged { .. } => "config_changed",
    AgentEvent::SessionInfo(_) => "session_info",
    AgentEvent::Recovered(_) => "recovered",
    AgentEvent::SessionClosed { .. } => "session_closed",
}

#[test]
fn every_event_is_written_as_the_fixture_says() {
    let workspace = Workspace::with(&every_event());
    let written = workspace.text();
    if updating() {
        fs::write(fixture(), &written).unwrap();
    }
    let pinned = fs::read(fixture()).unwrap_or_default();
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
        fixture().display(),
        first + 1,
        pinned.get(first).map_or("(nothing)", String::as_str),
        written.get(first).map_or("(nothing)", String::as_str),
    );
}

#[test]
fn the_fixture_is_read_as_it_was_meant() {
    let workspace = Workspace::with_text(&pinned());
    assert_eq!(workspace.store.read(&ID.into()).unwrap().1, every_event());
    let opened = workspace.store.open(&ID.into()).unwrap();
    assert_eq!(opened.view, fold(&every_event()));
}

#[test]
fn the_fixture_has_every_event_under_its_name() {
    let text = pinned();
    let mut found = BTreeSet::new();
    for (line, envelope) in lines(&text).iter().zip(every_event()) {
        let json: Value = serde_json::from_str(line).unwrap();
        assert_eq!(json["event"]["type"], name(&envelope.event), "{line}");
        found.insert(name(&envelope.event));
    }
    let missing: Vec<_> = NAMES.iter().filter(|name| !found.contains(*name)).collect();
    assert!(
        missing.is_empty(),
        "no line for {missing:?}: add one to every_event.rs, then run\n  UPDATE_EXPECT=1 cargo test -p harn-journal"
    );
}

/// What the test of the bytes pins, or is about to.
fn pinned() -> Vec<u8> {
    if updating() {
        return Workspace::with(&every_event()).text();
    }
    fs::read(fixture()).expect("run UPDATE_EXPECT=1 cargo test -p harn-journal to write it")
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journal/every-event.jsonl")
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text)
        .lines()
        .map(str::to_owned)
        .collect()
}

#[allow(
    clippy::disallowed_methods,
    reason = "the switch every snapshot test of the project knows"
)]
fn updating() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1")
}
