//! Running a command on this machine.

use std::{io, pin::pin, process::Stdio, time::Duration};

use harn_runtime::{CommandExit, CommandSink, CommandSpec, HostError};
use rustix::process::Signal;
use tokio::{
    io::AsyncReadExt,
    process::{ChildStdout, Command},
};

use super::{
    group::Groups,
    output::{Decoder, Tail},
};

/// How long the output may stay open after the command has ended: something it started may have left
/// its group and never close it.
const DRAIN: Duration = Duration::from_millis(100);

/// The variable that holds the token of clients that come over the network.
pub(crate) const SECRET: &str = "HARN_SERVE_TOKEN";

/// Runs a command to its end. What it left running in its group is ended with it.
pub(super) async fn run(
    groups: &Groups,
    spec: CommandSpec,
    sink: &mut dyn CommandSink,
) -> Result<CommandExit, HostError> {
    if !spec.cwd.is_dir() {
        let cwd = spec.cwd.display();
        return Err(HostError::Failed(format!(
            "{cwd}: there is no such directory to run in"
        )));
    }
    let failed = |error: io::Error| HostError::Failed(format!("{}: {error}", spec.program));
    // One pipe for both, so that lines come in the order they were printed.
    let (reader, writer) = io::pipe().map_err(failed)?;
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .current_dir(&spec.cwd)
        // What lets clients in is no business of a command.
        .env_remove(SECRET)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer);
    // The command is consumed: kept, it would hold the pipe open.
    let group = groups.spawn(command).map_err(failed)?;
    let reader: std::os::fd::OwnedFd = reader.into();
    let mut output = Output {
        pipe: Some(ChildStdout::from_std(reader.into()).map_err(failed)?),
        decoder: Decoder::default(),
        tail: Tail::new(spec.output_limit),
        sink,
    };
    let (code, signal) = {
        let mut exited = pin!(group.exited());
        let status = loop {
            tokio::select! {
                status = &mut exited => break status.map_err(failed)?,
                () = output.read(), if output.pipe.is_some() => {}
            }
        };
        (status.exit_status(), status.terminating_signal())
    };
    drop(group);
    // A time-out is fine: what the command itself printed is in the pipe and was read.
    let _ = tokio::time::timeout(DRAIN, output.drain()).await;
    let (output, truncated) = output.finish();
    Ok(CommandExit {
        code,
        signal: signal.map(signal_name),
        output,
        truncated,
    })
}

struct Output<'a> {
    /// Gone once everyone who could print is.
    pipe: Option<ChildStdout>,
    decoder: Decoder,
    tail: Tail,
    sink: &'a mut dyn CommandSink,
}

impl Output<'_> {
    /// Reads what is there, waiting for something. Cancel safe.
    async fn read(&mut self) {
        const PIECE: usize = 16 * 1024;
        let Some(pipe) = &mut self.pipe else {
            return;
        };
        let mut piece = Vec::with_capacity(PIECE);
        match pipe.read_buf(&mut piece).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(_) => {
                let text = self.decoder.decode(&piece);
                self.take(&text);
            }
        }
    }

    async fn drain(&mut self) {
        while self.pipe.is_some() {
            self.read().await;
        }
    }

    fn take(&mut self, text: &str) {
        if !text.is_empty() {
            self.tail.push(text);
            self.sink.output(text);
        }
    }

    fn finish(mut self) -> (String, bool) {
        let rest = self.decoder.finish();
        self.take(rest);
        self.tail.finish()
    }
}

fn signal_name(number: i32) -> String {
    let name = match Signal::from_named_raw(number) {
        Some(Signal::HUP) => "SIGHUP",
        Some(Signal::INT) => "SIGINT",
        Some(Signal::QUIT) => "SIGQUIT",
        Some(Signal::ILL) => "SIGILL",
        Some(Signal::TRAP) => "SIGTRAP",
        Some(Signal::ABORT) => "SIGABRT",
        Some(Signal::BUS) => "SIGBUS",
        Some(Signal::FPE) => "SIGFPE",
        Some(Signal::KILL) => "SIGKILL",
        Some(Signal::SEGV) => "SIGSEGV",
        Some(Signal::PIPE) => "SIGPIPE",
        Some(Signal::ALARM) => "SIGALRM",
        Some(Signal::TERM) => "SIGTERM",
        _ => return format!("signal {number}"),
    };
    name.to_owned()
}
