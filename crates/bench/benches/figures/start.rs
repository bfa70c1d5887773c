//! From start to the response to `initialize`, and the memory until then.

use anyhow::Result;

use crate::{
    machine::Memory,
    median,
    program::Program,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// The measurements of one program.
#[derive(Default)]
struct Starts {
    seconds: Vec<f64>,
    peaks: Vec<f64>,
}

impl Starts {
    fn measure_once(&mut self, program: &Program) -> Result<()> {
        let mut agent = program.start()?;
        let answer = agent.initialize()?;
        let Memory { peak, .. } = agent.memory()?;
        self.seconds
            .push(answer.at.duration_since(agent.begun).as_secs_f64());
        self.peaks.push(peak as f64);
        Ok(())
    }
}

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let ours = setup.ours()?;
    let programs = [setup.floor_initialize(), setup.sdk_agent(), ours.program];
    for program in &programs {
        // One start for the page cache.
        Starts::default().measure_once(program)?;
    }
    let mut starts = [Starts::default(), Starts::default(), Starts::default()];
    for _ in 0..setup.starts {
        // In turn, so that a busy moment of the machine affects all three.
        for (program, starts) in programs.iter().zip(&mut starts) {
            starts.measure_once(program)?;
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
        value: median(&ours.peaks),
        against: Some(("sdk", median(&sdk.peaks))),
        bar: Bar::AtMost(10e6),
    });
    let [sdk_most, ours_most] =
        [&sdk, &ours].map(|starts| starts.peaks.iter().copied().fold(0.0, f64::max));
    table.add(&Figure {
        name: "the largest of these".to_owned(),
        unit: Unit::Megabytes,
        value: ours_most,
        against: Some(("sdk", sdk_most)),
        bar: Bar::Told,
    });
    Ok(())
}
