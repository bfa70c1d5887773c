//! Checks that `spec/schemas` equals the schemas that are generated from the types.

mod shapes;

use harn_model::HitlResponse;
use harn_testkit::schema::{
    NullRule, accepted_schema, check_embedded, check_files, forbid_null_members,
    separate_references, written_schema,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use self::shapes::{
    LiveMethodParams, LiveMethodResults, SteeringMethodParams, SteeringMethodResults, StreamMeta,
};
use super::SCHEMAS;
use crate::{
    ext::{
        HarnMeta,
        agent_event::HarnEvent,
        bridge::{BridgeParams, BridgeResults, ShellDiscovery},
        capabilities::{InitializeMeta, SessionSteering},
        client::ClientCapabilitiesMeta,
        content::ContentMeta,
        hitl::HitlRequestedParams,
        idle::AgentIdleParams,
        live::ListedSessionMeta,
        mcp::McpMeta,
        permission::PermissionResponse,
        plan::PlanMeta,
        schema,
        tool::ToolMeta,
        update::{CarriedUpdate, ExtensionUpdate, LiveClientFields, ReminderFields},
        user::UserMeta,
    },
    permission,
};

/// The params of an agent event's notification: the session beside the event's own fields.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct AgentEventParams<'a> {
    /// The session that the event belongs to.
    session_id: &'a str,
    #[serde(flatten)]
    event: HarnEvent<'a>,
    /// The position in the session's stream, for clients with event ids.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<HarnMeta<StreamMeta>>,
}

