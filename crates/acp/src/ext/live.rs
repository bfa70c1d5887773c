//! Clients on a live session, on the wire: what the methods take and answer, and what a listing says of a
//! session that is open. Records keep the contract's snake_case; what is around them is camelCase.

use std::{borrow::Cow, time::Duration};

use crate::JsonSchema;
use harn_model::{LiveClient, LiveClientChange, LiveClientMode, rfc3339};
use harn_runtime::{AttachClient, ControlPreemption, ListedSession, LiveState};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{HarnMeta, VENDOR, event_id::EventId, lend::RecordCow, sender::NonBlankName};

/// How long a client's name may be.
const LONGEST_NAME: usize = 128;
/// How much a client may say of itself.
const MOST_METADATA: usize = 16 * 1024;
/// How deep it may be nested: it is told, and written, inside of much else.
const DEEPEST_METADATA: usize = 16;
/// How seldom a client may promise to be heard of, in seconds.
const SELDOM: u64 = 3600;

/// The methods, as `initialize` names them.
pub(crate) const METHODS: &[&str] = &[
    "session/attach",
    "session/detach",
    "session/heartbeat",
    "session/live_clients",
    "session/takeover",
];

/// What a client wants to be on a session.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Mode")]
enum AttachMode {
    /// It watches.
    #[default]
    Observer,
    /// It drives.
    Controller,
}

/// A client and what it says of itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Client")]
pub(crate) struct LiveClientParams {
    #[serde(alias = "session_id")]
    pub(crate) session_id: NonBlankName,
    /// The name it gives itself, at most 128 characters.
    #[serde(alias = "client_id")]
    client_id: NonBlankName,
    /// What it says of itself; `_meta.harn` counts as that where this is not said.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(rename = "_meta", default)]
    meta: Option<Map<String, Value>>,
}

/// `session/attach`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttachParams {
    #[serde(flatten)]
    pub(crate) client: LiveClientParams,
    #[serde(default)]
    mode: Option<AttachMode>,
    /// Whether whoever is in control is displaced.
    #[serde(default)]
    takeover: Option<bool>,
    /// Whether it may say something to the agent; a controller may unless it says otherwise.
    #[serde(default, alias = "prompt_injection")]
    prompt_injection: Option<bool>,
    /// Whether questions go to it; a controller's do unless it says otherwise.
    #[serde(default, alias = "permission_routing")]
    permission_routing: Option<bool>,
    /// How often it promises to be heard of. Not heard of for three times as long, it is detached.
    #[serde(default, alias = "heartbeat_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    heartbeat_seconds: Option<u64>,
    /// The line after which the stream goes on.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    #[expect(dead_code, reason = "read with every other request that may say it")]
    last_event_id: Option<Value>,
}

/// `session/takeover`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TakeoverParams {
    #[serde(flatten)]
    pub(crate) client: LiveClientParams,
    /// How often it promises to be heard of; what it promised before stays where nothing is said.
    #[serde(default, alias = "heartbeat_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    heartbeat_seconds: Option<u64>,
    /// The line after which the stream goes on.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    #[expect(dead_code, reason = "read with every other request that may say it")]
    last_event_id: Option<Value>,
}

/// `session/detach`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DetachParams {
    #[serde(flatten)]
    pub(crate) client: LiveClientParams,
    /// Why it leaves; `client_detached` where nothing is said.
    #[serde(default)]
    reason: Option<NonBlankName>,
}

/// `session/heartbeat`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct HeartbeatParams {
    #[serde(flatten)]
    pub(crate) client: LiveClientParams,
}

/// What is wrong with params, in words.
pub(crate) type InvalidParamsMessage = String;

impl LiveClientParams {
    /// Its name, without what is around it.
    pub(crate) fn id(&self) -> Result<&str, InvalidParamsMessage> {
        let name = self.client_id.as_str().trim();
        match name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            true => Err(format!(
                "clientId must have at most {LONGEST_NAME} characters, none of them a control character"
            )),
            false => Ok(name),
        }
    }

    /// What it says of itself, if anything. What is ours in `_meta.harn` is no part of it.
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

fn promise(seconds: Option<u64>) -> Result<Option<Duration>, InvalidParamsMessage> {
    match seconds.is_none_or(|seconds| (1..=SELDOM).contains(&seconds)) {
        true => Ok(seconds.map(Duration::from_secs)),
        false => Err(format!("heartbeatSeconds must be from 1 to {SELDOM}")),
    }
}

impl AttachParams {
    pub(crate) fn wanted(&self) -> Result<AttachClient, InvalidParamsMessage> {
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
            heartbeat: promise(self.heartbeat_seconds)?,
            metadata: self.client.metadata()?,
        })
    }
}

