//! The work of a call and its executor, which every end of the call reports, including a failure.

use std::{future::Future, path::Path};

use harn_model::{AgentEvent, ErrorCategory, LogRecord, ToolExecutor};
use harn_runtime::{AgentError, ToolError, ToolHandle, ToolOutput, TurnContext};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Returns the executor of an operation that the client may offer.
pub(crate) fn executor(offered: bool) -> ToolExecutor {
    if offered {
        ToolExecutor::HostBridge
    } else {
        ToolExecutor::HarnBuiltin
    }
}

/// Does the work and ends the call with its result. When the turn is cancelled the work is dropped, and the runtime
/// settles the call.
pub async fn run_by<T, E>(
    cx: &TurnContext,
    call: ToolHandle,
    by: ToolExecutor,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, AgentError>
where
    T: Clone + Into<ToolOutput>,
    E: Into<ToolError>,
{
    match run_unless_cancelled(cx, work).await? {
        Ok(done) => {
            let mut output = done.clone().into();
            output.executor = Some(by);
            call.complete(output).await?;
            Ok(done)
        }
        Err(error) => Err(fail_by(call, by, error).await?),
    }
}

/// Ends a call with a failure and returns the error, with which the turn continues.
pub async fn fail_by(
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

/// Waits for work, or until the turn is cancelled.
pub async fn run_unless_cancelled<T>(
    cx: &TurnContext,
    work: impl Future<Output = T>,
) -> Result<T, AgentError> {
    tokio::select! {
        biased;
        () = cx.cancelled() => Err(AgentError::Cancelled),
        done = work => Ok(done),
    }
}

/// Serializes a value for the journal; returns null if that fails.
pub(super) fn to_json(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Parses the arguments of a tool. They passed its schema, unless the permission answer replaced them; `unfit`
/// begins the error for those.
pub(super) fn parse<T: DeserializeOwned>(arguments: &Value, unfit: &str) -> Result<T, ToolError> {
    T::deserialize(arguments).map_err(|error| {
        ToolError::with_category(
            ErrorCategory::SchemaValidation,
            format_args!("{unfit}: {error}"),
        )
    })
}

/// Writes a warning to the session's log.
pub(crate) async fn warn(
    cx: &TurnContext,
    message: String,
    fields: Option<Value>,
) -> Result<(), AgentError> {
    let record = LogRecord {
        level: "warn".to_owned(),
        message,
        fields,
    };
    cx.emit(AgentEvent::Log(Box::new(record))).await
}

/// Returns a path relative to the workspace if it is inside, for display.
pub fn display_path(cwd: &Path, path: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}
