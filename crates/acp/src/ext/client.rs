//! What a client says about itself under `clientCapabilities._meta.harn`. Anything odd counts as unsaid.

use crate::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{VENDOR, update::ExtensionSet};
use crate::Profile;

/// `clientCapabilities._meta.harn`, all of it optional.
#[derive(Default, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClientCapabilitiesMeta")]
pub(crate) struct ClientCapabilitiesMeta {
    /// What it wants to be sent.
    #[serde(default)]
    profile: Option<Profile>,
    /// Which extension updates it wants.
    #[serde(default)]
    session_update_extensions: Option<WantedExtensions>,
    /// Whether it has the bridge: answers `builtin_call`, `host/…`, `skills/…` and `skill/match`.
    #[serde(default)]
    host_bridge: Option<HostBridgeOffer>,
    /// Whether lines of a session's stream shall have event ids.
    #[serde(default)]
    event_ids: Option<bool>,
    /// Whether tool calls of workers are part of a session's stream: yes in the profiles `harn` and `meta` where
    /// it is not stated.
    #[serde(default)]
    worker_calls: Option<bool>,
    /// Whether it sent this object, if only an empty one.
    #[serde(skip)]
    is_declared: bool,
}

/// `false` for no extension at all, which means the profile `acp`; `true` for all; or a list of names, of
/// which those that are unknown are ignored.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "WantedExtensions")]
enum WantedExtensions {
    All(bool),
    These(#[schemars(with = "Vec<String>")] Vec<Value>),
}

/// Yes or no; an object means yes.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "HostBridge")]
enum HostBridgeOffer {
    Offered(bool),
    Described(#[expect(dead_code, reason = "whatever it holds")] Map<String, Value>),
}

impl ClientCapabilitiesMeta {
    /// The profile it asked for. Switching the extensions off says more than any name.
    pub(crate) fn profile(&self) -> Option<Profile> {
        match self.session_update_extensions {
            Some(WantedExtensions::All(false)) => Some(Profile::Acp),
            Some(WantedExtensions::All(true) | WantedExtensions::These(_)) | None => self.profile,
        }
    }

    /// The extension updates it wants.
    pub(crate) fn extensions(&self) -> ExtensionSet {
        match &self.session_update_extensions {
            Some(WantedExtensions::These(names)) => {
                ExtensionSet::named(names.iter().filter_map(Value::as_str))
            }
            Some(WantedExtensions::All(_)) | None => ExtensionSet::ALL,
        }
    }

    /// Whether it wants event ids.
    pub(crate) fn event_ids(&self) -> bool {
        self.event_ids.unwrap_or_default()
    }

    /// Whether it observes the calls of workers, where it states it.
    pub(crate) fn worker_calls(&self) -> Option<bool> {
        self.worker_calls
    }

    /// Whether bridge requests may be sent; none if it does not say.
    pub(crate) fn host_bridge(&self) -> Option<bool> {
        self.host_bridge.as_ref().map(|bridge| match bridge {
            HostBridgeOffer::Offered(offered) => *offered,
            HostBridgeOffer::Described(_) => true,
        })
    }

    /// Whether it knows of Harn at all.
    pub(crate) fn declares_harn(&self) -> bool {
        self.is_declared
    }
}

/// Each member is read for itself, so that one that is odd spoils no other.
pub(crate) fn wish(meta: Option<&Map<String, Value>>) -> ClientCapabilitiesMeta {
    let Some(harn) = meta.and_then(|meta| meta.get(VENDOR)) else {
        return ClientCapabilitiesMeta::default();
    };
    ClientCapabilitiesMeta {
        profile: member(harn, "profile"),
        session_update_extensions: member(harn, "sessionUpdateExtensions"),
        host_bridge: member(harn, "hostBridge"),
        event_ids: member(harn, "eventIds"),
        worker_calls: member(harn, "workerCalls"),
        is_declared: harn.is_object(),
    }
}

fn member<T: DeserializeOwned>(harn: &Value, name: &str) -> Option<T> {
    T::deserialize(harn.get(name)?).ok()
}
