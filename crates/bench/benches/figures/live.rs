//! Several clients on one session, over WebSockets: what many watchers cost the agent and in memory, what one
//! that never reads costs, and how long a takeover takes.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::{runtime, task::JoinSet};

use crate::{
    link::Link,
    machine::Memory,
    median, percentile,
    program::Running,
    setup::{PACED, Setup},
    table::{Bar, Figure, Table, Unit},
};

const TOKEN: &str = "a-token-that-only-this-run-knows-of";

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    // One thread: the other core is the server's.
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    drop(listener);
    let ours = setup.ours_listening(address, TOKEN)?;
    let server = ours.program.start()?;
    let threads = ours.state.path().join("harn/threads");
    runtime.block_on(async {
        let mut stage = Stage::new(setup, &server, address, &threads).await?;
        stage.measure_crowd(setup, table).await?;
        stage.measure_unread(table).await?;
        stage.measure_long_line(table).await?;
        stage.measure_takeovers(setup, table).await
    })
}

/// A session and the client that prompts it.
struct Stage<'a> {
    server: &'a Running,
    address: SocketAddr,
    driver: Link,
    cwd: Value,
    session: Value,
    journal: PathBuf,
}

impl<'a> Stage<'a> {
    async fn new(
        setup: &Setup,
        server: &'a Running,
        address: SocketAddr,
        threads: &Path,
    ) -> Result<Self> {
        let mut driver = Link::open(address, TOKEN, "driver").await?;
        let cwd = json!(setup.cwd());
        let new = json!({"cwd": cwd, "mcpServers": []});
        let session = driver.ask("session/new", new).await?["sessionId"].take();
        let id = session.as_str().context("a session without an id")?;
        let journal = threads.join(id).join("events.jsonl");
        Ok(Self {
            server,
            address,
            driver,
            cwd,
            session,
            journal,
        })
    }

    /// Returns how long a turn with a fixed rate of updates takes the agent. The times come from the journal,
    /// because all readers here share one thread.
    async fn time_turn(&mut self) -> Result<f64> {
        self.prompt("paced").await?;
        let journal = fs::read_to_string(&self.journal).context("reading the journal")?;
        let at = |kind: &str| -> Result<u64> {
            let kind = format!("\"event\":{{\"type\":\"{kind}\"");
            let line = journal.lines().rfind(|line| line.contains(&kind));
            let event: Value = serde_json::from_str(line.context("no such event")?)?;
            event["at"].as_u64().context("an event without its time")
        };
        let millis = at("turn_ended")?.saturating_sub(at("turn_started")?);
        Ok(millis as f64 / 1000.0)
    }

    async fn prompt(&mut self, text: &str) -> Result<()> {
        let prompt = [json!({"type": "text", "text": text})];
        let params = json!({"sessionId": self.session, "prompt": prompt});
        self.driver.ask("session/prompt", params).await.map(drop)
    }

    /// Connects a client that opens the session and only reads.
    async fn connect_watcher(&self, name: &str) -> Result<Link> {
        let mut link = Link::open(self.address, TOKEN, name).await?;
        let params = json!({"sessionId": self.session, "cwd": self.cwd, "mcpServers": []});
        link.ask("session/resume", params).await?;
        Ok(link)
    }

    fn memory(&self) -> Result<Memory> {
        let quiet = Duration::from_millis(200);
        Memory::wait_until_settled(self.server.pid, quiet, Duration::from_secs(5))
    }

    async fn measure_crowd(&mut self, setup: &Setup, table: &mut Table) -> Result<()> {
        let mut alone = Vec::new();
        for _ in 0..setup.crowds {
            alone.push(self.time_turn().await?);
        }
        let before = self.memory()?;
        let mut watching = JoinSet::new();
        for place in 0..setup.watchers {
            let link = self.connect_watcher(&format!("watcher-{place}")).await?;
            watching.spawn(watch(link, PACED * setup.crowds as u64));
        }
        let mut crowded = Vec::new();
        for _ in 0..setup.crowds {
            crowded.push(self.time_turn().await?);
        }
        let after = Memory::read(self.server.pid)?;
        let mut got = 0;
        while let Some(watched) = watching.join_next().await {
            got += watched??;
        }
        let many = setup.watchers as f64;
        let name = |what: &str| format!("{what}, {} watchers", setup.watchers);
        table.add(&Figure {
            name: name("a turn of 1000 updates a second"),
            unit: Unit::Millis,
            value: median(&crowded),
            against: Some(("nobody watches", median(&alone))),
            bar: Bar::RatioAtMost(1.1),
        });
        table.add(&Figure {
            name: name("updates they got, in order"),
            unit: Unit::Count,
            value: got as f64,
            against: Some(("sent", PACED as f64 * setup.crowds as f64 * many)),
            bar: Bar::RatioAtLeast(1.0),
        });
        table.add(&Figure {
            name: name("memory of each"),
            unit: Unit::Kibibytes,
            value: after.peak.saturating_sub(before.resident) as f64 / many,
            against: None,
            bar: Bar::AtMost(64.0 * 1024.0),
        });
        Ok(())
    }

