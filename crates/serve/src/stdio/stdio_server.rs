//! Reads lines from stdin and writes bytes to stdout for any front-end, and ends the process when either closes
//! or a signal arrives.
//!
//! Reading and writing have their own threads: a read of stdin cannot be cancelled, and a client that does not
//! read must not delay the end.

use std::{future::Future, io, sync::Arc, thread, time::Duration};

use anyhow::{Context, Result};
use harn_lines::{
    IncomingLine, OutgoingReceiver, OutgoingSender, Parcel, STDIO_LINE_LIMIT, read_lines,
    write_chunks,
};
use harn_runtime::{Agent, Hub};
use harn_terminal::signals::Signals;
use tokio::{
    sync::{mpsc, oneshot},
    task::{JoinError, JoinHandle},
    time::timeout,
};

use super::stdout::{self, RealStdout};
use crate::{
    ServeOptions, limits,
    net::{ListenOptions, OpenPort},
    server_runtime::{ServerRuntime, build_waiting_runtime},
};

/// Lines that may wait to be parsed. Few, because a line may be large.
const WAITING_LINES: usize = 4;
/// How long the last lines may take to be parsed.
const LAST_LINES: Duration = Duration::from_millis(100);
/// How long the last bytes may take to reach a client that does not read.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(150);

/// How long the end may take once the input has ended.
#[derive(Clone, Copy)]
pub(super) struct EndDeadlines {
    /// For the connection, to answer earlier requests.
    pub(super) last_answers: Duration,
    /// For the last bytes, to reach a slow client.
    pub(super) last_words: Duration,
}

/// An agent that is ready to be served, and a stdout that no other code prints to.
pub(super) struct StdioServer {
    workshop: ServerRuntime,
    options: ServeOptions,
    listen: Option<ListenOptions>,
    stdout: RealStdout,
}

impl StdioServer {
    pub(super) fn open(
        agent: Arc<dyn Agent>,
        mut options: ServeOptions,
        listen: Option<ListenOptions>,
    ) -> Result<Self> {
        if let Some(listen) = &listen {
            listen.hide_secrets(&mut options);
        }
        let stdout = stdout::move_aside().context("replacing stdout")?;
        limits::raise_open_files();
        let workshop = ServerRuntime::open(agent, &options)?;
        Ok(Self {
            workshop,
            options,
            listen,
            stdout,
        })
    }

    /// Serves the client with `connect`, which returns when the input ends. Answers that are still missing then
    /// may take as long as `deadlines` allows.
    pub(super) fn serve<T, P, F>(
        self,
        deadlines: EndDeadlines,
        connect: impl FnOnce(Hub, mpsc::Receiver<T>, OutgoingSender<P>) -> F,
    ) -> Result<()>
    where
        T: From<IncomingLine> + Send + 'static,
        P: Parcel,
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let Self {
            workshop,
            options,
            listen,
            stdout,
        } = self;
        build_waiting_runtime()?.block_on(async {
            let mut last_words = LAST_WORDS;
            let mut signals = Signals::listen().context("listening for signals")?;
            let mut door = match listen {
                Some(listen) => Some(OpenPort::open(&workshop, &options, listen).await?),
                None => None,
            };
            if let Some(door) = &mut door {
                door.announce();
            }
            let (lines, incoming) = mpsc::channel(WAITING_LINES);
            let (outgoing, queue) = harn_lines::outgoing();
            let mut input_ends = spawn_thread("harn-stdin", move || read(lines))?;
            let mut output_ends = spawn_thread("harn-stdout", move || write(queue, stdout))?;
            let connection = connect(workshop.hub().clone(), incoming, outgoing);
            let mut connection = workshop.spawn(connection);

            let outcome = tokio::select! {
                served = &mut connection => served.context("the connection panicked").flatten(),
                _ = signals.next() => Ok(()),
                // The client no longer reads.
                _ = &mut output_ends => Ok(()),
                // Also watched here, in case the workers are too busy to notice.
                _ = &mut input_ends => {
                    last_words = deadlines.last_words;
                    tokio::select! {
                        served = finish_connection(&workshop, &mut connection, deadlines.last_answers) => match served {
                            Some(served) => served.context("the connection panicked").flatten(),
                            None => Ok(()),
                        },
                        _ = signals.next() => {
                            last_words = LAST_WORDS;
                            Ok(())
                        }
                        _ = &mut output_ends => Ok(()),
                    }
                }
            };
            if let Some(door) = &door {
                door.close();
            }
            workshop.close().await;
            connection.abort();
            if !output_ends.is_terminated() {
                // It is finished, or the client does not read; both are the end.
                let _ = timeout(last_words, output_ends).await;
            }
            outcome
        })
    }
}

/// Waits for the result of a connection without further input. Returns none if that takes too long, or if the
/// workers are too busy to run it.
async fn finish_connection<T>(
    workshop: &ServerRuntime,
    connection: &mut JoinHandle<T>,
    answers: Duration,
) -> Option<Result<T, JoinError>> {
    if let Ok(served) = timeout(LAST_LINES, &mut *connection).await {
        return Some(served);
    }
    let heard = timeout(LAST_LINES, workshop.spawn(async {})).await;
    heard.ok()?.ok()?;
    timeout(answers, connection).await.ok()
}

fn read<T: From<IncomingLine>>(lines: mpsc::Sender<T>) {
    if let Err(error) = read_lines(io::stdin().lock(), STDIO_LINE_LIMIT, lines) {
        tracing::warn!(%error, "cannot read stdin; treating it as ended");
    }
}

fn write<P: Parcel>(queue: OutgoingReceiver<P>, stdout: impl io::Write) {
    if let Err(error) = write_chunks(queue, stdout)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        tracing::warn!(%error, "cannot write to stdout");
    }
}

/// Runs `work` on a thread. The receiver resolves when the work ends or panics.
fn spawn_thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<oneshot::Receiver<()>> {
    let (done, ends) = oneshot::channel();
    let work = move || {
        let _done: oneshot::Sender<()> = done;
        work();
    };
    thread::Builder::new().name(name.to_owned()).spawn(work)?;
    Ok(ends)
}
