//! How soon a page has a long session: from before it connects until it has the whole document. Once with a
//! process that has to open the session first, and once with a process that has it open.
//!
//! The floor sends the same bytes; the peer is our own ACP, which replays the same history line by line.

use std::{fs, thread, time::Duration};

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::time::Instant;

use super::{Place, TOKEN, client_runtime};
use crate::{
    link::Link,
    median,
    openharness::free_address,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

/// Seconds, of each kind.
#[derive(Default)]
struct Took {
    cold: Vec<f64>,
    warm: Vec<f64>,
    cold_acp: Vec<f64>,
    warm_acp: Vec<f64>,
    floor: Vec<f64>,
}

pub(super) fn measure(setup: &Setup, place: &Place, table: &mut Table) -> Result<()> {
    let mut took = Took::default();
    let bytes = client_runtime()?.block_on(measure_opening(setup, place, &mut took))?;
    let count = 2 * setup.past;
    let mut add = |name: &str, value: &[f64], against, other: &[f64], bar| {
        table.add(&Figure {
            name: format!("{name} of {count} messages"),
            unit: Unit::Millis,
            value: median(value),
            against: Some((against, median(other))),
            bar,
        });
    };
    let Took {
        cold,
        warm,
        cold_acp,
        warm_acp,
        floor,
    } = &took;
    // Both open the journal first, which is most of the time.
    add("stored session", cold, "acp load", cold_acp, Bar::Told);
    add("stored session", cold, "same bytes", floor, Bar::Told);
    let by_acp = Bar::RatioAtMost(1.0);
    add("open session", warm, "acp load", warm_acp, by_acp);
    add("open session", warm, "same bytes", floor, Bar::Told);
    table.add(&Figure {
        name: format!("the document of {count} messages"),
        unit: Unit::Mebibytes,
        value: bytes as f64,
        against: None,
        bar: Bar::Told,
    });
    Ok(())
}

async fn measure_opening(setup: &Setup, place: &Place, took: &mut Took) -> Result<usize> {
    let file = setup.logs().join("document.json");
    let path = place.path();
    let mut bytes = 0;
    let floor_address = free_address()?;
    let mut floor = None;
    for _ in 0..setup.shows {
        let _server = place.ours.program.start()?;
        wait_for_server(place).await?;
        let (seconds, _first) = time_page(place, &path).await?;
        took.cold.push(seconds);
        let (seconds, document) = time_page(place, &path).await?;
        took.warm.push(seconds);
        took.warm_acp.push(load(setup, place).await?);
        drop(_server);

        let _server = place.ours.program.start()?;
        wait_for_server(place).await?;
        took.cold_acp.push(load(setup, place).await?);
        drop(_server);

        if floor.is_none() {
            fs::write(&file, &document)?;
            floor = Some(setup.floor_ws(floor_address, &file).start()?);
            Link::connect(floor_address, TOKEN, "/").await?;
        }
        bytes = document.len();
        let begun = Instant::now();
        let mut link = Link::connect(floor_address, TOKEN, "/").await?;
        ensure!(link.next().await?.len() == bytes, "not the same bytes");
        took.floor.push(begun.elapsed().as_secs_f64());
    }
    Ok(bytes)
}

/// Waits until the server accepts connections, which is not part of the measurement.
async fn wait_for_server(place: &Place) -> Result<()> {
    let link = Link::connect(place.address, TOKEN, "/ws/sessions").await?;
    drop(link);
    // The server becomes idle.
    thread::sleep(Duration::from_millis(100));
    Ok(())
}

/// Opens a page; returns the seconds until it has the document, and the document.
async fn time_page(place: &Place, path: &str) -> Result<(f64, Vec<u8>)> {
    let begun = Instant::now();
    let mut link = Link::connect(place.address, TOKEN, path).await?;
    let document = link.next().await?;
    let seconds = begun.elapsed().as_secs_f64();
    let head = br#"{"type":"state","#;
    ensure!(
        document.starts_with(head),
        "the first frame is not a document"
    );
    let document = document.to_vec();
    // Keeps the session open until the process ends.
    std::mem::forget(link);
    Ok((seconds, document))
}

/// The same with ACP: returns the seconds until the whole history is replayed.
async fn load(setup: &Setup, place: &Place) -> Result<f64> {
    let begun = Instant::now();
    let mut link = Link::open(place.address, TOKEN, "editor").await?;
    let params = json!({"sessionId": place.session, "cwd": setup.cwd(), "mcpServers": []});
    let id = link.send("session/load", params).await?;
    let mut lines = 0;
    link.read_response(id, |_| {
        lines += 1;
        Ok(())
    })
    .await?;
    let seconds = begun.elapsed().as_secs_f64();
    let least = 2 * setup.past;
    ensure!(lines >= least, "{lines} lines of {least} messages");
    Ok(seconds)
}
