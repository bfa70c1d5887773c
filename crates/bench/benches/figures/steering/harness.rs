//! A session in this process, without a wire, whose agent follows orders.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use harn_bench::FORTY;
use harn_journal::Store;
use harn_model::{Actor, AgentEvent, ContentBlock, DeliveryMode, MessageId, Seam, StopReason};
use harn_runtime::{
    Agent, AgentError, Clock, Controller, Hub, HubConfig, NewSession, NoDisk, NoHost, SessionEnd,
    Subscription, TurnContext, async_trait,
};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::observers::Counted;

/// A session with a running turn.
pub(super) struct Stage {
    pub(super) hub: Hub,
    pub(super) session: Controller,
    orders: mpsc::Sender<Order>,
}

/// What a turn does from its prompt on.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    /// Emits text as fast as possible, until it is cancelled.
    Flood,
    /// Waits for orders and follows them.
    Obey,
}

enum Order {
    /// Passes a seam; replies with the number of delivered messages and the seconds it took.
    Pass(Seam, oneshot::Sender<(usize, f64)>),
    Leave,
}

impl Stage {
    pub(super) async fn begin(store: Arc<dyn Store>, cwd: &Path, turn: Turn) -> Result<Self> {
        let (orders, received) = mpsc::channel(1);
        let hub = hub(store, received);
        let session = hub
            .create(NewSession {
                cwd: cwd.to_owned(),
                additional_directories: Vec::new(),
            })
            .await?;
        let prompt = match turn {
            Turn::Flood => FLOOD,
            Turn::Obey => OBEY,
        };
        session
            .prompt(vec![ContentBlock::text(prompt)], |_| ())
            .await?;
        Ok(Self {
            hub,
            session,
            orders,
        })
    }

    /// Injects a message; returns its id and the seconds until it was accepted.
    pub(super) async fn inject(&self, mode: DeliveryMode) -> Result<(MessageId, f64)> {
        let content = message_content();
        let begun = Instant::now();
        let (id, _) = self
            .session
            .inject(mode, content, bench_actor(), |_| ())
            .await?;
        Ok((id, begun.elapsed().as_secs_f64()))
    }

    /// Injects this many messages.
    pub(super) async fn fill(&self, mode: DeliveryMode, count: usize) -> Result<Vec<MessageId>> {
        let mut ids = Vec::with_capacity(count);
        for _ in 0..count {
            ids.push(self.inject(mode).await?.0);
        }
        Ok(ids)
    }

    /// Lets the agent pass a seam.
    pub(super) async fn pass(&self, seam: Seam) -> Result<(usize, f64)> {
        let (reply, passed) = oneshot::channel();
        self.order(Order::Pass(seam, reply)).await?;
        passed.await.context("the agent passed no seam")
    }

    /// Lets the agent return; it receives the pending messages as prompts. Returns when the turn has ended.
    pub(super) async fn end_turn(self) -> Result<()> {
        let mut events = self.session.subscribe_from_now();
        self.order(Order::Leave).await?;
        read_to_the_end(&mut events).await?;
        self.hub.shutdown().await;
        Ok(())
    }

    async fn order(&self, order: Order) -> Result<()> {
        let sent = self.orders.send(order).await;
        sent.map_err(|_| anyhow!("the agent accepts no messages"))
    }
}

/// Returns a hub whose agent ends every turn at once, to reopen sessions.
pub(super) fn hub_at_rest(store: Arc<dyn Store>) -> Hub {
    hub(store, mpsc::channel(1).1)
}

fn hub(store: Arc<dyn Store>, orders: mpsc::Receiver<Order>) -> Hub {
    Hub::new(HubConfig::new(
        Arc::new(Obedient(Mutex::new(orders))),
        store,
        Arc::new(Started(Instant::now())),
        Arc::new(Counted::default()),
        Arc::new(NoHost),
        Arc::new(NoDisk),
    ))
}

/// Returns the content of a message.
pub(super) fn message_content() -> Vec<ContentBlock> {
    vec![ContentBlock::text(FORTY)]
}

/// Returns the actor of the messages.
pub(super) fn bench_actor() -> Actor {
    let [client_id, role, source] = ["bench", "host_owner", "bench"].map(str::to_owned);
    Actor {
        client_id,
        role,
        source,
    }
}

const FLOOD: &str = "flood";
const OBEY: &str = "obey";

async fn read_to_the_end(events: &mut Subscription) -> Result<()> {
    loop {
        let delivery = match events.next().await {
            Ok(delivery) => delivery,
            Err(SessionEnd::Closed) => bail!("the session ended before its turn"),
            Err(SessionEnd::Failed(why)) => bail!("the session failed: {why}"),
        };
        let ended = |event: &AgentEvent| matches!(event, AgentEvent::TurnEnded(_));
        if delivery.events().iter().any(|e| ended(&e.event)) {
            return Ok(());
        }
    }
}

struct Obedient(Mutex<mpsc::Receiver<Order>>);

#[async_trait]
impl Agent for Obedient {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        match &*cx.prompt_text() {
            FLOOD => loop {
                if cx.is_cancelled() {
                    return Err(AgentError::Cancelled);
                }
                cx.say(FORTY).await?;
            },
            OBEY => self.obey(cx).await,
            // A pending message that became a prompt.
            _ => Ok(StopReason::EndTurn),
        }
    }
}

impl Obedient {
    async fn obey(&self, cx: &TurnContext) -> Result<StopReason, AgentError> {
        let mut orders = self.0.lock().await;
        loop {
            let order = tokio::select! {
                order = orders.recv() => order,
                () = cx.cancelled() => return Err(AgentError::Cancelled),
            };
            match order {
                Some(Order::Pass(seam, reply)) => {
                    let begun = Instant::now();
                    let delivered = cx.seam(seam).await?;
                    // The receiver may be dropped.
                    let _ = reply.send((delivered.len(), begun.elapsed().as_secs_f64()));
                }
                Some(Order::Leave) | None => return Ok(StopReason::EndTurn),
            }
        }
    }
}

struct Started(Instant);

impl Clock for Started {
    fn now(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
