//! A client that stops reading costs a bounded queue and a cursor: the turn ends without it, others are served,
//! and when it reads again it has missed nothing.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use crate::support_stress::{
    connect_and_initialize, in_time, kind, load_params, new_session_params, text_prompt,
};
use harn_acp::{
    AcpConfig, ConnectionError, serve_connection,
    transport::{ConnectionInput, PieceReceiver, outgoing},
};
use harn_model::{AgentEvent, Seq, SessionId, StopReason, TurnOutcome};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::initialize_params;
use serde_json::{Map, Value, json};
use tokio::{
    sync::{Notify, mpsc},
    task::JoinHandle,
};

/// The limit of output that waits for a client that does not read.
const QUEUE_BYTES: usize = 1024 * 1024;

/// Sends numbers up to the one in its prompt, or forever.
async fn count_up(cx: TurnContext) -> Result<StopReason, AgentError> {
    let end = cx.prompt_text().parse().unwrap_or(usize::MAX);
    for number in 0..end {
        if cx.is_cancelled() {
            break;
        }
        cx.say(number.to_string()).await?;
    }
    Ok(StopReason::EndTurn)
}

/// A client that reads bytes only on demand.
struct Sluggish {
    to: mpsc::Sender<ConnectionInput>,
    from: PieceReceiver,
    serving: JoinHandle<Result<(), ConnectionError>>,
    /// Bytes that were read and not parsed.
    taken: Vec<u8>,
}

impl Sluggish {
    /// Connects, initializes and opens a session; returns the id of the session.
    async fn connect(test: &TestHub) -> (Self, SessionId) {
        let (to, incoming) = mpsc::channel(16);
        let (queue, from) = outgoing();
        let connection =
            serve_connection(test.hub().clone(), AcpConfig::default(), incoming, queue);
        let mut client = Self {
            to,
            from,
            serving: tokio::spawn(connection),
            taken: Vec::new(),
        };
        client
            .send(1, "initialize", initialize_params(&Map::new()))
            .await;
        client.next_line().await;
        client
            .send(2, "session/new", new_session_params(test))
            .await;
        let made: Value = serde_json::from_slice(&client.next_line().await).unwrap();
        let session = made["result"]["sessionId"].as_str().unwrap().into();
        (client, session)
    }

    async fn send(&self, id: u64, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let line = ConnectionInput::Line(message.to_string());
        in_time("room", self.to.send(line)).await.unwrap().unwrap();
    }

    /// Reads the current content of the queue. On a runtime with one thread nothing refills it before this
    /// returns.
    fn take_queued(&mut self) -> usize {
        let before = self.taken.len();
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let next = pin!(tokio::task::unconstrained(self.from.recv()));
            match next.poll(&mut context) {
                Poll::Ready(Some(piece)) => self.taken.extend_from_slice(&piece.bytes),
                Poll::Ready(None) => panic!("the connection ended"),
                Poll::Pending => return self.taken.len() - before,
            }
        }
    }

    /// Returns the next line.
    async fn next_line(&mut self) -> Vec<u8> {
        self.next_lines().await.remove(0)
    }

    /// Returns the next lines, as many as arrived together.
    async fn next_lines(&mut self) -> Vec<Vec<u8>> {
        if self.taken.is_empty() {
            let piece = in_time("a line", self.from.recv()).await.unwrap();
            self.taken = piece.unwrap().bytes.to_vec();
        }
        let taken = std::mem::take(&mut self.taken);
        let whole = taken.strip_suffix(b"\n").unwrap();
        whole.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect()
    }

    /// Reads up to the response to a request and returns it.
    async fn read_response(&mut self, id: u64) -> Value {
        loop {
            for line in self.next_lines().await {
                let message: Value = serde_json::from_slice(&line).unwrap();
                if message["id"] == id {
                    return message;
                }
            }
        }
    }

    async fn leave(self) {
        drop(self.to);
        let ended = in_time("the end", self.serving).await.unwrap();
        ended.unwrap().unwrap();
    }
}

