//! The cost of a bare `fdatasync` here: the journal waits for one at the beginning and the end of a turn.

use std::{io::Write, time::Instant};

use anyhow::Result;

use crate::{
    median, percentile,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// About the bytes that the journal writes at the beginning of a turn.
const BYTES: usize = 256;
const ROUNDS: usize = 200;

/// Prints the cost of the disk, which a reader needs for the figures that depend on it.
pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let mut file = tempfile::tempfile_in(setup.logs())?;
    let mut seconds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        file.write_all(&[b'x'; BYTES])?;
        let begun = Instant::now();
        file.sync_data()?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    table.add(&Figure {
        name: format!("a bare fdatasync of {BYTES} bytes"),
        unit: Unit::Micros,
        value: median(&seconds),
        against: Some(("p99", percentile(&seconds, 0.99))),
        bar: Bar::Told,
    });
    Ok(())
}
