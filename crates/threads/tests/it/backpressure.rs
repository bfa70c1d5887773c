//! A client that sends requests and reads no answers is not read any more: it costs only what a queue stores.

use std::time::Duration;

use harn_testkit::{ScriptedAgent, TestHub};
use harn_threads::{IncomingLine, ThreadsConfig, outgoing, serve_connection};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};

/// More than all queues on the way store together.
const ASKED: usize = 2000;

/// Returns how many requests were accepted from a client that reads no answer.
async fn count_accepted_requests(request: impl Fn(usize) -> Value) -> usize {
    let test = TestHub::new(ScriptedAgent::silent());
    let config = ThreadsConfig {
        alone: false,
        directory: test.workspace(),
        version: "0.0.0".to_owned(),
    };
    let (to, incoming) = mpsc::channel(1);
    let (outgoing, _unread) = outgoing();
    let hub = test.hub().clone();
    let serving = tokio::spawn(serve_connection(hub, config, incoming, outgoing));
    let mut taken = 0;
    while taken < ASKED {
        let line = IncomingLine::Text(request(taken).to_string());
        match timeout(Duration::from_secs(1), to.send(line)).await {
            Ok(sent) => sent.unwrap(),
            Err(_) => break,
        }
        taken += 1;
    }
    serving.abort();
    taken
}

fn request(id: usize, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn unread_lists_stop_the_reading() {
    let taken = count_accepted_requests(|id| request(id, "thread.list", json!({}))).await;
    assert!(taken < ASKED / 2, "{taken}");
}

#[tokio::test]
async fn unread_errors_of_unknown_threads_stop_the_reading() {
    let other = |id| json!({"threadId": format!("ses_{id}")});
    let gets = count_accepted_requests(|id| request(id, "thread.get", other(id))).await;
    assert!(gets < ASKED / 2, "{gets}");
    let cancels = count_accepted_requests(|id| request(id, "turn.cancel", other(id))).await;
    assert!(cancels < ASKED / 2, "{cancels}");
}

#[tokio::test]
async fn unread_errors_of_creations_stop_the_reading() {
    let nowhere = json!({"directory": "/does/not/exist"});
    let taken = count_accepted_requests(|id| request(id, "thread.create", nowhere.clone())).await;
    assert!(taken < ASKED / 2, "{taken}");
}
