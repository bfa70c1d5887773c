//! `agentCapabilities._meta.harn`: the extensions that this program emits, taken from the tables that emit
//! them.

use crate::JsonSchema;
use agent_client_protocol::v1::schema::Meta;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    VENDOR,
    agent_event::{self, AgentEventKind},
    bridge::{AdvertisedBridgeMethods, ProcessOperation},
    content::ContentMeta,
    idle, live, schema,
    steering::DeliveryModeWire,
    tool::ToolMeta,
    update::ExtensionUpdateKind,
};
use crate::{Dialect, Profile};

/// The ACP schema that the wire conforms to.
const SCHEMA: &str = "agentclientprotocol/agent-client-protocol schema v0.12.2";

/// `agentCapabilities._meta.harn`. Empty lists are omitted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "InitializeMeta", deny_unknown_fields)]
pub(crate) struct InitializeMeta {
    /// The ACP schema that the wire conforms to.
    schema_compatibility: &'static str,
    /// The extension updates that this client receives, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    session_update_extensions: Vec<ExtensionUpdateKind>,
    /// The fields that `_meta.harn` of tool calls and their updates may have, sorted.
    tool_lifecycle_extension_fields: &'static [&'static str],
    /// The fields that `content._meta.harn` of a message chunk has, sorted.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    content_extension_fields: &'static [&'static str],
    /// The methods that ACP does not define.
    #[serde(skip_serializing_if = "Option::is_none")]
    extension_methods: Option<ExtensionMethods>,
    /// The methods for clients on a live session.
    #[serde(skip_serializing_if = "Option::is_none")]
    live_sessions: Option<LiveSessions>,
    /// The operations that this client may receive with `host/call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    host_capability_operations: Option<HostOperations>,
}

/// The requests that clients on a live session may send.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct LiveSessions {
    /// The methods, sorted.
    methods: &'static [&'static str],
    /// Whether the lines of a stream have event ids, for clients that request them, to resume after.
    event_ids: bool,
}

/// The extension methods by name.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "ExtensionMethods", deny_unknown_fields)]
struct ExtensionMethods {
    #[serde(rename = "_harn/agentEvent", skip_serializing_if = "Option::is_none")]
    agent_event: Option<ExtensionMethod>,
    /// Sent while a daemon agent waits for more to do.
    #[serde(rename = "agent/idle", skip_serializing_if = "Option::is_none")]
    agent_idle: Option<SingleMethod>,
    /// Notifies a host with the bridge that the agent asks a person.
    #[serde(
        rename = "harn.hitl.requested",
        skip_serializing_if = "Option::is_none"
    )]
    hitl_requested: Option<SingleMethod>,
    /// The method with which such a host answers.
    #[serde(rename = "harn.hitl.respond", skip_serializing_if = "Option::is_none")]
    hitl_respond: Option<SingleMethod>,
    /// The requests that a host with the bridge receives, and the notifications that it may send.
    #[serde(flatten)]
    bridge: Option<AdvertisedBridgeMethods>,
}

/// A method with one kind of params.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct SingleMethod {
    /// A description for people.
    pub(crate) description: &'static str,
    /// The file in `spec/schemas` that describes its params.
    pub(crate) schema: &'static str,
}

/// A method with several kinds of params.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ExtensionMethod", deny_unknown_fields)]
struct ExtensionMethod {
    /// A description for people.
    description: &'static str,
    /// The kinds that this client receives, sorted.
    kinds: Vec<AgentEventKind>,
    /// The file in `spec/schemas` that describes its params.
    schema: &'static str,
}

/// The host operations by capability.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct HostOperations {
    /// The operations of `process`.
    process: &'static [ProcessOperation],
}

