//! What one client could cost the others: thousands of silent sockets, and lines that are no messages.

use std::net::TcpStream;

use anyhow::Result;
use tempfile::TempDir;
use tokio::runtime;

use crate::{
    SoakPlan,
    pipe::Pipe,
    server::Server,
    table::{Bar, Figure, Table, Unit},
};

const SILENT: usize = 4300;
const REQUESTS: usize = 200;
const GARBAGE: usize = 63 * 1024 * 1024;

pub(crate) fn run(plan: &SoakPlan, table: &mut Table) -> Result<()> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(open_silent_sockets(plan, table))?;
    for (name, piece, end) in [
        ("letters", "x", ""),
        ("numbers in an array", "[1,", "1]"),
        ("nested arrays", "[", ""),
        ("an object with one text", "{\"a\":\"", "\"}"),
    ] {
        measure_garbage(plan, table, name, piece, end)?;
    }
    Ok(())
}

/// Connects new clients while thousands of sockets send nothing.
async fn open_silent_sockets(plan: &SoakPlan, table: &mut Table) -> Result<()> {
    raise_open_files();
    let server = Server::start(plan)?;
    let mut held = server.connect("held").await?;
    let address = server.address;
    let flood = std::thread::spawn(move || {
        let connect = |_| TcpStream::connect(address).ok();
        (0..SILENT).filter_map(connect).collect::<Vec<_>>()
    });
    let mut answered = 0_u32;
    for _ in 0..REQUESTS {
        let mut fresh = server.connect("fresh").await?;
        for link in [&mut fresh, &mut held] {
            let listed = link.ask("session/list", serde_json::json!({})).await;
            answered += u32::from(listed.is_ok());
        }
    }
    let silent = flood.join().map_or(0, |sockets| sockets.len());
    table.add(&Figure {
        name: format!("answered beside {silent} silent sockets"),
        unit: Unit::Count,
        value: f64::from(answered),
        against: Some(("requests", 2.0 * REQUESTS as f64)),
        bar: Bar::RatioAtLeast(1.0),
    });
    Ok(())
}

/// Both ends of the sockets need a descriptor in some set-ups.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // A lower hard limit shows as a missed bar.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}

/// Sends one line that is no message, and compares the memory that it took with its length.
fn measure_garbage(
    plan: &SoakPlan,
    table: &mut Table,
    name: &str,
    piece: &str,
    end: &str,
) -> Result<()> {
    let dir = TempDir::with_prefix("harn-soak-")?;
    let mut pipe = Pipe::start_with_scenario(plan, dir.path())?;
    let mut line = piece.as_bytes().to_vec();
    let filler = match piece {
        "[1," => "1,",
        "[" => "[",
        _ => "x",
    };
    while line.len() + end.len() + filler.len() <= GARBAGE {
        line.extend_from_slice(filler.as_bytes());
    }
    line.extend_from_slice(end.as_bytes());
    let before = pipe.memory()?.resident;
    pipe.send_line(&line)?;
    // The answer to the line, which has no id.
    pipe.read_line()?;
    let cost = pipe.memory()?.peak.saturating_sub(before);
    table.add(&Figure {
        name: format!("memory of a line of {name}"),
        unit: Unit::Mebibytes,
        value: cost as f64,
        against: Some(("its length", line.len() as f64)),
        bar: Bar::RatioAtMost(2.0),
    });
    Ok(())
}
