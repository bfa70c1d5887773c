//! A client that stops reading: its cost during the turn, and that it loses nothing.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use agent_client_protocol::v1::schema::SessionId;
use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{
    machine::Memory,
    program::Running,
    setup::{Setup, numbered_text},
    table::{Bar, Figure, Table, Unit},
};

/// The time limit of the turn without a reader.
const TURN: Duration = Duration::from_secs(120);

/// The memory limit of such a client.
const MOST: f64 = 16.0 * 1_048_576.0;

/// The last part of a journal that is searched for the end of the turn.
const TAIL: u64 = 8 * 1024;

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    event: Tagged<'a>,
}

#[derive(Deserialize)]
struct Tagged<'a> {
    r#type: &'a str,
}

#[derive(Deserialize)]
struct Update<'a> {
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    update: Chunk<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    session_update: &'a str,
    #[serde(borrow)]
    content: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Text<'a> {
    text: &'a str,
}

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let sdk = measure_unread_peer(setup)?;
    let ours = setup.ours_flooding()?;
    let (mut agent, session) = Running::start_with_session(&ours.program, &setup.cwd())?;
    let idle = settled_memory(&agent)?;

    let begun = Instant::now();
    let id = agent.prompt(&session, "numbered")?;
    let turn = wait_for_turn_end(&ours.state.path().join("harn"), &session, begun)?;
    let grown = |agent: &Running| -> Result<f64> {
        Ok(agent.memory()?.peak.saturating_sub(idle.resident) as f64)
    };
    table.add(&Figure {
        name: format!("memory of {} unread updates", setup.unread),
        unit: Unit::Mebibytes,
        value: grown(&agent)?,
        // The peer gets fewer updates, because it stores every one of them.
        against: Some(("sdk, 100k", sdk as f64)),
        bar: Bar::AtMost(MOST),
    });
    table.add(&Figure {
        name: "the turn ends unread after".to_owned(),
        unit: Unit::Millis,
        value: turn.as_secs_f64(),
        against: None,
        bar: Bar::Told,
    });

    let mut in_order = 0;
    agent.lines.read_until_response(id, |line| {
        let update: Update<'_> = serde_json::from_slice(line).context("an update")?;
        let chunk = update.params.update;
        if chunk.session_update == "agent_message_chunk" {
            let text = chunk.content.context("a chunk without content")?.text;
            if text != numbered_text(in_order) {
                bail!("update {in_order} arrived as {text}");
            }
            in_order += 1;
        }
        Ok(())
    })?;
    table.add(&Figure {
        name: "of these in order when it reads again".to_owned(),
        unit: Unit::Count,
        value: in_order as f64,
        against: Some(("sent", setup.unread as f64)),
        bar: Bar::RatioAtLeast(1.0),
    });
    table.add(&Figure {
        name: "memory until it has caught up".to_owned(),
        unit: Unit::Mebibytes,
        value: grown(&agent)?,
        against: None,
        bar: Bar::AtMost(MOST),
    });
    Ok(())
}

fn settled_memory(agent: &Running) -> Result<Memory> {
    Memory::wait_until_settled(
        agent.pid,
        Duration::from_millis(300),
        Duration::from_secs(30),
    )
}

/// Returns the memory growth of the SDK agent when a flood is not read.
fn measure_unread_peer(setup: &Setup) -> Result<u64> {
    let (mut agent, session) = Running::start_with_session(&setup.sdk_agent(), &setup.cwd())?;
    let idle = settled_memory(&agent)?;
    agent.prompt(&session, "flood 100000")?;
    Ok(settled_memory(&agent)?.peak.saturating_sub(idle.resident))
}

/// No client reads, so only the journal shows the end of the turn.
fn wait_for_turn_end(state: &Path, session: &SessionId, begun: Instant) -> Result<Duration> {
    let journal = state.join("threads").join(&*session.0).join("events.jsonl");
    loop {
        if has_turn_ended(&journal)? {
            return Ok(begun.elapsed());
        }
        if begun.elapsed() > TURN {
            bail!("the turn did not end while the client did not read");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn has_turn_ended(journal: &Path) -> Result<bool> {
    let mut file = File::open(journal).with_context(|| format!("opening {}", journal.display()))?;
    let from = file.metadata()?.len().saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    Ok(tail
        .split(|byte| *byte == b'\n')
        // The first and the last piece may be parts of a line.
        .filter_map(|line| serde_json::from_slice::<Entry<'_>>(line).ok())
        .any(|entry| entry.event.r#type == "turn_ended"))
}
