//! `cargo bench -p harn-bench`: measures what we promise, each figure with its floor or peer in the same run.
//!
//! A missed bar is printed and fails the run only with `HARN_BENCH_STRICT=1`, because machines are noisy. `--
//! --quick` takes fewer rounds, `-- observers` measures that alone; `HARN_SERVE_BIN` names another binary to
//! measure.
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark reads the real clock and its own settings"
)]
#![allow(clippy::print_stdout, reason = "a benchmark's answer is its output")]

mod disk;
mod ending;
mod flood;
mod history;
mod lines;
mod link;
mod live;
mod machine;
mod observers;
mod openharness;
mod permission;
mod program;
mod sandbox;
mod sessions;
mod setup;
mod stalled;
mod start;
mod state;
mod steering;
mod table;
mod threads;
mod tools;
mod translate;

use std::process::ExitCode;

use anyhow::Result;
use setup::Setup;
use table::Table;

type Measure = fn(&Setup, &mut Table) -> Result<()>;

const MEASURES: [(&str, Measure); 16] = [
    ("start", start::measure),
    ("throughput", flood::measure),
    ("a client that does not read", stalled::measure),
    ("sessions", sessions::measure),
    ("observers", observers::measure),
    ("live", live::measure),
    ("history", history::measure),
    ("ending", ending::measure),
    ("permission", permission::measure),
    ("sandbox", sandbox::measure),
    ("steering", steering::measure),
    ("tools", tools::measure),
    ("threads", threads::measure),
    ("openharness", openharness::measure),
    ("state", state::measure),
    // Last, because it prints a separate table below the figures.
    ("translate", translate::measure),
];

fn main() -> Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if !has("--bench") {
        // `cargo test --all-targets` runs benches too, in a profile that measures nothing.
        println!("nothing to do: run `cargo bench -p harn-bench`");
        return Ok(ExitCode::SUCCESS);
    }

    let setup = Setup::new(has("--quick"))?;
    println!("{}\n", machine::describe());
    let mut table = Table::begin();
    let named: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    for (name, measure) in MEASURES {
        if !named.is_empty() && !named.iter().any(|arg| *arg == name) {
            continue;
        }
        if let Err(error) = measure(&setup, &mut table) {
            table.add_failure(name, &error);
        }
    }

    let missed = table.missed_count();
    match missed {
        0 => println!("\nevery bar is met"),
        _ => println!("\nMISSED: {missed}"),
    }
    let strict = std::env::var_os("HARN_BENCH_STRICT").is_some_and(|value| value == "1");
    Ok(if strict && missed > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Returns the minimum: disturbances can only make work without waits slower.
fn least(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::NAN, f64::min)
}

/// Returns the median, or NaN without numbers.
fn median(numbers: &[f64]) -> f64 {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the number below which this part of them is, or NaN without numbers.
fn percentile(numbers: &[f64], part: f64) -> f64 {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    let place = (numbers.len() as f64 * part) as usize;
    let last = numbers.len().saturating_sub(1);
    numbers.get(place.min(last)).copied().unwrap_or(f64::NAN)
}
