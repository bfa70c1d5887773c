//! Serves one client on stdin and stdout until the process ends, over ACP or threads. The part that all
//! front-ends share, lines in and out and the end, is in `pipes`.

mod stdio_server;
mod stdout;
#[cfg(feature = "threads")]
mod threads;

use std::sync::Arc;

use anyhow::{Result, ensure};
use harn_acp::{AcpConfig, ConnectionError, transport::OutgoingPiece};
use harn_runtime::Agent;

use self::stdio_server::{EndDeadlines, LAST_WORDS, StdioServer};
use crate::{
    ServeOptions, chosen_host_call_timeout, default_config_dir, default_state_dir,
    net::ListenOptions,
};

#[cfg(feature = "threads")]
pub use threads::{threads_stdio, threads_stdio_with};

/// Serves an agent over ACP on stdin and stdout, with sessions in [`default_state_dir`] and the user's rules
/// from [`default_config_dir`].
///
/// Returns when the client closes stdin or a signal requests the end. By then every turn has been cancelled and
/// settled and every child process has ended, all within a second. From the call on, everything that prints to
/// stdout prints to stderr. Starts its own runtime: do not call it from async code.
pub fn acp_stdio(agent: impl Agent) -> Result<()> {
    crate::dispatch_sandbox_helper();
    acp_stdio_with(Arc::new(agent), default_options()?)
}

/// Serves as [`acp_stdio`] does, with options.
pub fn acp_stdio_with(agent: Arc<dyn Agent>, options: ServeOptions) -> Result<()> {
    serve_acp(agent, options, None)
}

/// Serves as [`acp_stdio_with`] does, and also clients with a token, as [`listen`](crate::listen) does. It ends
/// for all of them when the client on stdin disconnects.
#[cfg(feature = "port")]
pub fn acp_stdio_and_listen(
    agent: Arc<dyn Agent>,
    options: ServeOptions,
    listen: ListenOptions,
) -> Result<()> {
    serve_acp(agent, options, Some(listen))
}

/// ACP hosts kill an agent that still runs a second after the end of input.
const PROMPT_END: EndDeadlines = EndDeadlines {
    last_answers: harn_acp::LAST_ANSWERS,
    last_words: LAST_WORDS,
};

fn serve_acp(
    agent: Arc<dyn Agent>,
    options: ServeOptions,
    listen: Option<ListenOptions>,
) -> Result<()> {
    crate::dispatch_sandbox_helper();
    ensure_outside_async("acp_stdio")?;
    let config = AcpConfig {
        on_this_machine: true,
        terminal_auth: options.terminal_auth.clone(),
        ..options.acp_config()
    };
    let pipes = StdioServer::open(agent, options, listen)?;
    pipes.serve::<_, OutgoingPiece, _>(PROMPT_END, |hub, incoming, outgoing| async {
        match harn_acp::serve_connection(hub, config, incoming, outgoing).await {
            // A client that disconnects is a normal end.
            Ok(()) | Err(ConnectionError::Disconnected(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    })
}

/// Returns the options of a program that chooses none.
fn default_options() -> Result<ServeOptions> {
    Ok(ServeOptions {
        config_dir: default_config_dir(),
        host_call_timeout: chosen_host_call_timeout()?,
        ..ServeOptions::new(default_state_dir()?)
    })
}

fn ensure_outside_async(name: &str) -> Result<()> {
    ensure!(
        tokio::runtime::Handle::try_current().is_err(),
        "{name} starts a runtime of its own; call it outside of async code, or use hub",
    );
    Ok(())
}
