//! The wire format for clients on a live session: params and results of the methods, and the metadata of an
//! open session in a listing. Records keep the contract's snake_case; their envelopes are camelCase.

use std::{borrow::Cow, time::Duration};

use crate::JsonSchema;
use harn_model::{LiveClient, LiveClientChange, LiveClientMode, format_rfc3339};
use harn_runtime::{AttachClient, ControlPreemption, ListedSession, LiveState};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{HarnMeta, VENDOR, event_id::EventId, lend::RecordCow, sender::NonBlankName};

/// The maximum length of a client's name, in characters.
const LONGEST_NAME: usize = 128;
/// The maximum size of a client's metadata, in bytes.
const MOST_METADATA: usize = 16 * 1024;
/// The maximum depth of metadata. It is sent and stored inside other nested values.
const DEEPEST_METADATA: usize = 16;
/// The longest heartbeat interval that a client may promise, in seconds.
const SELDOM: u64 = 3600;

/// The method names that `initialize` advertises.
pub(crate) const METHODS: &[&str] = &[
    "session/attach",
    "session/detach",
    "session/heartbeat",
    "session/live_clients",
    "session/takeover",
];

/// The role that a client requests on a session.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Mode")]
enum AttachMode {
    /// Only receives the session's events.
    #[default]
    Observer,
    /// May prompt, cancel, answer and change settings.
    Controller,
}

/// A client's id and metadata.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Client")]
pub(crate) struct LiveClientParams {
    #[serde(alias = "session_id")]
    pub(crate) session_id: NonBlankName,
    /// The client's own name, at most 128 characters.
    #[serde(alias = "client_id")]
    client_id: NonBlankName,
    /// The client's metadata; `_meta.harn` is used if this is absent.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(rename = "_meta", default)]
    meta: Option<Map<String, Value>>,
}

/// The params of `session/attach`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttachParams {
    #[serde(flatten)]
    pub(crate) client: LiveClientParams,
    #[serde(default)]
    mode: Option<AttachMode>,
    /// Whether the client displaces the current controller.
    #[serde(default)]
    takeover: Option<bool>,
    /// Whether the client may send messages to the agent; a controller may by default.
    #[serde(default, alias = "prompt_injection")]
    prompt_injection: Option<bool>,
    /// Whether the client receives questions; a controller does by default.
    #[serde(default, alias = "permission_routing")]
    permission_routing: Option<bool>,
    /// The interval of heartbeats that the client promises. After three intervals without one, it is
    /// detached.
    #[serde(default, alias = "heartbeat_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    heartbeat_seconds: Option<u64>,
    /// The id of the line after which the stream resumes.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    #[expect(dead_code, reason = "read with every other request that may say it")]
    last_event_id: Option<Value>,
}

/// The params of `session/takeover`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TakeoverParams {
    #[serde(flatten)]
    pub(crate) client: LiveClientParams,
    /// The interval of heartbeats that the client promises; if absent, the earlier promise stays.
    #[serde(default, alias = "heartbeat_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    heartbeat_seconds: Option<u64>,
    /// The id of the line after which the stream resumes.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    #[expect(dead_code, reason = "read with every other request that may say it")]
    last_event_id: Option<Value>,
}

/// The params of `session/detach`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DetachParams {
    #[serde(flatten)]
    pub(crate) client: LiveClientParams,
    /// The reason why the client leaves; `client_detached` if absent.
    #[serde(default)]
    reason: Option<NonBlankName>,
}

/// The params of `session/heartbeat`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct HeartbeatParams {
    #[serde(flatten)]
    pub(crate) client: LiveClientParams,
}

/// A description of invalid params.
pub(crate) type InvalidParamsMessage = String;

