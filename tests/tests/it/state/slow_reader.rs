//! One client never reads while fifty others do: they are served normally, and the document that it receives
//! when it reads at last equals theirs.

use anyhow::{Result, ensure};
use harn_tests::{Page, Told};
use serde_json::{Value, json};
use tokio::{
    net::{TcpSocket, TcpStream},
    task::JoinSet,
};

use crate::{state::server::Place, support_stress::in_time};

const READERS: usize = 50;
const BLOCKS: usize = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_clients_are_served_while_one_never_reads() -> Result<()> {
    let words = "x".repeat(256);
    // A call ends each message, so that no message gets long.
    let steps: Vec<Value> = (0..BLOCKS)
        .flat_map(|block| {
            let emit = |kind: &str, status: &str| {
                json!({"emit": {"type": kind, "tool_call_id": format!("call-{block}"),
                                "tool_name": "look", "status": status}})
            };
            [
                json!({"repeat": {"times": 16, "steps": [{"say": words}]}}),
                emit("tool_call", "pending"),
                emit("tool_call_update", "completed"),
                json!({"sleep_ms": 4}),
            ]
        })
        .collect();
    let place = Place::new(json!([{"steps": steps}]))?;
    let server = place.start().await?;
    let mut driver = server.page(None).await?;
    let session = driver.session().to_owned();
    let path = format!("/ws?session={session}");

    // The smallest receive buffer that the system allows.
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let stream = socket.connect(server.address().parse()?).await?;
    let mut idle = Page::connect(stream, server.request(&path)?).await?;

    let mut reading = JoinSet::new();
    for _ in 0..READERS {
        let page = server.page(Some(&session)).await?;
        reading.spawn(read(page));
    }
    driver.submit("go").await?;
    let (expected, frames) = in_time("the driver", read(driver)).await??;
    ensure!(expected["messages"].as_array().unwrap().len() > BLOCKS);
    while let Some(read) = in_time("the readers", reading.join_next()).await? {
        let (found, _) = read??;
        ensure!(found == expected, "readers have different documents");
    }

    // It receives the document as of its connection, and then in one step the final one.
    let (mut seen, mut whole) = (0, 0);
    while idle.state()["status"] != "idle" || idle.state()["messages"] == json!([]) {
        match in_time("what it missed", idle.next()).await?? {
            Told::State => whole += 1,
            Told::Delta => {}
            other => anyhow::bail!("{other:?}"),
        }
        seen += 1;
    }
    ensure!(*idle.state() == expected, "who was late has another one");
    ensure!(whole >= 2, "it was never behind: {whole} of {seen} whole");
    ensure!(seen < frames, "{seen} frames for it, {frames} for others");
    idle.leave().await;
    server.end().await
}

/// Reads until the run is over; returns the document and the number of frames.
async fn read(mut page: Page<TcpStream>) -> Result<(Value, usize)> {
    let mut frames = 0;
    while page.state()["messages"] == json!([]) || page.state()["status"] != "idle" {
        match page.next().await? {
            Told::State | Told::Delta => frames += 1,
            other => anyhow::bail!("{other:?}"),
        }
    }
    let state = page.state().clone();
    page.leave().await;
    Ok((state, frames))
}
