//! The operations `process.*` of this machine about shells, for sessions whose client has no bridge.

use harn_model::{SessionId, SetDefaultShell, ShellCommand};
use harn_runtime::HostError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{LocalHost, run_blocking};
use crate::shells::ShellError;

/// The arguments of operations that take none.
#[derive(Deserialize)]
struct NoArguments {}

/// Performs one of the operations.
pub(super) async fn call(
    host: &LocalHost,
    session: &SessionId,
    operation: &str,
    args: Value,
) -> Result<Value, HostError> {
    let (shells, session) = (host.shells.clone(), session.clone());
    match operation {
        "process.list_shells" => {
            let NoArguments {} = parse_args(operation, args)?;
            run_blocking(move || to_json(shells.list(&session))).await
        }
        "process.get_default_shell" => {
            let NoArguments {} = parse_args(operation, args)?;
            run_blocking(move || {
                let list = shells.list(&session);
                let id = list.default_shell_id;
                let mut found = list.shells.into_iter();
                to_json(found.find(|shell| Some(&shell.id) == id.as_ref()))
            })
            .await
        }
        "process.set_default_shell" => {
            let SetDefaultShell { shell_id } = parse_args(operation, args)?;
            run_blocking(move || {
                to_json(
                    shells
                        .set_default(&session, &shell_id)
                        .map_err(to_host_error)?,
                )
            })
            .await
        }
        "process.shell_invocation" => {
            let command: ShellCommand = parse_args(operation, args)?;
            run_blocking(move || {
                to_json(
                    shells
                        .invocation(&session, &command)
                        .map_err(to_host_error)?,
                )
            })
            .await
        }
        _ => Err(HostError::Unsupported("that operation")),
    }
}

fn to_host_error(error: ShellError) -> HostError {
    HostError::Failed(error.to_string())
}

fn parse_args<T: DeserializeOwned>(operation: &str, args: Value) -> Result<T, HostError> {
    let misfit = |what: String| HostError::Failed(format!("the arguments of {operation}: {what}"));
    // An array could match the fields by position, by accident.
    if !args.is_object() {
        return Err(misfit("expected an object".to_owned()));
    }
    serde_json::from_value(args).map_err(|error| misfit(error.to_string()))
}

fn to_json(answer: impl Serialize) -> Result<Value, HostError> {
    serde_json::to_value(answer).map_err(|error| HostError::Failed(error.to_string()))
}