    /// A client that never reads during a turn at full speed, and whether it later receives what it missed.
    async fn measure_unread(&mut self, table: &mut Table) -> Result<()> {
        let idle = self.connect_watcher("idle").await?;
        self.prompt("numbered").await?;
        let before = self.memory()?;
        self.prompt("numbered").await?;
        let after = Memory::read(self.server.pid)?;
        table.add(&Figure {
            name: "memory of another turn that one does not read".to_owned(),
            unit: Unit::Mebibytes,
            value: after.peak.saturating_sub(before.peak) as f64,
            against: None,
            bar: Bar::AtMost(1024.0 * 1024.0),
        });
        let got = watch(idle, 2 * crate::setup::NUMBERED).await?;
        table.add(&Figure {
            name: "of these in order when it reads again".to_owned(),
            unit: Unit::Count,
            value: got as f64,
            against: Some(("sent", 2.0 * crate::setup::NUMBERED as f64)),
            bar: Bar::RatioAtLeast(1.0),
        });
        Ok(())
    }

    /// One long line that many clients do not read. One client skips it before, so that only the others are
    /// measured.
    async fn measure_long_line(&mut self, table: &mut Table) -> Result<()> {
        const MANY: usize = 20;
        let long = "x".repeat(4 * 1024 * 1024);
        let mut idle = vec![self.connect_watcher("idle-0").await?];
        self.prompt(&long).await?;
        let before = self.memory()?;
        for place in 1..=MANY {
            idle.push(self.connect_watcher(&format!("idle-{place}")).await?);
        }
        self.prompt(&long).await?;
        let after = Memory::read(self.server.pid)?;
        table.add(&Figure {
            name: format!("memory of one line of 4 MiB that {MANY} do not read"),
            unit: Unit::Mebibytes,
            value: after.peak.saturating_sub(before.peak) as f64,
            against: None,
            bar: Bar::AtMost(16.0 * 1024.0 * 1024.0),
        });
        Ok(())
    }

    /// Control alternates between two clients while a turn streams.
    async fn measure_takeovers(&mut self, setup: &Setup, table: &mut Table) -> Result<()> {
        let mut desk = self.connect_watcher("desk").await?;
        let mut pad = self.connect_watcher("pad").await?;
        let prompt = [json!({"type": "text", "text": "paced"})];
        let prompt = json!({"sessionId": self.session, "prompt": prompt});
        let turn = self.driver.send("session/prompt", prompt).await?;
        let mut took = Vec::new();
        for round in 0..setup.takeovers {
            let (link, name) = match round % 2 {
                0 => (&mut desk, "desk"),
                _ => (&mut pad, "pad"),
            };
            let params = json!({"sessionId": self.session, "clientId": name});
            let begun = Instant::now();
            let now = link.ask("session/takeover", params).await?;
            took.push(begun.elapsed().as_secs_f64());
            ensure!(
                now["active_controller_id"] == name,
                "{name} has no control: {now}"
            );
        }
        self.driver.read_response(turn, |_| Ok(())).await?;
        for (name, value, bar) in [
            (
                "to take control while a turn streams, median",
                median(&took),
                Bar::Told,
            ),
            (
                "the same, 99th percentile",
                percentile(&took, 0.99),
                Bar::AtMost(0.010),
            ),
        ] {
            table.add(&Figure {
                name: name.to_owned(),
                unit: Unit::Micros,
                value,
                against: None,
                bar,
            });
        }
        Ok(())
    }
}

/// Reads this many text updates with ascending ids; returns their number.
async fn watch(mut link: Link, most: u64) -> Result<u64> {
    let (mut got, mut last) = (0, 0);
    while got < most {
        let message = link.next().await?;
        if !contains(message, b"\"agent_message_chunk\"") {
            continue;
        }
        let at = event_id(message).context("an update without its id")?;
        ensure!(at > last, "{at} arrived after {last}");
        (got, last) = (got + 1, at);
    }
    Ok(got)
}

/// Returns the number in the id at the end of a line.
fn event_id(line: &[u8]) -> Option<u64> {
    let end = line.iter().rposition(u8::is_ascii_digit)?;
    let begin = line[..=end]
        .iter()
        .rposition(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&line[begin + 1..=end])
        .ok()?
        .parse()
        .ok()
}

/// Searches the beginning of the line, where the kind of an update is.
fn contains(line: &[u8], word: &[u8]) -> bool {
    let head = &line[..line.len().min(256)];
    head.windows(word.len()).any(|it| it == word)
}