/// Follows a session and reads everything; returns the outcome of its first turn and the number of chunks.
async fn watch(test: &TestHub, session: &SessionId) -> (TurnOutcome, usize) {
    let session = test.hub().live_session(session).unwrap();
    let mut from = session.subscribe(Seq::ZERO);
    let mut chunks = 0;
    loop {
        let delivery = in_time("events", from.next()).await.unwrap().unwrap();
        for envelope in delivery.events() {
            match &envelope.event {
                AgentEvent::AgentMessageChunk { .. } => chunks += 1,
                AgentEvent::TurnEnded(ended) => return (ended.outcome.clone(), chunks),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn turn_ends_without_its_client_which_reads_everything_later() {
    const CHUNKS: usize = 300_000;
    let test = TestHub::new(ScriptedAgent::new(count_up));
    let (mut client, session) = Sluggish::connect(&test).await;
    let prompt = text_prompt(session.as_str(), &CHUNKS.to_string());
    client.send(3, "session/prompt", prompt).await;

    let (outcome, written) = watch(&test, &session).await;
    assert_eq!(outcome, TurnOutcome::stopped(StopReason::EndTurn));
    assert_eq!(written, CHUNKS);
    let log = std::fs::read(test.log_path(&session)).unwrap();
    let last = log.trim_ascii_end().rsplit(|&b| b == b'\n').next().unwrap();
    assert!(last.windows(10).any(|word| word == b"turn_ended"));

    let queued = client.take_queued();
    assert!(queued <= QUEUE_BYTES, "{queued} bytes wait for the client");
    assert!(
        queued > QUEUE_BYTES / 4,
        "only {queued} bytes: was it behind at all?"
    );

    let mut next = 0;
    let answer = 'reading: loop {
        for line in client.next_lines().await {
            if let Some(text) = text_of(&session, &line) {
                assert_eq!(text, next.to_string().as_bytes());
                next += 1;
            } else {
                let other: Value = serde_json::from_slice(&line).unwrap();
                if other["id"] == 3 {
                    break 'reading other;
                }
                let told = kind(&other["params"]["update"]);
                // The commands are sent first, the title last.
                assert!(
                    ["available_commands_update", "session_info_update"].contains(&told),
                    "{told}"
                );
            }
        }
    };
    assert_eq!(next, CHUNKS);
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(client.take_queued(), 0, "something came after the answer");
    client.leave().await;
}

#[tokio::test]
async fn server_stops_reading_requests_of_a_client_that_does_not_read() {
    const PLENTY: u64 = 100_000;
    let test = TestHub::new(ScriptedAgent::new(count_up));
    let (mut client, _) = Sluggish::connect(&test).await;
    // Responses large enough to fill the queue soon.
    let method = "x".repeat(2048);
    let ask = |id: u64| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}});
        ConnectionInput::Line(message.to_string())
    };
    let mut asked = 0;
    while asked < PLENTY && try_send(&client.to, ask(100 + asked)).await {
        asked += 1;
    }
    assert!(asked > 500, "only {asked} were taken");
    assert!(
        asked < 10_000,
        "{asked} were taken from a client that does not read"
    );
    // Once the client reads, the server answers every request in order and reads again.
    let mut answered = 0;
    while answered < asked {
        for line in client.next_lines().await {
            let line: Value = serde_json::from_slice(&line).unwrap();
            if line["method"] == "session/update" {
                continue;
            }
            assert_eq!(line["id"], 100 + answered);
            assert_eq!(line["error"]["code"], -32601);
            answered += 1;
        }
    }
    client.send(3, "session/list", json!({})).await;
    assert_eq!(
        serde_json::from_slice::<Value>(&client.next_line().await).unwrap()["id"],
        3
    );
    client.leave().await;
}

#[tokio::test]
async fn cancel_applies_to_the_prompt_whose_response_is_unread() {
    let release = Arc::new(Notify::new());
    let released = release.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let released = released.clone();
        async move {
            if cx.prompt_text() != "wait" {
                return count_up(cx).await;
            }
            cx.say("waiting").await?;
            tokio::select! {
                () = cx.cancelled() => {}
                () = released.notified() => {}
            }
            Ok(StopReason::EndTurn)
        }
    });
    let test = TestHub::new(agent);
    let (mut client, session) = Sluggish::connect(&test).await;
    for (id, text) in [(3, "60000"), (4, "wait")] {
        let prompt = text_prompt(session.as_str(), text);
        client.send(id, "session/prompt", prompt).await;
    }
    // The first turn ends and the second begins before the client reads anything.
    let mut from = test
        .hub()
        .live_session(&session)
        .unwrap()
        .subscribe(Seq::ZERO);
    let waiting = |event: &AgentEvent| matches!(event, AgentEvent::AgentMessageChunk { content, .. } if content == "waiting");
    loop {
        let delivery = in_time("events", from.next()).await.unwrap().unwrap();
        if delivery.events().iter().any(|e| waiting(&e.event)) {
            break;
        }
    }
    let params = json!({"sessionId": session.as_str()});
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params});
    let cancel = ConnectionInput::Line(cancel.to_string());
    client.to.send(cancel).await.unwrap();
    // The response follows the cancel, which has been read and applied by then.
    client.send(5, "session/list", json!({})).await;
    client.read_response(5).await;
    release.notify_one();
    let answer = client.read_response(4).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    client.leave().await;
}

