//! The cost of sockets while a session sends two thousand updates a second: frames, processor time and memory,
//! with one socket on a long session and with fifty more.

use std::{fs, time::Duration};

use anyhow::{Context, Result, ensure};
use memchr::memmem;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{Place, TOKEN, client_runtime};
use crate::{
    link::Link,
    machine::{Memory, Processor},
    setup::STREAMED,
    table::{Bar, Figure, Table, Unit},
};

const MORE: usize = 50;
/// The limits: a mebibyte per socket, and a frame every 16 ms.
const A_SOCKET: f64 = 1024.0 * 1024.0;
const FRAMES: f64 = 62.5;
const SUBMIT: &str = r#"{"type":"commands","commands":[{"type":"submit","prompt":"streamed"}]}"#;

pub(super) fn measure(place: &Place, table: &mut Table) -> Result<()> {
    let server = place.ours.program.start()?;
    let pid = server.pid;
    client_runtime()?.block_on(async {
        let alone = measure_unwatched_run(place, pid).await?;
        let mut links = vec![page(place).await?];
        let one = measure_run(&mut links, pid).await?;
        for _ in 0..MORE {
            links.push(page(place).await?);
        }
        let many = measure_run(&mut links, pid).await?;
        add_figures(table, alone, &one, &many);
        Ok(())
    })
}

fn add_figures(table: &mut Table, alone: f64, one: &Seen, many: &Seen) {
    let sockets = MORE + 1;
    let mut add = |name: String, unit, value, against, bar| {
        table.add(&Figure {
            name,
            unit,
            value,
            against,
            bar,
        });
    };
    for (count, seen) in [(1, one), (sockets, many)] {
        let rate = STREAMED as f64 / seen.seconds;
        let name = format!("updates a second, sockets: {count}");
        add(name, Unit::PerSecond, rate, None, Bar::Told);
        let name = format!("frames a second at one of {count}");
        let bar = Bar::AtMost(FRAMES);
        add(name, Unit::PerSecond, seen.frames, None, bar);
        let name = format!("processor time a second, sockets: {count}");
        let against = Some(("nobody looks", alone));
        add(name, Unit::Millis, seen.processor, against, Bar::Told);
    }
    let each = (many.resident - one.resident) / MORE as f64;
    let name = format!("memory of each of {MORE} sockets while it streams");
    add(name, Unit::Kibibytes, each, None, Bar::AtMost(A_SOCKET));
    let each = (many.peak - one.peak) / MORE as f64;
    let name = format!("the same at its peak, with {MORE} that come");
    add(name, Unit::Kibibytes, each, None, Bar::AtMost(A_SOCKET));
    let name = "resident with 1 socket while it streams".to_owned();
    add(name, Unit::Mebibytes, one.resident, None, Bar::Told);
    let name = "sockets that were told everything anew".to_owned();
    add(name, Unit::Count, many.anew, None, Bar::Told);
}

/// The measurements of a run.
struct Seen {
    seconds: f64,
    /// Frames a second, at the first socket.
    frames: f64,
    /// Processor time of the server per second.
    processor: f64,
    /// The highest resident memory during the run, and ever.
    resident: f64,
    peak: f64,
    /// Documents that were sent again.
    anew: f64,
}

/// Opens a socket and reads the document.
async fn page(place: &Place) -> Result<Link> {
    let mut link = Link::connect(place.address, TOKEN, &place.path()).await?;
    link.next().await?;
    Ok(link)
}

/// Starts a run that all of these sockets watch.
async fn measure_run(links: &mut Vec<Link>, pid: u32) -> Result<Seen> {
    // Time for the server to finish serving the new sockets.
    sleep(Duration::from_secs(1)).await;
    let mut processor = Processor::start(pid)?;
    let begun = Instant::now();
    links[0].send_text(SUBMIT).await?;
    let mut watching = JoinSet::new();
    for (place, link) in links.drain(..).enumerate() {
        let pid = (place == 0).then_some(pid);
        watching.spawn(watch(link, pid));
    }
    let (mut watched, mut resident) = (Vec::new(), 0);
    let (mut frames, mut anew) = (0, 0);
    while let Some(seen) = watching.join_next().await {
        let (link, seen) = seen??;
        anew += seen.anew;
        if seen.resident > 0 {
            (frames, resident) = (seen.frames, seen.resident);
        }
        watched.push(link);
    }
    let seconds = begun.elapsed().as_secs_f64();
    processor.sample()?;
    *links = watched;
    Ok(Seen {
        seconds,
        frames: frames as f64 / seconds,
        processor: processor.time_used().as_secs_f64() / seconds,
        resident: resident as f64,
        peak: Memory::read(pid)?.peak as f64,
        anew: anew as f64,
    })
}

/// The measurements of one socket.
#[derive(Default)]
struct Watched {
    frames: usize,
    anew: usize,
    resident: u64,
}

/// Reads to the end of the run, and samples the memory of a process meanwhile.
async fn watch(mut link: Link, pid: Option<u32>) -> Result<(Link, Watched)> {
    const ENDED: &[u8] = br#""path":["status"],"value":"idle""#;
    let mut seen = Watched::default();
    let mut heard = 0;
    loop {
        let message = link.next().await?;
        seen.frames += 1;
        if message.starts_with(br#"{"type":"state""#) {
            seen.anew += 1;
            let head = &message[..message.len().min(64)];
            if memmem::find(head, br#""status":"idle""#).is_some() {
                return Ok((link, seen));
            }
            continue;
        }
        let said = harn_bench::FORTY.as_bytes();
        heard += memmem::find_iter(message, said).count() as u64;
        let ended = memmem::find(message, ENDED).is_some();
        if let Some(pid) = pid.filter(|_| seen.frames % 8 == 0) {
            seen.resident = seen.resident.max(Memory::read(pid)?.resident);
        }
        // It may be the end of the previous run.
        if ended && heard > 0 {
            let all = heard == STREAMED || seen.anew > 0;
            ensure!(all, "{heard} of {STREAMED} updates");
            return Ok((link, seen));
        }
    }
}

/// Returns the processor time per second of the same run without a socket: the client disconnects after its
/// prompt.
async fn measure_unwatched_run(place: &Place, pid: u32) -> Result<f64> {
    let mut link = page(place).await?;
    sleep(Duration::from_secs(1)).await;
    let mut processor = Processor::start(pid)?;
    let begun = Instant::now();
    link.send_text(SUBMIT).await?;
    // The first frame confirms the prompt.
    link.next().await?;
    drop(link);
    let threads = place.ours.state.path().join("harn/threads");
    let journal = threads.join(&place.session).join("events.jsonl");
    let from = fs::metadata(&journal).context("no journal")?.len();
    loop {
        sleep(Duration::from_millis(100)).await;
        let log = fs::read(&journal)?;
        let new = &log[usize::try_from(from)?..];
        if memmem::find(new, br#""type":"turn_ended""#).is_some() {
            break;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    processor.sample()?;
    Ok(processor.time_used().as_secs_f64() / seconds)
}
