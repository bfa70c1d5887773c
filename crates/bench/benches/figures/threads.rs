//! Threads: how soon `turn.start` is answered, alone and while others stream as fast as they can, and the cost
//! of a thousand threads.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use memchr::memmem;
use serde::Deserialize;
use serde_json::json;

use crate::{
    disk,
    machine::Memory,
    median, percentile,
    program::{Program, Running},
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// Threads that stream beside the measured one.
const STREAMING: usize = 8;

/// Turns under way at once where each of many threads has one; the pipes have room for more.
const AT_ONCE: usize = 32;

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    disk::measure(setup, table)?;
    measure_start(setup, table)?;
    measure_many(setup, table)
}

/// From `turn.start` to its response. The response is in one stream with the output of the other threads, and
/// so waits for the output in transit.
fn measure_start(setup: &Setup, table: &mut Table) -> Result<()> {
    let ours = setup.ours_threads()?;
    let mut client = Client::start(&ours.program)?;
    let thread = client.create()?;
    let alone = client.time_turns(&thread, setup.turns)?;
    for _ in 0..STREAMING {
        let other = client.create()?;
        client.time_start(&other, "flood")?;
    }
    let beside = client.time_turns(&thread, setup.turns)?;
    table.add(&Figure {
        name: format!("turn.start beside {STREAMING} that stream"),
        unit: Unit::Micros,
        value: median(&beside),
        against: Some(("alone", median(&alone))),
        bar: Bar::AtMost(5e-3),
    });
    table.add(&Figure {
        name: "the same, 99 of 100".to_owned(),
        unit: Unit::Micros,
        value: percentile(&beside, 0.99),
        against: Some(("alone", percentile(&alone, 0.99))),
        bar: Bar::Told,
    });
    Ok(())
}

/// A thousand threads of one client: created, idle, and each with a turn.
fn measure_many(setup: &Setup, table: &mut Table) -> Result<()> {
    let ours = setup.ours_threads()?;
    let mut client = Client::start(&ours.program)?;
    // One thread before counting, so that the fixed cost of a process is not part of the average.
    let first = client.create()?;
    client.time_turns(&first, 1)?;
    let before = client.memory()?;
    let count = setup.threads;
    let (mut threads, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let begun = Instant::now();
        threads.push(client.create()?);
        seconds.push(begun.elapsed().as_secs_f64());
    }
    let after = client.memory()?;
    table.add(&Figure {
        name: format!("memory of one idle thread of {count}"),
        unit: Unit::Kibibytes,
        value: after.resident.saturating_sub(before.resident) as f64 / f64::from(count),
        against: None,
        bar: Bar::Told,
    });
    let (early, late) = seconds.split_at(seconds.len() / 2);
    table.add(&Figure {
        name: format!("thread.create, second half of {count}"),
        unit: Unit::Micros,
        value: median(late),
        against: Some(("first half", median(early))),
        bar: Bar::Told,
    });

    let begun = Instant::now();
    for (place, thread) in threads.iter().enumerate() {
        if place >= AT_ONCE {
            client.wait_for_turn_end()?;
        }
        client.send(thread, "hello")?;
    }
    for _ in 0..AT_ONCE.min(threads.len()) {
        client.wait_for_turn_end()?;
    }
    table.add(&Figure {
        name: format!("a turn in each of {count} threads"),
        unit: Unit::Millis,
        value: begun.elapsed().as_secs_f64(),
        against: None,
        bar: Bar::Told,
    });
    Ok(())
}

/// A threads client on pipes.
struct Client {
    running: Running,
}

#[derive(Deserialize)]
struct Created {
    thread: Thread,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    thread_id: String,
}

impl Client {
    fn start(program: &Program) -> Result<Self> {
        let mut running = program.start()?;
        let id = running.send("initialize", json!({}))?;
        running.read_response(id)?;
        Ok(Self { running })
    }

    fn create(&mut self) -> Result<String> {
        let id = self.running.send("thread.create", json!({}))?;
        let created: Created = serde_json::from_str(self.running.read_response(id)?.result.get())?;
        Ok(created.thread.thread_id)
    }

    fn send(&mut self, thread: &str, words: &str) -> Result<u64> {
        let input = [json!({"type": "text", "text": words})];
        let params = json!({"threadId": thread, "input": input});
        self.running.send("turn.start", params)
    }

    /// Starts a turn; returns the seconds until its response.
    fn time_start(&mut self, thread: &str, words: &str) -> Result<f64> {
        let begun = Instant::now();
        let id = self.send(thread, words)?;
        let answer = self.running.read_response(id)?;
        Ok(answer.at.duration_since(begun).as_secs_f64())
    }

    /// Runs turns one after another that end at once; returns the seconds until the response to each.
    fn time_turns(&mut self, thread: &str, rounds: usize) -> Result<Vec<f64>> {
        let mut seconds = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            seconds.push(self.time_start(thread, "hello")?);
            // The streaming turns do not end.
            self.wait_for_turn_end()?;
        }
        Ok(seconds)
    }

    /// Reads up to the successful end of a turn.
    fn wait_for_turn_end(&mut self) -> Result<()> {
        loop {
            let line = self.running.lines.next()?.context("the server ended")?;
            // The kind of a line is at its beginning.
            let head = &line[..line.len().min(64)];
            let error = memmem::find(head, b"\"error\"").is_some();
            let error = error || memmem::find(head, b"\"turn.error\"").is_some();
            ensure!(!error, "{}", String::from_utf8_lossy(line));
            if memmem::find(head, b"\"turn.completed\"").is_some() {
                return Ok(());
            }
        }
    }

    fn memory(&self) -> Result<Memory> {
        let quiet = Duration::from_millis(300);
        Memory::wait_until_settled(self.running.pid, quiet, Duration::from_secs(30))
    }
}
