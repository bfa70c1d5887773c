//! From start to the answer to `initialize`, and the memory it takes until then.

use anyhow::Result;

use crate::{
    machine::Memory,
    median,
    program::Program,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// What was seen of one program.
#[derive(Default)]
struct Starts {
    seconds: Vec<f64>,
    peak: u64,
}

impl Starts {
    fn once(&mut self, program: &Program) -> Result<()> {
        let mut agent = program.start()?;
        let answer = agent.initialize()?;
        let Memory { peak, .. } = agent.memory()?;
        self.seconds
            .push(answer.at.duration_since(agent.begun).as_secs_f64());
        self.peak = self.peak.max(peak);
        Ok(())
    }
}

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let ours = setup.ours()?;
    let programs = [setup.floor_initialize(), setup.sdk_agent(), ours.program];
    for program in &programs {
        // Once for the page cache.
        Starts::default().once(program)?;
    }
    let mut starts = [Starts::default(), Starts::default(), Starts::default()];
    for _ in 0..setup.starts {
        // In turn, so that a busy moment of the machine falls on all three.
        for (program, starts) in programs.iter().zip(&mut starts) {
            starts.once(program)?;
        }
    }

    let [floor, sdk, ours] = starts;
    let [floor_time, sdk_time, ours_time] =
        [&floor, &sdk, &ours].map(|starts| median(&starts.seconds));
    table.add(&Figure {
        name: "start to initialize answer".to_owned(),
        unit: Unit::Millis,
        value: ours_time,
        against: Some(("floor", floor_time)),
        bar: Bar::RatioAtMost(2.5),
    });
    table.add(&Figure {
        name: "start to initialize answer".to_owned(),
        unit: Unit::Millis,
        value: ours_time,
        against: Some(("sdk", sdk_time)),
        bar: Bar::Told,
    });
    table.add(&Figure {
        name: "peak memory then".to_owned(),
        unit: Unit::Megabytes,
        value: ours.peak as f64,
        against: Some(("sdk", sdk.peak as f64)),
        bar: Bar::AtMost(8e6),
    });
    Ok(())
}
