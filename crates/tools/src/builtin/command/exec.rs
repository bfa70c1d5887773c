//! Runs a command through the operation `process.exec` of a host without a terminal; its output arrives when it
//! ends.

use std::time::Duration;

use harn_model::ProcessExit;
use harn_runtime::{CommandExit, CommandSink as _, CommandSpec, HostError, ToolHandle};

use super::screen::CommandScreen;

/// The extra time for the host to report that a command timed out.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a command to its end; returns `None` if it timed out.
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
        Ok(exit) => show_output(screen, exit).map(Ok),
        Err(error) => Some(Err(error)),
    }
}

/// Adds the output to the screen. The order of lines between stdout and stderr is unknown.
fn show_output(screen: &CommandScreen, exit: ProcessExit) -> Option<CommandExit> {
    let mut sink = screen.clone();
    if exit.truncated {
        screen.mark_incomplete();
    }
    sink.on_output(&exit.stdout);
    sink.on_output(&exit.stderr);
    (!exit.timed_out).then_some(CommandExit {
        code: exit.exit_code,
        signal: exit.signal,
        output: String::new(),
        truncated: exit.truncated,
    })
}
