//! Hosts receive a legal conversation whatever an agent reports, in whatever order: random events with few ids,
//! so that they collide, are early, late, repeated or incomplete, in turns that end, fail, are cancelled or
//! never end.
//!
//! The output must satisfy the rules of `harn_conformance`, an oracle that shares nothing with it, both
//! editions of ACP and our schemas; and a replay must equal the live stream.

mod oracle;
pub(crate) mod play;
pub(crate) mod strategy;

use std::{fs, path::Path};

use harn_conformance::Checker;
use harn_model::{AgentEvent, ToolCall, ToolCallStatus};
use harn_tests::Heard;
use proptest::{
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Value, json};

use oracle::Oracle;
use play::play;
use strategy::{Act, Ending, Turn, ask_about, turns};

/// Keeps the first lines of a log, as a process that died at that moment would.
fn truncate_log(log: &Path, at: Index) {
    let text = fs::read_to_string(log).unwrap();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let kept = &lines[..at.index(lines.len() + 1)];
    fs::write(log, kept.concat()).unwrap();
}

/// Removes terminals, because a replay does not show those of an ended process. An announcement loses its empty
/// `content`; an update keeps it, which clears the display.
fn without_terminals(mut line: Value) -> Value {
    if let Some(Value::Object(update)) = line.pointer_mut("/params/update")
        && let Some(Value::Array(content)) = update.get_mut("content")
    {
        content.retain(|part| part["type"] != "terminal");
        if content.is_empty() && update["sessionUpdate"] == "tool_call" {
            update.remove("content");
        }
    }
    line
}

/// Checks the messages of one client against every rule. Nothing may be open at the end.
fn check(transcript: &str) {
    let mut checker = Checker::new();
    let findings: Vec<_> = transcript
        .lines()
        .flat_map(|line| checker.check_line(line))
        .map(|finding| format!("{}: {finding}", finding.line))
        .collect();
    assert!(findings.is_empty(), "{findings:#?}\n{transcript}");

    let messages = || {
        transcript.lines().map(|line| {
            let mut entry: Value = serde_json::from_str(line).unwrap();
            (entry["to"] == "client", entry["message"].take())
        })
    };
    let mut oracle = Oracle::default();
    for (to_client, message) in messages() {
        if let Err(problem) = oracle.check_message(to_client, &message) {
            panic!("{problem}: {message}\n{transcript}");
        }
    }
    if let Err(problem) = oracle.check_settled() {
        panic!("{problem}\n{transcript}");
    }
    for line in crate::wire::lines::lines(messages()) {
        crate::wire::checks::check("a random session", &line);
    }
}

/// Whether a replay omits this line: the loaded session is open, and has the tools and servers of another
/// process.
fn is_live_only(line: &Value) -> bool {
    let params = &line["params"];
    let kinds = ["session_closed", "tools_changed"];
    kinds.iter().any(|kind| params["kind"] == *kind)
        || !params["update"]["_meta"]["harn"]["mcp"].is_null()
}

fn check_all(heard: Heard) {
    for transcript in &heard.transcripts {
        check(transcript);
    }
    let live = heard.live.into_iter();
    let live = live.filter(|line| !is_live_only(line));
    let live: Vec<_> = live.map(without_terminals).collect();
    for (live, replayed) in live.iter().zip(&heard.replayed) {
        assert_eq!(live, replayed, "a replay differs from what was lived");
    }
    assert_eq!(live.len(), heard.replayed.len());
}

/// Returns the capabilities that a client of this profile declares.
fn capabilities_of(profile: &str) -> Value {
    json!({"profile": profile, "hostBridge": true})
}

/// A question that is withdrawn at once still precedes the end of its call.
#[test]
fn question_precedes_the_end_of_its_call() {
    let mut ended = ToolCall::new("a", "look");
    ended.status = ToolCallStatus::Completed;
    let ended = Act::Report(AgentEvent::ToolCall(Box::new(ended)));
    let acts = vec![ask_about("a", false), ended];
    let ending = Ending::CancelAtOnce;
    let turns = vec![Turn { acts, ending }];
    for profile in ["harn", "meta", "acp"] {
        let turns = turns.clone();
        check_all(run_with_paused_clock(async {
            play(turns, &capabilities_of(profile)).await.end().await
        }));
    }
}

fn run_with_paused_clock<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 80,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn hosts_receive_a_legal_conversation(
        turns in turns(),
        profile in select(&["harn", "meta", "acp"][..]),
    ) {
        check_all(run_with_paused_clock(async { play(turns, &capabilities_of(profile)).await.end().await }));
    }

    /// Whenever the process dies, the loaded conversation is legal and settled.
    #[test]
    fn crash_leaves_a_legal_conversation(
        turns in turns(),
        profile in select(&["harn", "meta", "acp"][..]),
        at: Index,
    ) {
        let heard = run_with_paused_clock(async {
            play(turns, &capabilities_of(profile)).await.end_with(|log| truncate_log(log, at)).await
        });
        let [_, _, loaded] = &heard.transcripts;
        check(loaded);
    }
}
