//! Clients whose connections break at any moment, over WebSockets and event streams, with requests that arrive
//! late: each client ends up with exactly the lines of the journal, and no answer arrives twice.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    server::{
        EventStreamReader, HttpTestClient, LONG, OWNER, PATIENCE, TestServer, TestServerConfig,
        initialize_request,
    },
    websockets,
};

const TURNS: usize = 5;
const WATCHERS: usize = 3;

/// Random numbers from a seed: `HARN_SEED` if it is set. A failing test prints its seed.
#[derive(Clone)]
struct SeededRandom {
    seed: u64,
    drawn: u64,
}

impl SeededRandom {
    fn new() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test has no composition root that could hand it in"
        )]
        let given = std::env::var("HARN_SEED").ok();
        let given = given.and_then(|word| word.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
        Self { seed, drawn: 0 }
    }

    /// Returns an independent sequence for a concurrent task.
    fn fork(&self, who: usize) -> Self {
        let drawn = (who as u64) << 32;
        Self { drawn, ..*self }
    }

    fn next_below(&mut self, end: usize) -> usize {
        use sha2::{Digest, Sha256};
        self.drawn += 1;
        let words = format!("{}-{}", self.seed, self.drawn);
        let sum = Sha256::digest(words.as_bytes());
        let number = u16::from_le_bytes([sum[0], sum[1]]);
        usize::from(number) % end
    }
}

impl Drop for SeededRandom {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to see this again: HARN_SEED={}", self.seed);
        }
    }
}

/// A line of the session, with its event id.
type SessionLine = (String, Value);

fn is_last(line: &Value) -> bool {
    line["params"]["update"]["content"]["text"] == LONG
}

fn open_params(server: &TestServer, session: &str) -> Value {
    json!({"sessionId": session, "cwd": server.dir.path(), "mcpServers": []})
}

/// Watches over one WebSocket after the other.
async fn watch_over_sockets(
    server: &TestServer,
    session: &str,
    mut chance: SeededRandom,
) -> Vec<SessionLine> {
    let mut heard: Vec<SessionLine> = Vec::new();
    let mut hello = initialize_request();
    hello["params"]["clientCapabilities"]["_meta"]["harn"]["eventIds"] = json!(true);
    let bearer = format!("Bearer {OWNER}");
    loop {
        let query = heard.last().map(|(id, _)| format!("?lastEventId={id}"));
        let (mut socket, _) = websockets::connect(
            server,
            &query.unwrap_or_default(),
            &[("authorization", &bearer)],
        )
        .await;
        websockets::send(&mut socket, &hello).await;
        let load = json!({
            "jsonrpc": "2.0", "id": 1, "method": "session/load", "params": open_params(server, session),
        });
        websockets::send(&mut socket, &load).await;
        for _ in 0..chance.next_below(90) {
            let line = websockets::receive_json(&mut socket).await;
            let Some(id) = line["params"]["_meta"]["harn"]["eventId"].as_str() else {
                continue;
            };
            let last = is_last(&line);
            heard.push((id.to_owned(), line));
            if last {
                return heard;
            }
        }
    }
}

/// A watcher over event streams.
struct StreamWatcher<'a> {
    server: &'a TestServer,
    session: &'a str,
    chance: SeededRandom,
    heard: Vec<SessionLine>,
    /// The last id received, including ids of lines that are no events.
    last: Option<String>,
    asked: Vec<u64>,
    answered: HashSet<u64>,
    /// Streams that the watcher no longer reads.
    stale: Vec<EventStreamReader>,
}

