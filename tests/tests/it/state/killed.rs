//! Kills the server with SIGKILL at random moments of a stream: a client that reconnects finds everything it
//! was shown before, the run marked as interrupted, and an agent that takes the next prompt.

use anyhow::{Context, Result, ensure};
use harn_tests::{Page, Told};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::{
    state::server::{Place, Server},
    support_stress::{Dice, in_time},
};

const ROUNDS: usize = 20;
const BLOCKS: usize = 400;

#[tokio::test]
async fn shown_messages_survive_a_kill_and_the_run_is_marked_as_interrupted() -> Result<()> {
    let mut dice = Dice::new();
    let place = Place::new(json!([
        {"match": "^quick", "steps": [{"say": "done"}]},
        {"steps": steps(&mut dice)},
    ]))?;
    let mut tally = Tally::default();
    for round in 0..ROUNDS {
        // Some servers are killed before the first frame.
        let frames = match round % 10 {
            0 => 0,
            _ => dice.below(40),
        };
        let done = play(&place, frames, &mut tally).await;
        done.with_context(|| format!("round {round}, killed after {frames} frames"))?;
    }
    // Otherwise the test proves nothing: calls must be open, and part of the messages shown.
    ensure!(tally.midway >= ROUNDS / 2, "{tally:?}");
    ensure!(tally.running_calls > 0, "{tally:?}");
    Ok(())
}

/// Counts over all rounds.
#[derive(Debug, Default)]
struct Tally {
    /// Killed with part of the messages shown.
    midway: usize,
    running_calls: usize,
}

async fn play(place: &Place, frames: usize, tally: &mut Tally) -> Result<()> {
    let server = place.start().await?;
    let mut page = server.page(None).await?;
    let session = page.session().to_owned();
    page.submit("go").await?;
    // Only an accepted prompt can be lost.
    let begun = page.read_until(|it| it["status"] == "running");
    in_time("the run", begun).await??;
    for _ in 0..frames {
        in_time("more", page.next()).await??;
    }
    server.kill().await?;
    // Frames in transit count as shown, too.
    while let Ok(Ok(Told::State | Told::Delta)) = in_time("the rest", page.next()).await {}
    let shown = page.state().clone();

    let server = place.start().await?;
    let mut page = server.page(Some(&session)).await?;
    let found = page.state().clone();
    check(&shown, &found, tally)?;
    check_next_prompt(&mut page, &found).await?;
    leave(page, server).await
}

/// Checks that everything shown is found, and that the run is marked as interrupted.
fn check(shown: &Value, found: &Value, tally: &mut Tally) -> Result<()> {
    let why = found["error"].as_str().unwrap_or_default();
    ensure!(found["status"] == "error" && !why.is_empty(), "{found}");
    let (was, is) = (messages(shown), messages(found));
    ensure!(was.len() <= is.len(), "{} of {}", is.len(), was.len());
    tally.midway += usize::from(was.len() > 2 && was.len() < 2 + BLOCKS);
    for (was, is) in was.iter().zip(is) {
        for same in ["id", "role", "at", "author", "steer"] {
            ensure!(was[same] == is[same], "{same}: {was} then {is}");
        }
        let (before, now) = (text(&was["content"]), text(&is["content"]));
        ensure!(now.starts_with(before), "{before:?} then {now:?}");
        let calls = was["toolCalls"].as_array().into_iter().flatten();
        for (place, call) in calls.enumerate() {
            let now = &is["toolCalls"][place];
            let running = call["status"] == "running";
            tally.running_calls += usize::from(running);
            // The end of a call may be written and not shown.
            ensure!(now["id"] == call["id"] && now["status"] != "running");
            ensure!(running || now == call, "{call} then {now}");
        }
    }
    let (cut, before) = is.split_last().context("there is nothing")?;
    ensure!(cut["status"] == "error", "{cut}");
    let complete = before.iter().all(|it| it["status"] == "complete");
    ensure!(complete, "{before:?}");
    let open = |call: &&Value| call["status"] == "running";
    let calls = is.iter().flat_map(|it| it["toolCalls"].as_array());
    ensure!(calls.flatten().find(open).is_none(), "a call is open");
    ensure!(found["approvals"] == json!([]), "{found}");
    Ok(())
}

/// Checks that the next prompt is answered after these messages, and that the error is gone.
async fn check_next_prompt(page: &mut Page<TcpStream>, found: &Value) -> Result<()> {
    page.submit("quick").await?;
    let idle = page.read_until(|it| it["status"] == "idle");
    let state = in_time("the next run", idle).await??;
    ensure!(state.get("error").is_none(), "{state}");
    let (before, now) = (messages(found), messages(state));
    let [prompt, answer] = &now[before.len()..] else {
        anyhow::bail!("{now:?}");
    };
    ensure!(now[..before.len()] == *before, "the past has changed");
    ensure!(prompt["content"] == "quick" && answer["content"] == "done");
    ensure!(answer["status"] == "complete", "{answer}");
    Ok(())
}

async fn leave(page: Page<TcpStream>, server: Server) -> Result<()> {
    page.leave().await;
    server.end().await
}

/// Returns messages with overlapping calls, at a pace that spreads them over many frames, and a final wait, so
/// that a run is open at every kill.
fn steps(dice: &mut Dice) -> Vec<Value> {
    let mut steps = Vec::new();
    let mut open: Vec<(usize, String)> = Vec::new();
    for block in 0..BLOCKS {
        steps.push(json!({"say": format!("{block}: ")}));
        steps.push(json!({"repeat": {"times": 8, "steps": [{"say": "word "}]}}));
        let mut emit = |kind: &str, call: &str, status: &str| {
            let event =
                json!({"type": kind, "tool_call_id": call, "tool_name": "look", "status": status});
            steps.push(json!({ "emit": event }));
        };
        let call = format!("call-{block}");
        emit("tool_call", &call, "pending");
        open.push((block + dice.below(6), call));
        open.retain(|(until, call)| {
            if *until <= block {
                emit("tool_call_update", call, "completed");
            }
            *until > block
        });
        steps.push(json!({"sleep_ms": dice.below(6)}));
    }
    steps.push(json!({"await_cancel": {}}));
    steps
}

fn messages(state: &Value) -> &[Value] {
    state["messages"].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
