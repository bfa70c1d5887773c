//! The work of a call, and who does it: said however the call ends, for a failure is somebody's too.

use std::future::Future;

use harn_model::ToolExecutor;
use harn_runtime::{AgentError, ToolBuilder, ToolError, ToolHandle, ToolOutput, TurnContext};
use harn_tools::Builtin;

/// A call of a built-in tool, with what is known of it.
pub(super) fn built_in(cx: &TurnContext, builtin: Builtin) -> ToolBuilder {
    cx.tool(builtin.name()).annotations(builtin.annotations())
}

/// Who does what the client may offer to do.
pub(super) fn executor(offered: bool) -> ToolExecutor {
    if offered {
        ToolExecutor::HostBridge
    } else {
        ToolExecutor::HarnBuiltin
    }
}

/// Does the work and ends the call with what comes of it. When the turn is cancelled the work is dropped,
/// and the runtime settles the call.
pub(super) async fn run_by<T, E>(
    cx: &TurnContext,
    call: ToolHandle,
    by: ToolExecutor,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, AgentError>
where
    T: Clone + Into<ToolOutput>,
    E: Into<ToolError>,
{
    match unless_cancelled(cx, work).await? {
        Ok(done) => {
            let mut output = done.clone().into();
            output.executor = Some(by);
            call.complete(output).await?;
            Ok(done)
        }
        Err(error) => Err(fail_by(call, by, error).await?),
    }
}

/// Ends a call badly, and returns the failure for the turn to go on with.
pub(super) async fn fail_by(
    call: ToolHandle,
    by: ToolExecutor,
    error: impl Into<ToolError>,
) -> Result<AgentError, AgentError> {
    let error = error.into();
    let output = ToolOutput {
        executor: Some(by),
        ..ToolOutput::default()
    };
    call.fail_with(&error.message, error.category, output)
        .await?;
    Ok(error.into())
}

/// Waits for work that a cancelled turn no longer needs.
pub(super) async fn unless_cancelled<T>(
    cx: &TurnContext,
    work: impl Future<Output = T>,
) -> Result<T, AgentError> {
    tokio::select! {
        biased;
        () = cx.cancelled() => Err(AgentError::Cancelled),
        done = work => Ok(done),
    }
}
