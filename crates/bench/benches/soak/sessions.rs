//! Ten thousand live sessions, and pages of a listing with twenty thousand stored ones.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harn_journal::{JsonlStore, META_VERSION, SessionMeta, Store};
use harn_model::{AgentEvent, ContentBlock, Envelope, Seq, TurnStarted};
use serde_json::json;
use tokio::{runtime, time::sleep};

use crate::{
    SoakPlan,
    server::{Server, prompt},
    table::{Bar, Figure, Table, Unit},
};

const LIVE: usize = 10_000;
const STORED: usize = 20_000;
const PAGES: usize = 50;
const A_PAGE: f64 = 0.020;

pub(crate) fn run(plan: &SoakPlan, table: &mut Table) -> Result<()> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(open_many(plan, table))?;
    runtime.block_on(list_many(plan, table))
}

/// Opens sessions, runs a turn in each, and checks the memory.
async fn open_many(plan: &SoakPlan, table: &mut Table) -> Result<()> {
    let server = Server::start(plan)?;
    let mut link = server.connect("driver").await?;
    link.ask("session/new", server.params(None)).await?;
    let before = server.memory()?.resident;
    let mut ended = 0_u32;
    for _ in 0..LIVE {
        let id = link.ask("session/new", server.params(None)).await?["sessionId"].take();
        let session = id.as_str().context("a session without an id")?;
        let answer = link.ask("session/prompt", prompt(session, "hello")).await?;
        ended += u32::from(answer["stopReason"] == "end_turn");
    }
    let grown = server.memory()?.resident.saturating_sub(before);
    table.add(&Figure {
        name: "turns in as many live sessions".to_owned(),
        unit: Unit::Count,
        value: f64::from(ended),
        against: Some(("sessions", LIVE as f64)),
        bar: Bar::RatioAtLeast(1.0),
    });
    table.add(&Figure {
        name: format!("memory of one of {LIVE} sessions"),
        unit: Unit::Kibibytes,
        value: grown as f64 / LIVE as f64,
        against: None,
        bar: Bar::Told,
    });
    Ok(())
}

async fn list_many(plan: &SoakPlan, table: &mut Table) -> Result<()> {
    let server = Server::start(plan)?;
    let mut link = server.connect("driver").await?;
    let store = JsonlStore::new(server.state());
    for number in 0..STORED {
        create(&store, number, server.dir.path())?;
    }
    // Sessions that changed in the last two seconds are looked at again.
    sleep(Duration::from_secs(3)).await;
    let mut add = |name: &str, seconds: f64, bar| {
        table.add(&Figure {
            name: format!("{name} of {STORED}"),
            unit: Unit::Millis,
            value: seconds,
            against: None,
            bar,
        });
    };
    let begun = Instant::now();
    let mut page = link.ask("session/list", json!({})).await?;
    add(
        "session/list builds the index",
        begun.elapsed().as_secs_f64(),
        Bar::Told,
    );
    let (mut slowest, mut first) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..PAGES {
        let begun = Instant::now();
        link.ask("session/list", json!({})).await?;
        first = first.max(begun.elapsed());
        let cursor = page["nextCursor"].take();
        ensure!(cursor.is_string(), "too few pages");
        let begun = Instant::now();
        page = link.ask("session/list", json!({"cursor": cursor})).await?;
        slowest = slowest.max(begun.elapsed());
    }
    add(
        "slowest first page",
        first.as_secs_f64(),
        Bar::AtMost(A_PAGE),
    );
    add(
        "slowest other page",
        slowest.as_secs_f64(),
        Bar::AtMost(A_PAGE),
    );
    let command = || {
        let begun = Instant::now();
        let status = Command::new(&plan.binary)
            .args(["sessions", "list", "--limit", "50", "--state-dir"])
            .arg(server.state())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        ensure!(status.success(), "sessions list failed");
        Ok(begun.elapsed())
    };
    let mut times = Vec::new();
    for _ in 0..PAGES {
        times.push(command()?);
    }
    times.sort();
    add(
        "sessions list --limit 50",
        times[PAGES / 2].as_secs_f64(),
        Bar::AtMost(A_PAGE),
    );
    Ok(())
}

/// Creates a closed session with a prompt.
fn create(store: &JsonlStore, number: usize, directory: &std::path::Path) -> Result<()> {
    let mut log = store.create(SessionMeta {
        v: META_VERSION,
        thread_id: format!("ses_soak_{number:05}").as_str().into(),
        title: format!("session {number}"),
        directory: directory.to_owned(),
        additional_directories: Vec::new(),
        created: 1_700_000_000_000,
        parent: None,
        worker: None,
        principal: None,
        failed: false,
        archived: false,
    })?;
    let started = AgentEvent::TurnStarted(Box::new(TurnStarted {
        message_id: "m".into(),
        prompt: vec![ContentBlock::text("hello")],
        live_session: None,
    }));
    log.append(&[Envelope {
        seq: Seq(1),
        at: 1_700_000_000_000,
        turn: Some("t".into()),
        event: started,
    }])?;
    Ok(())
}