impl TakeoverParams {
    pub(crate) fn wanted(&self) -> Result<AttachClient, InvalidParamsMessage> {
        Ok(AttachClient {
            heartbeat: promise(self.heartbeat_seconds)?,
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

/// The answer to all four: who is there now.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Changed")]
pub struct AttachmentResult<'a> {
    /// Who did it; nobody after a detach.
    pub client: Option<RecordCow<'a, LiveClient>>,
    /// Who was in control before, where it is another now.
    pub previous_controller_id: Option<Cow<'a, str>>,
    /// Who is in control.
    pub active_controller_id: Option<Cow<'a, str>>,
    /// Everyone, in the order they came.
    #[serde(default)]
    #[schemars(!default)]
    pub clients: Cow<'a, [LiveClient]>,
    /// What an attach or a takeover also tells.
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
    /// The session, as those who open one are told of it.
    pub session: SessionState,
}

/// A session as whoever comes to it needs to know it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct SessionState {
    /// Its working directory.
    pub cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// ACP's `SessionModeState`.
    pub modes: Value,
    /// ACP's `SessionConfigOption`s.
    pub config_options: Value,
    pub available_commands: Vec<harn_model::SlashCommand>,
    /// Whether a prompt runs or waits.
    pub active_prompt: bool,
    /// The place of the client's own update in the stream.
    #[schemars(with = "String")]
    pub last_event_id: EventId,
    /// How often control has changed.
    pub epoch: u64,
}

/// The answer to `session/live_clients`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LiveClients<'a> {
    #[schemars(extend("enum" = ["list"]))]
    object: &'static str,
    /// Everyone, in the order they came.
    data: &'a [LiveClient],
    #[serde(rename = "_meta")]
    meta: HarnMeta<LiveClientsMeta<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Control")]
struct LiveClientsMeta<'a> {
    /// Who is in control.
    active_controller_id: Option<&'a str>,
    /// How often control has changed.
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
    /// Whether a prompt runs or waits.
    pub active_prompt: bool,
    /// Who is in control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_id: Option<Cow<'a, str>>,
    /// Since when, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controlled_since: Option<String>,
    /// How many clients are on it under a name.
    pub client_count: usize,
    /// What a client may attach as: nothing where it has to be opened first.
    pub attachable_roles: Vec<Cow<'static, str>>,
    /// Where its stream has got to; only of one that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_event_id: Option<EventId>,
}

/// Whether a session is open in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// It is.
    Live,
    /// It can be opened.
    Persisted,
}

/// `_meta` of a row of a listing.
pub(crate) fn listed(session: &ListedSession) -> Option<Map<String, Value>> {
    let live: Option<&LiveState> = session.live.as_ref();
    let controller = live.and_then(|live| live.controller.as_ref());
    let listed = ListedSessionMeta {
        live_state: match live {
            Some(_) => Liveness::Live,
            None => Liveness::Persisted,
        },
        active_prompt: live.is_some_and(|live| live.active_prompt),
        controller_id: controller.map(|it| Cow::from(&*it.client_id)),
        controlled_since: controller.map(|it| rfc3339(it.since)),
        client_count: live.map_or(0, |live| live.clients),
        attachable_roles: match live {
            Some(_) => vec!["observer".into(), "controller".into()],
            None => Vec::new(),
        },
        last_event_id: live.map(|live| live.last_event.into()),
    };
    // Plain words and numbers: it cannot fail, and a listing is one without it.
    let listed = serde_json::to_value(listed).ok()?;
    Some(Map::from_iter([(VENDOR.to_owned(), listed)]))
}

/// One word, or a list of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum LivenessFilter {
    One(Liveness),
    More(Vec<Liveness>),
}

/// Which sessions `session/list` is to show: `liveState` at its root, under `filter` or `_meta.harn`.
pub(crate) fn wanted_liveness(params: &Value) -> Result<Option<bool>, InvalidParamsMessage> {
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

    fn wanted(params: Value) -> Result<AttachClient, InvalidParamsMessage> {
        AttachParams::deserialize(params).unwrap().wanted()
    }

    #[test]
    fn names_may_be_spelled_either_way() {
        let camel = json!({"sessionId": "s", "clientId": "pad", "mode": "controller", "takeover": true,
            "promptInjection": false, "permissionRouting": true, "heartbeatSeconds": 5});
        let snake = json!({"session_id": "s", "client_id": " pad ", "mode": "controller", "takeover": true,
            "prompt_injection": false, "permission_routing": true, "heartbeat_seconds": 5});
        let client = wanted(camel).unwrap();
        assert_eq!(wanted(snake).unwrap(), client);
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
    fn what_a_client_says_of_itself_stands_in_one_of_two_places() {
        let of = |more: Value| {
            let mut params = json!({"sessionId": "s", "clientId": "pad"});
            params
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            wanted(params).unwrap().metadata
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
    fn what_is_too_much_is_refused() {
        let with = |name: &str, value: Value| {
            let mut params = json!({"sessionId": "s", "clientId": "pad"});
            params[name] = value;
            wanted(params).is_ok()
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
    fn a_listing_may_be_of_what_is_open_or_of_what_is_not() {
        let of = |params: Value| wanted_liveness(&params);
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
