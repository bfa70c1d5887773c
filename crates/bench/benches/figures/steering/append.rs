//! The floor of accepting: appending as many bytes to a file on the same disk as the journal writes for one
//! message, and the cost of a sync each time, which accepting does not do.

use std::{fs::File, io::Write, time::Instant};

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::{
    median,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// About the bytes that the journal writes for a message of forty characters and the record of its acceptance.
const BYTES: usize = 640;
/// Fewer rounds, because a sync is slow.
const SYNCED: usize = 200;

pub(super) fn measure(setup: &Setup, _: &Runtime, table: &mut Table) -> Result<()> {
    let mut file = tempfile::tempfile_in(setup.logs())?;
    let plain = time_appends(&mut file, setup.injects, false)?;
    let synced = time_appends(&mut file, SYNCED, true)?;
    table.add(&Figure {
        name: format!("to append {BYTES} bytes to a file"),
        unit: Unit::Nanos,
        value: median(&plain),
        against: Some(("and sync", median(&synced))),
        bar: Bar::Told,
    });
    Ok(())
}

fn time_appends(file: &mut File, count: usize, sync: bool) -> Result<Vec<f64>> {
    let bytes = [b'x'; BYTES];
    let mut seconds = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        file.write_all(&bytes)?;
        if sync {
            file.sync_data()?;
        }
        seconds.push(begun.elapsed().as_secs_f64());
    }
    Ok(seconds)
}