/// Returns whether the server reads a line within many scheduler turns.
async fn try_send(to: &mpsc::Sender<ConnectionInput>, mut line: ConnectionInput) -> bool {
    for _ in 0..1000 {
        match to.try_send(line) {
            Ok(()) => return true,
            Err(mpsc::error::TrySendError::Full(back)) => line = back,
            Err(mpsc::error::TrySendError::Closed(_)) => panic!("the connection ended"),
        }
        tokio::task::yield_now().await;
    }
    false
}

/// Returns the text of a chunk. It searches the bytes instead of parsing them, because there are many.
fn text_of<'a>(session: &SessionId, line: &'a [u8]) -> Option<&'a [u8]> {
    let head = concat!(
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","#,
        r#""update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""#,
    );
    let head = head.replace("SESSION", session.as_str());
    let rest = line.strip_prefix(head.as_bytes())?;
    rest.split(|&b| b == b'"').next()
}

/// The server still reads the cancel of a client that does not read.
#[tokio::test]
async fn client_that_does_not_read_can_cancel() {
    let test = TestHub::new(ScriptedAgent::new(count_up));
    let (mut client, session) = Sluggish::connect(&test).await;
    let prompt = text_prompt(session.as_str(), "for ever");
    client.send(3, "session/prompt", prompt).await;
    // Until its queue is full and far behind.
    let mut from = test
        .hub()
        .live_session(&session)
        .unwrap()
        .subscribe(Seq::ZERO);
    while from.head() < Seq(20_000) {
        in_time("events", from.next()).await.unwrap().unwrap();
    }
    let cancel = json!({"sessionId": session.as_str()});
    client.send(4, "session/cancel", cancel).await;
    let (outcome, written) = watch(&test, &session).await;
    assert_eq!(outcome, TurnOutcome::stopped(StopReason::Cancelled));

    let (mut seen, mut answers) = (0, Vec::new());
    while answers.len() < 2 {
        for line in client.next_lines().await {
            if text_of(&session, &line).is_some() {
                seen += 1;
            } else {
                let other: Value = serde_json::from_slice(&line).unwrap();
                answers.extend(other.get("id").cloned());
            }
        }
    }
    assert_eq!(seen, written);
    // The cancel, sent as a request, was answered before the last updates of the turn.
    assert_eq!(answers, [4, 3]);
    client.leave().await;
}

/// One client does not read; another on the same session receives the turn live, and a third client's session
/// is served normally.
#[tokio::test]
async fn client_that_does_not_read_blocks_no_other_client() {
    const CHUNKS: usize = 20_000;
    let test = TestHub::new(ScriptedAgent::new(count_up));
    let (mut client, session) = Sluggish::connect(&test).await;
    let mut watcher = connect_and_initialize(&test).await;
    watcher
        .request("session/resume", load_params(&test, session.as_str()))
        .await;
    let prompt = text_prompt(session.as_str(), &CHUNKS.to_string());
    client.send(3, "session/prompt", prompt).await;
    let prompted = watcher.expect_update_of("user_message_chunk").await;
    assert_eq!(prompted["content"]["text"], CHUNKS.to_string());
    for number in 0..CHUNKS {
        let update = watcher.expect_update_of("agent_message_chunk").await;
        assert_eq!(update["content"]["text"], number.to_string());
    }
    watcher.expect_update_of("session_info_update").await;
    watcher.close().await;

    let mut third = connect_and_initialize(&test).await;
    let own = crate::support_stress::open(&mut third, &test).await;
    let id = third
        .send_request("session/prompt", text_prompt(&own, "3"))
        .await;
    let (updates, _) = third.collect_updates_until(&id).await;
    assert_eq!(updates.len(), 4, "three numbers and a title");
    third.close().await;

    let queued = client.take_queued();
    assert!(queued <= QUEUE_BYTES, "{queued} bytes wait for the client");
    drop(client);
    test.hub().shutdown().await;
}
