//! A disk that is full or read-only at random moments. Everything that the client received must be in the journal, and
//! the session must work again when the disk does.
//!
//! It needs a file system of its own, so it runs as a copy in a user and mount namespace. It needs no root.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use harn_journal::{JsonlStore, Store};
use harn_model::AgentEvent;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    SoakPlan,
    pipe::{Pipe, PipeAnswer},
    server::{CYCLE, prompt, scenario_text},
    table::{Bar, Figure, Table, Unit},
};

/// The argument of the copy in the namespace.
pub(crate) const INSIDE: &str = "--inside-namespace";
/// The size of the disk in mebibytes.
const DISK_MIB: u64 = 48;
/// Texts of a turn.
const TEXTS: u64 = 200 * CYCLE;
/// What a session that cannot write answers sooner.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(plan: &SoakPlan, table: &mut Table) -> Result<()> {
    let usable = Command::new("unshare")
        .args(["-rm", "true"])
        .stderr(Stdio::null())
        .status();
    if !usable.is_ok_and(|status| status.success()) {
        println!("skip: disk: `unshare -rm` does not work here");
        return Ok(());
    }
    // A sixth of the time: the observers take the rest.
    let seconds = (plan.length.as_secs() / 6).max(10).to_string();
    let output = Command::new("unshare")
        .arg("-rm")
        .arg(std::env::current_exe()?)
        .args([INSIDE, &seconds])
        .arg(&plan.binary)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the disk test failed");
    let text = String::from_utf8(output.stdout)?;
    for (name, word) in [("a full disk", "full"), ("a read-only disk", "read-only")] {
        let mut counts = text.lines().filter_map(|line| line.strip_prefix(word));
        let counts = counts.next().context("no counts")?.trim();
        let (intact, rounds) = counts.split_once(' ').context("no two counts")?;
        table.add(&Figure {
            name: format!("sessions intact after {name}"),
            unit: Unit::Count,
            value: intact.parse()?,
            against: Some(("rounds", rounds.parse()?)),
            bar: Bar::RatioAtLeast(1.0),
        });
    }
    Ok(())
}

/// Runs in the namespace; prints the counts.
pub(crate) fn run_inside(args: &[String]) -> Result<()> {
    let [seconds, binary] = args else {
        bail!("usage: {INSIDE} SECONDS BINARY");
    };
    let place = TempDir::with_prefix("harn-soak-disk-")?;
    let disk = place.path().join("disk");
    fs::create_dir(&disk)?;
    let size = format!("size={DISK_MIB}m");
    run_mount(&["-t", "tmpfs", "-o", &size, "none"], &disk)?;
    let scenario = place.path().join("soak.yaml");
    fs::write(&scenario, scenario_text())?;
    let bench = DiskBench {
        binary: PathBuf::from(binary),
        scenario,
        disk,
    };
    let length = Duration::from_secs(seconds.parse()?);
    let (begun, mut dice) = (Instant::now(), 1_u64);
    let mut intact = [0_u32; 2];
    let mut rounds = [0_u32; 2];
    while begun.elapsed() < length || rounds[1] == 0 {
        for (kind, test) in [DiskBench::fill, DiskBench::lock].into_iter().enumerate() {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let moment = (dice >> 33) % TEXTS;
            rounds[kind] += 1;
            match test(&bench, moment) {
                Ok(()) => intact[kind] += 1,
                Err(error) => eprintln!("kind {kind}, after {moment} texts: {error:#}"),
            }
        }
    }
    println!("full {} {}", intact[0], rounds[0]);
    println!("read-only {} {}", intact[1], rounds[1]);
    run_umount(&bench.disk)
}

struct DiskBench {
    binary: PathBuf,
    scenario: PathBuf,
    disk: PathBuf,
}

impl DiskBench {
    fn state(&self) -> PathBuf {
        self.disk.join("state")
    }

    fn start(&self) -> Result<Pipe> {
        Pipe::start(&self.binary, &self.scenario, &self.state())
    }

