//! `configure`: the session's mode and title, and the options of its agent. What is refused changes nothing of
//! what comes behind it.

use harn_runtime::Act;
use serde_json::Value;

use crate::{client::Client, from_wire, refused::Refused, wire::Configure};

pub(super) async fn handle(client: &Client, config: Configure) -> Result<(), Refused> {
    let driver = client.drive(Act::Steer).await?;
    if let Some(mode) = config.permission_mode {
        driver.set_mode(&mode).await?;
    }
    if let Some(title) = config.title {
        driver.set_title(&from_wire::words("title", title)?).await?;
    }
    for (id, value) in config.options {
        let value = match value {
            Value::String(text) => text,
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            // What is not said.
            Value::Null => continue,
            Value::Array(_) | Value::Object(_) => {
                let words = "the values of config are texts, numbers, true and false";
                return Err(Refused::bad(words));
            }
        };
        driver.set_option(&id, &value).await?;
    }
    Ok(())
}
