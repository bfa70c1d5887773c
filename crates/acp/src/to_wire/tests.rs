//! Tests of the lines of an event in each profile.

use std::borrow::Borrow;

use expect_test::{Expect, expect};
use harn_model::{
    AgentEvent, CompositionRun, Envelope, LoopCheckpoint, Progress, ProgressReport, Seam, Seq,
    SessionInfo, WorkerEvent, WorkerMetadata, WorkerUpdate,
};
use serde_json::{Value, json};

use super::*;
use crate::{Profile, ext::update::ExtensionSet};

const ALL: [Profile; 3] = [Profile::Harn, Profile::Meta, Profile::Acp];

fn lines(projector: &UpdateProjector, event: AgentEvent) -> Vec<Value> {
    let envelope = Envelope {
        seq: Seq(7),
        at: 0,
        turn: None,
        event,
    };
    let mut out = Vec::new();
    projector.write(&envelope, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn live_projector(dialect: impl Into<Dialect>) -> UpdateProjector {
    UpdateProjector::new(&"s".into(), dialect, false)
}

/// Checks the updates, or the params of agent events.
fn check(
    profile: Profile,
    events: impl IntoIterator<Item = AgentEvent>,
    expected: impl Borrow<Expect>,
) {
    let mut text = String::new();
    for event in events {
        for mut line in lines(&live_projector(profile), event) {
            let mut params = line["params"].take();
            let shown = match line["method"].as_str() {
                Some("session/update") => params["update"].take(),
                _ => params,
            };
            text.push_str(&shown.to_string());
            text.push('\n');
        }
    }
    expected.borrow().assert_eq(&text);
}

fn check_silent(profile: Profile, event: AgentEvent) {
    assert_eq!(
        lines(&live_projector(profile), event.clone()),
        [] as [Value; 0],
        "{event:?}"
    );
}

fn event(value: Value) -> AgentEvent {
    serde_json::from_value(value).unwrap()
}

#[test]
fn message_carries_its_visible_text() {
    let chunk = || [AgentEvent::message("\u{1b}[1mbold\u{1b}[0m\n")];
    let both = expect![[r#"
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\u001b[1mbold\u001b[0m\n","_meta":{"harn":{"visible_delta":"bold\n","visible_text":"bold\n"}}}}
    "#]];
    check(Profile::Harn, chunk(), &both);
    check(Profile::Meta, chunk(), both);
    check(
        Profile::Acp,
        chunk(),
        expect![[r#"
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\u001b[1mbold\u001b[0m\n"}}
        "#]],
    );
    // An empty visible text is sent too: otherwise a host would show the text itself.
    check(
        Profile::Harn,
        [AgentEvent::message("\u{1b}[0m")],
        expect![[r#"
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\u001b[0m","_meta":{"harn":{"visible_delta":"","visible_text":""}}}}
        "#]],
    );
}

/// acpx and Toad join thoughts without a separator.
#[test]
fn a_plain_note_is_a_paragraph_between_any_neighbours() {
    let progress = |text: &str| event(json!({"type": "progress", "phase": "p", "message": text}));
    let events = [
        AgentEvent::thought("Thinking"),
        progress("One"),
        progress(" Two\n"),
        AgentEvent::thought("Thinking on"),
    ];
    let projector = live_projector(Profile::Acp);
    let updates = events.into_iter().flat_map(|it| lines(&projector, it));
    let joined: String = updates
        .map(|line| line["params"]["update"]["content"]["text"].clone())
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect();
    let paragraphs: Vec<_> = joined.split("\n\n").filter(|it| !it.is_empty()).collect();
    assert_eq!(paragraphs, ["Thinking", "One", "Two", "Thinking on"]);
}

#[test]
fn user_message_is_whole_only_in_harn() {
    let message = || {
        let blocks = json!([{"type": "text", "text": "and"}, {"type": "text", "text": ""}, {"type": "text", "text": "so"}]);
        [event(
            json!({"type": "user_message", "message_id": "m-1", "content": blocks}),
        )]
    };
    check(
        Profile::Harn,
        message(),
        expect![[r#"
            {"sessionUpdate":"user_message","messageId":"m-1","content":[{"type":"text","text":"and"},{"type":"text","text":"so"}]}
        "#]],
    );
    let pieces = expect![[r#"
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"and"},"messageId":"m-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"so"},"messageId":"m-1"}
    "#]];
    check(Profile::Meta, message(), &pieces);
    check(Profile::Acp, message(), pieces);
}

#[test]
fn prompt_is_sent_as_chunks_in_every_profile() {
    let blocks = json!([{"type": "text", "text": "Hello"}]);
    let prompt = event(json!({"type": "turn_started", "message_id": "m-1", "prompt": blocks}));
    for profile in ALL {
        check(
            profile,
            [prompt.clone()],
            expect![[r#"
                {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Hello"},"messageId":"m-1"}
            "#]],
        );
    }
}

#[test]
fn empty_events_write_no_lines() {
    for profile in ALL {
        check_silent(profile, AgentEvent::message(""));
        check_silent(profile, AgentEvent::thought(""));
        check_silent(
            profile,
            event(json!({"type": "user_message", "message_id": "m", "content": []})),
        );
        check_silent(
            profile,
            event(json!({"type": "fs_watch", "subscription_id": "w", "events": []})),
        );
        check_silent(
            profile,
            event(json!({"type": "log", "level": "info", "message": ""})),
        );
        check_silent(
            profile,
            event(json!({"type": "progress", "phase": "p", "message": ""})),
        );
        check_silent(profile, AgentEvent::SessionInfo(SessionInfo::default()));
        check_silent(profile, event(json!({"type": "progress_reported"})));
    }
}

#[test]
fn extension_takes_the_form_of_its_profile() {
    let progress = || {
        [AgentEvent::Progress(Box::new(Progress {
            phase: "index".to_owned(),
            message: "Reading".to_owned(),
            progress: Some(3),
            total: Some(10),
            data: None,
        }))]
    };
    check(
        Profile::Harn,
        progress(),
        expect![[r#"
            {"sessionUpdate":"progress","_meta":{"harn":{"phase":"index","message":"Reading","progress":3,"total":10}}}
        "#]],
    );
    check(
        Profile::Meta,
        progress(),
        expect![[r#"
            {"sessionUpdate":"session_info_update","_meta":{"harn":{"sessionUpdate":"progress","phase":"index","message":"Reading","progress":3,"total":10}}}
        "#]],
    );
    check(
        Profile::Acp,
        progress(),
        expect![[r#"
            {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"\n\nReading (3 of 10)\n\n"},"messageId":"note-7"}
        "#]],
    );
}

#[test]
fn client_receives_only_the_extensions_on_its_list() {
    let log = event(json!({"type": "log", "level": "info", "message": "here"}));
    let progress = event(json!({"type": "progress", "phase": "p", "message": "here"}));
    for profile in [Profile::Harn, Profile::Meta] {
        let extensions = ExtensionSet::from_names(["log"]);
        let projector = live_projector(Dialect {
            extensions,
            ..profile.into()
        });
        assert_eq!(
            lines(&projector, log.clone()),
            lines(&live_projector(profile), log.clone())
        );
        assert_eq!(lines(&projector, progress.clone()), [] as [Value; 0]);
        // The list covers session updates only; agent events are always sent.
        let seam = AgentEvent::LoopCheckpoint(LoopCheckpoint {
            iteration: 2,
            seam: Seam::PreCompact,
            delivered: 1,
            dispatch_skipped: false,
        });
        assert_eq!(lines(&projector, seam).len(), 1);
    }
}

fn worker(event: WorkerEvent, cycle: u64, metadata: WorkerMetadata) -> AgentEvent {
    AgentEvent::WorkerUpdate(Box::new(WorkerUpdate {
        worker_id: "w".into(),
        worker_name: "tester".to_owned(),
        worker_task: "Run the tests".to_owned(),
        worker_mode: "sub_agent".to_owned(),
        event,
        cycle,
        retriggerable: true,
        metadata,
        audit: None,
    }))
}

#[test]
fn plain_client_receives_a_worker_as_one_call_per_cycle() {
    let none = WorkerMetadata::default;
    let waited = WorkerMetadata {
        awaiting_started_at: Some("2026-01-01T00:00:00Z".to_owned()),
        ..none()
    };
    let failed = WorkerMetadata {
        error: Some("no disk".to_owned()),
        ..none()
    };
    check(
        Profile::Acp,
        [
            worker(WorkerEvent::WorkerSpawned, 1, none()),
            worker(WorkerEvent::WorkerWaitingForInput, 1, waited.clone()),
            worker(WorkerEvent::WorkerProgressed, 1, none()),
            worker(WorkerEvent::WorkerSpawned, 2, none()),
            worker(WorkerEvent::WorkerFailed, 2, failed),
            // A worker that ends while it waits has no open call.
            worker(WorkerEvent::WorkerCancelled, 2, waited),
        ],
        expect![[r#"
            {"sessionUpdate":"tool_call","toolCallId":"worker-w-1","title":"tester: Run the tests","kind":"other","status":"in_progress"}
            {"sessionUpdate":"tool_call_update","toolCallId":"worker-w-1","title":"tester: Run the tests","status":"completed","content":[{"type":"content","content":{"type":"text","text":"Done for now, and waiting for input"}}]}
            {"sessionUpdate":"tool_call","toolCallId":"worker-w-2","title":"tester: Run the tests","kind":"other","status":"in_progress"}
            {"sessionUpdate":"tool_call_update","toolCallId":"worker-w-2","title":"tester: Run the tests","status":"failed","content":[{"type":"content","content":{"type":"text","text":"Failed: no disk"}}]}
            {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"\n\ntester: Cancelled\n\n"},"messageId":"note-7"}
        "#]],
    );
}

#[test]
fn plain_client_receives_a_composition_as_one_call() {
    let run = |error: Option<&str>| {
        Box::new(CompositionRun {
            run_id: "r".to_owned(),
            language: "lua".to_owned(),
            stdout: Some("2 files".to_owned()),
            error: error.map(str::to_owned),
            ..CompositionRun::default()
        })
    };
    check(
        Profile::Acp,
        [
            AgentEvent::CompositionStart(run(None)),
            AgentEvent::CompositionFinish(run(None)),
            AgentEvent::CompositionError(run(Some("too deep"))),
        ],
        expect![[r#"
            {"sessionUpdate":"tool_call","toolCallId":"composition-r","title":"Composition: lua","kind":"other","status":"in_progress"}
            {"sessionUpdate":"tool_call_update","toolCallId":"composition-r","title":"Composition: lua","status":"completed","content":[{"type":"content","content":{"type":"text","text":"2 files"}}]}
            {"sessionUpdate":"tool_call_update","toolCallId":"composition-r","title":"Composition: lua","status":"failed","content":[{"type":"content","content":{"type":"text","text":"too deep"}}]}
        "#]],
    );
}

#[test]
fn agent_event_fields_are_beside_the_session_id() {
    let report = ProgressReport {
        message: None,
        entries: Vec::new(),
        replace: true,
        metadata: Value::Null,
    };
    let events = || {
        [
            AgentEvent::ProgressReported(Box::new(report.clone())),
            event(json!({"type": "session_closed", "reason": "client", "status": "closed"})),
        ]
    };
    let both = expect![[r#"
        {"sessionId":"s","kind":"progress_reported","message":null,"entries":[],"replace":true,"metadata":null}
        {"sessionId":"s","kind":"session_closed","reason":"client","status":"closed"}
    "#]];
    check(Profile::Harn, events(), &both);
    check(Profile::Meta, events(), both);
    check(Profile::Acp, events(), expect![[""]]);
    let replay = UpdateProjector::new(&"s".into(), Profile::Harn, true);
    let [_, closed] = events();
    assert_eq!(lines(&replay, closed), [] as [Value; 0]);
}