/// `agentCapabilities.session`: the requests that any client may send to a running turn.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionSteering", deny_unknown_fields)]
pub(crate) struct SessionSteering {
    /// Support for messages of the user.
    inject: InjectCapability,
    /// Support for reminders.
    remind: RemindCapability,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InjectCapability", deny_unknown_fields)]
struct InjectCapability {
    /// The delivery modes of a message, sorted.
    modes: &'static [&'static str],
    pending: PendingMessages,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PendingMessages {
    /// Whether a client may replace a pending message.
    replace: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RemindCapability", deny_unknown_fields)]
struct RemindCapability {
    /// The delivery modes of a reminder, the most urgent first.
    modes: &'static [DeliveryModeWire],
    pending: PendingReminders,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PendingReminders {
    /// Whether a client may list the pending reminders.
    list: bool,
    /// Whether a client may revoke a pending reminder.
    revoke: bool,
}

pub(crate) fn session() -> Result<Value, serde_json::Error> {
    serde_json::to_value(SessionSteering {
        inject: InjectCapability {
            modes: &["queue", "steer"],
            pending: PendingMessages { replace: true },
        },
        remind: RemindCapability {
            modes: &[
                DeliveryModeWire::InterruptImmediate,
                DeliveryModeWire::FinishStep,
                DeliveryModeWire::AuditOnly,
            ],
            pending: PendingReminders {
                list: true,
                revoke: true,
            },
        },
    })
}

/// Returns `_meta` of the whole answer, which states that `_session/steering` exists. Editors look for it
/// here.
pub(crate) fn steering_meta() -> Meta {
    let supported = Map::from_iter([("supported".to_owned(), Value::Bool(true))]);
    Meta::from_iter([("steering".to_owned(), Value::Object(supported))])
}

/// Returns the metadata for a client of this dialect. It advertises only messages that the client will
/// receive.
#[must_use]
pub fn build_initialize_meta(dialect: Dialect, host_bridge: bool) -> Option<Meta> {
    let mut advertised = InitializeMeta {
        schema_compatibility: SCHEMA,
        session_update_extensions: Vec::new(),
        tool_lifecycle_extension_fields: ToolMeta::FIELDS,
        content_extension_fields: &[],
        extension_methods: None,
        live_sessions: Some(LiveSessions {
            methods: live::METHODS,
            event_ids: true,
        }),
        host_capability_operations: host_bridge.then_some(HostOperations {
            process: ProcessOperation::ALL,
        }),
    };
    let bridge = host_bridge.then_some(AdvertisedBridgeMethods::ALL);
    match dialect.profile {
        Profile::Harn | Profile::Meta => {
            advertised.session_update_extensions = dialect.extensions.to_sorted();
            advertised.content_extension_fields = ContentMeta::FIELDS;
            // Typed clients do not receive a method without an underscore; they receive an agent event
            // instead.
            let by_name = dialect.profile == Profile::Harn;
            let kinds = AgentEventKind::ALL.iter().copied();
            let agent_event = ExtensionMethod {
                description: agent_event::DESCRIPTION,
                kinds: kinds
                    .filter(|kind| match kind {
                        AgentEventKind::AgentIdle => !by_name,
                        AgentEventKind::TurnStarted | AgentEventKind::TurnEnded => {
                            dialect.event_ids
                        }
                        _ => true,
                    })
                    .collect(),
                schema: schema::AGENT_EVENT,
            };
            let hitl = |description, schema| {
                host_bridge.then_some(SingleMethod {
                    description,
                    schema,
                })
            };
            advertised.extension_methods = Some(ExtensionMethods {
                agent_event: Some(agent_event),
                agent_idle: by_name.then_some(SingleMethod {
                    description: idle::DESCRIPTION,
                    schema: schema::AGENT_IDLE,
                }),
                hitl_requested: hitl("Asks a person a question.", schema::HITL_REQUESTED),
                hitl_respond: hitl("Answers it.", schema::HITL_RESPOND),
                bridge,
            });
        }
        // A client that declared the bridge receives its requests in every profile.
        Profile::Acp => {
            advertised.extension_methods = bridge.map(|bridge| ExtensionMethods {
                bridge: Some(bridge),
                ..ExtensionMethods::default()
            });
        }
    }
    // Serialising plain strings cannot fail; without the value the client just sees no extensions.
    let value = serde_json::to_value(advertised).ok()?;
    let mut meta = Meta::new();
    meta.insert(VENDOR.to_owned(), value);
    Some(meta)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ext::update::ExtensionSet;

    fn harn(dialect: impl Into<Dialect>, host_bridge: bool) -> Value {
        build_initialize_meta(dialect.into(), host_bridge).unwrap()[VENDOR].clone()
    }

    #[test]
    fn advertised_lists_are_sorted() {
        let harn = harn(Profile::Harn, false);
        for list in [
            &harn["sessionUpdateExtensions"],
            &harn["toolLifecycleExtensionFields"],
            &harn["contentExtensionFields"],
            &harn["extensionMethods"][agent_event::METHOD]["kinds"],
        ] {
            let words: Vec<_> = list
                .as_array()
                .unwrap()
                .iter()
                .map(|w| w.as_str())
                .collect();
            assert!(!words.is_empty());
            assert!(words.is_sorted(), "{words:?}");
        }
    }

    #[test]
    fn idle_is_advertised_as_a_method_or_as_an_event() {
        for (profile, method) in [(Profile::Harn, true), (Profile::Meta, false)] {
            let methods = &harn(profile, false)["extensionMethods"];
            assert_eq!(methods.get(idle::METHOD).is_some(), method);
            let kinds = methods[agent_event::METHOD]["kinds"].as_array().unwrap();
            assert_eq!(kinds.contains(&json!("agent_idle")), !method);
        }
    }

    #[test]
    fn only_received_extensions_are_advertised() {
        let plain = harn(Profile::Acp, false);
        let members: Vec<_> = plain.as_object().unwrap().keys().collect();
        assert_eq!(
            members,
            [
                "schemaCompatibility",
                "toolLifecycleExtensionFields",
                "liveSessions"
            ]
        );
        let some = Dialect {
            extensions: ExtensionSet::from_names(["worker_update", "log"]),
            ..Profile::Meta.into()
        };
        let some = harn(some, true);
        assert_eq!(
            some["sessionUpdateExtensions"],
            json!(["log", "worker_update"])
        );
        assert_eq!(
            some["hostCapabilityOperations"]["process"],
            json!(ProcessOperation::ALL)
        );
    }

    #[test]
    fn bridge_methods_are_advertised_only_to_bridge_clients() {
        use crate::ext::bridge::{BridgeMethod, BridgeNotification};
        let names = BridgeMethod::ALL.iter().map(|it| it.name());
        let names = names.chain(BridgeNotification::ALL.iter().map(|it| it.name()));
        for name in names {
            for profile in [Profile::Harn, Profile::Meta, Profile::Acp] {
                let told = |bridge| {
                    harn(profile, bridge)["extensionMethods"]
                        .get(name)
                        .is_some()
                };
                assert!(told(true) && !told(false), "{name}");
            }
        }
    }
}
