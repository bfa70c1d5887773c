//! Whatever an agent reports, in whatever order, hosts see a legal conversation: random events with few ids,
//! so that they collide, come early, late, twice or without their other half, in turns that end, fail, are
//! cancelled or never end.
//!
//! What leaves is held to the rules of `harn_acp::conformance`, to an oracle that shares nothing with it, to
//! both editions of ACP and our schemas; and a replay shows what was shown live.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

#[path = "../wire/checks.rs"]
mod checks;
#[path = "../wire/editions.rs"]
mod editions;
#[path = "../wire/extensions.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of the wire, which need more of it"
)]
mod extensions;
#[path = "../wire/lines.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of the wire, which need more of it"
)]
mod lines;
mod oracle;
mod strategy;

use std::{
    collections::VecDeque,
    fs,
    path::Path,
    sync::{Arc, Mutex, OnceLock},
};

use harn_acp::conformance::Checker;
use harn_model::{Actor, ContentBlock, MessageId, StopReason, SystemReminder};
use harn_runtime::{AgentError, Controller, Question, TurnContext};
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::{Audience, Heard};
use proptest::{
    prelude::*,
    sample::{Index, select},
};
use serde_json::Value;

use oracle::Oracle;
use strategy::{Act, Ending, Turn, Wish, turns};

type Script = Arc<Mutex<VecDeque<Turn>>>;

/// Whoever steers the session, and the messages they handed over.
#[derive(Default)]
struct Steering {
    session: OnceLock<Controller>,
    said: Mutex<Vec<MessageId>>,
}

impl Steering {
    async fn want(&self, wish: Wish) {
        let session = self.session.get().unwrap();
        let actor = || Actor {
            client_id: "host".to_owned(),
            role: "host_owner".to_owned(),
            source: "test".to_owned(),
        };
        let said = |at: usize| self.said.lock().unwrap().get(at).cloned();
        let text = |text: &str| vec![ContentBlock::text(text)];
        // What is refused is told too, and no reason to stop.
        match wish {
            Wish::Say(mode) => {
                let named = |id: &MessageId| self.said.lock().unwrap().push(id.clone());
                let _ = session.inject(mode, text(MORE), actor(), named).await;
            }
            Wish::Unsay(at) => {
                let id = said(at).unwrap_or_else(|| "none".into());
                let _ = session.revoke_inject(id, actor()).await;
            }
            Wish::Reword(at) => {
                let id = said(at).unwrap_or_else(|| "none".into());
                let _ = session.replace_inject(id, Ok(text(MORE)), actor()).await;
            }
            Wish::Remind(mode, keyed, turns) => {
                let reminder = SystemReminder {
                    dedupe_key: keyed.then(|| "key".to_owned()),
                    ttl_turns: Some(turns),
                    ..SystemReminder::new("", "keep it in mind")
                };
                let _ = session.remind(mode, reminder, actor()).await;
            }
        }
    }
}

/// What is said meanwhile, and so what a call for a message that waited is prompted with.
const MORE: &str = "more";

async fn act(
    script: &Script,
    steering: &Steering,
    cx: &TurnContext,
) -> Result<StopReason, AgentError> {
    if cx.prompt_text() == MORE {
        return Ok(StopReason::EndTurn);
    }
    let turn = script.lock().unwrap().pop_front().unwrap();
    for act in turn.acts {
        let done = match act {
            Act::Report(event) => cx.emit(event).await,
            Act::Ask(question, false) => cx.ask(question).await.map(drop),
            Act::Ask(question, true) => ask_through_worker(cx, question).await,
            Act::Want(wish) => {
                steering.want(wish).await;
                Ok(())
            }
            Act::Pass(seam) => cx.seam(seam).await.map(drop),
        };
        match done {
            // The turn may be over already; some events are refused, which is as good as never reported.
            Ok(()) | Err(AgentError::Cancelled | AgentError::Failed(_)) => {}
            Err(error) => return Err(error),
        }
    }
    match turn.ending {
        Ending::Stop | Ending::CancelAtOnce => Ok(StopReason::EndTurn),
        Ending::Fail => Err(AgentError::Failed("it did not work".to_owned())),
        Ending::Hang => {
            cx.cancelled().await;
            Ok(StopReason::EndTurn)
        }
        Ending::HangForever => std::future::pending().await,
    }
}

