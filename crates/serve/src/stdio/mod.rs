//! One client on stdin and stdout, from the first line to the end of the process: what each front-end needs
//! for it. How lines come and go, and how it ends, is the same for all of them and in `pipes`.

mod pipes;
mod stdout;

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use harn_acp::{AcpConfig, ConnectionError, transport::Piece};
use harn_runtime::Agent;
use harn_threads::{Line, ThreadsConfig};

use self::pipes::{EndDeadlines, LAST_WORDS, Pipes};
use crate::{
    Listen, Options, chosen_host_call_timeout, default_config_dir, default_state_dir, session_store,
};

/// Serves an agent over ACP on stdin and stdout, with sessions in [`default_state_dir`] and the person's
/// own rules from [`default_config_dir`].
///
/// Returns when the client closes stdin or a signal asks for the end. By then every turn has been
/// cancelled and settled and every child process ended, all within a second. From the call on, whatever
/// prints to stdout prints to stderr. Starts a runtime of its own: not to be called from async code.
pub fn acp_stdio(agent: impl Agent) -> Result<()> {
    acp_stdio_with(Arc::new(agent), usual()?)
}

/// The same, with options.
pub fn acp_stdio_with(agent: Arc<dyn Agent>, options: Options) -> Result<()> {
    acp(agent, options, None)
}

/// The same, and to whoever else comes with a token, as [`listen`](crate::listen) does. It ends for all of them
/// when the client on stdin leaves.
pub fn acp_stdio_and_listen(agent: Arc<dyn Agent>, options: Options, listen: Listen) -> Result<()> {
    acp(agent, options, Some(listen))
}

/// Serves an agent as threads and turns on stdin and stdout: JSON-RPC, a line a message. Threads work in the
/// current directory and are kept in its folder `.harness`, which the first of them makes; the person's own
/// rules are those of [`default_config_dir`], and what they answered for good is in [`default_state_dir`].
///
/// ```no_run
/// # use harn_serve::{Agent, AgentError, StopReason, TurnContext, async_trait};
/// # struct Echo;
/// # #[async_trait]
/// # impl Agent for Echo {
/// #     async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
/// #         Ok(StopReason::EndTurn)
/// #     }
/// # }
/// fn main() -> harn_serve::Result<()> {
///     harn_serve::threads_stdio(Echo)
/// }
/// ```
///
/// Starts and ends as [`acp_stdio`] does, but that what was asked before stdin was closed is answered first, for
/// at most five seconds.
pub fn threads_stdio(agent: impl Agent) -> Result<()> {
    threads_stdio_with(Arc::new(agent), usual()?)
}

/// The same, with options: threads work in [`Options::directory`], and are kept in its folder `.harness` unless
/// [`Options::sessions_dir`] says otherwise.
pub fn threads_stdio_with(agent: Arc<dyn Agent>, mut options: Options) -> Result<()> {
    let directory = options.work_dir()?;
    let own = || directory.join(session_store::OF_WORKSPACE);
    options.sessions_dir.get_or_insert_with(own);
    let config = ThreadsConfig {
        alone: true,
        directory,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    outside_of_async("threads_stdio")?;
    let pipes = Pipes::open(agent, options, None)?;
    pipes.serve::<Line, _, _>(PATIENT_END, |hub, incoming, outgoing| async {
        // Whom nobody listens to any more is done.
        let _ = harn_threads::serve_connection(hub, config, incoming, outgoing).await;
        Ok(())
    })
}

/// Requests are piped in, and the pipe closed behind them: the end of it is no reason to leave one unanswered.
const PATIENT_END: EndDeadlines = EndDeadlines {
    last_answers: Duration::from_secs(5),
    last_words: Duration::from_secs(5),
};
/// Hosts of ACP kill an agent that is still there a second after the end of input.
const PROMPT_END: EndDeadlines = EndDeadlines {
    last_answers: harn_acp::LAST_ANSWERS,
    last_words: LAST_WORDS,
};

fn acp(agent: Arc<dyn Agent>, options: Options, listen: Option<Listen>) -> Result<()> {
    outside_of_async("acp_stdio")?;
    let config = AcpConfig {
        on_this_machine: true,
        terminal_auth: options.terminal_auth.clone(),
        ..options.acp()
    };
    let pipes = Pipes::open(agent, options, listen)?;
    pipes.serve::<_, Piece, _>(PROMPT_END, |hub, incoming, outgoing| async {
        match harn_acp::serve_connection(hub, config, incoming, outgoing).await {
            // Whom nobody listens to any more is done.
            Ok(()) | Err(ConnectionError::Disconnected(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    })
}

/// What is chosen where nobody chooses.
fn usual() -> Result<Options> {
    Ok(Options {
        config_dir: default_config_dir(),
        host_call_timeout: chosen_host_call_timeout()?,
        ..Options::new(default_state_dir()?)
    })
}

fn outside_of_async(name: &str) -> Result<()> {
    ensure!(
        tokio::runtime::Handle::try_current().is_err(),
        "{name} starts a runtime of its own; call it outside of async code, or use hub",
    );
    Ok(())
}