/// Returns the schemas by file name.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "session-update-extensions.schema.json",
            build_written_schema::<ExtensionUpdate<'_>>(
                "The `update` of a `session/update` whose `sessionUpdate` ACP does not know. Every field \
                 is under `_meta.harn`. Hosts must ignore names they do not know.",
            ),
        ),
        (
            "session-info-meta.schema.json",
            build_written_schema::<CarriedUpdate<'_>>(
                "`_meta.harn` of a `session_info_update` in the profile `meta`: the same extensions on a \
                 carrier that typed clients deliver.",
            ),
        ),
        (
            "tool-lifecycle-meta.schema.json",
            build_written_schema::<ToolMeta<'_>>(
                "`_meta.harn` of a `tool_call` or a `tool_call_update`.",
            ),
        ),
        (
            "content-meta.schema.json",
            build_written_schema::<ContentMeta<'_>>(
                "`content._meta.harn` of an `agent_message_chunk`.",
            ),
        ),
        (
            "plan-meta.schema.json",
            build_written_schema::<PlanMeta<'_>>("`_meta.harn` of a `plan` that has a document."),
        ),
        (
            schema::AGENT_EVENT,
            build_written_schema::<AgentEventParams<'_>>(
                "The `params` of a `_harn/agentEvent` notification. Hosts must ignore kinds they do not \
                 know.",
            ),
        ),
        (
            "stream-meta.schema.json",
            build_written_schema::<StreamMeta>(
                "`_meta.harn` of the `params` of a `session/update`, for clients that have event ids.",
            ),
        ),
        (
            schema::AGENT_IDLE,
            build_written_schema::<AgentIdleParams<'_>>(
                "The `params` of an `agent/idle` notification: the agent waits for more to do.",
            ),
        ),
        (
            "initialize-meta.schema.json",
            build_written_schema::<InitializeMeta>(
                "`agentCapabilities._meta.harn` in the answer to `initialize`: what this client will be \
                 sent and may be asked for.",
            ),
        ),
        (
            "client-capabilities-meta.schema.json",
            build_accepted_schema::<ClientCapabilitiesMeta>(
                "`clientCapabilities._meta.harn` in `initialize`: what a client may say. Anything else \
                 counts as unsaid.",
            ),
        ),
        (
            "permission-request.schema.json",
            build_written_schema::<permission::PermissionRequestParams<'_>>(
                "The `params` of `session/request_permission`: with the contract's fields beside ACP's in \
                 the profile `harn`, without them in the others.",
            ),
        ),
        (
            "permission-response.schema.json",
            build_accepted_schema_without_null::<PermissionResponse>(
                "The `result` of `session/request_permission`. Only `outcome.optionId` of an option that \
                 allows, and `granted: true`, let the call run; where both are said they have to agree.",
            ),
        ),
        (
            schema::HITL_REQUESTED,
            build_written_schema::<HitlRequestedParams<'_>>(
                "The `params` of a `harn.hitl.requested` notification, sent to hosts that have the bridge.",
            ),
        ),
        (
            schema::HITL_RESPOND,
            build_accepted_schema::<HitlResponse>(
                "The `params` of `harn.hitl.respond`: `answer` for a question, `approved` and `reviewer` \
                 for an approval and for dual control, `accepted` and `reviewer` for an escalation.",
            ),
        ),
        (
            "steering-params.schema.json",
            build_accepted_schema::<SteeringMethodParams>(
                "The `params` of the methods that steer a running turn, by method. What is not named here \
                 is ignored, except by `session/remind`, which refuses it.",
            ),
        ),
        (
            "steering-results.schema.json",
            build_written_schema::<SteeringMethodResults<'_>>(
                "The `result` of the methods that steer a running turn, by method.",
            ),
        ),
        (
            "session-capabilities.schema.json",
            build_written_schema::<SessionSteering>(
                "`agentCapabilities.session` in the answer to `initialize`: what may be sent to a running \
                 turn.",
            ),
        ),
        (
            "reminder.schema.json",
            build_written_schema::<ReminderFields<'_>>("`_meta.harn` of a `reminder_emitted`."),
        ),
        (
            "live-clients.schema.json",
            build_written_schema::<LiveClientFields<'_>>(
                "`_meta.harn` of a `live_session_client`.",
            ),
        ),
        (
            "live-params.schema.json",
            build_accepted_schema::<LiveMethodParams>(
                "The `params` of the methods for clients on a live session, by method. \
                 `lastEventId`, at the root or under `_meta.harn`, says where the stream goes on.",
            ),
        ),
        (
            "live-results.schema.json",
            build_written_schema::<LiveMethodResults<'_>>(
                "The `result` of the methods for clients on a live session, by method.",
            ),
        ),
        (
            "session-list-meta.schema.json",
            build_written_schema::<ListedSessionMeta<'_>>(
                "`_meta.harn` of a session in the answer to `session/list`.",
            ),
        ),
        (
            "user-message-meta.schema.json",
            build_written_schema::<UserMeta<'_>>(
                "`_meta.harn` of a `user_message` or a `user_message_chunk` that a named client said.",
            ),
        ),
        (
            "host-shell-discovery.schema.json",
            build_written_schema::<ShellDiscovery>(
                "The operations of `host/call`, each with the `args` it takes and the `result` a host \
                 answers.",
            ),
        ),
        (
            schema::BRIDGE_PARAMS,
            build_written_schema::<BridgeParams<'_>>(
                "The `params` of the host bridge by method: what a host with `hostBridge` is asked, and \
                 what it may tell.",
            ),
        ),
        (
            "host-bridge-results.schema.json",
            build_accepted_schema::<BridgeResults>(
                "The `result` of the host bridge by method, in every form that is read. `host/call` \
                 answers what its operation does.",
            ),
        ),
        (
            "session-mcp-meta.schema.json",
            build_written_schema::<McpMeta<'_>>(
                "`_meta.harn` of the answer to `session/new`, `load`, `resume` and `fork`, and of a \
                 `session_info_update` that carries no extension: the MCP servers of the session, where \
                 it has some.",
            ),
        ),
    ]
}

const NULL: NullRule = NullRule::OptionalMembersExcept(&[]);

fn build_written_schema<T: JsonSchema>(description: &str) -> Value {
    let mut schema = written_schema::<T>(description, NULL);
    separate_references(&mut schema);
    schema
}

/// Returns the schema of accepted values, with null members forbidden.
fn build_accepted_schema_without_null<T: JsonSchema>(description: &str) -> Value {
    let mut schema = build_accepted_schema::<T>(description);
    forbid_null_members(&mut schema, NULL);
    schema
}

/// Returns the schema of accepted values.
fn build_accepted_schema<T: JsonSchema>(description: &str) -> Value {
    let mut schema = accepted_schema::<T>(description);
    separate_references(&mut schema);
    schema
}

#[test]
fn schemas_are_those_of_the_code() {
    let repair = "UPDATE_EXPECT=1 cargo test -p harn-acp --lib published";
    check_files(&schemas(), repair);
}

/// Checks that the program embeds every file.
#[test]
fn every_schema_is_published() {
    check_embedded(&schemas(), SCHEMAS);
}
