//! Accepting a message without a wire: the time of the session's task to judge it, write it and confirm it,
//! while its agent streams to a reader, and while its agent does nothing.
//!
//! A message is sent right after its sender has received a batch, when the task has begun the next one: the
//! worst moment, not an average one.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use harn_journal::JsonlStore;
use harn_model::DeliveryMode;
use harn_runtime::Subscription;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    harness::{Stage, Turn},
    wire::{MEDIAN, SLOWEST, TURNS, updates_between},
};
use crate::{
    median, percentile,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

pub(super) fn measure(setup: &Setup, runtime: &Runtime, table: &mut Table) -> Result<()> {
    let (mut quiet, mut busy) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        for (turn, into) in [(Turn::Obey, &mut quiet), (Turn::Flood, &mut busy)] {
            into.extend(run(setup, runtime, turn)?);
        }
    }
    table.add(&Figure {
        name: "the same without a wire, median".to_owned(),
        unit: Unit::Micros,
        value: median(&busy),
        against: Some(("nothing streams", median(&quiet))),
        bar: Bar::AtMost(MEDIAN),
    });
    table.add(&Figure {
        name: "the same without a wire, 99th percentile".to_owned(),
        unit: Unit::Micros,
        value: percentile(&busy, 0.99),
        against: Some(("nothing streams", percentile(&quiet, 0.99))),
        bar: Bar::AtMost(SLOWEST),
    });
    Ok(())
}

fn run(setup: &Setup, runtime: &Runtime, turn: Turn) -> Result<Vec<f64>> {
    let state = TempDir::with_prefix_in("state-", setup.logs())?;
    let store = Arc::new(JsonlStore::new(state.path()));
    let (cwd, count) = (setup.cwd(), setup.injects / TURNS);
    // On the workers, where the binary's connection is too.
    let driven = runtime.spawn(async move {
        let stage = Stage::begin(store, &cwd, turn).await?;
        let mut updates = stage.session.subscribe_from_now();
        let mut seconds = Vec::with_capacity(count);
        for place in 0..count {
            if matches!(turn, Turn::Flood) {
                read_events(&mut updates, updates_between(place)).await?;
            }
            seconds.push(stage.inject(DeliveryMode::FinishStep).await?.1);
        }
        let running = stage.session.cancel_target();
        running.context("the turn ended before the messages did")?;
        stage.hub.shutdown().await;
        anyhow::Ok(seconds)
    });
    runtime.block_on(driven)?
}

/// Reads this many events, or some more.
async fn read_events(updates: &mut Subscription, events: u64) -> Result<()> {
    let mut seen = 0;
    while seen < events {
        let delivery = updates.next().await;
        let delivery = delivery.map_err(|end| anyhow!("the session ended: {end:?}"))?;
        seen += delivery.events().len() as u64;
    }
    Ok(())
}
