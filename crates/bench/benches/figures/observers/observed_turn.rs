//! A session and its observers: each reads every delivery and uses the encoding of its profile.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, bail};
use harn_bench::FORTY;
use harn_journal::Store;
use harn_model::{AgentEvent, ContentBlock, StopReason};
use harn_runtime::{
    Agent, AgentError, BatchSlice, Controller, EncodingSlot, Hub, HubConfig, IdKind, IdSource,
    NewSession, NoDisk, NoHost, SessionEnd, Subscription, TurnContext, async_trait,
};
use tokio::{sync::Notify, task::JoinSet};

use super::stopwatch::Gauge;

/// As many encodings as there are profiles.
pub(crate) const PROFILES: usize = 3;

/// The pause between two batches, in which the machine becomes idle.
const REST: Duration = Duration::from_millis(1);

/// The output of a turn: batches one by one, or updates as fast as possible.
#[derive(Clone, Copy)]
pub(crate) enum Turn {
    /// Every observer takes a batch before the next one.
    Spaced(usize),
    Flood(u64),
}

/// The measurements of a turn.
#[derive(Default)]
pub(crate) struct Seen {
    /// Seconds of the session's task per batch.
    pub(crate) publishing: Vec<f64>,
    /// Seconds from the agent's emit until the last observer had it.
    pub(crate) reaching_all: Vec<f64>,
    /// Seconds from the prompt until all observers had the end of the turn.
    pub(crate) turn: f64,
    /// Deliveries of the observer that had the most.
    pub(crate) batches: u64,
    /// Encodings made for all observers.
    pub(crate) encodings: u64,
}

/// Runs one turn with this many observers.
pub(crate) async fn watch(
    store: Arc<dyn Store>,
    cwd: PathBuf,
    observers: usize,
    turn: Turn,
) -> Result<Seen> {
    let stage = Arc::new(Stage {
        turn,
        observers: observers as u64,
        gauge: Gauge::new(),
        taken: AtomicU64::new(0),
        all_took: Notify::new(),
        encodings: AtomicU64::new(0),
        seen: Mutex::default(),
    });
    let agent = Arc::new(Emitter(stage.clone()));
    let config = HubConfig::new(
        agent,
        store,
        stage.gauge.clone(),
        Arc::new(Counted::default()),
        Arc::new(NoHost),
        Arc::new(NoDisk),
    );
    let hub = Hub::new(config);
    let additional_directories = Vec::new();
    let new = NewSession {
        cwd,
        additional_directories,
    };
    let session = hub.create(new).await?;
    let mut watching = JoinSet::new();
    for place in 0..observers {
        let slot = EncodingSlot::ALL[place % PROFILES];
        let observer = observe(session.subscribe_from_now(), slot, stage.clone());
        watching.spawn(observer);
    }
    let begun = Instant::now();
    prompt(&session).await?;
    let mut batches = 0;
    while let Some(observed) = watching.join_next().await {
        batches = batches.max(observed??);
    }
    let elapsed = begun.elapsed().as_secs_f64();
    hub.shutdown().await;
    let mut seen = std::mem::take(&mut *stage.seen());
    seen.turn = elapsed;
    seen.batches = batches;
    seen.encodings = stage.encodings.load(Ordering::Relaxed);
    Ok(seen)
}

async fn prompt(session: &Controller) -> Result<()> {
    let blocks = vec![ContentBlock::text("go")];
    session.prompt(blocks, |_| ()).await?;
    Ok(())
}

/// Reads everything up to the end of the turn; returns the number of deliveries.
async fn observe(mut from: Subscription, slot: EncodingSlot, stage: Arc<Stage>) -> Result<u64> {
    let mut deliveries = 0;
    loop {
        let delivery = match from.next().await {
            Ok(delivery) => delivery,
            Err(SessionEnd::Closed) => bail!("the session ended before its turn"),
            Err(SessionEnd::Failed(why)) => return Err(anyhow!("an observer was cut off: {why}")),
        };
        deliveries += 1;
        stage.record_delivery(&delivery, slot);
        let ended = |event: &AgentEvent| matches!(event, AgentEvent::TurnEnded(_));
        if delivery.events().iter().any(|e| ended(&e.event)) {
            return Ok(deliveries);
        }
    }
}

struct Stage {
    turn: Turn,
    observers: u64,
    gauge: Arc<Gauge>,
    /// Chunks taken by all observers together.
    taken: AtomicU64,
    all_took: Notify,
    encodings: AtomicU64,
    seen: Mutex<Seen>,
}

impl Stage {
    fn record_delivery(&self, delivery: &BatchSlice, slot: EncodingSlot) {
        delivery.get_or_encode(slot, |events| {
            self.encodings.fetch_add(1, Ordering::Relaxed);
            // Any encoding will do: only the number of encodings matters.
            serde_json::to_vec(events).unwrap_or_default().into()
        });
        let chunk = |event: &AgentEvent| matches!(event, AgentEvent::AgentMessageChunk { .. });
        let chunks = delivery.events().iter().filter(|e| chunk(&e.event)).count() as u64;
        let taken = self.taken.fetch_add(chunks, Ordering::AcqRel) + chunks;
        if chunks > 0 && taken.is_multiple_of(self.observers) {
            self.all_took.notify_one();
        }
    }

    async fn wait_until_all_took(&self, chunks: u64) {
        while self.taken.load(Ordering::Acquire) < chunks * self.observers {
            self.all_took.notified().await;
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Emitter(Arc<Stage>);

#[async_trait]
impl Agent for Emitter {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        match self.0.turn {
            Turn::Spaced(batches) => {
                for batch in 1..=batches {
                    tokio::time::sleep(REST).await;
                    let begun = Instant::now();
                    cx.say(FORTY).await?;
                    let (flushed, seconds) = self.0.gauge.time(cx.flush()).await;
                    flushed?;
                    self.0.wait_until_all_took(batch as u64).await;
                    let mut seen = self.0.seen();
                    seen.reaching_all.push(begun.elapsed().as_secs_f64());
                    seen.publishing.extend(seconds);
                }
            }
            Turn::Flood(updates) => {
                for _ in 0..updates {
                    cx.say(FORTY).await?;
                }
            }
        }
        Ok(StopReason::EndTurn)
    }
}

#[derive(Default)]
pub(crate) struct Counted(AtomicU64);

impl IdSource for Counted {
    fn mint(&self, _: IdKind) -> String {
        format!("id-{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}
