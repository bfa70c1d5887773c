//! An event stream that breaks often and at any line, and resumes: no line or answer is lost or arrives twice.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};

use super::server::{HttpTestClient, OWNER, TestServer, TestServerConfig};

/// The part of a session that a client has received.
#[derive(Default)]
struct StreamProgress {
    last: Option<String>,
    text: String,
    answers: Vec<Value>,
    ids: HashSet<String>,
}

impl StreamProgress {
    fn record(&mut self, (id, line): (String, Value)) {
        assert!(self.ids.insert(id.clone()), "{id} came twice");
        self.last = Some(id);
        let update = &line["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            self.text
                .push_str(update["content"]["text"].as_str().unwrap());
        }
        if line.get("method").is_none() {
            self.answers.push(line["id"].clone());
        }
    }
}

fn expected_text(count: usize) -> String {
    (0..count).map(|number| format!("{number};")).collect()
}

async fn prompt(http: &mut HttpTestClient, session: &str, text: String) -> u64 {
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    http.request("session/prompt", prompt).await
}

#[tokio::test]
async fn broken_stream_resumes_without_loss_or_duplicates() {
    const COUNT: usize = 3000;
    // How many lines arrive before each break.
    let cuts = [1, 2, 3, 5, 700, 1, 400, 999, 13, 1];
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut http = server.initialize(OWNER).await;
    let (session, _own) = http.create_session(server.dir.path()).await;
    let mut events = http.open_stream(Some(&session), None).await.unwrap();
    let (mut heard, expected) = (StreamProgress::default(), expected_text(COUNT));
    let mut asked = vec![prompt(&mut http, &session, format!("count {COUNT}")).await];
    for (nth, cut) in cuts.into_iter().enumerate() {
        for _ in 0..cut {
            heard.record(events.next().await.unwrap());
        }
        // Some streams break before the next is opened; others are replaced while they are open.
        if nth % 2 == 0 {
            drop(events);
        }
        // The answer is produced between two streams.
        let mode = ["ask", "read-only"][nth % 2];
        let mode = json!({"sessionId": session, "modeId": mode});
        asked.push(http.request("session/set_mode", mode).await);
        events = http
            .open_stream(Some(&session), heard.last.as_deref())
            .await
            .unwrap();
    }
    while heard.answers.len() < asked.len() || heard.text.len() < expected.len() {
        heard.record(events.next().await.unwrap());
    }
    assert_eq!(heard.text, expected);
    let mut answers: Vec<_> = heard.answers.iter().filter_map(Value::as_u64).collect();
    answers.sort_unstable();
    asked.sort_unstable();
    assert_eq!(answers, asked);

    // A stream from the beginning has the same text again.
    let mut again = StreamProgress::default();
    let mut events = http.open_stream(Some(&session), Some("0")).await.unwrap();
    while again.text.len() < heard.text.len() {
        again.record(events.next().await.unwrap());
    }
    assert_eq!(again.text, heard.text);
}

#[tokio::test]
async fn stream_resumes_from_events_before_its_connection() {
    const COUNT: usize = 50;
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut http = server.initialize(OWNER).await;
    let (session, _own) = http.create_session(server.dir.path()).await;
    let mut events = http.open_stream(Some(&session), None).await.unwrap();
    prompt(&mut http, &session, format!("count {COUNT}")).await;
    let (mut ids, mut heard) = (Vec::new(), StreamProgress::default());
    while heard.answers.is_empty() {
        heard.record(events.next().await.unwrap());
        ids.extend(heard.last.clone());
    }
    // Another connection begins with new events, and then requests those that it missed.
    let mut later = server.initialize(OWNER).await;
    let params = json!({"sessionId": session, "cwd": server.dir.path(), "mcpServers": []});
    later.request("session/resume", params).await;
    let mut events = later.open_stream(Some(&session), None).await.unwrap();
    prompt(&mut http, &session, "count 1".to_owned()).await;
    let first = loop {
        let (id, line) = events.next().await.unwrap();
        if line.get("method").is_some() && !id.contains('+') {
            break id;
        }
    };
    assert!(!ids.contains(&first), "{first}");
    let after = ids[4].clone();
    let mut events = later
        .open_stream(Some(&session), Some(&after))
        .await
        .unwrap();
    let mut missed = Vec::new();
    loop {
        let (id, line) = events.next().await.unwrap();
        // Skip answers and the like, which differ between connections.
        if line.get("method").is_some() && !id.contains('+') {
            missed.push(id.clone());
        }
        if id == first {
            break;
        }
    }
    let plain = |ids: &[String]| -> Vec<_> {
        let plain = ids.iter().filter(|id| !id.contains('+'));
        plain.cloned().collect()
    };
    let expected = plain(&ids[5..]);
    assert_eq!(missed[..expected.len()], expected);
}

