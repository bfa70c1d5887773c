//! `configure`: sets the session's mode and title, and the options of its agent. A rejected setting stops the
//! rest; those before it stay set.

use harn_runtime::DriverAction;
use serde_json::Value;

use crate::{
    client::DocumentClient, command_error::ClientCommandError, from_wire, wire::SettingChanges,
};

pub(super) async fn handle(
    client: &DocumentClient,
    config: SettingChanges,
) -> Result<(), ClientCommandError> {
    let driver = client.drive(DriverAction::Steer).await?;
    if let Some(mode) = config.permission_mode {
        driver.set_mode(&mode).await?;
    }
    if let Some(title) = config.title {
        driver
            .set_title(&from_wire::require_text("title", title)?)
            .await?;
    }
    for (id, value) in config.options {
        let value = match value {
            Value::String(text) => text,
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            // Null counts as absent.
            Value::Null => continue,
            Value::Array(_) | Value::Object(_) => {
                let words = "the values of config must be strings, numbers, true or false";
                return Err(ClientCommandError::bad(words));
            }
        };
        driver.set_option(&id, &value).await?;
    }
    Ok(())
}