/// Has a worker ask, and waits until it is done.
async fn ask_through_worker(cx: &TurnContext, question: Question) -> Result<(), AgentError> {
    let asker = ScriptedAgent::new(move |cx| {
        let question = question.clone();
        async move { cx.ask(question).await.map(|_| StopReason::EndTurn) }
    });
    let worker = cx.worker("tester").task("look").agent(Arc::new(asker));
    worker.start().await?.finished().await;
    Ok(())
}

async fn play(turns: Vec<Turn>, profile: &str) -> Audience {
    let script: Script = Arc::new(Mutex::new(turns.iter().cloned().collect()));
    let steering = Arc::new(Steering::default());
    let steers = steering.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let (script, steering) = (script.clone(), steers.clone());
        async move { act(&script, &steering, &cx).await }
    });
    let mut audience = Audience::open(TestHub::new(agent), profile).await;
    let (test, session) = audience.session();
    let session = test.hub().open(&session.into(), None).await.unwrap();
    let _ = steering.session.set(session);
    for turn in turns {
        let at_once = turn.ending == Ending::CancelAtOnce;
        let answer = audience.play("go", at_once).await;
        let failed = turn.ending == Ending::Fail;
        assert_eq!(answer.is_err(), failed, "{answer:?}");
        if at_once {
            // The agent may not have been started; its script is for the next turn then.
            break;
        }
    }
    audience
}

/// Keeps the first lines of a log, as a process that died at that moment would.
fn cut(log: &Path, at: Index) {
    let text = fs::read_to_string(log).unwrap();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let kept = &lines[..at.index(lines.len() + 1)];
    fs::write(log, kept.concat()).unwrap();
}

/// A terminal of a process that is gone is not shown again. An announcement that showed nothing else shows
/// nothing; an update says that nothing is shown any more.
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

/// Holds the messages of one client to every rule there is. Nothing is left open at the end.
fn check(transcript: &str) {
    let mut checker = Checker::new();
    let findings: Vec<_> = transcript
        .lines()
        .flat_map(|line| checker.line(line))
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
        if let Err(problem) = oracle.take(to_client, &message) {
            panic!("{problem}: {message}\n{transcript}");
        }
    }
    if let Err(problem) = oracle.settled() {
        panic!("{problem}\n{transcript}");
    }
    for line in lines::lines(messages()) {
        checks::check("a random session", &line);
    }
}

fn check_all(heard: Heard) {
    for transcript in &heard.transcripts {
        check(transcript);
    }
    let live = heard.live.into_iter();
    let live = live.filter(|line| line["params"]["kind"] != "session_closed");
    let live: Vec<_> = live.map(without_terminals).collect();
    for (live, replayed) in live.iter().zip(&heard.replayed) {
        assert_eq!(live, replayed, "a replay differs from what was lived");
    }
    assert_eq!(live.len(), heard.replayed.len());
}

fn in_no_time<T>(work: impl Future<Output = T>) -> T {
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
    fn hosts_see_a_legal_conversation(
        turns in turns(),
        profile in select(&["harn", "meta", "acp"][..]),
    ) {
        check_all(in_no_time(async { play(turns, profile).await.end().await }));
    }

    /// Whenever the process dies, what is loaded afterwards is legal, and settled.
    #[test]
    fn a_crash_leaves_a_legal_conversation(
        turns in turns(),
        profile in select(&["harn", "meta", "acp"][..]),
        at: Index,
    ) {
        let heard = in_no_time(async {
            play(turns, profile).await.end_with(|log| cut(log, at)).await
        });
        let [_, _, loaded] = &heard.transcripts;
        check(loaded);
    }
}