impl LiveClientParams {
    /// Returns the trimmed client name.
    pub(crate) fn id(&self) -> Result<&str, InvalidParamsMessage> {
        let name = self.client_id.as_str().trim();
        match name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            true => Err(format!(
                "clientId must have at most {LONGEST_NAME} characters, none of them a control character"
            )),
            false => Ok(name),
        }
    }

    /// Returns the client's metadata, if any. Our own members of `_meta.harn` are removed.
    pub(crate) fn metadata(&self) -> Result<Option<Value>, InvalidParamsMessage> {
        let said = match (&self.metadata, &self.meta) {
            (Some(said), _) => Some(said.clone()),
            (None, Some(meta)) => match meta.get(VENDOR) {
                Some(Value::Object(said)) => {
                    let mut said = said.clone();
                    said.retain(|key, _| !matches!(&**key, "lastEventId" | "actor"));
                    (!said.is_empty()).then_some(said)
                }
                _ => None,
            },
            (None, None) => None,
        };
        let said = said.map(Value::Object);
        match &said {
            Some(said) if said.to_string().len() > MOST_METADATA => {
                Err(format!("metadata must have at most {MOST_METADATA} bytes"))
            }
            Some(said) if depth(said) > DEEPEST_METADATA => Err(format!(
                "metadata must be nested at most {DEEPEST_METADATA} levels deep"
            )),
            _ => Ok(said),
        }
    }
}

fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + inner.unwrap_or(0)
}

fn parse_heartbeat(seconds: Option<u64>) -> Result<Option<Duration>, InvalidParamsMessage> {
    match seconds.is_none_or(|seconds| (1..=SELDOM).contains(&seconds)) {
        true => Ok(seconds.map(Duration::from_secs)),
        false => Err(format!("heartbeatSeconds must be from 1 to {SELDOM}")),
    }
}

impl AttachParams {
    pub(crate) fn to_attach_client(&self) -> Result<AttachClient, InvalidParamsMessage> {
        Ok(AttachClient {
            client_id: self.client.id()?.to_owned(),
            mode: match self.mode.unwrap_or_default() {
                AttachMode::Observer => LiveClientMode::Observer,
                AttachMode::Controller => LiveClientMode::Controller,
            },
            taking: match self.takeover.unwrap_or_default() {
                true => ControlPreemption::IfNeeded,
                false => ControlPreemption::IfFree,
            },
            prompt_injection: self.prompt_injection,
            permission_routing: self.permission_routing,
            heartbeat: parse_heartbeat(self.heartbeat_seconds)?,
            metadata: self.client.metadata()?,
        })
    }
}

impl TakeoverParams {
    pub(crate) fn to_attach_client(&self) -> Result<AttachClient, InvalidParamsMessage> {
        Ok(AttachClient {
            heartbeat: parse_heartbeat(self.heartbeat_seconds)?,
            metadata: self.client.metadata()?,
            ..AttachClient::takeover(self.client.id()?)
        })
    }
}

impl DetachParams {
    pub(crate) fn reason(&self) -> Result<&str, InvalidParamsMessage> {
        let reason = self
            .reason
            .as_ref()
            .map_or("client_detached", NonBlankName::as_str);
        match reason.len() > LONGEST_NAME {
            true => Err(format!("reason must have at most {LONGEST_NAME} bytes")),
            false => Ok(reason),
        }
    }
}

/// The result of attach, detach, heartbeat and takeover: the clients after the change.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Changed")]
pub struct AttachmentResult<'a> {
    /// The client that sent the request; null after a detach.
    pub client: Option<RecordCow<'a, LiveClient>>,
    /// The controller before the change, if it is a different one now.
    pub previous_controller_id: Option<Cow<'a, str>>,
    /// The current controller.
    pub active_controller_id: Option<Cow<'a, str>>,
    /// All clients, in the order in which they attached.
    #[serde(default)]
    #[schemars(!default)]
    pub clients: Cow<'a, [LiveClient]>,
    /// The session's state, after an attach or a takeover.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<HarnMeta<AttachmentResultMeta>>,
}

