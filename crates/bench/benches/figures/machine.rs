//! What the kernel tells: a process's memory, and the machine the run was made on.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// A process's memory, in bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Resident now.
    pub(crate) resident: u64,
    /// The most that ever was.
    pub(crate) peak: u64,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))
            .with_context(|| format!("process {pid} is gone"))?;
        Ok(Self {
            resident: kibibytes(&status, "VmRSS:").context("no VmRSS")? * 1024,
            peak: kibibytes(&status, "VmHWM:").context("no VmHWM")? * 1024,
        })
    }

    /// The memory once it has not changed for `quiet`, or after `most` at the latest.
    pub(crate) fn settled(pid: u32, quiet: Duration, most: Duration) -> Result<Self> {
        let begun = Instant::now();
        let mut last = Self::of(pid)?;
        let mut since = Instant::now();
        while since.elapsed() < quiet && begun.elapsed() < most {
            thread::sleep(Duration::from_millis(10));
            let now = Self::of(pid)?;
            if now != last {
                last = now;
                since = Instant::now();
            }
        }
        Ok(last)
    }
}

/// The machine in one line. What cannot be read is left out of the figures, not of the run.
pub(crate) fn describe() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, model)| model);
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let memory = kibibytes(&read("/proc/meminfo"), "MemTotal:").unwrap_or(0);
    format!(
        "{model}, {cores} cores, {:.0} GiB, {} Linux {}; load {}",
        memory as f64 / 1_048_576.0,
        std::env::consts::ARCH,
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/loadavg").split(' ').next().unwrap_or("unknown"),
    )
}

/// The number after `key` in a table of the kernel's.
fn kibibytes(table: &str, key: &str) -> Option<u64> {
    table
        .lines()
        .find_map(|line| line.strip_prefix(key))?
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .ok()
}
