//! A hundred sessions with a thousand observers, whose connections break and return. Each observer must receive every
//! text once and in order, and the memory of the server must not grow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harn_acp::ext::event_id;
use serde_json::json;
use tokio::{runtime, task::JoinSet, time::sleep};

use crate::{
    SoakPlan,
    link::Link,
    server::{CYCLE, Server, prompt, text_number},
    table::{Bar, Figure, Table, Unit},
};

const SESSIONS: usize = 100;
const OBSERVERS: usize = 1000;
/// A connection breaks after at most this many texts.
const LIFETIME: u64 = 900;
/// After this part of the run, memory must be flat.
const GROWTH: u32 = 6;

#[derive(Default)]
struct Counts {
    texts: AtomicU64,
    connections: AtomicU64,
    ends: AtomicBool,
}

pub(crate) fn run(plan: &SoakPlan, table: &mut Table) -> Result<()> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(watch(plan, table))
}

async fn watch(plan: &SoakPlan, table: &mut Table) -> Result<()> {
    let server = Arc::new(Server::start(plan)?);
    let counts = Arc::new(Counts::default());
    let mut drivers = JoinSet::new();
    let mut observers = JoinSet::new();
    for number in 0..SESSIONS {
        let mut driver = server.connect("driver").await?;
        let id = driver.ask("session/new", server.params(None)).await?["sessionId"].take();
        let session: Arc<str> = id.as_str().context("a session without an id")?.into();
        for place in 0..OBSERVERS / SESSIONS {
            let seed = (number * OBSERVERS + place) as u64;
            let observer = observe(server.clone(), session.clone(), counts.clone(), seed);
            observers.spawn(observer);
        }
        drivers.spawn(drive(driver, session, counts.clone()));
    }
    let begun = Instant::now();
    let (mut early, mut late) = (0, 0);
    while begun.elapsed() < plan.length {
        sleep(Duration::from_secs(1)).await;
        let memory = server.memory()?.resident;
        match begun.elapsed() < plan.length / GROWTH {
            true => early = early.max(memory),
            false => late = late.max(memory),
        }
        if let Some(ended) = observers
            .try_join_next()
            .or_else(|| drivers.try_join_next())
        {
            ended??;
            anyhow::bail!("an observer ended early");
        }
    }
    counts.ends.store(true, Ordering::Relaxed);
    let mut in_order = 0;
    while let Some(observed) = observers.join_next().await {
        observed??;
        in_order += 1;
    }
    drivers.abort_all();
    while drivers.join_next().await.is_some() {}
    sleep(Duration::from_secs(3)).await;
    let after = server.memory()?.resident;
    let name = |what: &str| format!("{what}, {OBSERVERS} observers");
    table.add(&Figure {
        name: format!("received in order in {} s", plan.length.as_secs()),
        unit: Unit::Count,
        value: counts.texts.load(Ordering::Relaxed) as f64,
        against: Some((
            "connections",
            counts.connections.load(Ordering::Relaxed) as f64,
        )),
        bar: Bar::Told,
    });
    table.add(&Figure {
        // Any other result has ended the run with an error.
        name: name("received texts, each once and in order"),
        unit: Unit::Count,
        value: f64::from(in_order),
        against: Some(("observers", OBSERVERS as f64)),
        bar: Bar::Told,
    });
    table.add(&Figure {
        name: name("memory later"),
        unit: Unit::Mebibytes,
        value: late as f64,
        against: Some(("first sixth", early as f64)),
        bar: Bar::RatioAtMost(1.1),
    });
    table.add(&Figure {
        name: name("memory after the last left"),
        unit: Unit::Mebibytes,
        value: after as f64,
        against: Some(("before", late as f64)),
        bar: Bar::Told,
    });
    Ok(())
}

/// Prompts a session again and again.
async fn drive(mut link: Link, session: Arc<str>, counts: Arc<Counts>) -> Result<()> {
    while !counts.ends.load(Ordering::Relaxed) {
        let id = link
            .send("session/prompt", prompt(&session, "slow"))
            .await?;
        let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
        // A turn takes longer than the patience of `ask`.
        loop {
            let line = link.next().await?;
            if line.starts_with(head.as_bytes()) {
                let ended = line.windows(8).any(|it| it == b"end_turn");
                ensure!(ended, "a turn was rejected");
                break;
            }
        }
    }
    Ok(())
}

/// Follows a session over connections that break, each time after the last line that it has.
async fn observe(
    server: Arc<Server>,
    session: Arc<str>,
    counts: Arc<Counts>,
    seed: u64,
) -> Result<()> {
    let (mut last, mut expected, mut received, mut dice) = (None, 0, 0_u64, seed);
    while !counts.ends.load(Ordering::Relaxed) {
        counts.connections.fetch_add(1, Ordering::Relaxed);
        let mut link = server.connect("observer").await?;
        let mut params = server.params(Some(&session));
        if let Some(last) = last {
            params["lastEventId"] = json!(last);
        }
        link.send("session/load", params).await?;
        // A cheap generator is enough: only the moments must differ.
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut left = 1 + (dice >> 33) % LIFETIME;
        while left > 0 && !counts.ends.load(Ordering::Relaxed) {
            let Ok(read) = tokio::time::timeout(Duration::from_secs(5), next_line(&mut link)).await
            else {
                continue;
            };
            let (id, number) = read?;
            if id.is_some() {
                ensure!(id > last, "a line arrived twice or late");
                last = id;
            }
            if let Some(number) = number {
                ensure!(number == expected, "text {number} instead of {expected}");
                expected = (expected + 1) % CYCLE;
                counts.texts.fetch_add(1, Ordering::Relaxed);
                received += 1;
                left -= 1;
            }
        }
    }
    ensure!(received > 0, "an observer received no text");
    Ok(())
}

async fn next_line(link: &mut Link) -> Result<(Option<harn_acp::EventId>, Option<u64>)> {
    let line = link.next().await?;
    Ok((event_id::read_from_line(line), text_number(line)))
}
