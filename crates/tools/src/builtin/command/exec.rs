//! A command that a host without a terminal runs with its operation `process.exec`: it is heard of when it is over.

use std::time::Duration;

use harn_model::ProcessExit;
use harn_runtime::{CommandExit, CommandSink as _, CommandSpec, HostError, ToolHandle};

use super::screen::CommandScreen;

/// How much longer than its time the host may take to say so.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a command to its end; none when its time was over.
pub(super) async fn run(
    call: &ToolHandle,
    screen: &CommandScreen,
    spec: CommandSpec,
    limit: Option<Duration>,
) -> Option<Result<CommandExit, HostError>> {
    let exec = call.host().exec(spec, limit);
    let answer = match limit {
        Some(limit) => tokio::time::timeout(limit + GRACE, exec).await.ok()?,
        None => exec.await,
    };
    match answer {
        Ok(exit) => told(screen, exit).map(Ok),
        Err(error) => Some(Err(error)),
    }
}

/// Puts what it printed on the screen; which line of which came first is not known.
fn told(screen: &CommandScreen, exit: ProcessExit) -> Option<CommandExit> {
    let mut sink = screen.clone();
    if exit.truncated {
        screen.miss();
    }
    sink.output(&exit.stdout);
    sink.output(&exit.stderr);
    (!exit.timed_out).then_some(CommandExit {
        code: exit.exit_code,
        signal: exit.signal,
        output: String::new(),
        truncated: exit.truncated,
    })
}
