//! The cost of sending messages to a working agent, of many pending messages, and of an idle agent.
//!
//! Accepting is measured over the real wire while a turn streams, and again without a wire; the queue in this
//! process and over the wire, ten thousand messages against a thousand; idling as the processor time of the
//! real binary.

mod accept;
mod append;
mod daemon;
mod harness;
mod queue;
mod wire;

use anyhow::Result;
use tokio::runtime::{Builder, Runtime};

use crate::{
    median,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// How many pending messages must not be slower, and the number they are compared with.
const MANY: usize = 10_000;
const FEW: usize = 1_000;

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let runtime = worker_runtime()?;
    // Each part separately: a failure leaves the other rows.
    for (name, part) in [
        ("steering: the wire", wire::measure as Part),
        ("steering: without a wire", accept::measure),
        ("steering: the disk", append::measure),
        ("steering: the queue", queue::measure),
        ("steering: the queue over the wire", queue::wire::measure),
        ("steering: a daemon", daemon::measure),
    ] {
        if let Err(error) = part(setup, &runtime, table) {
            table.add_failure(name, &error);
        }
    }
    Ok(())
}

type Part = fn(&Setup, &Runtime, &mut Table) -> Result<()>;

/// Returns a runtime with two workers, as in the binary.
fn worker_runtime() -> Result<Runtime> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    Ok(runtime)
}

/// A figure's name, and where its seconds are.
type Row<Costs> = (&'static str, fn(&Costs) -> &Vec<f64>);

/// Adds the cost of one of many against one of few: ten times as much if each were searched for. Part of the
/// difference is the cost of ten times as much memory.
fn add_cost_per_message(table: &mut Table, name: &str, [few, many]: [&Vec<f64>; 2]) {
    table.add(&Figure {
        name: name.to_owned(),
        unit: Unit::Nanos,
        value: median(many),
        against: Some(("each of 1000", median(few))),
        bar: Bar::RatioAtMost(5.0),
    });
}
