//! `just soak`: the program under load and faults for a long time. Prints a table, and fails when a bar is missed.
//!
//! `-- --seconds 1800` sets how long the observers watch and the disk fails; `-- observers` runs that part alone.
//! `HARN_SERVE_BIN` names the binary. Without `HARN_SOAK=1` it does nothing.
#![allow(
    clippy::disallowed_methods,
    reason = "a soak test reads the real clock and its own settings"
)]
#![allow(clippy::print_stdout, reason = "its answer is its output")]

mod disk;
mod floods;
#[path = "../figures/link.rs"]
mod link;
#[path = "../figures/machine.rs"]
#[allow(dead_code, reason = "the benchmark uses the rest")]
mod machine;
mod observers;
mod pipe;
mod server;
mod sessions;
#[path = "../figures/table.rs"]
#[allow(dead_code, reason = "the benchmark uses the rest")]
mod table;

use std::{ffi::OsString, process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use table::Table;

/// What a run is about.
pub(crate) struct SoakPlan {
    /// The binary to test.
    pub(crate) binary: OsString,
    /// How long the parts without an end of their own take.
    pub(crate) length: Duration,
}

type SoakPart = fn(&SoakPlan, &mut Table) -> Result<()>;

const PARTS: [(&str, SoakPart); 4] = [
    ("floods", floods::run),
    ("sessions", sessions::run),
    ("disk", disk::run),
    ("observers", observers::run),
];

fn main() -> Result<ExitCode> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == disk::INSIDE) {
        return disk::run_inside(&args[1..]).map(|()| ExitCode::SUCCESS);
    }
    if std::env::var_os("HARN_SOAK").is_none_or(|value| value != "1") {
        println!("nothing to do: run `just soak`");
        return Ok(ExitCode::SUCCESS);
    }
    let mut seconds = 1800;
    if let Some(at) = args.iter().position(|arg| arg == "--seconds") {
        let number = args.get(at + 1).context("--seconds needs a number")?;
        seconds = number.parse().context("--seconds needs a number")?;
        args.drain(at..=at + 1);
    }
    let plan = SoakPlan {
        binary: std::env::var_os("HARN_SERVE_BIN").context("HARN_SERVE_BIN: not set")?,
        length: Duration::from_secs(seconds),
    };
    println!("{}\n", machine::describe());
    let mut table = Table::begin();
    let named: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    for (name, run) in PARTS {
        if !named.is_empty() && !named.iter().any(|arg| *arg == name) {
            continue;
        }
        if let Err(error) = run(&plan, &mut table) {
            table.add_failure(name, &error);
        }
    }
    Ok(match table.missed_count() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
