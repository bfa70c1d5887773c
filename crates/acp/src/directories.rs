//! Checks `additionalDirectories` of a request that opens a session.

use std::path::Path;

use agent_client_protocol::Error;
use serde_json::Value;

use crate::error;

const LIST: &str = "additionalDirectories";

/// Rejects a list with a path that is not absolute: ACP requires absolute paths, and a relative one would
/// depend on where this process was started. A missing directory is accepted, because it may appear later.
pub(crate) fn check(method: &str, params: &Value) -> Result<(), Error> {
    let Some(Value::Array(list)) = params.get(LIST) else {
        return Ok(());
    };
    let relative = |entry: &Value| {
        entry
            .as_str()
            .is_some_and(|it| !Path::new(it).is_absolute())
    };
    match list.iter().position(relative) {
        Some(at) => {
            let message = format!("{method}: {LIST}[{at}] must be an absolute path");
            Err(error::bad_params(&message))
        }
        None => Ok(()),
    }
}
