//! Accepting a message over the wire: from when the request is written until its answer is read, while the same
//! connection carries a turn at full speed and the client reads all of it. Updates are read between two
//! requests, so that each meets the stream and not the end of the one before.
//!
//! The answer lies behind whatever the agent said before it, and that is part of the time. A request that
//! writes nothing goes the same way in turn, and on a connection at rest: the floor.

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

/// Processes of which each has its share of the messages.
pub(super) const TURNS: usize = 8;
/// What accepting may take, in seconds.
pub(super) const MEDIAN: f64 = 1e-3;
pub(super) const SLOWEST: f64 = 5e-3;

/// Updates that are read before the first message, so that the turn is under way; their rate is told.
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
    /// Updates a second.
    undisturbed: Vec<f64>,
    disturbed: Vec<f64>,
}

pub(super) fn measure(setup: &Setup, _: &Runtime, table: &mut Table) -> Result<()> {
    let mut seen = Seen::default();
    for _ in 0..TURNS {
        seen.streaming(setup)?;
        seen.waiting(setup)?;
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
    /// Two requests in turn while a turn streams: a message for it, and what waits in another session, which
    /// is nothing.
    fn streaming(&mut self, setup: &Setup) -> Result<()> {
        let ours = setup.ours_steered()?;
        let (mut agent, session) = Running::ready(&ours.program, &setup.cwd())?;
        let other = agent.new_session(&setup.cwd())?;
        for _ in 0..setup.injects / TURNS {
            let of = Of { session_id: &other };
            let (seconds, _) = trip(&mut agent, "session/pending_injections", of)?;
            self.rest.push(seconds);
        }
        agent.prompt(&session, "flood")?;
        let begun = Instant::now();
        pass(&mut agent, UNDER_WAY)?;
        let rate = UNDER_WAY as f64 / begun.elapsed().as_secs_f64();
        self.undisturbed.push(rate);

        let (begun, mut lines) = (Instant::now(), 0);
        for place in 0..setup.injects / TURNS {
            lines += pass(&mut agent, between(2 * place))?;
            let (seconds, answer) = inject(&mut agent, &session)?;
            self.inject.push(seconds);
            lines += answer.lines + pass(&mut agent, between(2 * place + 1))?;
            let of = Of { session_id: &other };
            let (seconds, answer) = trip(&mut agent, "session/pending_injections", of)?;
            self.list.push(seconds);
            lines += answer.lines;
        }
        let rate = lines as f64 / begun.elapsed().as_secs_f64();
        self.disturbed.push(rate);
        Ok(())
    }

    fn waiting(&mut self, setup: &Setup) -> Result<()> {
        let ours = setup.ours_steered()?;
        let (mut agent, session) = Running::ready(&ours.program, &setup.cwd())?;
        agent.prompt(&session, "hold")?;
        for _ in 0..setup.injects / TURNS {
            let (seconds, _) = inject(&mut agent, &session)?;
            self.quiet.push(seconds);
        }
        Ok(())
    }
}

/// Updates between two requests: more than travel together, and never as many again, so that requests come at
/// any moment of what travels.
pub(super) fn between(place: usize) -> u64 {
    2_000 + (place as u64 * 619) % 2_000
}

/// Reads so many lines.
fn pass(agent: &mut Running, lines: u64) -> Result<u64> {
    for _ in 0..lines {
        agent.lines.next()?.context("the agent ended in its turn")?;
    }
    Ok(lines)
}

fn inject(agent: &mut Running, session: &SessionId) -> Result<(f64, Drained)> {
    let inject = Inject::new(session, "steer");
    let (seconds, answer) = trip(agent, "session/inject", inject)?;
    let accepted: Accepted = serde_json::from_str(answer.result.get())?;
    ensure!(accepted.status == "accepted", "{}", answer.result);
    Ok((seconds, answer))
}

/// Sends a request and reads up to its answer. Fails when the turn ends on the way.
pub(super) fn trip(
    agent: &mut Running,
    method: &'static str,
    params: impl Serialize,
) -> Result<(f64, Drained)> {
    let begun = Instant::now();
    let id = agent.send(method, params)?;
    let answer = agent.lines.until_answer(id, |line| {
        // Only the prompt has an answer to come.
        if line.starts_with(br#"{"jsonrpc":"2.0","id":"#) {
            bail!("the turn ended before the measurement did");
        }
        Ok(())
    })?;
    let seconds = answer.at.duration_since(begun).as_secs_f64();
    Ok((seconds, answer))
}
