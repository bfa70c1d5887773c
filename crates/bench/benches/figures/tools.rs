//! The cost to find tools and skills, in this process.

mod search;
mod skills;

use std::time::Instant;

use anyhow::Result;

use crate::{setup::Setup, table::Table};

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    search::measure(setup, table)?;
    skills::measure(setup, table)
}

fn time_work(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}
