//! Tests of lost connections, against a server with a minimal part of the protocol.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    time::timeout,
};

use super::{super::protocol::SessionTarget, *};

/// The maximum time that a test waits for an event.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of events in the session.
const EVENTS: u64 = 200;

async fn read_request(reader: &mut BufReader<impl tokio::io::AsyncRead + Unpin>) -> Option<Value> {
    let mut line = String::new();
    match reader.read_line(&mut line).await {
        Ok(1..) => serde_json::from_str(&line).ok(),
        _ => None,
    }
}

fn update(event: u64) -> String {
    let params = json!({"sessionId": "s", "update": {"number": event},
                        "_meta": {"harn": {"eventId": event.to_string()}}});
    let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    format!("{line}\n")
}

/// Serves one connection, which breaks after `lasts` events.
async fn serve(stream: UnixStream, lasts: u64, attached: &mut Vec<Value>) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(request) = read_request(&mut reader).await {
        let answer = |result: Value| {
            let line = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            format!("{line}\n")
        };
        if request["method"] != "session/attach" {
            if writer
                .write_all(answer(json!({})).as_bytes())
                .await
                .is_err()
            {
                return;
            }
            continue;
        }
        attached.push(request["params"].clone());
        let after: u64 = request["params"]["lastEventId"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        // The replay arrives before the response, the rest after it.
        let joined = answer(json!({"active_controller_id": "me"}));
        for event in after + 1..=EVENTS {
            if event == after + 3 && writer.write_all(joined.as_bytes()).await.is_err() {
                return;
            }
            if event > after + lasts {
                // The connection breaks in the middle of a line.
                let half = update(event);
                let _ = writer.write_all(&half.as_bytes()[..half.len() / 2]).await;
                return;
            }
            if writer.write_all(update(event).as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

fn link(dir: &Path) -> SessionLink {
    let talk = AttachProtocol::new("me".to_owned(), SessionTarget::Live("s".to_owned()), None);
    let address = ServerAddress::Socket(dir.join("live/1.sock"));
    SessionLink::new(
        talk,
        address,
        dir.to_owned(),
        Arc::new(harn_serve::SystemClock::new()),
        true,
    )
}

fn listen(dir: &Path, name: &str) -> UnixListener {
    std::fs::create_dir_all(dir.join("live")).unwrap();
    UnixListener::bind(dir.join("live").join(name)).unwrap()
}

#[tokio::test]
async fn reconnecting_delivers_each_event_exactly_once() {
    let dir = tempfile::tempdir().unwrap();
    let listener = listen(dir.path(), "1.sock");
    let serving = tokio::spawn(async move {
        let mut attached = Vec::new();
        // Some connections break before the session is joined, some in the middle of a line.
        for lasts in [1, 5, 1, 0, 2, 40, 3, 17, EVENTS] {
            let (stream, _) = listener.accept().await.unwrap();
            serve(stream, lasts, &mut attached).await;
        }
        attached
    });
    let mut link = link(dir.path());
    let (mut events, mut lost) = (Vec::new(), 0);
    while events.len() < EVENTS as usize {
        match timeout(PATIENCE, link.next()).await.unwrap() {
            LinkEvent::Heard(AttachEvent::Update(params)) => {
                let params: Value = serde_json::from_str(params.get()).unwrap();
                events.push(params["update"]["number"].as_u64().unwrap());
            }
            LinkEvent::Lost { .. } => lost += 1,
            LinkEvent::Failed(why) => panic!("{why}"),
            LinkEvent::Heard(_) | LinkEvent::Nothing => {}
        }
    }
    assert_eq!(events, (1..=EVENTS).collect::<Vec<_>>());
    assert_eq!(lost, 8);
    link.close().await;
    let attached = serving.await.unwrap();
    let after: Vec<_> = attached
        .iter()
        .map(|it| it["lastEventId"].as_str().unwrap())
        .collect();
    assert_eq!(after, ["0", "1", "6", "7", "7", "9", "49", "52", "69"]);
    assert!(attached.iter().all(|it| it["clientId"] == "me"));
}

#[tokio::test]
async fn a_restarted_server_is_found_by_its_new_socket() {
    let dir = tempfile::tempdir().unwrap();
    let first = listen(dir.path(), "1.sock");
    let path = dir.path().to_owned();
    let serving = tokio::spawn(async move {
        let (stream, _) = first.accept().await.unwrap();
        let second = listen(&path, "2.sock");
        serve(stream, 5, &mut Vec::new()).await;
        drop(first);
        std::fs::remove_file(path.join("live/1.sock")).unwrap();
        let (stream, _) = second.accept().await.unwrap();
        serve(stream, EVENTS, &mut Vec::new()).await;
    });
    let mut link = link(dir.path());
    let mut events = 0;
    while events < EVENTS {
        match timeout(PATIENCE, link.next()).await.unwrap() {
            LinkEvent::Heard(AttachEvent::Update(_)) => events += 1,
            LinkEvent::Failed(why) => panic!("{why}"),
            _ => {}
        }
    }
    link.close().await;
    serving.await.unwrap();
}

#[tokio::test]
async fn a_failed_first_join_returns_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut alone = link(dir.path());
    let why = loop {
        if let LinkEvent::Failed(why) = timeout(PATIENCE, alone.next()).await.unwrap() {
            break why.to_string();
        }
    };
    assert!(why.starts_with("no server answers at"), "{why}");

    let listener = listen(dir.path(), "1.sock");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        while let Some(request) = read_request(&mut reader).await {
            let id = &request["id"];
            let error = json!({"code": -32602, "message": "unknown session s"});
            let answer = match request["method"].as_str() {
                Some("initialize") => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                _ => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            };
            writer
                .write_all(format!("{answer}\n").as_bytes())
                .await
                .unwrap();
        }
    });
    let mut refused = link(dir.path());
    let why = loop {
        if let LinkEvent::Failed(why) = timeout(PATIENCE, refused.next()).await.unwrap() {
            break why.to_string();
        }
    };
    assert_eq!(why, "unknown session s");
}

#[tokio::test]
async fn an_observer_receives_the_reason_of_a_failed_rejoin() {
    let dir = tempfile::tempdir().unwrap();
    let first = listen(dir.path(), "1.sock");
    let second = listen(dir.path(), "2.sock");
    tokio::spawn(async move {
        let (stream, _) = first.accept().await.unwrap();
        serve(stream, 5, &mut Vec::new()).await;
        // The closed server leaves its socket file.
        drop(first);
        loop {
            let (stream, _) = second.accept().await.unwrap();
            let (reader, mut writer) = stream.into_split();
            let mut reader = BufReader::new(reader);
            while let Some(request) = read_request(&mut reader).await {
                let id = &request["id"];
                let error = json!({"code": -32602, "message": "session s is not live here",
                                   "data": {"reason": "unknown_session"}});
                let answer = match request["method"].as_str() {
                    Some("initialize") => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                    _ => json!({"jsonrpc": "2.0", "id": id, "error": error}),
                };
                let line = format!("{answer}\n");
                writer.write_all(line.as_bytes()).await.unwrap();
            }
        }
    });
    let mut link = link(dir.path());
    let mut told = Vec::new();
    while told.len() < 4 {
        match timeout(PATIENCE, link.next()).await.unwrap() {
            LinkEvent::Lost { why, .. } => told.push(why),
            LinkEvent::Failed(why) => panic!("{why}"),
            _ => {}
        }
    }
    // A dead socket does not hide the reason of the live server.
    let stored = || Some("the session is stored, but not open".to_owned());
    assert_eq!(told, [None, stored(), stored(), stored()]);
}
