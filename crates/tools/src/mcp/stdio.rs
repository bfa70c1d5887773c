//! A server as a child process: in a group of its own, in the session's directory, with its stderr listened to.

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex},
    time::Duration,
};

use harn_model::Secret;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    McpSettings,
    lines::McpPipe,
    redact::{Secrets, one_line},
    trouble::McpConnectionError,
};
use crate::{
    local::{ProcessGroup, SECRET},
    lock::lock,
};

/// How long a line of its stderr is told.
const LONGEST: usize = 1024;
/// How many lines of it are logged; a server that chats must not fill a disk.
const MOST_LOGGED: usize = 1000;
/// How many of its last lines are kept for the error message.
const KEPT: usize = 5;
/// How long a process whose pipe closed may take to end, for us to say how.
const AFTERMATH: Duration = Duration::from_millis(250);

/// A server's process. Dropped, it is ended with all it started.
pub(super) struct McpProcess {
    group: ProcessGroup,
    said: StderrTail,
    listener: AbortOnDropHandle<()>,
}

pub(super) fn start(
    settings: &McpSettings,
    name: &str,
    (program, args, env): (&str, &[String], &[(String, Secret)]),
    secrets: &Secrets,
) -> Result<(McpPipe, McpProcess), McpConnectionError> {
    if !settings.cwd.is_dir() {
        let cwd = settings.cwd.display().to_string();
        return Err(McpConnectionError::NoDirectory(cwd));
    }
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => McpConnectionError::NotFound(program.to_owned()),
        io::ErrorKind::PermissionDenied => McpConnectionError::NotAllowed(program.to_owned()),
        _ => McpConnectionError::NotStarted {
            program: program.to_owned(),
            error: error.to_string(),
        },
    };
    let (stdin, to) = io::pipe().map_err(failed)?;
    let (from, stdout) = io::pipe().map_err(failed)?;
    let (log, stderr) = io::pipe().map_err(failed)?;
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(&settings.cwd)
        .env_clear()
        .envs(settings.env.iter().map(|(key, value)| (key, value)))
        // What lets clients in is no business of a server's.
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
    let listener = tokio::spawn(listen(log, name.to_owned(), secrets.clone(), said.clone()));
    let process = McpProcess {
        group,
        said,
        listener: AbortOnDropHandle::new(listener),
    };
    Ok((lines, process))
}

impl McpProcess {
    /// Waits for it to exit; what it started may go on.
    pub(super) async fn exited(&self) {
        if self.group.exited().await.is_err() {
            // The runtime is going down, and all that waits with it.
            std::future::pending::<()>().await;
        }
    }

    /// How it ended, if it did, and what it said last. Ends it.
    pub(super) async fn obituary(mut self) -> String {
        let mut facts = Vec::new();
        let exited = tokio::time::timeout(AFTERMATH, self.group.exited()).await;
        if let Ok(Ok(status)) = exited {
            facts.extend(status.exit_status().map(|code| format!("exit code {code}")));
            facts.extend(status.terminating_signal().map(|it| format!("signal {it}")));
        }
        // What it printed is in the pipe; somebody it started may hold that open.
        let _ = tokio::time::timeout(AFTERMATH, &mut self.listener).await;
        let said = lock(&self.said);
        if !said.is_empty() {
            let last = Vec::from_iter(said.iter().rev().map(String::as_str)).join(" | ");
            facts.push(format!("stderr: {last}"));
        }
        facts.join("; ")
    }
}

/// The last lines of a server's stderr, the latest first, fit to be told.
type StderrTail = Arc<Mutex<VecDeque<String>>>;

/// Reads a server's stderr to its end, line by line, as much as is told of each.
async fn listen(log: impl AsyncRead + Unpin, server: String, secrets: Secrets, said: StderrTail) {
    let mut log = BufReader::new(log);
    // So much that a value at the cut is still recognised.
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
        // Redacted before control characters go: a value may have some, and keeps them only as it was.
        let text = secrets.redact(&String::from_utf8_lossy(&line));
        let text = one_line(&text, LONGEST);
        line.clear();
        if !text.is_empty() {
            if logged < MOST_LOGGED {
                tracing::debug!(server, "stderr: {text}");
            } else if logged == MOST_LOGGED {
                tracing::debug!(server, "stderr: there is more, which is not logged");
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