impl<'a> AttachmentResult<'a> {
    pub(crate) fn new(change: &'a LiveClientChange, session: Option<SessionState>) -> Self {
        Self {
            client: change.client.as_ref().map(RecordCow::Borrowed),
            previous_controller_id: change.previous_controller_id.as_deref().map(Cow::from),
            active_controller_id: change.active_controller_id.as_deref().map(Cow::from),
            clients: (&change.clients).into(),
            meta: session.map(|session| HarnMeta::new(AttachmentResultMeta { session })),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Joined")]
pub struct AttachmentResultMeta {
    /// The session, as a client that opens it receives it.
    pub session: SessionState,
}

/// The state of a session that a joining client needs.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct SessionState {
    /// The working directory.
    pub cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// ACP's `SessionModeState`.
    pub modes: Value,
    /// ACP's `SessionConfigOption`s.
    pub config_options: Value,
    pub available_commands: Vec<harn_model::SlashCommand>,
    /// Whether a prompt is running or queued.
    pub active_prompt: bool,
    /// The position of the client's own update in the stream.
    #[schemars(with = "String")]
    pub last_event_id: EventId,
    /// The number of controller changes.
    pub epoch: u64,
}

/// The answer to `session/live_clients`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LiveClients<'a> {
    #[schemars(extend("enum" = ["list"]))]
    object: &'static str,
    /// All clients, in the order in which they attached.
    data: &'a [LiveClient],
    #[serde(rename = "_meta")]
    meta: HarnMeta<LiveClientsMeta<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Control")]
struct LiveClientsMeta<'a> {
    /// The current controller.
    active_controller_id: Option<&'a str>,
    /// The number of controller changes.
    epoch: u64,
}

impl<'a> LiveClients<'a> {
    pub(crate) fn new(clients: &'a [LiveClient], controller: Option<&'a str>, epoch: u64) -> Self {
        Self {
            object: "list",
            data: clients,
            meta: HarnMeta::new(LiveClientsMeta {
                active_controller_id: controller,
                epoch,
            }),
        }
    }
}

/// `_meta.harn` of a row of `session/list`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedSession", deny_unknown_fields)]
pub struct ListedSessionMeta<'a> {
    #[allow(
        missing_docs,
        reason = "the type says it, and the schema has no words for it"
    )]
    pub live_state: Liveness,
    /// Whether a prompt is running or queued.
    pub active_prompt: bool,
    /// The current controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_id: Option<Cow<'a, str>>,
    /// The time when it became the controller, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controlled_since: Option<String>,
    /// The number of named clients on the session.
    pub client_count: usize,
    /// The roles that a client may attach with; empty if the session must be opened first.
    pub attachable_roles: Vec<Cow<'static, str>>,
    /// The last position in the session's stream; only of an open session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_event_id: Option<EventId>,
}

/// Whether a session is open in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// The session is open.
    Live,
    /// The session is stored and can be opened.
    Persisted,
}

/// Returns `_meta` of a row of a listing.
pub(crate) fn listed_session_meta(session: &ListedSession) -> Option<Map<String, Value>> {
    let live: Option<&LiveState> = session.live.as_ref();
    let controller = live.and_then(|live| live.controller.as_ref());
    let listed = ListedSessionMeta {
        live_state: match live {
            Some(_) => Liveness::Live,
            None => Liveness::Persisted,
        },
        active_prompt: live.is_some_and(|live| live.active_prompt),
        controller_id: controller.map(|it| Cow::from(&*it.client_id)),
        controlled_since: controller.map(|it| format_rfc3339(it.since)),
        client_count: live.map_or(0, |live| live.clients),
        attachable_roles: match live {
            Some(_) => vec!["observer".into(), "controller".into()],
            None => Vec::new(),
        },
        last_event_id: live.map(|live| live.last_event.into()),
    };
    // Plain strings and numbers cannot fail; without the metadata the listing is still valid.
    let listed = serde_json::to_value(listed).ok()?;
    Some(Map::from_iter([(VENDOR.to_owned(), listed)]))
}

/// One value or a list of values.
#[derive(Deserialize)]
#[serde(untagged)]
enum LivenessFilter {
    One(Liveness),
    More(Vec<Liveness>),
}

