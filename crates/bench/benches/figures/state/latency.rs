//! How long a word takes from the agent to a page, at rest and in a stream. In this process, so that both ends
//! read one clock; they are connected by a socket on loopback.
//!
//! Beside it an ACP client on the same session, and a bare tungstenite server that sends words at the same
//! pace.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use anyhow::Result;
use axum::{Extension, serve::ListenerExt};
use futures::SinkExt;
use harn_acp::http::{self, HttpConfig};
use harn_journal::JsonlStore;
use harn_model::{ContentBlock, Principal, StopReason};
use harn_runtime::{
    Agent, AgentError, Hub, HubConfig, NewSession, NoDisk, NoHost, TurnContext, async_trait,
};
use harn_state::{StateConfig, routes};
use memchr::memchr_iter;
use serde_json::json;
use tempfile::TempDir;
use tokio::{net::TcpListener, runtime, time::sleep};
use tokio_tungstenite::{accept_async, tungstenite::Message};

use super::{TOKEN, client_runtime, long_session::Wall};
use crate::{
    link::Link,
    median,
    observers::Counted,
    percentile,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// Words of a stream: this many in all, sent in groups with a pause between them.
const STREAM: usize = 6_000;
const AT_A_TIME: usize = 10;
const REST: Duration = Duration::from_millis(4);
/// The pause between single words.
const QUIET: Duration = Duration::from_millis(30);

pub(super) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let server = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let folder = TempDir::new()?;
    let config = HubConfig::new(
        Arc::new(Speaker),
        Arc::new(JsonlStore::new(folder.path())),
        Arc::new(Wall(Instant::now())),
        Arc::new(Counted::default()),
        Arc::new(NoHost),
        Arc::new(NoDisk),
    );
    let (hub, session, address, floor) = server.block_on(async {
        let hub = Hub::new(config);
        let new = NewSession {
            cwd: setup.cwd(),
            additional_directories: Vec::new(),
        };
        let session = hub.create(new).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        // As in the binary; a failure here only makes it slower.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let router = routes(StateConfig::new(hub.clone(), setup.cwd()))
            .merge(http::routes(HttpConfig::new(hub.clone(), connection_id)))
            .layer(Extension(Principal::owner()));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let floor = listener.local_addr()?;
        let (words, stream) = (setup.words, STREAM);
        tokio::spawn(async move {
            // One client for each pace; a client that leaves ends the server.
            for pace in [Pace::Alone(words), Pace::Stream(stream)] {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let mut socket = accept_async(stream).await?;
                for place in 0..pace.words() {
                    let word = pace.next_word(place).await;
                    socket.send(Message::text(word)).await?;
                }
            }
            anyhow::Ok(())
        });
        anyhow::Ok((hub, session, address, floor))
    })?;

    let clients = client_runtime()?;
    let (mut page, mut editor) = clients.block_on(async {
        let path = format!("/ws?session={}", session.id());
        let page = Link::connect(address, TOKEN, &path).await?;
        let mut editor = Link::open(address, TOKEN, "editor").await?;
        let params = json!({"sessionId": session.id(), "cwd": setup.cwd(), "mcpServers": []});
        editor.ask("session/resume", params).await?;
        anyhow::Ok((page, editor))
    })?;
    for pace in [Pace::Alone(setup.words), Pace::Stream(STREAM)] {
        let words = vec![ContentBlock::text(pace.prompt())];
        server.block_on(session.prompt(words, |_| ()))?;
        let (shown, told) = clients.block_on(async {
            tokio::join!(
                listen(&mut page, pace.words()),
                listen(&mut editor, pace.words())
            )
        });
        let (shown, told) = (shown?, told?);
        let bare = clients.block_on(async {
            let mut bare = Link::connect(floor, TOKEN, "/").await?;
            listen(&mut bare, pace.words()).await
        })?;
        add_figures(table, pace, &shown, &told, &bare);
    }
    server.block_on(hub.shutdown());
    server.shutdown_background();
    Ok(())
}

