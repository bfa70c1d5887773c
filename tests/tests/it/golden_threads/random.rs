//! Random turns: a history that is fetched at any moment equals the notifications sent so far, before and after
//! a restart; and a crash leaves no turn open.

use std::{
    collections::VecDeque,
    fs,
    sync::{Arc, Mutex},
};

use harn_model::StopReason;
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{MessageFromAgent, ScriptedAgent, TestHub, ThreadScreen, ThreadsClient};
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use crate::projector::strategy::{Act, Ending, Turn, turns};

type Script = Arc<Mutex<VecDeque<Turn>>>;

/// The text that an agent sends before it waits for a cancel.
const WAITING: &str = "I wait.";

async fn act(script: &Script, cx: &TurnContext) -> Result<StopReason, AgentError> {
    let Some(turn) = script.lock().unwrap().pop_front() else {
        return Ok(StopReason::EndTurn);
    };
    for act in turn.acts {
        let done = match act {
            Act::Report(event) => cx.emit(event).await,
            Act::Ask(question, _) => cx.ask(question).await.map(drop),
            Act::Pass(seam) => cx.seam(seam).await.map(drop),
            // This test does not steer, and has no equipment to change.
            Act::Want(_) | Act::Equip(_) => Ok(()),
        };
        match done {
            // The turn may be over already. Some events are rejected; they count as never reported.
            Ok(()) | Err(AgentError::Cancelled | AgentError::Failed(_)) => {}
            Err(error) => return Err(error),
        }
    }
    match turn.ending {
        Ending::Stop | Ending::CancelAtOnce => Ok(StopReason::EndTurn),
        Ending::Fail => Err(AgentError::Failed("it did not work".to_owned())),
        Ending::Hang => {
            cx.say(WAITING).await?;
            cx.cancelled().await;
            Ok(StopReason::EndTurn)
        }
        Ending::HangForever => {
            cx.say(WAITING).await?;
            std::future::pending().await
        }
    }
}

fn fold_history(got: &Value) -> ThreadScreen {
    let mut screen = ThreadScreen::default();
    let events = got["events"].as_array().unwrap();
    events.iter().for_each(|event| screen.fold(event));
    screen
}

/// A client that fetches the history after every five notifications.
struct Watcher {
    client: ThreadsClient,
    thread: String,
    screen: ThreadScreen,
    lines: usize,
    looks: Vec<Value>,
}

impl Watcher {
    async fn send(&mut self, method: &str, params: Value) -> Value {
        self.client.send_request(method, params).await
    }

    fn thread_params(&self) -> Value {
        json!({"threadId": self.thread})
    }

    /// Reads a line; returns it if it is a notification.
    async fn read(&mut self) -> Option<Value> {
        match self.client.next().await {
            MessageFromAgent::Notification { params, .. } => {
                self.screen.fold(&params);
                self.lines += 1;
                if self.lines.is_multiple_of(5) {
                    let look = self.send("thread.get", self.thread_params()).await;
                    self.looks.push(look);
                }
                Some(params)
            }
            MessageFromAgent::Response { id, result } => {
                // The response to a decision may be an error, because it was too late.
                if self.looks.contains(&id) {
                    assert_eq!(fold_history(&result.unwrap()), self.screen);
                }
                None
            }
            MessageFromAgent::Request { .. } => panic!("nothing is asked"),
        }
    }

    async fn play(&mut self, ending: Ending) {
        let input = json!([{"type": "text", "text": "go"}]);
        let start = json!({"threadId": self.thread, "input": input});
        self.send("turn.start", start).await;
        if ending == Ending::CancelAtOnce {
            self.send("turn.cancel", self.thread_params()).await;
        }
        loop {
            let Some(params) = self.read().await else {
                continue;
            };
            match params["notification"].as_str().unwrap() {
                "turn.completed" | "turn.error" => break,
                "approval.requested" => {
                    let word = ["once", "always", "reject"][self.lines % 3];
                    let decision = json!({"requestId": params["requestId"], "decision": word});
                    self.send("approval.respond", decision).await;
                }
                "item.delta" if params["delta"] == WAITING => {
                    self.send("turn.cancel", self.thread_params()).await;
                }
                _ => {}
            }
        }
        assert!(self.screen.is_settled());
        // A thread answers in order, so no request is outstanding after this.
        let last = self.send("thread.get", self.thread_params()).await;
        self.looks.push(last.clone());
        loop {
            match self.client.next().await {
                MessageFromAgent::Response { id, result } => {
                    if self.looks.contains(&id) {
                        assert_eq!(fold_history(&result.unwrap()), self.screen);
                    }
                    if id == last {
                        break;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

async fn play(turns: Vec<Turn>, cut: Index) {
    let script: Script = Arc::new(Mutex::new(turns.iter().cloned().collect()));
    let agent = ScriptedAgent::new(move |cx| {
        let script = script.clone();
        async move { act(&script, &cx).await }
    });
    let mut test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let mut watcher = Watcher {
        client,
        thread,
        screen: ThreadScreen::default(),
        lines: 0,
        looks: Vec::new(),
    };
    for turn in turns {
        watcher.play(turn.ending).await;
        if turn.ending == Ending::CancelAtOnce {
            // The agent may not have been started; then its script would be used by the next turn.
            break;
        }
    }
    let (get, screen) = (watcher.thread_params(), watcher.screen);
    let thread = watcher.thread;
    watcher.client.close().await;

    test.restart().await;
    let mut client = test.connect_threads();
    let got = client.request("thread.get", get.clone()).await;
    assert_eq!(fold_history(&got), screen, "after a restart");
    client.close().await;

    test.hub().shutdown().await;
    let log = test.log_path(&thread.as_str().into());
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    fs::write(&log, lines[..cut.index(lines.len() + 1)].concat()).unwrap();
    test.restart().await;
    let mut client = test.connect_threads();
    let got = client.request("thread.get", get).await;
    assert!(fold_history(&got).is_settled(), "after a crash");
    client.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn history_equals_the_sent_notifications(turns in turns(), cut: Index) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        runtime.unwrap().block_on(play(turns, cut));
    }
}
