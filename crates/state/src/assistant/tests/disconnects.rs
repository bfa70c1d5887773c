//! Clients that disconnect or do not read, and a server that shuts down.

use std::sync::Arc;

use axum::{Extension, body::BodyDataStream, http::Request};
use futures::StreamExt;
use harn_lines::pace::ClientCount;
use harn_model::{AgentEvent, Principal, Seq, StopReason, TurnOutcome};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{
    super::{AssistantContext, format::StreamFormat, respond},
    test_server::{AssistantStage, ReceivedReply, add_message},
};
use crate::{client::ClientOptions, rooms::Rooms, session_choice::LastSessions};

const CANCELLED: TurnOutcome = TurnOutcome::Stopped {
    stop_reason: StopReason::Cancelled,
};
const DONE: TurnOutcome = TurnOutcome::Stopped {
    stop_reason: StopReason::EndTurn,
};

async fn next_piece(body: &mut BodyDataStream) -> String {
    let piece = body.next().await.unwrap().unwrap();
    String::from_utf8(piece.to_vec()).unwrap()
}

#[tokio::test]
async fn a_disconnect_cancels_only_the_turns_of_its_request() {
    let stage = AssistantStage::new();
    let first = json!({"commands": [add_message("wait")]});
    let first = stage.post("", StreamFormat::Lines, first).await;
    stage.agent.wait_for_gate().await;
    let query = "session=session-1";
    // Queued prompts of two requests.
    let second = json!({"commands": [add_message("wait"), add_message("wait")]});
    let second = stage.post(query, StreamFormat::Lines, second).await;
    let third = stage.post(
        query,
        StreamFormat::Lines,
        json!({"commands": [add_message("hello")]}),
    );
    let third = third.await;
    drop(second);
    let mut from = stage.session("session-1").subscribe(Seq::ZERO);
    let mut withdrawn = 0;
    while withdrawn < 2 {
        let delivery = from.next().await.unwrap();
        let events = delivery.events().iter().map(|it| &it.event);
        withdrawn += events
            .filter(|event| matches!(event, AgentEvent::PromptWithdrawn(_)))
            .count();
    }
    stage.agent.open_gate();
    let third = ReceivedReply::read(third, StreamFormat::Lines).await;
    let said = [
        "user complete: wait",
        "assistant complete: Working. Done.",
        "user error: wait",
        "user error: wait",
        "user complete: hello",
        "assistant complete: You said hello.",
    ];
    assert_eq!(third.message_lines(), said);
    assert_eq!(stage.wait_for_outcomes("session-1", 2).await, [DONE, DONE]);
    // A disconnect after the end of a response cancels nothing.
    let first = ReceivedReply::read(first, StreamFormat::Lines).await;
    assert_eq!(first.document["status"], "idle");
}

#[tokio::test]
async fn a_broken_connection_cancels_its_turn() {
    let stage = AssistantStage::new();
    let routes = stage.routes.clone().layer(Extension(Principal::owner()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, routes).await });
    let body = json!({"commands": [add_message("wait")]}).to_string();
    let length = body.len();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head =
        format!("POST /assistant HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
    let request = head + &body;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut told = [0; 15];
    stream.read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 200 OK");
    stage.agent.wait_for_gate().await;
    drop(stream);
    assert_eq!(stage.wait_for_outcomes("session-1", 1).await, [CANCELLED]);
    serving.abort();
}

#[tokio::test]
async fn a_detached_request_leaves_its_turn_running() {
    for (query, detach) in [("detach=true", json!(null)), ("", json!(true))] {
        let stage = AssistantStage::new();
        let begun = json!({"commands": [add_message("wait")], "detach": detach});
        let begun = stage.post(query, StreamFormat::Lines, begun).await;
        stage.agent.wait_for_gate().await;
        drop(begun);
        stage.agent.open_gate();
        assert_eq!(stage.wait_for_outcomes("session-1", 1).await, [DONE]);
    }
}

