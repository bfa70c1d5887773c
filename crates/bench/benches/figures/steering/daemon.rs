//! The processor time of an idle agent with a client on its connection. Beside it, at the same time, a process
//! without a turn.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use tokio::runtime::Runtime;

use crate::{
    machine::Processor,
    program::Running,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// The limit, which no user would notice.
const MOST: f64 = 10e-3;
/// A thread that ends loses its time since the last sample.
const LOOK: Duration = Duration::from_millis(250);

pub(super) fn measure(setup: &Setup, _: &Runtime, table: &mut Table) -> Result<()> {
    let (ours, beside) = (setup.ours_steered()?, setup.ours_steered()?);
    let (resting, _) = Running::start_with_session(&beside.program, &setup.cwd())?;
    let (mut agent, session) = Running::start_with_session(&ours.program, &setup.cwd())?;
    agent.prompt(&session, "idle")?;
    loop {
        let line = agent.lines.next()?.context("the agent ended in its turn")?;
        let line = String::from_utf8_lossy(line);
        if line.contains(r#""method":"agent/idle""#) {
            break;
        }
        if line.contains(r#""stopReason""#) {
            bail!("the turn ended instead of waiting");
        }
    }

    let (mut waiting, mut floor) = (Processor::start(agent.pid)?, Processor::start(resting.pid)?);
    let begun = Instant::now();
    while begun.elapsed() < setup.idle {
        thread::sleep(LOOK);
        waiting.sample()?;
        floor.sample()?;
    }
    let seconds = setup.idle.as_secs();
    let rows = [
        ("waiting", waiting, Bar::AtMost(MOST)),
        ("no turn", floor, Bar::Told),
    ];
    for (what, processor, bar) in rows {
        table.add(&Figure {
            name: format!("processor time of {seconds} s of {what}"),
            unit: Unit::Micros,
            value: processor.time_used().as_secs_f64(),
            // A process at rest may use none at all, which cannot be a divisor.
            against: None,
            bar,
        });
    }
    Ok(())
}
