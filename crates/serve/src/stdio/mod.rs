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
use tokio::sync::{mpsc, oneshot};

use crate::{
    Options, default_state_dir, limits,
    signals::Signals,
    workshop::{Workshop, waiting_room},
};

/// Serves an agent over ACP on stdin and stdout, with sessions in [`default_state_dir`].
///
/// Returns when the client closes stdin or a signal asks for the end. By then every turn has been
/// cancelled and settled and every child process ended, all within a second. From the call on, whatever
/// prints to stdout prints to stderr. Starts a runtime of its own: not to be called from async code.
pub fn acp_stdio(agent: impl Agent) -> Result<()> {
    acp_stdio_with(Arc::new(agent), Options::new(default_state_dir()?))
}

/// The same, with options.
pub fn acp_stdio_with(agent: Arc<dyn Agent>, options: Options) -> Result<()> {
    ensure!(
        tokio::runtime::Handle::try_current().is_err(),
        "acp_stdio starts a runtime of its own; call it outside of async code, or use hub",
    );
    let stdout = stdout::move_aside().context("moving stdout aside")?;
    limits::raise_open_files();
    let workshop = Workshop::open(agent, &options)?;
    let waiting = waiting_room()?;
    waiting.block_on(serve(&workshop, options, stdout))
}

/// Lines that may wait to be understood. Few, because a line may be large.
const WAITING_LINES: usize = 4;
/// How long the last bytes may take to reach a client that is not reading.
const LAST_WORDS: Duration = Duration::from_millis(200);

async fn serve(
    workshop: &Workshop,
    options: Options,
    stdout: impl io::Write + Send + 'static,
) -> Result<()> {
    let mut signals = Signals::listen().context("listening for signals")?;
    let (lines, incoming) = mpsc::channel(WAITING_LINES);
    let (outgoing, queue) = transport::outgoing();
    read_on_a_thread(lines)?;
    let mut written = write_on_a_thread(queue, stdout)?;
    let config = AcpConfig {
        profile: options.profile,
    };
    let connection = serve_connection(workshop.hub().clone(), config, incoming, outgoing);
    let mut connection = workshop.spawn(connection).context("the runtime is gone")?;

    let mut still_writing = true;
    let outcome = tokio::select! {
        served = &mut connection => match served.context("the connection panicked")? {
            // Whom nobody listens to any more is done.
            Ok(()) | Err(ConnectionError::Disconnected(_)) => Ok(()),
            Err(error) => Err(error.into()),
        },
        _ = signals.next() => Ok(()),
        _ = &mut written => {
            still_writing = false;
            Ok(())
        }
    };
    workshop.close().await;
    connection.abort();
    if still_writing {
        // Either it is done or nobody reads; both are the end.
        let _ = tokio::time::timeout(LAST_WORDS, written).await;
    }
    outcome
}

fn read_on_a_thread(lines: mpsc::Sender<Incoming>) -> io::Result<()> {
    let read = move || {
        if let Err(error) = transport::read_lines(io::stdin().lock(), STDIO_LINE_LIMIT, lines) {
            tracing::warn!(%error, "stdin could not be read; taking it as its end");
        }
    };
    thread::Builder::new()
        .name("harn-stdin".to_owned())
        .spawn(read)?;
    Ok(())
}

/// Resolves when nothing more will be written.
fn write_on_a_thread(
    queue: OutgoingReceiver,
    stdout: impl io::Write + Send + 'static,
) -> io::Result<oneshot::Receiver<()>> {
    let (done, written) = oneshot::channel();
    let write = move || {
        if let Err(error) = transport::write_chunks(queue, stdout)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            tracing::warn!(%error, "stdout could not be written");
        }
        // Nobody listens when the process is ending.
        let _ = done.send(());
    };
    thread::Builder::new()
        .name("harn-stdout".to_owned())
        .spawn(write)?;
    Ok(written)
}
