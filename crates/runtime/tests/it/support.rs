//! A hub over a journal in a temporary directory, with an agent made from a closure, a fake clock and counted
//! ids.

use std::{
    collections::HashMap,
    future::Future,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use harn_journal::JsonlStore;
use harn_model::{
    AgentEvent, ConfigChoice, ConfigOption, ContentBlock, Envelope, PromptSupport, Seq, StopReason,
    TurnId,
};
use harn_runtime::{
    Agent, AgentError, AgentProfile, Clock, Controller, Hub, HubConfig, IdKind, IdSource,
    NewSession, NoDisk, NoHost, Subscription, TurnContext, async_trait,
};
use tempfile::TempDir;

pub type Turn = Pin<Box<dyn Future<Output = Result<StopReason, AgentError>> + Send>>;

pub struct Closure(Box<dyn Fn(TurnContext) -> Turn + Send + Sync>);

#[async_trait]
impl Agent for Closure {
    fn profile(&self) -> AgentProfile {
        AgentProfile {
            prompt: PromptSupport {
                embedded: true,
                ..PromptSupport::default()
            },
            options: vec![ConfigOption {
                id: "pace".to_owned(),
                name: "Pace".to_owned(),
                description: "How fast it goes".to_owned(),
                choices: ["slow", "fast"].map(choice).to_vec(),
                default: "slow".to_owned(),
            }],
            ..AgentProfile::default()
        }
    }

    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        (self.0)(cx.clone()).await
    }
}

fn choice(value: &str) -> ConfigChoice {
    ConfigChoice {
        value: value.to_owned(),
        name: value.to_owned(),
    }
}

/// Returns an agent that runs `turn` for every turn.
pub fn agent<F, Fut>(turn: F) -> Arc<dyn Agent>
where
    F: Fn(TurnContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<StopReason, AgentError>> + Send + 'static,
{
    Arc::new(Closure(Box::new(move |cx| Box::pin(turn(cx)))))
}

/// A clock that moves by one millisecond each time it is read.
#[derive(Default)]
pub struct TickingClock(AtomicU64);

impl Clock for TickingClock {
    fn now(&self) -> u64 {
        1_790_000_000_000 + self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

#[derive(Default)]
pub struct CountedIds(Mutex<HashMap<&'static str, u64>>);

impl IdSource for CountedIds {
    fn mint(&self, kind: IdKind) -> String {
        let word = match kind {
            IdKind::Session => "session",
            IdKind::Turn => "turn",
            IdKind::Message => "msg",
            IdKind::ToolCall => "call",
            IdKind::Ask => "ask",
            IdKind::Worker => "worker",
            IdKind::Handoff => "handoff",
            IdKind::Reminder => "reminder",
            IdKind::Control => "control",
        };
        let mut counts = self.0.lock().unwrap();
        let count = counts.entry(word).or_default();
        *count += 1;
        format!("{word}-{count}")
    }
}

pub struct World {
    pub dir: TempDir,
}

impl World {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn state(&self) -> &Path {
        self.dir.path()
    }

    pub fn hub(&self, agent: Arc<dyn Agent>) -> Hub {
        self.hub_with(agent, |_| ())
    }

    pub fn hub_with(&self, agent: Arc<dyn Agent>, adjust: impl FnOnce(&mut HubConfig)) -> Hub {
        let mut config = HubConfig::new(
            agent,
            Arc::new(JsonlStore::new(self.state())),
            Arc::new(TickingClock::default()),
            Arc::new(CountedIds::default()),
            Arc::new(NoHost),
            Arc::new(NoDisk),
        );
        adjust(&mut config);
        Hub::new(config)
    }

    pub fn new_session(&self) -> NewSession {
        NewSession {
            cwd: self.state().to_owned(),
            additional_directories: Vec::new(),
        }
    }

    pub async fn session(&self, hub: &Hub) -> Controller {
        hub.create(self.new_session()).await.unwrap()
    }
}

pub async fn prompt(session: &Controller, text: &str) -> TurnId {
    let blocks = vec![ContentBlock::text(text)];
    session.prompt(blocks, |_| ()).await.unwrap()
}

/// Collects events up to the first batch with one that `wanted` accepts; panics after a minute.
pub async fn collect_until(
    from: &mut Subscription,
    wanted: impl Fn(&Envelope) -> bool,
) -> Vec<Envelope> {
    let mut seen = Vec::new();
    let wait = async {
        loop {
            let delivery = from.next().await.expect("the session ended");
            seen.extend_from_slice(delivery.events());
            if delivery.events().iter().any(&wanted) {
                return;
            }
        }
    };
    let bound = Duration::from_secs(60);
    if tokio::time::timeout(bound, wait).await.is_err() {
        panic!("waited in vain");
    }
    seen
}

pub fn is_end_of(turn: &TurnId) -> impl Fn(&Envelope) -> bool {
    let turn = turn.clone();
    move |e| matches!(e.event, AgentEvent::TurnEnded(_)) && e.turn.as_ref() == Some(&turn)
}

/// Matches the event that queues the prompt of this turn.
pub fn is_queueing_of(turn: &TurnId) -> impl Fn(&Envelope) -> bool {
    let turn = turn.clone();
    move |e| matches!(e.event, AgentEvent::PromptQueued(_)) && e.turn.as_ref() == Some(&turn)
}

/// Matches the event that withdraws the waiting prompt of this turn.
pub fn is_withdrawal_of(turn: &TurnId) -> impl Fn(&Envelope) -> bool {
    let turn = turn.clone();
    move |e| matches!(e.event, AgentEvent::PromptWithdrawn(_)) && e.turn.as_ref() == Some(&turn)
}

/// Returns all events of the session up to the end of this turn.
pub async fn whole_turn(session: &Controller, turn: &TurnId) -> Vec<Envelope> {
    collect_until(&mut session.subscribe(Seq::ZERO), is_end_of(turn)).await
}

/// Formats events as short lines: `seq type detail`.
pub fn format_short(events: &[Envelope]) -> String {
    let line = |e: &Envelope| {
        let value = serde_json::to_value(&e.event).unwrap();
        let mut words = vec![
            e.seq.to_string(),
            value["type"].as_str().unwrap().to_owned(),
        ];
        for key in [
            "content",
            "message_id",
            "tool_call_id",
            "status",
            "error",
            "decision",
            "outcome",
            "stop_reason",
            "message",
            "title",
            "mode_id",
        ] {
            if let Some(text) = value.get(key).and_then(|v| v.as_str()) {
                words.push(text.to_owned());
            }
        }
        words.join(" ")
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n") + "\n"
}
