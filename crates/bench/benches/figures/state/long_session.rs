//! A long session in a journal, written by an agent with typical turns: a prompt, a text, a call.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::Result;
use harn_journal::JsonlStore;
use harn_model::{AgentEvent, ContentBlock, StopReason, ToolKind};
use harn_runtime::{
    Agent, AgentError, BatchSlice, Clock, Hub, HubConfig, NewSession, NoDisk, NoHost, SessionEnd,
    TurnContext, async_trait,
};

use crate::{observers::Counted, setup::Setup, state::client_runtime};

/// Bytes of text and of a call's output in each turn.
const SAID: usize = 400;
const SHOWN: usize = 600;

/// Writes the session and returns its id.
pub(super) fn write(state_dir: &Path, setup: &Setup) -> Result<String> {
    client_runtime()?.block_on(async {
        let config = HubConfig::new(
            Arc::new(Worker),
            Arc::new(JsonlStore::new(state_dir)),
            Arc::new(Wall(Instant::now())),
            Arc::new(Counted::default()),
            Arc::new(NoHost),
            Arc::new(NoDisk),
        );
        let hub = Hub::new(config);
        let new = NewSession {
            cwd: setup.cwd(),
            additional_directories: Vec::new(),
        };
        let session = hub.create(new).await?;
        let mut from = session.subscribe_from_now();
        for turn in 0..setup.past {
            let words = ContentBlock::text(format!("What about the part at {turn}?"));
            session.prompt(vec![words], |_| ()).await?;
            while !has_ended(from.next().await) {}
        }
        let id = session.id().to_string();
        hub.shutdown().await;
        Ok(id)
    })
}

/// Returns whether a turn ended in this delivery, or the session itself.
fn has_ended(delivery: Result<BatchSlice, SessionEnd>) -> bool {
    let Ok(delivery) = delivery else {
        return true;
    };
    let ended = |event: &AgentEvent| matches!(event, AgentEvent::TurnEnded(_));
    delivery.events().iter().any(|it| ended(&it.event))
}

struct Worker;

#[async_trait]
impl Agent for Worker {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        cx.say("There is a word to say. ".repeat(SAID / 24)).await?;
        let look = cx.tool("read_file").kind(ToolKind::Read).path("README.md");
        let look = look.start().await?;
        let shown = "A line of the file that was read\n".repeat(SHOWN / 33);
        look.complete(shown).await?;
        Ok(StopReason::EndTurn)
    }
}

/// The clock of this machine.
pub(super) struct Wall(pub(super) Instant);

impl Clock for Wall {
    fn now(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_millis();
        u64::try_from(now).unwrap_or(u64::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
