//! A server as a child process: in its own process group, in the session's directory, with its stderr read.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex},
    time::Duration,
};

use harn_model::Secret;
use harn_sandbox::HelperCommand;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    McpSettings,
    connection_error::McpConnectionError,
    pipe::McpPipe,
    redact::{Secrets, one_line},
};
use crate::{
    local::{ProcessGroup, SECRET, check_program},
    lock::lock,
};

/// How many bytes of a line of stderr are reported.
const LONGEST: usize = 1024;
/// How many lines of stderr are logged; a verbose server must not fill the disk.
const MOST_LOGGED: usize = 1000;
/// How many of the last lines are kept for the error message.
const KEPT: usize = 5;
/// How long a process may take to exit after its pipe closed, for its exit status to be reported.
const AFTERMATH: Duration = Duration::from_millis(250);

/// The process of a server. Dropping it ends the process and all its descendants.
pub(super) struct McpProcess {
    group: ProcessGroup,
    said: StderrTail,
    listener: AbortOnDropHandle<()>,
}

pub(super) async fn start(
    settings: &McpSettings,
    name: &str,
    (program, args, env): (&str, &[String], &[(String, Secret)]),
    secrets: &Secrets,
) -> Result<(McpPipe, McpProcess), McpConnectionError> {
    if !settings.cwd.is_dir() {
        let cwd = settings.cwd.display().to_string();
        return Err(McpConnectionError::NoDirectory(cwd));
    }
    let failed = |error: io::Error| start_error(program, &error);
    let (stdin, to) = io::pipe().map_err(failed)?;
    let (from, stdout) = io::pipe().map_err(failed)?;
    let (log, stderr) = io::pipe().map_err(failed)?;
    let mut command = match confine(settings, (program, args), env).await? {
        Some(helper) => {
            let mut command = Command::new(helper.program);
            command.args(helper.args);
            command
        }
        None => {
            let mut command = Command::new(program);
            command.args(args);
            command
        }
    };
    command
        .current_dir(&settings.cwd)
        .env_clear()
        .envs(settings.env.iter().map(|(key, value)| (key, value)))
        // The token for clients of this program is not for servers.
        .env_remove(SECRET)
        .envs(env.iter().map(|(key, value)| (key, value.reveal())))
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    let group = settings.host.groups().spawn(command).map_err(failed)?;
    let to = ChildStdin::from_std(OwnedFd::from(to).into()).map_err(failed)?;
    let from = ChildStdout::from_std(OwnedFd::from(from).into()).map_err(failed)?;
    let lines = McpPipe::new(from, to);
    let said = StderrTail::default();
    let log = ChildStderr::from_std(OwnedFd::from(log).into()).map_err(failed)?;
    let listener = tokio::spawn(read_stderr(
        log,
        name.to_owned(),
        secrets.clone(),
        said.clone(),
    ));
    let process = McpProcess {
        group,
        said,
        listener: AbortOnDropHandle::new(listener),
    };
    Ok((lines, process))
}

/// Returns the command line that runs a server in the sandbox; none if servers run without one.
async fn confine(
    settings: &McpSettings,
    (program, args): (&str, &[String]),
    env: &[(String, Secret)],
) -> Result<Option<HelperCommand>, McpConnectionError> {
    let Some(sandbox) = settings.host.local_sandbox() else {
        return Ok(None);
    };
    // The system would report it only to the helper.
    let given = env.iter().rev().find(|(name, _)| name == "PATH");
    let given = given.map(|(_, path)| OsStr::new(path.reveal()));
    let mut inherited = settings.env.iter().filter(|(name, _)| name == "PATH");
    let path = given.or_else(|| inherited.next().map(|(_, path)| path.as_os_str()));
    check_program(program, &settings.cwd, path).map_err(|error| start_error(program, &error))?;
    let (sandbox, session, cwd) = (
        sandbox.clone(),
        settings.session.clone(),
        settings.cwd.clone(),
    );
    let (name, args) = (program.to_owned(), args.to_vec());
    // It reads the rules and the disk.
    let wrapped =
        tokio::task::spawn_blocking(move || sandbox.wrap_server(&session, &cwd, &name, &args));
    let wrapped = match wrapped.await {
        Ok(wrapped) => wrapped.map_err(|error| error.to_string()),
        Err(_) => Err("this process is shutting down".to_owned()),
    };
    wrapped.map_err(|error| McpConnectionError::NotStarted {
        program: program.to_owned(),
        error,
    })
}

fn start_error(program: &str, error: &io::Error) -> McpConnectionError {
    match error.kind() {
        io::ErrorKind::NotFound => McpConnectionError::NotFound(program.to_owned()),
        io::ErrorKind::PermissionDenied => McpConnectionError::NotAllowed(program.to_owned()),
        _ => McpConnectionError::NotStarted {
            program: program.to_owned(),
            error: error.to_string(),
        },
    }
}

impl McpProcess {
    /// Waits until the process exits; its children may still run.
    pub(super) async fn wait_for_exit(&self) {
        if self.group.wait_for_exit().await.is_err() {
            // The runtime is shutting down, which ends every waiting task.
            std::future::pending::<()>().await;
        }
    }

    /// Ends the process. Returns its exit status, if it exited by itself, and its last lines of stderr.
    pub(super) async fn end_and_describe(mut self) -> String {
        let mut facts = Vec::new();
        let exited = tokio::time::timeout(AFTERMATH, self.group.wait_for_exit()).await;
        if let Ok(Ok(status)) = exited {
            facts.extend(status.exit_status().map(|code| format!("exit code {code}")));
            facts.extend(status.terminating_signal().map(|it| format!("signal {it}")));
        }
        // The output is in the pipe, which a child of the process may keep open.
        let _ = tokio::time::timeout(AFTERMATH, &mut self.listener).await;
        let said = lock(&self.said);
        if !said.is_empty() {
            let last = Vec::from_iter(said.iter().rev().map(String::as_str)).join(" | ");
            facts.push(format!("stderr: {last}"));
        }
        facts.join("; ")
    }
}

/// The last lines of a server's stderr, redacted, the latest first.
type StderrTail = Arc<Mutex<VecDeque<String>>>;

/// Reads a server's stderr to its end; cuts, redacts, logs and stores each line.
async fn read_stderr(
    log: impl AsyncRead + Unpin,
    server: String,
    secrets: Secrets,
    said: StderrTail,
) {
    let mut log = BufReader::new(log);
    // With room for a value at the cut, so that it is still recognised.
    let most = LONGEST + secrets.longest();
    let mut line = Vec::new();
    let mut logged = 0;
    loop {
        let Ok(piece) = log.fill_buf().await else {
            return;
        };
        let end = piece.iter().position(|byte| *byte == b'\n');
        let last = piece.is_empty();
        let part = &piece[..end.unwrap_or(piece.len())];
        let room = most.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let taken = end.map_or(piece.len(), |at| at + 1);
        log.consume(taken);
        if end.is_none() && !last {
            continue;
        }
        // Redact before removing control characters: a value that contains some is recognised only in its original
        // form.
        let text = secrets.redact(&String::from_utf8_lossy(&line));
        let text = one_line(&text, LONGEST);
        line.clear();
        if !text.is_empty() {
            if logged < MOST_LOGGED {
                tracing::debug!(server, "stderr: {text}");
            } else if logged == MOST_LOGGED {
                tracing::debug!(server, "stderr: the rest is not logged");
            }
            logged += 1;
            let mut said = lock(&said);
            said.truncate(KEPT - 1);
            said.push_front(text);
        }
        if last {
            return;
        }
    }
}
