//! The dialect that a client receives: everything, everything on a standard carrier, or plain ACP.

use std::str::FromStr;

use crate::JsonSchema;
use agent_client_protocol::v1::schema::InitializeRequest;
use harn_model::HitlKind;
use harn_runtime::EncodingSlot;
use serde::Deserialize;

use crate::{
    AcpConfig, NewerAcp,
    ext::{client::ClientCapabilitiesMeta, update::ExtensionSet},
    known_clients::shows_plain_acp,
};

/// The messages that a client receives beyond plain ACP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// ACP and the Harn extensions under their own discriminators.
    Harn,
    /// The same, with each extension on a `session_info_update`, which typed clients deliver.
    Meta,
    /// ACP only; Harn activity is reduced to updates that any client can show.
    Acp,
}

impl Profile {
    /// Returns whether a client that states nothing about workers' calls receives them.
    fn has_worker_calls(self) -> bool {
        match self {
            Self::Harn | Self::Meta => true,
            Self::Acp => false,
        }
    }
}

/// A profile, with the client's choices within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// The messages beyond plain ACP.
    pub profile: Profile,
    /// The extension updates that are sent; no effect in the profile `acp`.
    pub extensions: ExtensionSet,
    /// Whether each line of a session's stream has an event id, and markers show where turns begin and end.
    pub event_ids: bool,
    /// Whether the stream contains the tool calls of workers. Calls with a permission request are always in
    /// it.
    pub worker_calls: bool,
    /// The questions to a person that are calls in the stream.
    pub hitl_calls: HitlCalls,
    /// The parts of ACP beyond the pinned schema that the client receives.
    pub newer: NewerAcp,
}

impl From<Profile> for Dialect {
    fn from(profile: Profile) -> Self {
        Self {
            profile,
            extensions: ExtensionSet::ALL,
            event_ids: false,
            worker_calls: profile.has_worker_calls(),
            hitl_calls: HitlCalls::All,
            newer: NewerAcp::default(),
        }
    }
}

/// The questions to a person that a client receives as permission requests. Such a request names a call, so
/// each of these questions is a call in the stream as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HitlCalls {
    /// No questions: the client has the bridge or fills in forms.
    None,
    /// Approvals and dual control; the client fills in forms for the others.
    Approvals,
    /// All questions.
    All,
}

impl HitlCalls {
    pub(crate) fn for_client(profile: Profile, has_bridge: bool, fills_in_forms: bool) -> Self {
        match profile {
            Profile::Harn | Profile::Meta if has_bridge => Self::None,
            Profile::Harn if fills_in_forms => Self::Approvals,
            Profile::Meta | Profile::Acp if fills_in_forms => Self::None,
            Profile::Harn | Profile::Meta | Profile::Acp => Self::All,
        }
    }

    pub(crate) fn contains(self, kind: HitlKind) -> bool {
        match kind {
            HitlKind::Approval | HitlKind::DualControl => self != Self::None,
            HitlKind::Question | HitlKind::Escalation => self == Self::All,
        }
    }
}

impl Dialect {
    /// Returns the dialect with event ids.
    #[must_use]
    pub fn with_event_ids(self) -> Self {
        Self {
            event_ids: true,
            ..self
        }
    }

    /// Returns the slot under which the encoding is shared; `None` for a client with choices of its own.
    pub(crate) fn slot(self) -> Option<EncodingSlot> {
        if self.newer != NewerAcp::default() {
            return None;
        }
        let slots = EncodingSlot::ALL;
        let [harn, meta, acp] = match (self.event_ids, slots) {
            (false, [harn, meta, acp, _, _, _]) | (true, [_, _, _, harn, meta, acp]) => {
                [harn, meta, acp]
            }
        };
        if self.worker_calls != self.profile.has_worker_calls() {
            return None;
        }
        let everything = self.extensions == ExtensionSet::ALL;
        match self.profile {
            Profile::Harn => everything.then_some(harn),
            Profile::Meta => everything.then_some(meta),
            Profile::Acp => Some(acp),
        }
    }
}

/// The setting that decides on the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileChoice {
    /// The client decides, by its capabilities or by its known name.
    #[default]
    Auto,
    /// The command line decides: everything.
    Harn,
    /// The command line decides: everything, on a standard carrier.
    Meta,
    /// The command line decides: plain ACP.
    Acp,
}