    /// Fills the disk during a turn; frees it when the turn has ended.
    fn fill(&self, moment: u64) -> Result<()> {
        let mut pipe = self.start()?;
        let session = self.new_session(&mut pipe)?;
        let filler = self.disk.join("filler");
        let id = pipe.send("session/prompt", prompt(&session, "fast"))?;
        let ended = pipe.read_answer(id, |texts| match texts == moment.max(1) {
            true => fill_disk(&filler),
            false => Ok(()),
        })?;
        fs::remove_file(&filler)?;
        let fails = ended.message.get("error").is_some();
        ensure!(
            fails || ended.texts == TEXTS,
            "the turn lost texts silently"
        );
        self.check(&session, &ended)?;
        // The same process opens the session again.
        self.reopen(&mut pipe, &session)
    }

    /// Kills the server during a turn, and opens the session while the disk is read-only, and again later.
    fn lock(&self, moment: u64) -> Result<()> {
        let mut pipe = self.start()?;
        let session = self.new_session(&mut pipe)?;
        pipe.send("session/prompt", prompt(&session, "fast"))?;
        let mut texts = 0;
        while texts < moment {
            let line = pipe.read_line()?.context("the server ended")?;
            texts += u64::from(crate::server::text_number(&line).is_some());
        }
        pipe.kill()?;
        let ended = PipeAnswer {
            message: json!({}),
            texts,
        };
        self.check(&session, &ended)?;
        run_mount(&["-o", "remount,ro"], &self.disk)?;
        let begun = Instant::now();
        let mut locked = self.start()?;
        let load = json!({"sessionId": session, "cwd": "/", "mcpServers": []});
        let id = locked.send("session/load", load)?;
        let answer = locked.read_answer(id, |_| Ok(()))?;
        let refused = answer.message.get("error").is_some();
        locked.kill()?;
        run_mount(&["-o", "remount,rw"], &self.disk)?;
        ensure!(refused, "a session was opened that cannot be written");
        ensure!(begun.elapsed() < PATIENCE, "the refusal took too long");
        self.check(&session, &ended)?;
        self.reopen(&mut self.start()?, &session)
    }

    fn new_session(&self, pipe: &mut Pipe) -> Result<String> {
        let new = json!({"cwd": "/", "mcpServers": []});
        let made = pipe.ask("session/new", new)?;
        let id = made["sessionId"].as_str();
        Ok(id.context("a session without an id")?.to_owned())
    }

    /// Checks that the journal has every text that the client received, in order and without a gap.
    fn check(&self, session: &str, ended: &PipeAnswer) -> Result<()> {
        let (_, events) = JsonlStore::new(self.state()).read(&session.into())?;
        let gap = events
            .iter()
            .zip(1..)
            .find(|(event, seq)| event.seq.0 != *seq);
        ensure!(gap.is_none(), "the journal has a gap");
        let chunks = events
            .iter()
            .filter(|it| matches!(&it.event, AgentEvent::AgentMessageChunk { .. }));
        let stored = chunks.count() as u64;
        ensure!(
            stored >= ended.texts,
            "{} received and {stored} stored",
            ended.texts
        );
        Ok(())
    }

    /// Opens the session, runs a turn in it, and removes it.
    fn reopen(&self, pipe: &mut Pipe, session: &str) -> Result<()> {
        let load = json!({"sessionId": session, "cwd": "/", "mcpServers": []});
        pipe.ask("session/load", load)?;
        let answer = pipe.ask("session/prompt", prompt(session, "hello"))?;
        ensure!(answer["stopReason"] == "end_turn", "{answer}");
        pipe.ask("session/close", json!({"sessionId": session}))?;
        JsonlStore::new(self.state()).delete(&session.into())?;
        Ok(())
    }
}

/// Writes until nothing more fits.
fn fill_disk(path: &Path) -> Result<()> {
    let mut file = fs::File::create(path)?;
    for block in [64 * 1024, 1] {
        let block = vec![0; block];
        while file.write_all(&block).is_ok() {}
    }
    Ok(())
}

fn run_mount(args: &[&str], at: &Path) -> Result<()> {
    let status = Command::new("mount").args(args).arg(at).status()?;
    ensure!(status.success(), "mount {args:?} failed");
    Ok(())
}

fn run_umount(at: &Path) -> Result<()> {
    let status = Command::new("umount").arg(at).status()?;
    ensure!(status.success(), "umount failed");
    Ok(())
}
