//! The published schemas of `spec/schemas`, embedded in the program.
//!
//! A client needs no generator to read them; a test compares them with the types.

macro_rules! published {
    ($($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../../../spec/schemas/", $file)))),*]
    };
}

/// The schema texts by file name.
pub const SCHEMAS: &[(&str, &str)] = published! {
    "session-update-extensions.schema.json"
    "session-info-meta.schema.json"
    "tool-lifecycle-meta.schema.json"
    "content-meta.schema.json"
    "plan-meta.schema.json"
    "agent-event.schema.json"
    "stream-meta.schema.json"
    "agent-idle.schema.json"
    "initialize-meta.schema.json"
    "client-capabilities-meta.schema.json"
    "permission-request.schema.json"
    "permission-response.schema.json"
    "hitl-requested.schema.json"
    "hitl-respond.schema.json"
    "steering-params.schema.json"
    "steering-results.schema.json"
    "session-capabilities.schema.json"
    "reminder.schema.json"
    "live-clients.schema.json"
    "live-params.schema.json"
    "live-results.schema.json"
    "session-list-meta.schema.json"
    "user-message-meta.schema.json"
    "host-shell-discovery.schema.json"
    "host-bridge-params.schema.json"
    "host-bridge-results.schema.json"
    "session-mcp-meta.schema.json"
};

#[cfg(test)]
mod tests;
