//! The frames that a socket receives, and how often.

use std::time::Duration;

use harn_testkit::{ReceivedFrame, StateClient};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::sockets::test_agent::serve_agent;

const TICK: Duration = Duration::from_millis(16);

/// Returns the frames until this turn has ended, each with its time.
async fn frames_until_idle(client: &mut StateClient) -> Vec<(Instant, ReceivedFrame)> {
    let mut frames = Vec::new();
    while frames.is_empty() || client.state()["status"] != "idle" {
        let frame = client.next().await;
        frames.push((now(), frame));
    }
    frames
}

/// Returns the time of the paused clock.
fn now() -> Instant {
    sleep(Duration::ZERO).deadline()
}

#[tokio::test(start_paused = true)]
async fn a_flood_makes_one_frame_per_tick() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("flood 2000").await;
    let frames = frames_until_idle(&mut client).await;
    let ticks = frames.windows(2).map(|pair| pair[1].0 - pair[0].0);
    assert!(ticks.clone().all(|passed| passed >= TICK), "{ticks:?}");
    // Two thousand words in as many milliseconds.
    assert!((100..=130).contains(&frames.len()), "{}", frames.len());
    let words: Vec<_> = (0..2000).map(|word| format!("{word} ")).collect();
    assert_eq!(client.text("/messages/1/content"), words.concat());
    // Chunks between two frames are one operation.
    let appended = frames.iter().filter_map(|(_, frame)| match frame {
        ReceivedFrame::Delta(operations) => operations.as_array(),
        ReceivedFrame::State | ReceivedFrame::Error(_) | ReceivedFrame::Closed(..) => None,
    });
    let longest = appended.map(Vec::len).max();
    assert!(longest < Some(10), "{longest:?}");
    // A client that connects now has the same document.
    let session = client.session();
    let other = server.connect(&format!("session={session}")).await;
    assert_eq!(other.state(), client.state());
}

#[tokio::test(start_paused = true)]
async fn two_sockets_receive_the_same_frames_in_order() {
    let (_test, server) = serve_agent();
    let mut one = server.connect("").await;
    let session = one.session();
    let mut two = server.connect(&format!("session={session}")).await;
    assert_eq!(one.state(), two.state());
    one.submit("flood 300").await;
    let first = frames_until_idle(&mut one).await;
    let second = frames_until_idle(&mut two).await;
    let deltas = |frames: &[(Instant, ReceivedFrame)]| -> Vec<ReceivedFrame> {
        frames.iter().map(|(_, frame)| frame.clone()).collect()
    };
    assert_eq!(deltas(&first), deltas(&second));
    assert!(first.len() > 10);
    assert_eq!(one.state(), two.state());
    // A client that connects during a turn has the same document as the others.
    two.submit("flood 300").await;
    two.read_until_status("running").await;
    let mut three = server.connect(&format!("session={session}")).await;
    for client in [&mut one, &mut two, &mut three] {
        client.read_until_quiet().await;
    }
    assert_eq!(three.state(), one.state());
    assert_eq!(three.state(), two.state());
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_gets_the_document_instead_of_a_backlog() {
    let (_test, server) = serve_agent();
    let mut fast = server.connect("").await;
    let session = fast.session();
    let mut slow = server
        .with_buffer_size(1024)
        .connect(&format!("session={session}"))
        .await;
    // More than the room stores for clients that are behind.
    let text = "x".repeat(20_000);
    for _ in 0..15 {
        fast.submit(&format!("say {text}")).await;
        fast.read_until_status("running").await;
        fast.read_until_status("idle").await;
    }
    let caught_up = slow.read_until_quiet().await;
    assert!(caught_up.len() < 6, "{} frames", caught_up.len());
    assert!(caught_up.contains(&ReceivedFrame::State), "{caught_up:?}");
    assert_eq!(slow.state(), fast.state());
    // From then on it receives deltas like the others.
    fast.submit("hello").await;
    let frames = slow.read_until_quiet().await;
    assert!(!frames.contains(&ReceivedFrame::State), "{frames:?}");
    fast.read_until_quiet().await;
    assert_eq!(slow.state(), fast.state());
}

/// A client that is a little behind receives everything it missed in one frame.
#[tokio::test(start_paused = true)]
async fn a_late_reader_gets_all_changes_in_one_frame() {
    let (_test, server) = serve_agent();
    let mut client = server.with_buffer_size(256).connect("").await;
    client.submit("flood 100").await;
    sleep(Duration::from_secs(5)).await;
    let frames = client.read_until_quiet().await;
    assert!(frames.len() <= 3, "{frames:?}");
    assert!(!frames.contains(&ReceivedFrame::State), "{frames:?}");
    assert_eq!(client.state()["status"], "idle");
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_sends_no_frames() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!(client.read_until_quiet().await, []);
    client.command(json!({"type": "cancel"})).await;
    client.send(json!([])).await;
    assert_eq!(client.read_until_quiet().await, []);
    assert_eq!(client.state()["messages"], Value::Array(Vec::new()));
}
