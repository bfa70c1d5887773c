//! Accepting a message over the wire: from writing the request until reading its response, while the same
//! connection carries a turn at full speed and the client reads all of it. The client reads updates between two
//! requests, so that each request meets the stream and not the end of the previous one.
//!
//! The response follows the earlier output of the agent, which is part of the time. A request that writes
//! nothing alternates with it, and runs on a connection at rest: the floor.

use std::time::Instant;

use agent_client_protocol::v1::schema::SessionId;
use anyhow::{Context, Result, bail, ensure};
use harn_bench::FORTY;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::{
    lines::Drained,
    median, percentile,
    program::Running,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// Processes that share the messages equally.
pub(super) const TURNS: usize = 8;
/// The limits for accepting, in seconds.
pub(super) const MEDIAN: f64 = 1e-3;
pub(super) const SLOWEST: f64 = 5e-3;

/// Updates that are read before the first message, so that the turn is under way; their rate is a figure, too.
const UNDER_WAY: u64 = 50_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Inject<'a> {
    session_id: &'a SessionId,
    mode: &'static str,
    content: &'static str,
}

impl<'a> Inject<'a> {
    pub(super) fn new(session_id: &'a SessionId, mode: &'static str) -> Self {
        Self {
            session_id,
            mode,
            content: FORTY,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Of<'a> {
    pub(super) session_id: &'a SessionId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Accepted {
    pub(super) message_id: String,
    pub(super) status: String,
}

#[derive(Default)]
struct Seen {
    /// A request that writes nothing, while nothing runs.
    rest: Vec<f64>,
    /// The same while a turn streams.
    list: Vec<f64>,
    /// Messages while a turn streams.
    inject: Vec<f64>,
    /// Messages while a turn waits.
    quiet: Vec<f64>,
    /// Updates a second, before and during the requests.
    undisturbed: Vec<f64>,
    disturbed: Vec<f64>,
}

pub(super) fn measure(setup: &Setup, _: &Runtime, table: &mut Table) -> Result<()> {
    let mut seen = Seen::default();
    for _ in 0..TURNS {
        seen.measure_streaming(setup)?;
        seen.measure_waiting(setup)?;
    }
    let trip = |name: &str, value, against, bar| Figure {
        name: name.to_owned(),
        unit: Unit::Micros,
        value,
        against: Some(against),
        bar,
    };
    let (middle, slow) = (median(&seen.inject), percentile(&seen.inject, 0.99));
    table.add(&trip(
        "inject while a turn streams, median",
        middle,
        ("floor, at rest", median(&seen.rest)),
        Bar::AtMost(MEDIAN),
    ));
    table.add(&trip(
        "inject while a turn streams, 99th percentile",
        slow,
        ("floor, at rest", percentile(&seen.rest, 0.99)),
        Bar::AtMost(SLOWEST),
    ));
    table.add(&trip(
        "inject while a turn streams, median",
        middle,
        ("floor, busy", median(&seen.list)),
        Bar::Told,
    ));
    table.add(&trip(
        "inject while a turn streams, 99th percentile",
        slow,
        ("floor, busy", percentile(&seen.list, 0.99)),
        Bar::Told,
    ));
    table.add(&trip(
        "inject while a turn waits, median",
        median(&seen.quiet),
        ("floor, at rest", median(&seen.rest)),
        Bar::Told,
    ));
    table.add(&Figure {
        name: "updates a second meanwhile".to_owned(),
        unit: Unit::PerSecond,
        value: median(&seen.disturbed),
        against: Some(("before", median(&seen.undisturbed))),
        bar: Bar::Told,
    });
    Ok(())
}

impl Seen {
    /// Alternates two requests while a turn streams: a message for it, and the list of another session, which
    /// is empty.
    fn measure_streaming(&mut self, setup: &Setup) -> Result<()> {
        let ours = setup.ours_steered()?;
        let (mut agent, session) = Running::start_with_session(&ours.program, &setup.cwd())?;
        let other = agent.new_session(&setup.cwd())?;
        for _ in 0..setup.injects / TURNS {
            let of = Of { session_id: &other };
            let (seconds, _) = time_request(&mut agent, "session/pending_injections", of)?;
            self.rest.push(seconds);
        }
        agent.prompt(&session, "flood")?;
        let begun = Instant::now();
        read_lines(&mut agent, UNDER_WAY)?;
        let rate = UNDER_WAY as f64 / begun.elapsed().as_secs_f64();
        self.undisturbed.push(rate);

        let (begun, mut lines) = (Instant::now(), 0);
        for place in 0..setup.injects / TURNS {
            lines += read_lines(&mut agent, updates_between(2 * place))?;
            let (seconds, answer) = inject(&mut agent, &session)?;
            self.inject.push(seconds);
            lines += answer.lines + read_lines(&mut agent, updates_between(2 * place + 1))?;
            let of = Of { session_id: &other };
            let (seconds, answer) = time_request(&mut agent, "session/pending_injections", of)?;
            self.list.push(seconds);
            lines += answer.lines;
        }
        let rate = lines as f64 / begun.elapsed().as_secs_f64();
        self.disturbed.push(rate);
        Ok(())
    }

    fn measure_waiting(&mut self, setup: &Setup) -> Result<()> {
        let ours = setup.ours_steered()?;
        let (mut agent, session) = Running::start_with_session(&ours.program, &setup.cwd())?;
        agent.prompt(&session, "hold")?;
        for _ in 0..setup.injects / TURNS {
            let (seconds, _) = inject(&mut agent, &session)?;
            self.quiet.push(seconds);
        }
        Ok(())
    }
}

/// Returns the number of updates between two requests: more than one write carries, and different each time, so
/// that requests arrive at any moment of the stream.
pub(super) fn updates_between(place: usize) -> u64 {
    2_000 + (place as u64 * 619) % 2_000
}

/// Reads this many lines.
fn read_lines(agent: &mut Running, lines: u64) -> Result<u64> {
    for _ in 0..lines {
        agent.lines.next()?.context("the agent ended in its turn")?;
    }
    Ok(lines)
}

fn inject(agent: &mut Running, session: &SessionId) -> Result<(f64, Drained)> {
    let inject = Inject::new(session, "steer");
    let (seconds, answer) = time_request(agent, "session/inject", inject)?;
    let accepted: Accepted = serde_json::from_str(answer.result.get())?;
    ensure!(accepted.status == "accepted", "{}", answer.result);
    Ok((seconds, answer))
}

/// Sends a request and reads up to its response. Fails if the turn ends before.
pub(super) fn time_request(
    agent: &mut Running,
    method: &'static str,
    params: impl Serialize,
) -> Result<(f64, Drained)> {
    let begun = Instant::now();
    let id = agent.send(method, params)?;
    let answer = agent.lines.read_until_response(id, |line| {
        // Only the prompt has an open response.
        if line.starts_with(br#"{"jsonrpc":"2.0","id":"#) {
            bail!("the turn ended before the measurement did");
        }
        Ok(())
    })?;
    let seconds = answer.at.duration_since(begun).as_secs_f64();
    Ok((seconds, answer))
}