/// A client that only reads cancels nothing; one that answers a question cancels like the one that prompted.
#[tokio::test]
async fn a_disconnect_cancels_the_turn_that_its_answer_continued() {
    let stage = AssistantStage::new();
    let asked = stage
        .post_commands("", StreamFormat::Lines, json!([add_message("write")]))
        .await;
    let call = &asked.document["approvals"][0]["toolCallId"];
    let query = "session=session-1";
    let approve = json!({"commands": [{"type": "approve", "toolCallId": call}]});
    let approved = stage.post(query, StreamFormat::Lines, approve).await;
    stage.agent.wait_for_gate().await;
    let looks = stage.post(query, StreamFormat::Lines, json!({"commands": []}));
    drop(looks.await);
    drop(approved);
    assert_eq!(stage.wait_for_outcomes("session-1", 1).await, [CANCELLED]);
}

#[tokio::test]
async fn a_slow_client_gets_the_document_instead_of_a_backlog() {
    let stage = AssistantStage::new();
    let rooms = Arc::new(Rooms::default());
    let visit = AssistantContext {
        hub: stage.hub.hub().clone(),
        rooms: rooms.clone(),
        sessions: Arc::new(LastSessions::new(stage.config.memory.clone())),
        directory: stage.hub.workspace(),
        limit: 1024,
        coming: ClientOptions::default(),
        detached: false,
        member: ClientCount::default().join(1).unwrap(),
        ending: stage.config.ending.clone(),
    };
    let body = json!({"commands": [add_message("flood")]}).to_string();
    let request = Request::post("/assistant").body(body.into()).unwrap();
    let response = respond(visit, request).await.unwrap();
    let mut body = response.into_body().into_data_stream();
    let first = next_piece(&mut body).await;
    assert!(first.ends_with("}]\n"), "{first}");
    stage.agent.wait_for_gate().await;
    stage.agent.open_gate();
    stage.agent.wait_for_gate().await;
    let session = stage.session("session-1");
    let room = rooms
        .open_room(stage.hub.hub(), session.clone())
        .await
        .unwrap();
    room.wait_until_folded(session.last_seq()).await;
    let next = next_piece(&mut body).await;
    let begins = r#"aui-state:[{"type":"set","path":[],"value":{"status":"running","messages":["#;
    assert!(next.starts_with(begins), "{}", &next[..200]);
    assert!(next.len() > 64 * 16 * 1024);
    stage.agent.open_gate();
    let mut whole = first + &next;
    while let Some(more) = body.next().await {
        whole.push_str(std::str::from_utf8(&more.unwrap()).unwrap());
    }
    let response = axum::response::Response::new(whole.into());
    let told = ReceivedReply::read(response, StreamFormat::Lines).await;
    assert_eq!(told.document["status"], "idle");
    assert_eq!(told.operations[..2], ["set /", "set /"]);
    let content = told.document["messages"][1]["content"].as_str().unwrap();
    assert_eq!(content.len(), 64 * 16 * 1024);
}

#[tokio::test(start_paused = true)]
async fn a_silent_response_sends_signs_of_life_and_ends_with_the_server() {
    for (format, sign) in [(StreamFormat::Lines, "\n"), (StreamFormat::Events, ":\n\n")] {
        let stage = AssistantStage::new();
        let begun = json!({"commands": [add_message("wait")]});
        let begun = stage.post("", format, begun).await;
        stage.agent.wait_for_gate().await;
        let mut body = begun.into_body().into_data_stream();
        let mut told = String::new();
        while !told.ends_with(&format!("{sign}{sign}")) {
            told.push_str(&next_piece(&mut body).await);
        }
        stage.config.ending.cancel();
        while let Some(more) = body.next().await {
            told.push_str(std::str::from_utf8(&more.unwrap()).unwrap());
        }
        let response = axum::response::Response::new(told.into());
        let told = ReceivedReply::read(response, format).await;
        assert!(told.signs_of_life > 0);
        assert_eq!(told.document["status"], "running");
        assert_eq!(told.error, None);
    }
}
