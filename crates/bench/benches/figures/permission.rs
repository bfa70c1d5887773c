//! The cost to judge a call, to parse its command line, to resolve its paths, and to ask.
//!
//! The first three are work without waits, in this process, and the fastest round counts. The question is a
//! round trip to the real binary.

mod decision;
mod line;
mod paths;
mod trip;

use std::{hint::black_box, time::Instant};

use anyhow::Result;

use crate::{least, setup::Setup, table::Table};

/// Repetitions timed together: one is too short for the clock.
const TOGETHER: usize = 10;

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    decision::measure(setup, table)?;
    line::measure(setup, table)?;
    paths::measure(setup, table)?;
    trip::measure(setup, table)
}

/// Returns the seconds that each of these takes once. They alternate, so that a busy moment affects all of
/// them.
fn time_alternating<const N: usize>(rounds: usize, mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut samples = [const { Vec::new() }; N];
    for _ in 0..rounds {
        for (work, samples) in works.iter_mut().zip(&mut samples) {
            let begun = Instant::now();
            for _ in 0..TOGETHER {
                black_box(&mut *work)();
            }
            samples.push(begun.elapsed().as_secs_f64() / TOGETHER as f64);
        }
    }
    samples.map(|samples| least(&samples))
}
