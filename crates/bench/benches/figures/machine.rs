//! Values from the kernel: the memory and processor time of a process, and the machine of the run.

use std::{
    collections::HashMap,
    fs, thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// A process's memory, in bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    /// The highest value so far.
    pub(crate) peak: u64,
}

impl Memory {
    pub(crate) fn read(pid: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))
            .with_context(|| format!("process {pid} is gone"))?;
        Ok(Self {
            resident: kibibytes(&status, "VmRSS:").context("no VmRSS")? * 1024,
            peak: kibibytes(&status, "VmHWM:").context("no VmHWM")? * 1024,
        })
    }

    /// Returns the memory once it has not changed for `quiet`, or after `most` at the latest.
    pub(crate) fn wait_until_settled(pid: u32, quiet: Duration, most: Duration) -> Result<Self> {
        let begun = Instant::now();
        let mut last = Self::read(pid)?;
        let mut since = Instant::now();
        while since.elapsed() < quiet && begun.elapsed() < most {
            thread::sleep(Duration::from_millis(10));
            let now = Self::read(pid)?;
            if now != last {
                last = now;
                since = Instant::now();
            }
        }
        Ok(last)
    }
}

/// The processor time of all threads of a process since the first sample. The kernel has it in nanoseconds for
/// threads, and only in hundredths of a second for processes.
pub(crate) struct Processor {
    pid: u32,
    /// The time of each thread at the first and at the last sample, in nanoseconds.
    threads: HashMap<String, (u64, u64)>,
}

impl Processor {
    pub(crate) fn start(pid: u32) -> Result<Self> {
        let mut threads = HashMap::new();
        for (thread, used) in Self::threads(pid)? {
            threads.insert(thread, (used, used));
        }
        Ok(Self { pid, threads })
    }

    /// Takes another sample. The time of a thread between its last sample and its end is lost.
    pub(crate) fn sample(&mut self) -> Result<()> {
        for (thread, used) in Self::threads(self.pid)? {
            // A new thread has used nothing before.
            self.threads.entry(thread).or_insert((0, 0)).1 = used;
        }
        Ok(())
    }

    pub(crate) fn time_used(&self) -> Duration {
        let used = self.threads.values().map(|(first, last)| last - first);
        Duration::from_nanos(used.sum())
    }

    fn threads(pid: u32) -> Result<Vec<(String, u64)>> {
        let folder = format!("/proc/{pid}/task");
        let mut threads = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| format!("process {pid} is gone"))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            // A thread that has ended meanwhile counts as not listed.
            if let Ok(stat) = fs::read_to_string(format!("{folder}/{name}/schedstat")) {
                let used = stat.split(' ').next().and_then(|used| used.parse().ok());
                threads.push((name, used.context("no time in schedstat")?));
            }
        }
        Ok(threads)
    }
}

/// Describes the machine in one line. An unreadable value is shown as unknown and does not fail the run.
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

/// Returns the number after `key` in a table of the kernel.
fn kibibytes(table: &str, key: &str) -> Option<u64> {
    table
        .lines()
        .find_map(|line| line.strip_prefix(key))?
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .ok()
}
