//! Updates a second from the agent to a client that reads as fast as it can, and the peak memory.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result, ensure};

use crate::{
    median,
    program::{Program, Running},
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// Other updates that an agent may send in a turn, such as usage or a title.
const EXTRA: u64 = 16;

/// The measurements of one program.
#[derive(Default)]
struct Floods {
    rates: Vec<f64>,
    peak: u64,
    bytes_each: f64,
}

impl Floods {
    fn flood_agent(&mut self, program: &Program, cwd: &Path, count: u64) -> Result<()> {
        let (mut agent, session) = Running::start_with_session(program, cwd)?;
        let begun = Instant::now();
        let id = agent.prompt(&session, &format!("flood {count}"))?;
        let drained = agent.read_response(id)?;
        ensure!(
            (count..=count + EXTRA).contains(&drained.lines),
            "{} updates instead of {count}",
            drained.lines
        );
        let seconds = drained.at.duration_since(begun).as_secs_f64();
        self.rates.push(count as f64 / seconds);
        self.bytes_each = drained.bytes as f64 / drained.lines as f64;
        self.peak = self.peak.max(agent.memory()?.peak);
        Ok(())
    }

    fn flood_floor(&mut self, program: &Program, count: u64) -> Result<()> {
        let mut floor = program.start()?;
        floor.lines.next()?.context("the floor is not ready")?;
        let begun = Instant::now();
        floor.write(b"\n")?;
        let (mut lines, mut bytes) = (0, 0);
        while let Some(line) = floor.lines.next()? {
            lines += 1;
            bytes += line.len() + 1;
        }
        let seconds = begun.elapsed().as_secs_f64();
        ensure!(lines == count, "{lines} updates instead of {count}");
        self.rates.push(count as f64 / seconds);
        self.bytes_each = bytes as f64 / count as f64;
        Ok(())
    }
}

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let (floor_program, sdk_program) = (setup.floor_serialise(), setup.sdk_agent());
    let (cwd, count) = (setup.cwd(), setup.updates);
    let (mut floor, mut sdk, mut ours) = (Floods::default(), Floods::default(), Floods::default());
    for _ in 0..setup.floods {
        sdk.flood_agent(&sdk_program, &cwd, count)?;
        // These two take a hundredth of that time, and a short time needs more samples.
        for _ in 0..3 {
            floor.flood_floor(&floor_program, count)?;
            ours.flood_agent(&setup.ours_flooding()?.program, &cwd, count)?;
        }
    }
    let mut longer = Floods::default();
    longer.flood_agent(&setup.ours_flooding()?.program, &cwd, 4 * count)?;

    let [floor_rate, sdk_rate, ours_rate] =
        [&floor, &sdk, &ours].map(|floods| median(&floods.rates));
    table.add(&Figure {
        name: format!("updates a second, {count}"),
        unit: Unit::PerSecond,
        value: ours_rate,
        against: Some(("sdk", sdk_rate)),
        bar: Bar::RatioAtLeast(10.0),
    });
    table.add(&Figure {
        name: format!("updates a second, {count}"),
        unit: Unit::PerSecond,
        value: ours_rate,
        against: Some(("floor", floor_rate)),
        bar: Bar::RatioAtLeast(0.5),
    });
    table.add(&Figure {
        name: "bytes of one update".to_owned(),
        unit: Unit::Bytes,
        value: ours.bytes_each,
        against: Some(("floor", floor.bytes_each)),
        bar: Bar::Told,
    });
    table.add(&Figure {
        name: format!("peak memory, {count} updates"),
        unit: Unit::Megabytes,
        value: ours.peak as f64,
        against: Some(("sdk", sdk.peak as f64)),
        bar: Bar::Told,
    });
    table.add(&Figure {
        name: format!("peak memory, {} updates", 4 * count),
        unit: Unit::Megabytes,
        value: longer.peak as f64,
        against: Some(("fewer", ours.peak as f64)),
        // Flat, except for variations of the allocator.
        bar: Bar::RatioAtMost(1.2),
    });
    Ok(())
}