/// Returns the id of the only ACP connection.
fn connection_id() -> Option<String> {
    Some("con_1".to_owned())
}

fn add_figures(table: &mut Table, pace: Pace, shown: &[f64], told: &[f64], bare: &[f64]) {
    let when = match pace {
        Pace::Alone(_) => "at rest",
        Pace::Stream(_) => "at 2000 a second",
    };
    let mut add = |name: String, value, against, bar| {
        table.add(&Figure {
            name,
            unit: Unit::Micros,
            value,
            against: Some(against),
            bar,
        });
    };
    let name = format!("from a word to a page, {when}");
    let (value, floor) = (median(shown), median(bare));
    add(name.clone(), value, ("bare socket", floor), Bar::Told);
    add(name, value, ("acp", median(told)), Bar::Told);
    let name = format!("the same, 99 of 100, {when}");
    let (value, floor) = (percentile(shown, 0.99), percentile(bare, 0.99));
    add(name, value, ("bare socket", floor), Bar::Told);
}

/// The pace of the words.
#[derive(Clone, Copy)]
enum Pace {
    /// This many, one by one.
    Alone(usize),
    /// This many, two thousand a second.
    Stream(usize),
}

impl Pace {
    fn words(self) -> usize {
        match self {
            Self::Alone(words) | Self::Stream(words) => words,
        }
    }

    fn prompt(self) -> String {
        match self {
            Self::Alone(words) => format!("alone {words}"),
            Self::Stream(words) => format!("stream {words}"),
        }
    }

    fn read(prompt: &str) -> Option<Self> {
        let (pace, words) = prompt.split_once(' ')?;
        let words = words.parse().ok()?;
        match pace {
            "alone" => Some(Self::Alone(words)),
            "stream" => Some(Self::Stream(words)),
            _ => None,
        }
    }

    /// Waits until the word at this index is due and returns it.
    async fn next_word(self, place: usize) -> String {
        let (at_a_time, rest) = match self {
            Self::Alone(_) => (1, QUIET),
            Self::Stream(_) => (AT_A_TIME, REST),
        };
        if place.is_multiple_of(at_a_time) {
            sleep(rest).await;
        }
        stamped_word()
    }
}

struct Speaker;

#[async_trait]
impl Agent for Speaker {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let prompt = cx.prompt_text();
        let pace = Pace::read(&prompt);
        let pace = pace.ok_or_else(|| AgentError::Failed("no such pace".to_owned()))?;
        for place in 0..pace.words() {
            cx.say(pace.next_word(place).await).await?;
        }
        Ok(StopReason::EndTurn)
    }
}

/// Returns a word of forty characters with the time at which it was sent.
fn stamped_word() -> String {
    format!("@{:016}{:.>23}", nanos_since_start(), "")
}

fn nanos_since_start() -> u64 {
    static ZERO: OnceLock<Instant> = OnceLock::new();
    let passed = ZERO.get_or_init(Instant::now).elapsed();
    u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads until it has received this many words; returns the latency of each, in seconds.
async fn listen(link: &mut Link, words: usize) -> Result<Vec<f64>> {
    let mut took = Vec::with_capacity(words);
    // A line may repeat a word, and a document has the earlier ones.
    let mut last = nanos_since_start();
    let begun = last;
    while took.len() < words {
        let message = link.next().await?;
        let now = nanos_since_start();
        for at in memchr_iter(b'@', message) {
            let Some(said) = stamp(&message[at + 1..]) else {
                continue;
            };
            if said > last || (took.is_empty() && said >= begun) {
                took.push(now.saturating_sub(said) as f64 / 1e9);
                last = said;
            }
        }
    }
    Ok(took)
}

fn stamp(bytes: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(bytes.get(..16)?).ok()?;
    digits.parse().ok()
}
