//! What it costs to find tools, in this process.

mod search;

use anyhow::Result;

use crate::{setup::Setup, table::Table};

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    search::measure(setup, table)
}
