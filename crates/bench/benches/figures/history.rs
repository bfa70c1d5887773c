//! Opening a session with a long history: the time to the first line, and the rate of the rest, beside the rate
//! of the same lines live.

use std::time::Instant;

use agent_client_protocol::v1::schema::SessionId;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{
    median,
    program::Running,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// Lines of a turn beside its text.
const EXTRA: u64 = 16;

#[derive(Default)]
struct Seen {
    live: Vec<f64>,
    first: Vec<f64>,
    replayed: Vec<f64>,
    /// In a process that has to open the session first.
    first_of_stored: Vec<f64>,
}

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let (count, mut seen) = (setup.updates, Seen::default());
    for _ in 0..setup.floods {
        let ours = setup.ours_flooding()?;
        let mut agent = ours.program.start()?;
        initialize(&mut agent)?;
        let session = agent.new_session(&setup.cwd())?;
        let begun = Instant::now();
        let id = agent.prompt(&session, &format!("flood {count}"))?;
        let drained = agent.read_response(id)?;
        let seconds = drained.at.duration_since(begun).as_secs_f64();
        seen.live.push(drained.lines as f64 / seconds);
        for _ in 0..3 {
            let (first, all) = load(setup, &mut agent, &session, count)?;
            seen.first.push(first);
            seen.replayed.push(count as f64 / all);
        }
        agent.end()?;
        let mut another = ours.program.start()?;
        initialize(&mut another)?;
        let (first, _) = load(setup, &mut another, &session, count)?;
        seen.first_of_stored.push(first);
        another.end()?;
    }
    let first = |name: &str, value: f64, bar: Bar| Figure {
        name: format!("first line of {count} events {name}"),
        unit: Unit::Millis,
        value,
        against: None,
        bar,
    };
    table.add(&first(
        "of a live session",
        median(&seen.first),
        Bar::AtMost(0.050),
    ));
    let stored = median(&seen.first_of_stored);
    table.add(&first("of a stored session", stored, Bar::Told));
    table.add(&Figure {
        name: format!("replayed a second, {count} events"),
        unit: Unit::PerSecond,
        value: median(&seen.replayed),
        against: Some(("live", median(&seen.live))),
        bar: Bar::RatioAtLeast(0.5),
    });
    Ok(())
}

/// Initializes as a client that can reconnect.
fn initialize(agent: &mut Running) -> Result<()> {
    let wishes = json!({"_meta": {"harn": {"eventIds": true}}});
    let hello = json!({"protocolVersion": 1, "clientCapabilities": wishes});
    let id = agent.send("initialize", hello)?;
    agent.read_response(id).map(drop)
}

/// Loads a session; returns the seconds until the first line and until the response.
fn load(setup: &Setup, agent: &mut Running, session: &SessionId, count: u64) -> Result<(f64, f64)> {
    let params: Value = json!({"sessionId": session, "cwd": setup.cwd(), "mcpServers": []});
    let begun = Instant::now();
    let id = agent.send("session/load", params)?;
    let mut first = None;
    let drained = agent.lines.read_until_response(id, |_| {
        first.get_or_insert_with(Instant::now);
        Ok(())
    })?;
    ensure!(
        (count..=count + EXTRA).contains(&drained.lines),
        "{} lines instead of {count}",
        drained.lines
    );
    let first = first.context("no event was replayed")?;
    let since = |at: Instant| at.duration_since(begun).as_secs_f64();
    Ok((since(first), since(drained.at)))
}
