//! Runs commands on this machine.

use std::{
    ffi::OsString,
    io::{self, PipeReader, PipeWriter},
    os::fd::OwnedFd,
    path::PathBuf,
    pin::pin,
    process::Stdio,
    time::Duration,
};

use futures::future::{FusedFuture as _, FutureExt as _, join_all};
use harn_model::ProcessExit;
use harn_runtime::{CommandExit, CommandSink, CommandSpec, HostError};
use harn_sandbox::{HelperCommand, SETUP_FAILED};
use rustix::process::{Signal, WaitIdStatus};
use tokio::{
    io::AsyncReadExt,
    process::{ChildStdout, Command},
};

use super::{
    group::{ProcessGroup, ProcessGroups},
    output::{OutputTail, TextDecoder},
    sandbox::check_program,
};

/// How long the output may stay open after the command has ended: a child process may have left the group and never
/// close it.
const DRAIN: Duration = Duration::from_millis(100);

/// The variable with the token of network clients.
pub(crate) const SECRET: &str = "HARN_SERVE_TOKEN";

/// A command and the command line that starts it.
pub(super) struct CommandStart {
    spec: CommandSpec,
    program: PathBuf,
    args: Vec<OsString>,
    is_wrapped: bool,
}

impl CommandStart {
    /// Starts the command itself.
    pub(super) fn plain(spec: CommandSpec) -> Self {
        Self {
            program: PathBuf::from(&spec.program),
            args: spec.args.iter().map(OsString::from).collect(),
            is_wrapped: false,
            spec,
        }
    }

    /// Starts the helper that runs the command in the sandbox.
    pub(super) fn wrapped(spec: CommandSpec, helper: HelperCommand) -> Self {
        Self {
            spec,
            program: helper.program,
            args: helper.args,
            is_wrapped: true,
        }
    }

    /// Returns the reason if the helper could not build the sandbox: the command has not run then.
    fn sandbox_failure(&self, status: Option<&WaitIdStatus>, output: &str) -> Option<HostError> {
        let code = status?.exit_status()?;
        let last = output.lines().next_back()?;
        let reason = last.strip_prefix("sandbox: ")?;
        (self.is_wrapped && code == i32::from(SETUP_FAILED)).then(|| {
            HostError::Failed(format!(
                "{}: the sandbox could not be set up, and the command did not run: {reason}",
                self.spec.program
            ))
        })
    }
}

/// Returns an error if the program cannot be started; the helper would report it only in the output.
pub(super) fn check(spec: &CommandSpec) -> Result<(), HostError> {
    check_cwd(spec)?;
    #[allow(
        clippy::disallowed_methods,
        reason = "the command inherits this search path"
    )]
    let path = std::env::var_os("PATH");
    check_program(&spec.program, &spec.cwd, path.as_deref())
        .map_err(|error| HostError::Failed(format!("{}: {error}", spec.program)))
}

fn check_cwd(spec: &CommandSpec) -> Result<(), HostError> {
    if !spec.cwd.is_dir() {
        let cwd = spec.cwd.display();
        return Err(HostError::Failed(format!(
            "{cwd}: the working directory does not exist"
        )));
    }
    Ok(())
}

/// Runs a command to its end, with stdout and stderr in one output. Ends the processes that it left running in its
/// group.
pub(super) async fn run(
    groups: &ProcessGroups,
    start: CommandStart,
    sink: &mut dyn CommandSink,
) -> Result<CommandExit, HostError> {
    let spec = &start.spec;
    let failed = |error: io::Error| HostError::Failed(format!("{}: {error}", spec.program));
    // One pipe for both, so that lines arrive in the order they were printed.
    let (reader, writer) = io::pipe().map_err(failed)?;
    let group = spawn(groups, &start, writer.try_clone().map_err(failed)?, writer)?;
    let output = OutputReader::new(reader, spec.output_limit, Some(sink)).map_err(failed)?;
    let mut outputs = [output];
    let status = wait_for_exit(group, &mut outputs, None)
        .await
        .map_err(failed)?;
    let [output] = outputs;
    let (output, truncated) = output.finish();
    if let Some(error) = start.sandbox_failure(status.as_ref(), &output) {
        return Err(error);
    }
    Ok(CommandExit {
        code: status.as_ref().and_then(WaitIdStatus::exit_status),
        signal: signal_name(status.as_ref()),
        output,
        truncated,
    })
}

