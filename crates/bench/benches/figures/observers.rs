//! The cost of observers for a session's own task: one observer against a thousand that all keep up.
//!
//! Runs in this process and without a wire, on two workers as in the binary. The work of the observers
//! themselves is a separate figure.

mod null_store;
mod observed_turn;
mod stopwatch;

use std::sync::Arc;

use anyhow::{Result, ensure};
use harn_journal::JsonlStore;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::{
    median,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};
use observed_turn::{PROFILES, Seen, Turn, watch};

pub(crate) use null_store::Forgetful;
pub(crate) use observed_turn::Counted;

const MANY: usize = 1000;
/// Runs of each size, in turn.
const RUNS: usize = 4;

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let (mut one, mut many) = (Seen::default(), Seen::default());
    for _ in 0..RUNS {
        for (observers, into) in [(1, &mut one), (MANY, &mut many)] {
            let turn = Turn::Spaced(setup.batches / RUNS);
            let seen = watch(Arc::new(Forgetful), setup.cwd(), observers, turn);
            let mut seen = runtime.block_on(seen)?;
            into.publishing.append(&mut seen.publishing);
            into.reaching_all.append(&mut seen.reaching_all);
            into.batches += seen.batches;
            into.encodings += seen.encodings;
        }
    }
    for seen in [&one, &many] {
        ensure!(
            seen.publishing.len() >= setup.batches / 2,
            "only {} of {} batches could be timed",
            seen.publishing.len(),
            setup.batches
        );
    }
    table.add(&Figure {
        name: format!("append and publish, {MANY} observers"),
        unit: Unit::Nanos,
        value: median(&many.publishing),
        against: Some(("1 observer", median(&one.publishing))),
        bar: Bar::RatioAtMost(1.5),
    });
    table.add(&Figure {
        name: format!("encodings for {MANY} of {PROFILES} profiles"),
        unit: Unit::Count,
        value: many.encodings as f64,
        against: Some(("3 a batch", (many.batches * PROFILES as u64) as f64)),
        bar: Bar::RatioAtMost(1.0),
    });
    table.add(&Figure {
        name: format!("from an emit until all {MANY} have it"),
        unit: Unit::Micros,
        value: median(&many.reaching_all),
        against: Some(("1 observer", median(&one.reaching_all))),
        bar: Bar::Told,
    });
    measure_floods(setup, table, &runtime)
}

/// At full speed the observers need both cores themselves, so this is no cost of publishing. It is shown
/// because it is the time that a person notices.
fn measure_floods(setup: &Setup, table: &mut Table, runtime: &Runtime) -> Result<()> {
    let (mut one, mut many) = (Vec::new(), Vec::new());
    let (mut encodings, mut batches) = (0, 0);
    for _ in 0..RUNS {
        one.push(flood(setup, runtime, 1)?.turn);
        let seen = flood(setup, runtime, MANY)?;
        many.push(seen.turn);
        encodings += seen.encodings;
        batches += seen.batches;
    }
    table.add(&Figure {
        name: format!("a turn of {} updates, {MANY} observers", setup.updates),
        unit: Unit::Millis,
        value: median(&many),
        against: Some(("1 observer", median(&one))),
        bar: Bar::Told,
    });
    table.add(&Figure {
        name: "encodings then".to_owned(),
        unit: Unit::Count,
        value: encodings as f64,
        against: Some(("3 a batch", (batches * PROFILES as u64) as f64)),
        bar: Bar::Told,
    });
    Ok(())
}

/// Runs a turn at full speed with a journal on disk, for observers that fall behind.
fn flood(setup: &Setup, runtime: &Runtime, observers: usize) -> Result<Seen> {
    let state = TempDir::with_prefix_in("state-", setup.logs())?;
    let store = Arc::new(JsonlStore::new(state.path()));
    let turn = Turn::Flood(setup.updates);
    runtime.block_on(watch(store, setup.cwd(), observers, turn))
}
