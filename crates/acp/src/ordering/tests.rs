//! Each guarantee of the module alone, without a hub or a session.

use std::time::Duration;

use agent_client_protocol::{RawJsonRpcId, RawJsonRpcMessage, TransportFrame};
use futures::{FutureExt, StreamExt, channel::mpsc::unbounded, stream};
use harn_model::{ControlKind, SessionId};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::transport::{ConnectionInput, PieceReceiver, outgoing};

fn new_order() -> (ConnectionOrder, PieceReceiver) {
    let (outgoing, receiver) = outgoing();
    (ConnectionOrder::new(outgoing), receiver)
}

fn message(json: Value) -> RawJsonRpcMessage {
    match TransportFrame::parse_json(&json.to_string()) {
        TransportFrame::Single(message) => message,
        other => panic!("{other:?}"),
    }
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn answer(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {}})
}

async fn write(order: &ConnectionOrder, messages: impl IntoIterator<Item = Value>) {
    let frames = messages
        .into_iter()
        .map(|it| TransportFrame::Single(message(it)));
    order.write(stream::iter(frames)).await.unwrap();
}

/// Returns the lines in the writer's queue.
fn drain_lines(receiver: &mut PieceReceiver) -> Vec<String> {
    let pieces = std::iter::from_fn(|| receiver.try_recv());
    let text: Vec<u8> = pieces.flat_map(|piece| piece.bytes.to_vec()).collect();
    let text = String::from_utf8(text).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn is_open(gate: Gate) -> bool {
    gate.wait_until_open().now_or_never().is_some()
}

#[tokio::test]
async fn a_gate_opens_when_its_answer_is_queued() {
    let (order, mut receiver) = new_order();
    let (first, second) = (RawJsonRpcId::from(1), RawJsonRpcId::from(2));
    let (before, behind) = (
        order.gates.gate_behind_answer(&first),
        order.gates.gate_behind_answer(&second),
    );
    write(&order, [answer(1)]).await;
    assert_eq!(drain_lines(&mut receiver), [answer(1).to_string()]);
    assert!(is_open(before));
    assert!(!is_open(behind));
}

#[tokio::test]
async fn a_gate_opens_when_the_connection_ends() {
    let (order, _receiver) = new_order();
    let gate = order.gates.gate_behind_answer(&RawJsonRpcId::from(1));
    drop(order);
    assert!(is_open(gate));
}

#[tokio::test]
async fn only_the_answer_to_a_steering_request_overtakes_updates() {
    let (order, mut receiver) = new_order();
    let gate = order
        .gates
        .gate_behind_priority_answer(&RawJsonRpcId::from(2));
    order.outgoing.send("update\n").await.unwrap();
    write(&order, [answer(1), answer(2)]).await;
    let expected = [
        answer(2).to_string(),
        "update".to_owned(),
        answer(1).to_string(),
    ];
    assert_eq!(drain_lines(&mut receiver), expected);
    assert!(is_open(gate));
}

#[tokio::test]
async fn a_gate_behind_a_question_opens_with_that_question() {
    let (order, _receiver) = new_order();
    let session = SessionId::new("s");
    let gate = order.gates.gate_behind_question(&session, "call", None);
    let ask = |session: &str, call: &str| {
        let params = json!({"sessionId": session, "toolCall": {"toolCallId": call}});
        request(1, "session/request_permission", params)
    };
    write(&order, [ask("s", "other"), ask("t", "call")]).await;
    let held = order.gates.take_question(&message(ask("s", "call")));
    assert!(held.is_some());
    let mut passed = Box::pin(gate.wait_until_open());
    assert!(passed.as_mut().now_or_never().is_none());
    drop(held);
    assert!(passed.now_or_never().is_some());
}

#[test]
fn outcomes_of_controls_wait_for_their_answers_in_order() {
    let gates = AnswerGates::default();
    let key = ControlKey::new(ControlKind::Cancel, Some("t"));
    let mut held = UnansweredControls::default();
    for id in 1..=3 {
        held.hold(
            key.clone(),
            gates.gate_behind_answer(&RawJsonRpcId::from(id)),
        );
    }
    // The last one has no outcome; the first outcome is of the first request.
    let last = held.release(&key);
    gates.open(&RawJsonRpcId::from(3));
    assert!(is_open(last.unwrap()));
    let mut later = UnansweredControls::default();
    later.extend(held);
    gates.open(&RawJsonRpcId::from(1));
    assert!(is_open(later.take(&key).unwrap()));
    assert!(!is_open(later.take(&key).unwrap()));
    assert!(later.take(&key).is_none());
    // A reminder gets its id when it is accepted, so its key has none.
    let reminder = |id| ControlKey::new(ControlKind::Remind, id);
    assert_eq!(reminder(Some("r")), reminder(None));
}

#[tokio::test]
async fn an_answer_belongs_to_the_session_that_its_request_named() {
    let (order, mut receiver) = new_order();
    order.routes.record(&message(request(
        1,
        "session/load",
        json!({"sessionId": "s"}),
    )));
    order.routes.record(&message(request(
        2,
        "session/prompt",
        json!({"sessionId": "s"}),
    )));
    assert!(order.wait_until_answered().now_or_never().is_none());
    write(&order, [answer(1), answer(1)]).await;
    let session = Some(SessionId::new("s"));
    assert_eq!(receiver.try_recv().unwrap().session, session);
    assert_eq!(receiver.try_recv().unwrap().session, None);
    // The prompt is open, and is not waited for.
    assert!(order.wait_until_answered().now_or_never().is_some());
}

#[tokio::test]
async fn a_client_is_not_read_from_while_its_answers_pile_up() {
    const MUCH: usize = 8 * 1024 * 1024;
    let backlog = Backlog::default();
    // Much was requested, but answers are queued: the client reads.
    backlog.wait_and_count(MUCH).await;
    backlog.wait_and_count(MUCH).await;
    let (room, has_room) = tokio::sync::oneshot::channel::<()>();
    let mut stuck = Box::pin(backlog.queue_answer(has_room));
    assert!(stuck.as_mut().now_or_never().is_none());
    let mut next = Box::pin(backlog.wait_and_count(1));
    assert!(next.as_mut().now_or_never().is_none());
    room.send(()).unwrap();
    assert!(stuck.now_or_never().is_some());
    assert!(next.now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn invalid_line_is_rejected_in_its_position() {
    let (order, _receiver) = new_order();
    let (lines, incoming) = mpsc::channel(8);
    let (to_sdk, from_us) = unbounded();
    let line = |text: &str| ConnectionInput::Line(text.to_owned());
    let hello = request(1, "initialize", json!({})).to_string();
    for line in [
        line("{"),
        line("[]"),
        line("7"),
        line(r#"{"error": {"code": 1, "message": "unknown update"}}"#),
        line(r#"{"jsonrpc": "2.0", "id": null, "result": {}}"#),
        ConnectionInput::TooLong { limit: 9 },
        ConnectionInput::NotUtf8,
        line(&hello),
    ] {
        lines.send(line).await.unwrap();
    }
    drop(lines);
    let refollow = |_| panic!("no session is followed anew");
    let read = order.read(incoming, &to_sdk, refollow);
    let ended = tokio::time::timeout(Duration::from_secs(1), read).await;
    assert!(ended.unwrap(), "the input ended");
    drop(to_sdk);
    let frames: Vec<_> = from_us.collect().await;
    let codes: Vec<i32> = frames
        .iter()
        .filter_map(|frame| match frame {
            TransportFrame::Malformed { error, .. } => Some(i32::from(error.code)),
            _ => None,
        })
        .collect();
    assert_eq!(codes, [-32700, -32600, -32600, -32600, -32700]);
    assert_eq!(
        frames.len(),
        codes.len() + 1,
        "answers to nothing are ignored"
    );
    assert!(matches!(frames.last(), Some(TransportFrame::Single(_))));
}
