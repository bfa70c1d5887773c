//! The sender of a request: its declared actor, and the defaults.

use harn_model::Actor;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::VENDOR;
use crate::JsonSchema;

/// A string that is not blank.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct NonBlankName(String);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for NonBlankName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "\\S" })
    }
}

impl NonBlankName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for NonBlankName {
    type Error = &'static str;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        if word.trim().is_empty() {
            return Err("an id or a name must not be blank");
        }
        Ok(Self(word))
    }
}

/// The sender of a request. An actor in `_harn` takes precedence over one in `_meta.harn`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Sender")]
pub(crate) struct SenderParams {
    #[serde(rename = "_harn", default)]
    harn: Option<RequestSender>,
    #[serde(rename = "_meta", default)]
    meta: Option<RequestMeta>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(expecting = "an object")]
struct RequestMeta {
    #[serde(default)]
    harn: Option<RequestSender>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "RequestSender")]
#[serde(expecting = "an object")]
pub(super) struct RequestSender {
    /// The actor that sends the request; a host owner by default.
    #[serde(default)]
    actor: Option<RequestActor>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[schemars(rename = "Actor")]
struct RequestActor {
    /// The client's id; `legacy-acp-client` by default.
    #[serde(default, alias = "client_id")]
    client_id: Option<NonBlankName>,
    /// The client's role on the session; `host_owner` by default.
    #[serde(default)]
    role: Option<NonBlankName>,
    /// The channel of the request; `acp` by default.
    #[serde(default)]
    source: Option<NonBlankName>,
}

impl SenderParams {
    pub(crate) fn actor(self) -> Actor {
        resolve_actor(self.harn, self.meta.and_then(|meta| meta.harn))
    }

    /// Returns the actor from the `_meta` of one of ACP's own requests; malformed data counts as absent.
    pub(crate) fn from_meta(meta: Option<&Map<String, Value>>) -> Actor {
        let said = meta.and_then(|meta| RequestSender::deserialize(meta.get(VENDOR)?).ok());
        resolve_actor(None, said)
    }

    /// Returns the actor from params of any shape; malformed data counts as absent. For requests that must
    /// succeed in any case.
    pub(crate) fn read_actor_leniently(params: &Value) -> Actor {
        let sender = Self::deserialize(params).unwrap_or_default();
        sender.actor()
    }
}

/// Returns the actor from one of the two members; `harn` takes precedence.
pub(super) fn resolve_actor(harn: Option<RequestSender>, meta: Option<RequestSender>) -> Actor {
    let said = harn.and_then(|said| said.actor);
    let said = said.or_else(|| meta.and_then(|said| said.actor));
    let (client_id, role, source) = match said {
        Some(it) => (it.client_id, it.role, it.source),
        None => (None, None, None),
    };
    let or =
        |word: Option<NonBlankName>, default: &str| word.map_or(default.to_owned(), |word| word.0);
    Actor {
        client_id: or(client_id, "legacy-acp-client"),
        role: normalize_role(or(role, OWNER)),
        source: or(source, "acp"),
    }
}

/// The role that may change the messages of other clients.
const OWNER: &str = "host_owner";

/// Normalizes the role: hosts use several spellings, the server uses one.
fn normalize_role(role: String) -> String {
    match role.as_str() {
        "hostOwner" | "owner" => OWNER.to_owned(),
        _ => role,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn actor(client_id: &str, role: &str, source: &str) -> Actor {
        Actor {
            client_id: client_id.to_owned(),
            role: role.to_owned(),
            source: source.to_owned(),
        }
    }

    #[test]
    fn sender_without_an_actor_is_a_host_owner() {
        let owner = actor("legacy-acp-client", "host_owner", "acp");
        let cases = [
            (json!({}), owner.clone()),
            (json!({"_meta": null, "_harn": null}), owner.clone()),
            (json!({"_meta": {"harn": {}}}), owner.clone()),
            (json!({"_meta": {"harn": {"actor": null}}}), owner.clone()),
            (json!({"_meta": {"harn": {"actor": {}}}}), owner.clone()),
            (
                json!({"_meta": {"harn": {"actor": {"clientId": "desk", "role": "observer"}}}}),
                actor("desk", "observer", "acp"),
            ),
            (
                json!({"_harn": {"actor": {"client_id": "pad", "source": "web"}}}),
                actor("pad", "host_owner", "web"),
            ),
            (
                json!({
                    "_harn": {},
                    "_meta": {"harn": {"actor": {"clientId": "two", "role": "observer"}}},
                }),
                actor("two", "observer", "acp"),
            ),
            (
                json!({"_harn": {"actor": {"role": "hostOwner"}}}),
                owner.clone(),
            ),
            (
                json!({"_harn": {"actor": {"role": "owner"}}}),
                owner.clone(),
            ),
            (
                json!({"_harn": {"actor": {"role": "Owner"}}}),
                actor("legacy-acp-client", "Owner", "acp"),
            ),
            (
                json!({
                    "_harn": {"actor": {"clientId": "one"}},
                    "_meta": {"harn": {"actor": {"clientId": "two"}}},
                }),
                actor("one", "host_owner", "acp"),
            ),
        ];
        for (params, expected) in cases {
            assert_eq!(
                SenderParams::deserialize(&params).unwrap().actor(),
                expected,
                "{params}"
            );
            assert_eq!(
                SenderParams::read_actor_leniently(&params),
                expected,
                "{params}"
            );
        }
        // Any client may cancel; every other request needs a valid sender.
        for odd in [
            json!({"_meta": {"harn": {"actor": "desk"}}}),
            json!({"_meta": {"harn": {"actor": {"role": " "}}}}),
            json!({"_meta": {"harn": 1}}),
            json!({"_meta": 1}),
        ] {
            assert!(SenderParams::deserialize(&odd).is_err(), "{odd}");
            assert_eq!(SenderParams::read_actor_leniently(&odd), owner, "{odd}");
        }
    }
}