impl StreamWatcher<'_> {
    /// Opens another connection, which continues after the last event of the earlier one.
    async fn reconnect(&mut self) -> (HttpTestClient, EventStreamReader) {
        let mut http = self.server.initialize(OWNER).await;
        let events = http.open_stream(Some(self.session), None).await.unwrap();
        let mut params = open_params(self.server, self.session);
        if let Some((id, _)) = self.heard.last() {
            params["lastEventId"] = json!(id);
        }
        self.last = None;
        self.answered.clear();
        self.asked = vec![http.request("session/load", params).await];
        (http, events)
    }

    /// Reopens the stream on the same connection, sometimes after a late request with an older event id.
    async fn reopen_stream(
        &mut self,
        http: &mut HttpTestClient,
        events: EventStreamReader,
    ) -> EventStreamReader {
        match self.chance.next_below(3) {
            0 => drop(events),
            _ => self.stale.push(events),
        }
        self.stale.truncate(4);
        if self.chance.next_below(2) == 0 {
            let mode = json!({"sessionId": self.session, "modeId": "ask"});
            self.asked
                .push(http.request("session/set_mode", mode).await);
        }
        if self.chance.next_below(3) == 0 && !self.heard.is_empty() {
            let at = self.chance.next_below(self.heard.len());
            let late = http
                .open_stream(Some(self.session), Some(&self.heard[at].0))
                .await;
            let mut late = late.expect("a place that was");
            for _ in 0..self.chance.next_below(4) {
                late.next().await;
            }
            self.stale.push(late);
        }
        let back = http
            .open_stream(Some(self.session), self.last.as_deref())
            .await;
        back.expect("a place that was")
    }

    async fn watch(mut self) -> Vec<SessionLine> {
        let (mut http, mut events) = self.reconnect().await;
        let mut done = false;
        loop {
            for _ in 0..self.chance.next_below(90) {
                if done && self.answered.len() == self.asked.len() {
                    return self.heard;
                }
                let Some((id, line)) = events.next().await else {
                    break;
                };
                if let (None, Some(answer)) = (line.get("method"), line["id"].as_u64()) {
                    assert!(self.answered.insert(answer), "{answer} was answered twice");
                }
                self.last = Some(id.clone());
                if !id.contains('+') && !done {
                    done = is_last(&line);
                    self.heard.push((id, line));
                }
            }
            if self.last.is_none() || (!done && self.chance.next_below(5) == 0) {
                (http, events) = self.reconnect().await;
            } else {
                events = self.reopen_stream(&mut http, events).await;
            }
        }
    }
}

#[tokio::test]
async fn clients_with_broken_connections_receive_the_whole_journal() {
    let chance = SeededRandom::new();
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut driver = websockets::open(&server, OWNER).await;
    let session = websockets::create_session(&server, &mut driver).await;
    let drive = async {
        let mut chance = chance.fork(1);
        for turn in 0..=TURNS {
            let text = match turn {
                TURNS => "long 1".to_owned(),
                _ => format!("count {}", 50 + chance.next_below(300)),
            };
            let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
            websockets::request(&mut driver, 10 + turn as u64, "session/prompt", params).await;
        }
    };
    let sockets =
        (0..WATCHERS).map(|nth| watch_over_sockets(&server, &session, chance.fork(2 + nth)));
    let streams = (0..WATCHERS).map(|nth| {
        let watcher = StreamWatcher {
            server: &server,
            session: &session,
            chance: chance.fork(100 + nth),
            heard: Vec::new(),
            last: None,
            asked: Vec::new(),
            answered: HashSet::new(),
            stale: Vec::new(),
        };
        watcher.watch()
    });
    let all = async {
        let sockets = futures::future::join_all(sockets);
        let streams = futures::future::join_all(streams);
        tokio::join!(drive, sockets, streams)
    };
    let ((), sockets, streams) = timeout(PATIENCE, all).await.expect("the end");

    // A new client receives exactly the journal.
    let mut http = server.initialize(OWNER).await;
    let mut events = http.open_stream(Some(&session), None).await.unwrap();
    http.request("session/load", open_params(&server, &session))
        .await;
    let mut journal = Vec::new();
    while !journal.last().is_some_and(|(_, line)| is_last(line)) {
        let (id, line) = events.next().await.unwrap();
        if !id.contains('+') {
            journal.push((id, line));
        }
    }
    for heard in sockets.iter().chain(&streams) {
        let differs = heard
            .iter()
            .zip(&journal)
            .find(|(heard, kept)| heard != kept);
        assert_eq!(differs, None);
        assert_eq!(heard.len(), journal.len());
    }
}
