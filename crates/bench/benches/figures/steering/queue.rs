//! Ten thousand pending messages against a thousand: the cost of each to accept, list, replace, revoke and
//! deliver, their cost for a seam that delivers none of them, and for a session that is reopened.
//!
//! In this process. The journal stores nothing, because the disk would hide the cost of the queue, except where
//! a session is reopened.

pub(super) mod wire;

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use harn_journal::JsonlStore;
use harn_model::{DeliveryMode, Seam};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    FEW, MANY, Row, add_cost_per_message,
    harness::{Stage, Turn, bench_actor, hub_at_rest, message_content},
};
use crate::{
    median,
    observers::Forgetful,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// Seams that are timed for each number of messages, and lists.
const PASSES: usize = 200;
const LISTS: usize = 20;

/// Seconds, one entry per round; of one message unless stated otherwise.
#[derive(Default)]
struct Costs {
    accept: Vec<f64>,
    list: Vec<f64>,
    replace: Vec<f64>,
    revoke: Vec<f64>,
    /// All at one seam.
    deliver: Vec<f64>,
    /// One by one, each as the prompt of another call.
    prompt: Vec<f64>,
    reopen: Vec<f64>,
    /// Of a seam that delivers nothing, without pending messages.
    empty_seam: Vec<f64>,
    /// The same while all messages wait for the end of the turn.
    full_seam: Vec<f64>,
}

pub(super) fn measure(setup: &Setup, runtime: &Runtime, table: &mut Table) -> Result<()> {
    let (mut few, mut many) = (Costs::default(), Costs::default());
    for _ in 0..setup.queues {
        for (count, costs) in [(FEW, &mut few), (MANY, &mut many)] {
            runtime.block_on(costs.measure_pending(&setup.cwd(), count))?;
            runtime.block_on(costs.measure_prompts(setup, count))?;
            runtime.block_on(costs.measure_reopening(setup, count))?;
        }
    }
    let rows: [Row<Costs>; 7] = [
        ("to accept one of 10000", |c| &c.accept),
        ("to list one of 10000", |c| &c.list),
        ("to replace one of 10000", |c| &c.replace),
        ("to take back one of 10000", |c| &c.revoke),
        ("to deliver one of 10000, all at one seam", |c| &c.deliver),
        ("to deliver one of 10000, each as a prompt", |c| &c.prompt),
        ("to reopen a session, for one of 10000", |c| &c.reopen),
    ];
    for (name, of) in rows {
        add_cost_per_message(table, name, [of(&few), of(&many)]);
    }
    table.add(&Figure {
        name: "a seam that leaves 10000 waiting".to_owned(),
        unit: Unit::Nanos,
        value: median(&many.full_seam),
        against: Some(("none waits", median(&many.empty_seam))),
        bar: Bar::RatioAtMost(2.0),
    });
    Ok(())
}

impl Costs {
    async fn measure_pending(&mut self, cwd: &Path, count: usize) -> Result<()> {
        let stage = Stage::begin(Arc::new(Forgetful), cwd, Turn::Obey).await?;
        time_seams(&stage, &mut self.empty_seam).await?;

        let begun = Instant::now();
        let ids = stage.fill(DeliveryMode::AuditOnly, count).await?;
        self.accept.push(seconds_each(begun, count));
        time_seams(&stage, &mut self.full_seam).await?;

        let begun = Instant::now();
        for _ in 0..LISTS {
            let listed = stage.session.pending().len();
            ensure!(listed == count, "{listed} of {count} are listed");
        }
        self.list.push(seconds_each(begun, LISTS * count));

        let begun = Instant::now();
        for id in &ids {
            let replaced =
                stage
                    .session
                    .replace_inject(id.clone(), Ok(message_content()), bench_actor());
            replaced.await?;
        }
        self.replace.push(seconds_each(begun, count));

        let begun = Instant::now();
        for id in ids {
            stage.session.revoke_inject(id, bench_actor()).await?;
        }
        self.revoke.push(seconds_each(begun, count));
        let left = stage.session.pending().len();
        ensure!(left == 0, "{left} are left");

        stage.fill(DeliveryMode::FinishStep, count).await?;
        let (delivered, seconds) = stage.pass(Seam::TurnStart).await?;
        ensure!(delivered == count, "{delivered} of {count} are delivered");
        self.deliver.push(seconds / count as f64);
        stage.end_turn().await
    }

    async fn measure_prompts(&mut self, setup: &Setup, count: usize) -> Result<()> {
        let state = TempDir::with_prefix_in("state-", setup.logs())?;
        // A subscription that reads to the end may fall behind, which needs a journal.
        let store = Arc::new(JsonlStore::new(state.path()));
        let stage = Stage::begin(store, &setup.cwd(), Turn::Obey).await?;
        stage.fill(DeliveryMode::AuditOnly, count).await?;
        let session = stage.session.observer();
        let begun = Instant::now();
        stage.end_turn().await?;
        self.prompt.push(seconds_each(begun, count));
        let left = session.pending().len();
        ensure!(left == 0, "{left} are left");
        Ok(())
    }

    async fn measure_reopening(&mut self, setup: &Setup, count: usize) -> Result<()> {
        let state = TempDir::with_prefix_in("state-", setup.logs())?;
        let store = Arc::new(JsonlStore::new(state.path()));
        let stage = Stage::begin(store.clone(), &setup.cwd(), Turn::Obey).await?;
        stage.fill(DeliveryMode::AuditOnly, count).await?;
        stage.hub.shutdown().await;

        let again = hub_at_rest(store);
        let begun = Instant::now();
        let session = again.open(stage.session.id(), None).await?;
        self.reopen.push(seconds_each(begun, count));
        let waiting = session.pending().len();
        ensure!(waiting == count, "{waiting} of {count} still wait");
        again.shutdown().await;
        Ok(())
    }
}

async fn time_seams(stage: &Stage, into: &mut Vec<f64>) -> Result<()> {
    for _ in 0..PASSES {
        let (delivered, seconds) = stage.pass(Seam::TurnStart).await?;
        ensure!(delivered == 0, "{delivered} are delivered too early");
        into.push(seconds);
    }
    Ok(())
}

fn seconds_each(begun: Instant, count: usize) -> f64 {
    begun.elapsed().as_secs_f64() / count as f64
}
