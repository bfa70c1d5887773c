//! The threads protocol on stdin and stdout.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use harn_runtime::Agent;
use harn_threads::{IncomingLine, ThreadsConfig};

use super::{
    default_options, ensure_outside_async,
    stdio_server::{EndDeadlines, StdioServer},
};
use crate::{ServeOptions, session_store};

/// Serves an agent over the threads protocol on stdin and stdout: JSON-RPC, one message per line. Threads work
/// in the current directory and are stored in its folder `.harness`, which the first thread creates. The user's
/// rules are in [`default_config_dir`](crate::default_config_dir), their permanent grants in
/// [`default_state_dir`](crate::default_state_dir).
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
/// Starts and ends as [`acp_stdio`](crate::acp_stdio) does, except that requests from before the end of stdin
/// are answered first, for at most five seconds.
pub fn threads_stdio(agent: impl Agent) -> Result<()> {
    crate::dispatch_sandbox_helper();
    threads_stdio_with(Arc::new(agent), default_options()?)
}

/// Serves as [`threads_stdio`] does, with options: threads work in [`ServeOptions::directory`], and are stored
/// in its folder `.harness` unless [`ServeOptions::sessions_dir`] is set.
pub fn threads_stdio_with(agent: Arc<dyn Agent>, mut options: ServeOptions) -> Result<()> {
    crate::dispatch_sandbox_helper();
    let directory = options.work_dir()?;
    let own = || directory.join(session_store::OF_WORKSPACE);
    options.sessions_dir.get_or_insert_with(own);
    let config = ThreadsConfig {
        alone: true,
        directory,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    ensure_outside_async("threads_stdio")?;
    let pipes = StdioServer::open(agent, options, None)?;
    pipes.serve::<IncomingLine, _, _>(PATIENT_END, |hub, incoming, outgoing| async {
        // A client that disconnects is a normal end.
        let _ = harn_threads::serve_connection(hub, config, incoming, outgoing).await;
        Ok(())
    })
}

/// A script pipes requests in and closes the pipe; each of them still needs its answer.
const PATIENT_END: EndDeadlines = EndDeadlines {
    last_answers: Duration::from_secs(5),
    last_words: Duration::from_secs(5),
};