#[tokio::test]
async fn unread_stream_loses_nothing() {
    const COUNT: usize = 20_000;
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut http = server.initialize(OWNER).await;
    let (session, mut own) = http.create_session(server.dir.path()).await;
    let asked = prompt(&mut http, &session, format!("count {COUNT}")).await;
    // The session's stream was never opened, so the connection's stream has the answer. The turn has ended then.
    loop {
        let (_, line) = own.next().await.unwrap();
        if line["id"] == asked {
            break;
        }
    }
    let mut events = http.open_stream(Some(&session), None).await.unwrap();
    let (mut heard, expected) = (StreamProgress::default(), expected_text(COUNT));
    while heard.text.len() < expected.len() {
        heard.record(events.next().await.unwrap());
    }
    assert_eq!(heard.text, expected);
}

#[tokio::test]
async fn open_question_is_sent_again_on_a_resumed_stream() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut http = server.initialize(OWNER).await;
    let (session, _own) = http.create_session(server.dir.path()).await;
    let mut events = http.open_stream(Some(&session), None).await.unwrap();
    let asked = prompt(&mut http, &session, "ask 1".to_owned()).await;
    let mut before = None;
    loop {
        let (id, line) = events.next().await.unwrap();
        if line["method"] == "session/request_permission" {
            break;
        }
        before = Some(id);
    }
    // The question never arrived: the stream broke just before it.
    drop(events);
    let mut events = http
        .open_stream(Some(&session), before.as_deref())
        .await
        .unwrap();
    let mut answered = false;
    loop {
        let (_, line) = events.next().await.unwrap();
        if line["method"] == "session/request_permission" && !answered {
            answered = true;
            let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
            let answer = json!({"jsonrpc": "2.0", "id": line["id"], "result": outcome});
            assert_eq!(http.post(&answer).await, 202);
        }
        if line["id"] == asked && line.get("method").is_none() {
            assert_eq!(line["result"]["stopReason"], "end_turn");
            break;
        }
    }
    assert!(answered);
}

#[tokio::test]
async fn second_reader_needs_a_last_event_id() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut http = server.initialize(OWNER).await;
    let (session, mut own) = http.create_session(server.dir.path()).await;
    assert_eq!(http.open_stream(None, None).await.err(), Some(409));
    let mut taken = http.open_stream(None, Some("0")).await.unwrap();
    assert_eq!(own.next().await, None, "the one before it ends");
    let (id, line) = taken.next().await.unwrap();
    assert_eq!(
        line["result"]["sessionId"], session,
        "and what it said comes again"
    );
    let mut taken = http.open_stream(None, Some(&id)).await.unwrap();
    let listed = http.request("session/list", json!({})).await;
    let (_, line) = taken.next().await.unwrap();
    assert_eq!(line["id"], listed);
}

#[tokio::test]
async fn empty_stream_can_be_opened_again() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut http = server.initialize(OWNER).await;
    let mut dead = http.open_stream(None, None).await.unwrap();
    let mut alive = http.open_stream(None, None).await.unwrap();
    assert_eq!(dead.next().await, None);
    let listed = http.request("session/list", json!({})).await;
    assert_eq!(alive.next().await.unwrap().1["id"], listed);
}

#[tokio::test]
async fn idle_connection_ends() {
    let server = TestServer::start(TestServerConfig {
        idle: Duration::from_millis(50),
        ..TestServerConfig::default()
    })
    .await;
    let mut http = server.initialize(OWNER).await;
    let (_, mut own) = http.create_session(server.dir.path()).await;
    let listed = http.request("session/list", json!({})).await;
    assert_eq!(
        own.next().await.unwrap().1["id"],
        listed,
        "read from, it stays"
    );
    drop(own);
    let list = json!({"jsonrpc": "2.0", "id": 9, "method": "session/list"});
    // Each request restarts the idle time.
    for longer in 1.. {
        tokio::time::sleep(Duration::from_millis(60 * longer)).await;
        if http.post(&list).await == 404 {
            break;
        }
        assert!(longer < 20);
    }
}
