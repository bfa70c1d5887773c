//! JSON Schemas of everything vendor-specific on the wire, generated from the types that write it.
//!
//! They are kept in `spec/schemas` for host authors; a test tells when the two differ. Only tests generate
//! them: what runs reads [`published`](super::published), so that no generator is linked into it.

use harn_model::HitlResponse;
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    HarnMeta,
    agent_event::HarnEvent,
    bridge::{BridgeParams, BridgeResults, ShellDiscovery},
    capabilities::{Advertised, Session},
    client::Wish,
    content::ContentMeta,
    event_id::StreamMeta,
    hitl::Requested,
    idle::Idle,
    live::{Listed, LiveMethodParams, LiveMethodResults},
    mcp::McpMeta,
    permission::Answer,
    plan::PlanMeta,
    steering::{SteeringMethodParams, SteeringMethodResults},
    tool::ToolMeta,
    update::{CarriedUpdate, ExtensionUpdate, LiveClientFields, ReminderFields},
    user::UserMeta,
};
use crate::permission;

/// The file that describes `_harn/agentEvent`, named at `initialize`.
pub(crate) const AGENT_EVENT: &str = "agent-event.schema.json";

/// The file that describes `agent/idle`.
pub(crate) const AGENT_IDLE: &str = "agent-idle.schema.json";
/// The file that describes `harn.hitl.requested`.
pub(crate) const HITL_REQUESTED: &str = "hitl-requested.schema.json";
/// The file that describes `harn.hitl.respond`.
pub(crate) const HITL_RESPOND: &str = "hitl-respond.schema.json";

/// The file that describes what a host is asked and may tell.
pub(crate) const BRIDGE_PARAMS: &str = "host-bridge-params.schema.json";

/// The file that describes what the methods for live clients take.
const LIVE_PARAMS: &str = "live-params.schema.json";
/// The file that describes what they answer.
const LIVE_RESULTS: &str = "live-results.schema.json";

/// The file that describes what the methods of steering take.
const STEERING_PARAMS: &str = "steering-params.schema.json";
/// The file that describes what they answer.
const STEERING_RESULTS: &str = "steering-results.schema.json";

/// The params of an agent event's notification, the session beside the event's own fields.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct AgentEventParams<'a> {
    /// Which session it belongs to.
    session_id: &'a str,
    #[serde(flatten)]
    event: HarnEvent<'a>,
    /// Its place in the session's stream, for clients that have event ids.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<HarnMeta<StreamMeta>>,
}