/// Runs a command to its end or its time limit, with standard output and error separate.
pub(super) async fn exec(
    groups: &ProcessGroups,
    start: CommandStart,
    limit: Option<Duration>,
) -> Result<ProcessExit, HostError> {
    let spec = &start.spec;
    let failed = |error: io::Error| HostError::Failed(format!("{}: {error}", spec.program));
    let (out_reader, out_writer) = io::pipe().map_err(failed)?;
    let (err_reader, err_writer) = io::pipe().map_err(failed)?;
    let group = spawn(groups, &start, out_writer, err_writer)?;
    let output = |reader| OutputReader::new(reader, spec.output_limit, None).map_err(failed);
    let mut outputs = [output(out_reader)?, output(err_reader)?];
    let status = wait_for_exit(group, &mut outputs, limit)
        .await
        .map_err(failed)?;
    let [(stdout, out_cut), (stderr, err_cut)] = outputs.map(OutputReader::finish);
    if let Some(error) = start.sandbox_failure(status.as_ref(), &stderr) {
        return Err(error);
    }
    Ok(ProcessExit {
        exit_code: status.as_ref().and_then(WaitIdStatus::exit_status),
        signal: signal_name(status.as_ref()),
        stdout,
        stderr,
        truncated: out_cut || err_cut,
        timed_out: status.is_none(),
    })
}

/// Waits for a command to exit and reads its outputs meanwhile. At the limit it ends the command and returns no
/// status.
async fn wait_for_exit(
    group: ProcessGroup,
    outputs: &mut [OutputReader<'_>],
    limit: Option<Duration>,
) -> io::Result<Option<WaitIdStatus>> {
    let mut printed = pin!(join_all(outputs.iter_mut().map(OutputReader::drain)).fuse());
    let status = {
        let mut exited = pin!(group.wait_for_exit());
        let mut time_up = pin!(sleep_until_limit(limit));
        loop {
            tokio::select! {
                status = &mut exited => break Some(status?),
                () = &mut time_up => break None,
                _ = &mut printed, if !printed.is_terminated() => {}
            }
        }
    };
    drop(group);
    if !printed.is_terminated() {
        // A timeout is fine: the command's own output was in the pipe and has been read.
        let _ = tokio::time::timeout(DRAIN, printed).await;
    }
    Ok(status)
}

/// Sleeps until the limit has passed; forever if there is none.
pub(crate) async fn sleep_until_limit(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Starts a command with these pipes as its outputs.
fn spawn(
    groups: &ProcessGroups,
    start: &CommandStart,
    stdout: PipeWriter,
    stderr: PipeWriter,
) -> Result<ProcessGroup, HostError> {
    let spec = &start.spec;
    check_cwd(spec)?;
    let mut command = Command::new(&start.program);
    command
        .args(&start.args)
        .current_dir(&spec.cwd)
        // A command must not see the clients' token.
        .env_remove(SECRET)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr);
    // The command is consumed: a copy would keep the pipes open.
    let started = groups.spawn(command);
    started.map_err(|error| HostError::Failed(format!("{}: {error}", spec.program)))
}

struct OutputReader<'a> {
    pipe: ChildStdout,
    decoder: TextDecoder,
    tail: OutputTail,
    sink: Option<&'a mut dyn CommandSink>,
}

impl<'a> OutputReader<'a> {
    /// Retains the last `limit` bytes read from a pipe.
    fn new(
        reader: PipeReader,
        limit: usize,
        sink: Option<&'a mut dyn CommandSink>,
    ) -> io::Result<Self> {
        let reader: OwnedFd = reader.into();
        Ok(Self {
            pipe: ChildStdout::from_std(reader.into())?,
            decoder: TextDecoder::default(),
            tail: OutputTail::new(limit),
            sink,
        })
    }

    /// Reads until every process with the write end has closed it.
    async fn drain(&mut self) {
        const PIECE: usize = 16 * 1024;
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            match self.pipe.read_buf(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    let text = self.decoder.decode(&piece);
                    self.append(&text);
                }
            }
        }
    }

    fn append(&mut self, text: &str) {
        if !text.is_empty() {
            self.tail.push(text);
            if let Some(sink) = &mut self.sink {
                sink.on_output(text);
            }
        }
    }

    fn finish(mut self) -> (String, bool) {
        let rest = self.decoder.finish();
        self.append(rest);
        self.tail.finish()
    }
}

fn signal_name(status: Option<&WaitIdStatus>) -> Option<String> {
    let number = status?.terminating_signal()?;
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
        _ => return Some(format!("signal {number}")),
    };
    Some(name.to_owned())
}
