//! One ACP client on stdin and stdout, from the first line to the end of the process.
//!
//! Reading and writing have threads of their own: a read of stdin cannot be called off, and a client
//! that does not read must not keep us from ending.

mod stdout;

use std::{io, sync::Arc, thread, time::Duration};

use anyhow::{Context, Result, ensure};
use harn_acp::{
    AcpConfig, ConnectionError, serve_connection,
    transport::{self, Incoming, OutgoingReceiver, STDIO_LINE_LIMIT},
};
use harn_runtime::Agent;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinError,
    time::timeout,
};

use crate::{
    Listen, Options, chosen_host_call_timeout, default_config_dir, default_state_dir, limits,
    net::Door,
    signals::Signals,
    workshop::{Workshop, waiting_room},
};

/// Serves an agent over ACP on stdin and stdout, with sessions in [`default_state_dir`] and the person's
/// own rules from [`default_config_dir`].
///
/// Returns when the client closes stdin or a signal asks for the end. By then every turn has been
/// cancelled and settled and every child process ended, all within a second. From the call on, whatever
/// prints to stdout prints to stderr. Starts a runtime of its own: not to be called from async code.
pub fn acp_stdio(agent: impl Agent) -> Result<()> {
    let options = Options {
        config_dir: default_config_dir(),
        host_call_timeout: chosen_host_call_timeout()?,
        ..Options::new(default_state_dir()?)
    };
    acp_stdio_with(Arc::new(agent), options)
}

/// The same, with options.
pub fn acp_stdio_with(agent: Arc<dyn Agent>, options: Options) -> Result<()> {
    run(agent, options, None)
}

/// The same, and to whoever else comes with a token, as [`listen`](crate::listen) does. It ends for all of them
/// when the client on stdin leaves.
pub fn acp_stdio_and_listen(agent: Arc<dyn Agent>, options: Options, listen: Listen) -> Result<()> {
    run(agent, options, Some(listen))
}

fn run(agent: Arc<dyn Agent>, options: Options, listen: Option<Listen>) -> Result<()> {
    ensure!(
        tokio::runtime::Handle::try_current().is_err(),
        "acp_stdio starts a runtime of its own; call it outside of async code, or use hub",
    );
    let stdout = stdout::move_aside().context("moving stdout aside")?;
    limits::raise_open_files();
    let workshop = Workshop::open(agent, &options)?;
    let waiting = waiting_room()?;
    waiting.block_on(serve(&workshop, options, listen, stdout))
}

/// Lines that may wait to be understood. Few, because a line may be large.
const WAITING_LINES: usize = 4;
/// How long the last lines may take to be understood.
const LAST_LINES: Duration = Duration::from_millis(100);
/// How long the last bytes may take to reach a client that is not reading.
const LAST_WORDS: Duration = Duration::from_millis(150);

async fn serve(
    workshop: &Workshop,
    options: Options,
    listen: Option<Listen>,
    stdout: impl io::Write + Send + 'static,
) -> Result<()> {
    let mut signals = Signals::listen().context("listening for signals")?;
    let door = match listen {
        Some(listen) => Some(Door::open(workshop, &options, listen).await?),
        None => None,
    };
    if let Some(door) = &door {
        door.announce();
    }
    let (lines, incoming) = mpsc::channel(WAITING_LINES);
    let (outgoing, queue) = transport::outgoing();
    let mut input_ends = on_a_thread("harn-stdin", move || read(lines))?;
    let mut output_ends = on_a_thread("harn-stdout", move || write(queue, stdout))?;
    let config = AcpConfig {
        profile: options.profile,
        deadlines: options.deadlines(),
        ..AcpConfig::default()
    };
    let connection = serve_connection(workshop.hub().clone(), config, incoming, outgoing);
    let mut connection = workshop.spawn(connection);

    let outcome = tokio::select! {
        served = &mut connection => ended(served),
        _ = signals.next() => Ok(()),
        // The client does not listen any more.
        _ = &mut output_ends => Ok(()),
        // Heard here as well, in case the workers are too busy to hear it.
        _ = &mut input_ends => match timeout(LAST_LINES, &mut connection).await {
            Ok(served) => ended(served),
            Err(_) => Ok(()),
        },
    };
    if let Some(door) = &door {
        door.close();
    }
    workshop.close().await;
    connection.abort();
    if !output_ends.is_terminated() {
        // Either it is done or nobody reads; both are the end.
        let _ = timeout(LAST_WORDS, output_ends).await;
    }
    outcome
}

fn ended(served: Result<Result<(), ConnectionError>, JoinError>) -> Result<()> {
    match served.context("the connection panicked")? {
        // Whom nobody listens to any more is done.
        Ok(()) | Err(ConnectionError::Disconnected(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn read(lines: mpsc::Sender<Incoming>) {
    if let Err(error) = transport::read_lines(io::stdin().lock(), STDIO_LINE_LIMIT, lines) {
        tracing::warn!(%error, "stdin could not be read; taking it as its end");
    }
}

fn write(queue: OutgoingReceiver, stdout: impl io::Write) {
    if let Err(error) = transport::write_chunks(queue, stdout)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        tracing::warn!(%error, "stdout could not be written");
    }
}

/// Resolves when the work is done, or has panicked.
fn on_a_thread(
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
