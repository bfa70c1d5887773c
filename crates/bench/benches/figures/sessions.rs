//! Many sessions in one process: the cost of an idle one, and that any of them still answers.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::{
    machine::Memory,
    median,
    program::Running,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let ours = setup.ours_flooding()?;
    let cwd = setup.cwd();
    // One session before counting, so that the fixed cost of a process is not part of the average.
    let (mut agent, _) = Running::start_with_session(&ours.program, &cwd)?;
    let settled =
        |pid| Memory::wait_until_settled(pid, Duration::from_millis(300), Duration::from_secs(30));
    let before = settled(agent.pid)?;

    let count = setup.sessions;
    let mut seconds = Vec::new();
    let mut sessions = Vec::new();
    for place in 0..count {
        let begun = Instant::now();
        let session = agent
            .new_session(&cwd)
            .with_context(|| format!("session {place}"))?;
        seconds.push(begun.elapsed().as_secs_f64());
        sessions.push(session);
    }
    let after = settled(agent.pid)?;
    let grown = after.resident.saturating_sub(before.resident);

    table.add(&Figure {
        name: format!("memory of one idle session of {count}"),
        unit: Unit::Kibibytes,
        value: grown as f64 / f64::from(count),
        against: None,
        bar: Bar::AtMost(32.0 * 1024.0),
    });
    let (early, late) = seconds.split_at(seconds.len() / 2);
    table.add(&Figure {
        name: format!("session/new, second half of {count}"),
        unit: Unit::Micros,
        value: median(late),
        against: Some(("first half", median(early))),
        bar: Bar::Told,
    });

    let session = sessions
        .get(sessions.len() / 2)
        .context("there are sessions")?;
    let begun = Instant::now();
    let id = agent.prompt(session, "hello")?;
    let answer = agent.read_response(id)?;
    table.add(&Figure {
        name: format!("a prompt among {count} sessions"),
        unit: Unit::Micros,
        value: answer.at.duration_since(begun).as_secs_f64(),
        against: None,
        bar: Bar::Told,
    });
    Ok(())
}
