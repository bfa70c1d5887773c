//! What a client says about itself under `clientCapabilities._meta.harn`. Anything odd counts as unsaid.

use serde_json::{Map, Value};

use super::VENDOR;
use crate::Profile;

/// The client's wishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    profile: Option<Profile>,
    extensions_off: bool,
    /// Whether bridge requests may be sent.
    pub(crate) host_bridge: bool,
}

impl Wish {
    /// The profile it asked for, outright or by switching the extensions off.
    pub(crate) fn profile(self) -> Option<Profile> {
        self.profile.or(self.extensions_off.then_some(Profile::Acp))
    }
}

pub(crate) fn wish(meta: Option<&Map<String, Value>>) -> Wish {
    let Some(harn) = meta.and_then(|meta| meta.get(VENDOR)) else {
        return Wish::default();
    };
    Wish {
        profile: match harn.get("profile").and_then(Value::as_str) {
            Some("harn") => Some(Profile::Harn),
            Some("acp") => Some(Profile::Acp),
            _ => None,
        },
        extensions_off: harn.get("sessionUpdateExtensions") == Some(&Value::Bool(false)),
        host_bridge: match harn.get("hostBridge") {
            Some(Value::Bool(offered)) => *offered,
            Some(Value::Object(_)) => true,
            _ => false,
        },
    }
}