/// Parses the filter of `session/list`: `liveState` at its root, under `filter` or under `_meta.harn`.
/// `Some(true)` selects open sessions, `Some(false)` stored ones.
pub(crate) fn parse_liveness_filter(params: &Value) -> Result<Option<bool>, InvalidParamsMessage> {
    let places = [
        params.get("liveState"),
        params.get("filter").and_then(|it| it.get("liveState")),
        params
            .get("_meta")
            .and_then(|it| it.get(VENDOR)?.get("liveState")),
    ];
    let said = places.into_iter().flatten().find(|said| !said.is_null());
    let Some(said) = said else {
        return Ok(None);
    };
    let words = match LivenessFilter::deserialize(said) {
        Ok(LivenessFilter::One(word)) => vec![word],
        Ok(LivenessFilter::More(words)) => words,
        Err(_) => {
            return Err("liveState must be live, persisted, or a list of these".to_owned());
        }
    };
    let [live, persisted] = [Liveness::Live, Liveness::Persisted].map(|it| words.contains(&it));
    Ok((live != persisted).then_some(live))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_attach_client(params: Value) -> Result<AttachClient, InvalidParamsMessage> {
        AttachParams::deserialize(params)
            .unwrap()
            .to_attach_client()
    }

    #[test]
    fn params_accept_camel_case_and_snake_case() {
        let camel = json!({"sessionId": "s", "clientId": "pad", "mode": "controller", "takeover": true,
            "promptInjection": false, "permissionRouting": true, "heartbeatSeconds": 5});
        let snake = json!({"session_id": "s", "client_id": " pad ", "mode": "controller", "takeover": true,
            "prompt_injection": false, "permission_routing": true, "heartbeat_seconds": 5});
        let client = parse_attach_client(camel).unwrap();
        assert_eq!(parse_attach_client(snake).unwrap(), client);
        let expected = AttachClient {
            taking: ControlPreemption::IfNeeded,
            prompt_injection: Some(false),
            permission_routing: Some(true),
            heartbeat: Some(Duration::from_secs(5)),
            ..AttachClient::controller("pad")
        };
        assert_eq!(client, expected);
    }

    #[test]
    fn client_metadata_is_read_from_its_member_or_from_meta() {
        let of = |more: Value| {
            let mut params = json!({"sessionId": "s", "clientId": "pad"});
            params
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            parse_attach_client(params).unwrap().metadata
        };
        assert_eq!(of(json!({})), None);
        assert_eq!(of(json!({"metadata": {}})), Some(json!({})));
        let under = json!({"surface": "tab", "lastEventId": "4", "actor": {"clientId": "pad"}});
        let meta = json!({"_meta": {"harn": under}});
        assert_eq!(of(meta), Some(json!({"surface": "tab"})));
        let both = json!({"metadata": {"a": 1}, "_meta": {"harn": {"b": 2}}});
        assert_eq!(of(both), Some(json!({"a": 1})));
        assert_eq!(of(json!({"_meta": {"harn": {"lastEventId": "4"}}})), None);
    }

    #[test]
    fn attach_rejects_values_above_the_limits() {
        let with = |name: &str, value: Value| {
            let mut params = json!({"sessionId": "s", "clientId": "pad"});
            params[name] = value;
            parse_attach_client(params).is_ok()
        };
        assert!(with("clientId", json!("x".repeat(128))));
        assert!(!with("clientId", json!("x".repeat(129))));
        assert!(!with("clientId", json!("a\nb")));
        assert!(with("heartbeatSeconds", json!(3600)));
        assert!(!with("heartbeatSeconds", json!(3601)));
        assert!(!with("heartbeatSeconds", json!(0)));
        assert!(!with("metadata", json!({"x": "y".repeat(MOST_METADATA)})));
    }

    #[test]
    fn listing_filters_by_live_state() {
        let of = |params: Value| parse_liveness_filter(&params);
        assert_eq!(of(json!({})), Ok(None));
        assert_eq!(of(json!({"liveState": "live"})), Ok(Some(true)));
        assert_eq!(
            of(json!({"filter": {"liveState": ["persisted"]}})),
            Ok(Some(false))
        );
        let both = json!({"_meta": {"harn": {"liveState": ["live", "persisted"]}}});
        assert_eq!(of(both), Ok(None));
        assert!(of(json!({"liveState": "dead"})).is_err());
    }
}