impl FromStr for ProfileChoice {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "auto" => Ok(Self::Auto),
            "harn" => Ok(Self::Harn),
            "meta" => Ok(Self::Meta),
            "acp" => Ok(Self::Acp),
            _ => Err("the profiles are auto, harn, meta and acp".to_owned()),
        }
    }
}

/// The hosts that receive requests for tools, operations and skills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostBridgeChoice {
    /// Hosts that declare the bridge.
    #[default]
    Auto,
    /// Every host that does not decline: for a host that supports the bridge and cannot declare it.
    On,
    /// No host, even if it declares the bridge.
    Off,
}

impl FromStr for HostBridgeChoice {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "auto" => Ok(Self::Auto),
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err("the host bridge is on, off or auto".to_owned()),
        }
    }
}

/// Returns whether this client receives requests for tools, operations and skills.
pub(crate) fn has_host_bridge(config: &AcpConfig, wish: &ClientCapabilitiesMeta) -> bool {
    match config.host_bridge {
        HostBridgeChoice::Auto => wish.host_bridge().unwrap_or(false),
        HostBridgeChoice::On => wish.host_bridge().unwrap_or(true),
        HostBridgeChoice::Off => false,
    }
}

/// Chooses the dialect. The client's own choice takes precedence, then the command line, then the name of a
/// client that declares nothing of Harn.
pub(crate) fn choose(
    config: &AcpConfig,
    wish: &ClientCapabilitiesMeta,
    request: &InitializeRequest,
) -> Dialect {
    let profile = match (wish.profile(), config.profile) {
        (Some(profile), _) => profile,
        (None, ProfileChoice::Harn) => Profile::Harn,
        (None, ProfileChoice::Meta) => Profile::Meta,
        (None, ProfileChoice::Acp) => Profile::Acp,
        (None, ProfileChoice::Auto) => {
            let client = request.client_info.as_ref();
            let plain = client.is_some_and(|client| shows_plain_acp(&client.name));
            match plain && !wish.declares_harn() {
                true => Profile::Acp,
                false => Profile::Harn,
            }
        }
    };
    let forms = request.client_capabilities.elicitation.as_ref();
    let forms = forms.is_some_and(|elicitation| elicitation.form.is_some());
    Dialect {
        profile,
        extensions: wish.extensions(),
        event_ids: config.event_ids || wish.event_ids(),
        worker_calls: wish
            .worker_calls()
            .unwrap_or_else(|| profile.has_worker_calls()),
        hitl_calls: HitlCalls::for_client(profile, has_host_bridge(config, wish), forms),
        newer: NewerAcp::from_capabilities(&request.client_capabilities),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn dialect(choice: ProfileChoice, params: Value) -> Dialect {
        let request: InitializeRequest = serde_json::from_value(params).unwrap();
        let wish = crate::ext::client::parse_client_meta(request.client_capabilities.meta.as_ref());
        let config = AcpConfig {
            profile: choice,
            ..AcpConfig::default()
        };
        choose(&config, &wish, &request)
    }

    fn choose_profile(choice: ProfileChoice, params: Value) -> Profile {
        dialect(choice, params).profile
    }

    fn params_with_harn_meta(harn: Value) -> Value {
        json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"harn": harn}}})
    }

    #[test]
    fn client_then_flag_then_table_decide_the_profile() {
        use ProfileChoice as Flag;
        let by_name =
            |name| json!({"protocolVersion": 1, "clientInfo": {"name": name, "version": "1"}});
        assert_eq!(choose_profile(Flag::Auto, by_name("zed")), Profile::Acp);
        assert_eq!(
            choose_profile(Flag::Auto, by_name("some host")),
            Profile::Harn
        );
        assert_eq!(
            choose_profile(Flag::Auto, json!({"protocolVersion": 1})),
            Profile::Harn
        );
        assert_eq!(choose_profile(Flag::Auto, by_name("Toad")), Profile::Acp);
        assert_eq!(choose_profile(Flag::Auto, by_name("acpx")), Profile::Acp);
        assert_eq!(choose_profile(Flag::Harn, by_name("acpx")), Profile::Harn);
        assert_eq!(choose_profile(Flag::Meta, by_name("zed")), Profile::Meta);
        let profile = |word: &str| params_with_harn_meta(json!({"profile": word}));
        assert_eq!(choose_profile(Flag::Harn, profile("acp")), Profile::Acp);
        assert_eq!(choose_profile(Flag::Acp, profile("harn")), Profile::Harn);
        assert_eq!(choose_profile(Flag::Acp, profile("meta")), Profile::Meta);
        assert_eq!(
            choose_profile(Flag::Auto, profile("telepathy")),
            Profile::Harn
        );
        assert_eq!(
            choose_profile(Flag::Auto, params_with_harn_meta(json!({"profile": 7}))),
            Profile::Harn
        );
    }

    /// A host that knows Harn receives what it declares, regardless of its name.
    #[test]
    fn declaration_takes_precedence_over_the_client_name() {
        let declares = |harn: Value| {
            json!({
                "protocolVersion": 1,
                "clientInfo": {"name": "zed", "version": "1"},
                "clientCapabilities": {"_meta": {"harn": harn}},
            })
        };
        for harn in [
            json!({}),
            json!({"eventIds": true}),
            json!({"hostBridge": true}),
        ] {
            let profile = choose_profile(ProfileChoice::Auto, declares(harn.clone()));
            assert_eq!(profile, Profile::Harn, "{harn}");
        }
        let plain = declares(json!({"profile": "acp"}));
        assert_eq!(choose_profile(ProfileChoice::Harn, plain), Profile::Acp);
        assert_eq!(
            choose_profile(ProfileChoice::Auto, declares(json!(true))),
            Profile::Acp
        );
    }

    #[test]
    fn the_host_bridge_is_declared_or_forced() {
        use HostBridgeChoice as Flag;
        let has = |host_bridge, harn: Value| {
            let request: InitializeRequest =
                serde_json::from_value(params_with_harn_meta(harn)).unwrap();
            let wish =
                crate::ext::client::parse_client_meta(request.client_capabilities.meta.as_ref());
            let config = AcpConfig {
                host_bridge,
                ..AcpConfig::default()
            };
            has_host_bridge(&config, &wish)
        };
        let (declared, silent) = (json!({"hostBridge": true}), json!({}));
        let declined = json!({"hostBridge": false});
        assert!(has(Flag::Auto, declared.clone()) && !has(Flag::Auto, silent.clone()));
        assert!(has(Flag::On, declared.clone()) && has(Flag::On, silent.clone()));
        assert!(!has(Flag::On, declined));
        assert!(!has(Flag::Off, declared) && !has(Flag::Off, silent));
    }

    #[test]
    fn a_client_chooses_its_extensions() {
        let off = |profile: &str| {
            params_with_harn_meta(json!({"sessionUpdateExtensions": false, "profile": profile}))
        };
        assert_eq!(choose_profile(ProfileChoice::Harn, off("")), Profile::Acp);
        assert_eq!(
            choose_profile(ProfileChoice::Auto, off("harn")),
            Profile::Acp
        );
        let some = params_with_harn_meta(
            json!({"sessionUpdateExtensions": ["log", "telepathy"], "profile": "meta"}),
        );
        let some = dialect(ProfileChoice::Auto, some);
        assert_eq!(some.profile, Profile::Meta);
        assert_eq!(some.extensions, ExtensionSet::from_names(["log"]));
        assert_eq!(some.slot(), None);
        let all = params_with_harn_meta(json!({"sessionUpdateExtensions": true}));
        assert_eq!(dialect(ProfileChoice::Auto, all), Profile::Harn.into());
        let odd = params_with_harn_meta(json!({"sessionUpdateExtensions": 7}));
        assert_eq!(dialect(ProfileChoice::Auto, odd), Profile::Harn.into());
    }

    #[test]
    fn each_profile_has_a_slot_of_its_own() {
        let profiles = [Profile::Harn, Profile::Meta, Profile::Acp].map(Dialect::from);
        let mut slots = Vec::new();
        for dialect in profiles.iter().flat_map(|&d| [d, d.with_event_ids()]) {
            let slot = dialect.slot().unwrap();
            assert!(!slots.contains(&slot), "{dialect:?}");
            slots.push(slot);
        }
    }

    #[test]
    fn only_clients_that_request_event_ids_get_them() {
        assert!(!dialect(ProfileChoice::Auto, params_with_harn_meta(json!({}))).event_ids);
        assert!(
            !dialect(
                ProfileChoice::Auto,
                params_with_harn_meta(json!({"eventIds": 1}))
            )
            .event_ids
        );
        let asks = params_with_harn_meta(json!({"eventIds": true, "profile": "acp"}));
        let asks = dialect(ProfileChoice::Auto, asks);
        assert_eq!(asks, Dialect::from(Profile::Acp).with_event_ids());
    }
}
