//! The resources of all measurements: the programs, a temporary folder, and the scenarios of our agent.

use std::{
    cell::OnceCell,
    fmt::Write as _,
    fs, iter,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use harn_bench::FORTY;
use serde::Deserialize;
use tempfile::TempDir;

use crate::program::Program;

/// Texts of a numbered flood repeat after this many: a scenario without a counter can still show that no text
/// was lost or swapped.
pub(crate) const CYCLE: u64 = 1000;

/// Updates of a turn with a thousand updates a second.
pub(crate) const PACED: u64 = 3000;

/// Updates of a turn with two thousand updates a second.
pub(crate) const STREAMED: u64 = 10_000;

/// Updates of a turn that one of several clients does not read.
pub(crate) const NUMBERED: u64 = 100_000;

/// Updates of a turn that outlasts its measurement.
const LONG: u64 = 10_000_000;

/// The programs and the sizes of a run.
pub(crate) struct Setup {
    /// Starts to time, for each program.
    pub(crate) starts: usize,
    /// Floods to time, for each program.
    pub(crate) floods: usize,
    /// Updates of a flood.
    pub(crate) updates: u64,
    /// Updates for a client that does not read.
    pub(crate) unread: u64,
    /// Sessions in one process.
    pub(crate) sessions: u32,
    /// Batches to time, for each number of observers.
    pub(crate) batches: usize,
    /// Rounds in which each kind of event is translated.
    pub(crate) translations: usize,
    /// Rounds in which calls are judged.
    pub(crate) judgements: usize,
    /// Questions of a turn that asks.
    pub(crate) questions: u64,
    /// Messages for a running turn, in all.
    pub(crate) injects: usize,
    /// Rounds with many pending messages.
    pub(crate) queues: usize,
    /// How long an idle agent is observed.
    pub(crate) idle: Duration,
    /// Clients that watch one session.
    pub(crate) watchers: usize,
    /// Turns that the watchers watch.
    pub(crate) crowds: usize,
    /// Takeovers between two clients.
    pub(crate) takeovers: usize,
    /// Rounds in which tools are ranked.
    pub(crate) searches: usize,
    /// Rounds in which skills are found.
    pub(crate) walks: usize,
    /// Turns to start, alone and beside others.
    pub(crate) turns: usize,
    /// Threads in one process.
    pub(crate) threads: u32,
    /// Requests over one connection.
    pub(crate) exchanges: usize,
    /// Turns of a long session.
    pub(crate) past: usize,
    /// How often the long session is opened.
    pub(crate) shows: usize,
    /// Words whose latency is timed one by one.
    pub(crate) words: usize,
    /// Built when the first figure needs it: not all do, and it takes minutes.
    harn_serve: OnceCell<PathBuf>,
    dir: TempDir,
}

/// Our agent with a temporary state directory, which is deleted on drop.
pub(crate) struct Ours {
    pub(crate) program: Program,
    pub(crate) state: TempDir,
}

impl Setup {
    pub(crate) fn new(quick: bool) -> Result<Self> {
        let setup = Self {
            starts: if quick { 15 } else { 60 },
            floods: if quick { 3 } else { 7 },
            updates: 100_000,
            unread: if quick { 100_000 } else { 1_000_000 },
            sessions: if quick { 1_000 } else { 10_000 },
            batches: if quick { 200 } else { 800 },
            translations: if quick { 80 } else { 320 },
            judgements: if quick { 80 } else { 320 },
            questions: if quick { 200 } else { 1_000 },
            injects: if quick { 400 } else { 2_400 },
            queues: if quick { 1 } else { 5 },
            idle: Duration::from_secs(if quick { 2 } else { 10 }),
            watchers: if quick { 100 } else { 1_000 },
            crowds: if quick { 1 } else { 3 },
            takeovers: if quick { 40 } else { 200 },
            searches: if quick { 40 } else { 160 },
            walks: if quick { 10 } else { 40 },
            turns: if quick { 100 } else { 500 },
            threads: 1_000,
            exchanges: if quick { 300 } else { 2_000 },
            past: if quick { 500 } else { 5_000 },
            shows: if quick { 3 } else { 9 },
            words: if quick { 50 } else { 250 },
            harn_serve: OnceCell::new(),
            dir: TempDir::with_prefix("harn-bench-")?,
        };
        fs::write(setup.scenario(), setup.flood_scenario())?;
        fs::write(setup.steered_scenario_path(), steered_scenario())?;
        fs::write(setup.watched_scenario_path(), watched_scenario())?;
        fs::create_dir(setup.cwd())?;
        Ok(setup)
    }

    /// Returns the working directory of the sessions.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.dir.path().join("cwd")
    }

    /// Returns the folder for the stderr of every program.
    pub(crate) fn logs(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the binary to measure; builds it if necessary.
    fn harn_serve(&self) -> Result<&Path> {
        if let Some(built) = self.harn_serve.get() {
            return Ok(built);
        }
        let built = match std::env::var_os("HARN_SERVE_BIN") {
            Some(path) => PathBuf::from(path),
            None => build_harn_serve()?,
        };
        Ok(self.harn_serve.get_or_init(|| built))
    }

    pub(crate) fn floor_initialize(&self) -> Program {
        Program::new(env!("CARGO_BIN_EXE_floor-initialize"), self.logs())
    }

    pub(crate) fn floor_serialise(&self) -> Program {
        Program::new(env!("CARGO_BIN_EXE_floor-serialise"), self.logs())
            .arg(self.updates.to_string())
    }

    /// Sends the content of a file to each client.
    pub(crate) fn floor_ws(&self, address: SocketAddr, file: &Path) -> Program {
        Program::new(env!("CARGO_BIN_EXE_floor-ws"), self.logs())
            .arg(address.to_string())
            .arg(file)
    }

    /// Answers every post with this many bytes.
    pub(crate) fn floor_http(&self, address: SocketAddr, bytes: usize) -> Program {
        Program::new(env!("CARGO_BIN_EXE_floor-http"), self.logs())
            .arg(address.to_string())
            .arg(bytes.to_string())
    }

    pub(crate) fn sdk_agent(&self) -> Program {
        Program::new(env!("CARGO_BIN_EXE_sdk-agent"), self.logs())
    }

    /// Our agent as an editor starts it.
    pub(crate) fn ours(&self) -> Result<Ours> {
        let state = TempDir::with_prefix_in("state-", self.dir.path())?;
        let program = Program::new(self.harn_serve()?, self.logs())
            .arg("acp")
            .env("XDG_STATE_HOME", state.path());
        Ok(Ours { program, state })
    }

    /// Our agent with the scenario that floods on demand, which takes a few milliseconds to read.
    pub(crate) fn ours_flooding(&self) -> Result<Ours> {
        self.ours_playing(&self.scenario())
    }

    /// Our agent with the scenario whose turns continue until a client steers or cancels them.
    pub(crate) fn ours_steered(&self) -> Result<Ours> {
        self.ours_playing(&self.steered_scenario_path())
    }

    /// Our agent for a threads client, with turns that stream for longer than any measurement, or end at once.
    pub(crate) fn ours_threads(&self) -> Result<Ours> {
        let state = TempDir::with_prefix_in("state-", self.dir.path())?;
        // Threads are stored in their working directory.
        let work = state.path().join("work");
        fs::create_dir(&work)?;
        let program = Program::new(self.harn_serve()?, self.logs())
            .arg("threads")
            .arg("--cwd")
            .arg(work)
            .arg("--engine")
            .arg(format!("script:{}", self.steered_scenario_path().display()))
            .env("XDG_STATE_HOME", state.path());
        Ok(Ours { program, state })
    }

    /// Our agent on a port, without a client on stdio, with turns for several clients to watch.
    pub(crate) fn ours_listening(&self, address: SocketAddr, token: &str) -> Result<Ours> {
        let state = TempDir::with_prefix_in("state-", self.dir.path())?;
        let program = Program::new(self.harn_serve()?, self.logs())
            .arg("serve")
            .arg("--listen")
            .arg(address.to_string())
            .arg("--engine")
            .arg(format!("script:{}", self.watched_scenario_path().display()))
            .env("XDG_STATE_HOME", state.path())
            .env("HARN_SERVE_TOKEN", token);
        Ok(Ours { program, state })
    }

    fn ours_playing(&self, scenario: &Path) -> Result<Ours> {
        let Ours { program, state } = self.ours()?;
        let engine = format!("script:{}", scenario.display());
        let program = program.arg("--engine").arg(engine);
        Ok(Ours { program, state })
    }

    fn scenario(&self) -> PathBuf {
        self.dir.path().join("flood.yaml")
    }

    fn watched_scenario_path(&self) -> PathBuf {
        self.dir.path().join("watched.yaml")
    }

    fn steered_scenario_path(&self) -> PathBuf {
        self.dir.path().join("steered.yaml")
    }

    fn flood_scenario(&self) -> String {
        let mut text = String::from("name: flood\nturns:\n");
        for count in [self.updates, 4 * self.updates] {
            text += &turn(&format!("^flood {count}$"), count, iter::once(FORTY.into()));
        }
        let numbered = (0..CYCLE).map(numbered_text);
        text += &turn("^numbered$", self.unread / CYCLE, numbered);
        text += &asking_turn(self.questions);
        text += "  - steps: [{say: \"here\"}, {stop: end_turn}]\n";
        text
    }
}

/// Returns the text of the update at `place` of a numbered flood, also forty characters long.
pub(crate) fn numbered_text(place: u64) -> String {
    format!("{:0>40}", place % CYCLE)
}

/// Returns a turn that emits each of `texts`, `times` over.
fn turn(pattern: &str, times: u64, texts: impl Iterator<Item = String>) -> String {
    let mut text = format!(
        "  - match: \"{pattern}\"\n    steps:\n      - repeat:\n          times: {times}\n          steps:\n"
    );
    for content in texts {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "            - emit: {{type: agent_message_chunk, content: \"{content}\"}}"
        );
    }
    text + "      - stop: end_turn\n"
}

