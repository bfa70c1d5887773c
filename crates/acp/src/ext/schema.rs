//! JSON Schemas of everything vendor-specific on the wire, generated from the types that write it.
//!
//! They are kept in `spec/schemas` for host authors; a test tells when the two differ.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{agent_event::HarnEvent, tool::ToolMeta, update::ExtensionUpdate};

/// The params of an agent event's notification, the session beside the event's own fields.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgentEventParams<'a> {
    /// Which session it belongs to.
    session_id: &'a str,
    #[serde(flatten)]
    event: HarnEvent<'a>,
}

/// The schemas by file name.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "session-update-extensions.schema.json",
            schema::<ExtensionUpdate<'_>>(
                "The `update` of a `session/update` whose `sessionUpdate` ACP does not know. Every field \
                 is under `_meta.harn`. Hosts must ignore names they do not know.",
            ),
        ),
        (
            "tool-lifecycle-meta.schema.json",
            schema::<ToolMeta<'_>>("`_meta.harn` of a `tool_call` or a `tool_call_update`."),
        ),
        (
            "agent-event.schema.json",
            schema::<AgentEventParams<'_>>(
                "The `params` of a `_harn/agentEvent` notification. Hosts must ignore kinds they do not \
                 know.",
            ),
        ),
    ]
}

/// What is written, not what would be accepted: a field that is always there is required.
fn schema<T: JsonSchema>(description: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    // What it is comes first, for people who open the file.
    let mut ordered = Map::new();
    for key in ["$schema", "title"] {
        if let Some(value) = schema.remove(key) {
            ordered.insert(key.to_owned(), value);
        }
    }
    schema.remove("description");
    ordered.insert("description".to_owned(), description.into());
    if let Value::Object(rest) = Value::from(schema) {
        ordered.extend(rest);
    }
    Value::Object(ordered)
}