/// The schemas by file name.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "session-update-extensions.schema.json",
            written::<ExtensionUpdate<'_>>(
                "The `update` of a `session/update` whose `sessionUpdate` ACP does not know. Every field \
                 is under `_meta.harn`. Hosts must ignore names they do not know.",
            ),
        ),
        (
            "session-info-meta.schema.json",
            written::<CarriedUpdate<'_>>(
                "`_meta.harn` of a `session_info_update` in the profile `meta`: the same extensions on a \
                 carrier that typed clients deliver.",
            ),
        ),
        (
            "tool-lifecycle-meta.schema.json",
            written::<ToolMeta<'_>>("`_meta.harn` of a `tool_call` or a `tool_call_update`."),
        ),
        (
            "content-meta.schema.json",
            written::<ContentMeta<'_>>("`content._meta.harn` of an `agent_message_chunk`."),
        ),
        (
            "plan-meta.schema.json",
            written::<PlanMeta<'_>>("`_meta.harn` of a `plan` that has a document."),
        ),
        (
            AGENT_EVENT,
            written::<AgentEventParams<'_>>(
                "The `params` of a `_harn/agentEvent` notification. Hosts must ignore kinds they do not \
                 know.",
            ),
        ),
        (
            "stream-meta.schema.json",
            written::<StreamMeta>(
                "`_meta.harn` of the `params` of a `session/update`, for clients that have event ids.",
            ),
        ),
        (
            AGENT_IDLE,
            written::<Idle<'_>>(
                "The `params` of an `agent/idle` notification: the agent waits for more to do.",
            ),
        ),
        (
            "initialize-meta.schema.json",
            written::<Advertised>(
                "`agentCapabilities._meta.harn` in the answer to `initialize`: what this client will be \
                 sent and may be asked for.",
            ),
        ),
        (
            "client-capabilities-meta.schema.json",
            read::<Wish>(
                "`clientCapabilities._meta.harn` in `initialize`: what a client may say. Anything else \
                 counts as unsaid.",
            ),
        ),
        (
            "permission-request.schema.json",
            written::<permission::Request<'_>>(
                "The `params` of `session/request_permission`: with the contract's fields beside ACP's in \
                 the profile `harn`, without them in the others.",
            ),
        ),
        (
            "permission-response.schema.json",
            told::<Answer>(
                "The `result` of `session/request_permission`. Only `outcome.optionId` of an option that \
                 allows, and `granted: true`, let the call run; where both are said they have to agree.",
            ),
        ),
        (
            HITL_REQUESTED,
            written::<Requested<'_>>(
                "The `params` of a `harn.hitl.requested` notification, sent to hosts that have the bridge.",
            ),
        ),
        (
            HITL_RESPOND,
            read::<HitlResponse>(
                "The `params` of `harn.hitl.respond`: `answer` for a question, `approved` and `reviewer` \
                 for an approval and for dual control, `accepted` and `reviewer` for an escalation.",
            ),
        ),
        (
            STEERING_PARAMS,
            read::<SteeringMethodParams>(
                "The `params` of the methods that steer a running turn, by method. What is not named here \
                 is ignored, except by `session/remind`, which refuses it.",
            ),
        ),
        (
            STEERING_RESULTS,
            written::<SteeringMethodResults<'_>>(
                "The `result` of the methods that steer a running turn, by method.",
            ),
        ),
        (
            "session-capabilities.schema.json",
            written::<Session>(
                "`agentCapabilities.session` in the answer to `initialize`: what may be sent to a running \
                 turn.",
            ),
        ),
        (
            "reminder.schema.json",
            written::<ReminderFields<'_>>("`_meta.harn` of a `reminder_emitted`."),
        ),
        (
            "live-clients.schema.json",
            written::<LiveClientFields<'_>>("`_meta.harn` of a `live_session_client`."),
        ),
        (
            LIVE_PARAMS,
            read::<LiveMethodParams>(
                "The `params` of the methods for clients on a live session, by method. \
                 `lastEventId`, at the root or under `_meta.harn`, says where the stream goes on.",
            ),
        ),
        (
            LIVE_RESULTS,
            written::<LiveMethodResults<'_>>(
                "The `result` of the methods for clients on a live session, by method.",
            ),
        ),
        (
            "session-list-meta.schema.json",
            written::<Listed<'_>>("`_meta.harn` of a session in the answer to `session/list`."),
        ),
        (
            "user-message-meta.schema.json",
            written::<UserMeta<'_>>(
                "`_meta.harn` of a `user_message` or a `user_message_chunk` that a named client said.",
            ),
        ),
        (
            "host-shell-discovery.schema.json",
            written::<ShellDiscovery>(
                "The operations of `host/call`, each with the `args` it takes and the `result` a host \
                 answers.",
            ),
        ),
        (
            BRIDGE_PARAMS,
            written::<BridgeParams<'_>>(
                "The `params` of the host bridge by method: what a host with `hostBridge` is asked, and \
                 what it may tell.",
            ),
        ),
        (
            "host-bridge-results.schema.json",
            read::<BridgeResults>(
                "The `result` of the host bridge by method, in every form that is read. `host/call` \
                 answers what its operation does.",
            ),
        ),
        (
            "session-mcp-meta.schema.json",
            written::<McpMeta<'_>>(
                "`_meta.harn` of the answer to `session/new`, `load`, `resume` and `fork`, and of a \
                 `session_info_update` that carries no extension: the MCP servers of the session, where \
                 it has some.",
            ),
        ),
    ]
}

/// What is written, not what would be accepted: a field that is always there is required, and one that is
/// left out when there is nothing to say is never null.
fn written<T: JsonSchema>(description: &str) -> Value {
    let mut schema = described::<T>(SchemaSettings::draft2020_12().for_serialize(), description);
    absent_is_not_null(&mut schema);
    schema
}

fn absent_is_not_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(absent_is_not_null),
        Value::Object(members) => {
            let required = members.get("required").cloned().unwrap_or_default();
            let is_required = |name: &str| {
                let names = required.as_array();
                names.is_some_and(|names| names.iter().any(|it| it == name))
            };
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                let optional = properties.iter_mut().filter(|(name, _)| !is_required(name));
                optional.for_each(|(_, property)| forbid_null(property));
            }
            members.values_mut().for_each(absent_is_not_null);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn forbid_null(property: &mut Value) {
    let Value::Object(property) = property else {
        return;
    };
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|it| it != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            property.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|it| it.get("type").is_none_or(|it| it != "null"));
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            property.remove("anyOf");
            property.extend(one);
        }
    }
}

/// What is accepted, where null stands for nothing.
fn told<T: JsonSchema>(description: &str) -> Value {
    let mut schema = read::<T>(description);
    absent_is_not_null(&mut schema);
    schema
}

/// What is accepted.
fn read<T: JsonSchema>(description: &str) -> Value {
    described::<T>(SchemaSettings::draft2020_12(), description)
}

fn described<T: JsonSchema>(settings: SchemaSettings, description: &str) -> Value {
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
    let mut schema = Value::Object(ordered);
    references_apart(&mut schema);
    schema
}

/// Makes `allOf` of a reference with properties beside it: the same to a validator, while generators of
/// types overlook one of the two.
fn references_apart(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(references_apart),
        Value::Object(members) => {
            if members.contains_key("properties")
                && let Some(reference) = members.remove("$ref")
            {
                let apart = Map::from_iter([("$ref".to_owned(), reference)]);
                let all = Value::Array(vec![Value::Object(apart)]);
                members.insert("allOf".to_owned(), all);
            }
            members.values_mut().for_each(references_apart);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