/// Returns a turn that asks `times` times whether it may write a note, and writes none.
fn asking_turn(times: u64) -> String {
    format!(
        "  - match: \"^ask {times}$\"\n    steps:\n      - repeat:\n          times: {times}\n          steps:\n            \
         - ask: {{tool: write_file, kind: edit, title: \"Write notes.txt\", input: {{path: notes.txt}}}}\n      \
         - stop: end_turn\n"
    )
}

/// Returns turns that stream for longer than any measurement, that wait for a cancel, and that idle. A separate
/// file, so that the other figures also work with a binary that does not know all of these steps.
fn steered_scenario() -> String {
    let mut text = String::from("name: steered\nturns:\n");
    text += &turn("^flood$", LONG, iter::once(FORTY.into()));
    text += "  - match: \"^hold$\"\n    steps: [{await_cancel: {}}]\n";
    text += "  - match: \"^idle$\"\n    steps: [{idle: {}}]\n";
    text += "  - steps: [{stop: end_turn}]\n";
    text
}

/// Returns turns that send ten updates every ten milliseconds, twenty, as many as possible, and one.
fn watched_scenario() -> String {
    let mut text = String::from("name: watched\nturns:\n");
    let emit = format!("{{emit: {{type: agent_message_chunk, content: \"{FORTY}\"}}}}");
    let twenty = vec![emit.clone(); 20].join(", ");
    let ten = vec![emit; 10].join(", ");
    let times = PACED / 10;
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "  - match: \"^paced$\"\n    steps: [{{repeat: {{times: {times}, steps: [{ten}, {{sleep_ms: 10}}]}}}}, {{stop: end_turn}}]"
    );
    let times = STREAMED / 20;
    // A sleep takes some of the next millisecond, too.
    let _ = writeln!(
        text,
        "  - match: \"^streamed$\"\n    steps: [{{repeat: {{times: {times}, steps: [{twenty}, {{sleep_ms: 9}}]}}}}, {{stop: end_turn}}]"
    );
    text += &turn(
        "^numbered$",
        NUMBERED / CYCLE,
        (0..CYCLE).map(numbered_text),
    );
    text += "  - match: \"^greet$\"\n    steps: [{say: \"here\"}, {stop: end_turn}]\n";
    text += "  - steps: [{stop: end_turn}]\n";
    text
}

#[derive(Deserialize)]
struct Artifact {
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// Builds the release binary and returns the path that cargo reports.
fn build_harn_serve() -> Result<PathBuf> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--profile", "dist", "--package", "harn-serve"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .context("running cargo")?;
    ensure!(built.status.success(), "harn-serve does not build");
    String::from_utf8(built.stdout)?
        .lines()
        // Messages of other kinds have no target.
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
        .filter(|artifact| artifact.target.name == "harn-serve")
        .find_map(|artifact| artifact.executable)
        .context("cargo built no executable named harn-serve")
}
