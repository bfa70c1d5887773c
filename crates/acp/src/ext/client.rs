//! `clientCapabilities._meta.harn`: a client's description of itself. Malformed members count as absent.

use crate::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{VENDOR, update::ExtensionSet};
use crate::Profile;

/// `clientCapabilities._meta.harn`; every member is optional.
#[derive(Default, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClientCapabilitiesMeta")]
pub(crate) struct ClientCapabilitiesMeta {
    /// The profile that the client requests.
    #[serde(default)]
    profile: Option<Profile>,
    /// The extension updates that the client wants.
    #[serde(default)]
    session_update_extensions: Option<WantedExtensions>,
    /// Whether the client has the bridge: answers `builtin_call`, `host/…`, `skills/…` and `skill/match`.
    #[serde(default)]
    host_bridge: Option<HostBridgeOffer>,
    /// Whether the lines of a session's stream have event ids.
    #[serde(default)]
    event_ids: Option<bool>,
    /// Whether a session's stream contains the tool calls of workers. Default: yes in the profiles `harn` and
    /// `meta`.
    #[serde(default)]
    worker_calls: Option<bool>,
    /// Whether the client sent this object, even an empty one.
    #[serde(skip)]
    is_declared: bool,
}

/// `false` for no extension, which means the profile `acp`; `true` for all; or a list of names. Unknown names
/// are ignored.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "WantedExtensions")]
enum WantedExtensions {
    All(bool),
    These(#[schemars(with = "Vec<String>")] Vec<Value>),
}

/// A boolean; an object means true.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "HostBridge")]
enum HostBridgeOffer {
    Offered(bool),
    Described(#[expect(dead_code, reason = "whatever it holds")] Map<String, Value>),
}

impl ClientCapabilitiesMeta {
    /// Returns the requested profile. `sessionUpdateExtensions: false` takes precedence over a profile name.
    pub(crate) fn profile(&self) -> Option<Profile> {
        match self.session_update_extensions {
            Some(WantedExtensions::All(false)) => Some(Profile::Acp),
            Some(WantedExtensions::All(true) | WantedExtensions::These(_)) | None => self.profile,
        }
    }

    /// Returns the extension updates that the client wants.
    pub(crate) fn extensions(&self) -> ExtensionSet {
        match &self.session_update_extensions {
            Some(WantedExtensions::These(names)) => {
                ExtensionSet::from_names(names.iter().filter_map(Value::as_str))
            }
            Some(WantedExtensions::All(_)) | None => ExtensionSet::ALL,
        }
    }

    pub(crate) fn event_ids(&self) -> bool {
        self.event_ids.unwrap_or_default()
    }

    /// Returns whether the client receives the calls of workers, if it states that.
    pub(crate) fn worker_calls(&self) -> Option<bool> {
        self.worker_calls
    }

    /// Returns whether bridge requests may be sent, or `None` if the client does not state it.
    pub(crate) fn host_bridge(&self) -> Option<bool> {
        self.host_bridge.as_ref().map(|bridge| match bridge {
            HostBridgeOffer::Offered(offered) => *offered,
            HostBridgeOffer::Described(_) => true,
        })
    }

    /// Returns whether the client declared Harn at all.
    pub(crate) fn declares_harn(&self) -> bool {
        self.is_declared
    }
}

/// Parses each member separately, so that a malformed one does not affect the others.
pub(crate) fn parse_client_meta(meta: Option<&Map<String, Value>>) -> ClientCapabilitiesMeta {
    let Some(harn) = meta.and_then(|meta| meta.get(VENDOR)) else {
        return ClientCapabilitiesMeta::default();
    };
    ClientCapabilitiesMeta {
        profile: parse_member(harn, "profile"),
        session_update_extensions: parse_member(harn, "sessionUpdateExtensions"),
        host_bridge: parse_member(harn, "hostBridge"),
        event_ids: parse_member(harn, "eventIds"),
        worker_calls: parse_member(harn, "workerCalls"),
        is_declared: harn.is_object(),
    }
}

fn parse_member<T: DeserializeOwned>(harn: &Value, name: &str) -> Option<T> {
    T::deserialize(harn.get(name)?).ok()
}
