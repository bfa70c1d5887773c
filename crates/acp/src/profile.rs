//! Which dialect a client gets: everything, or plain ACP.

use std::str::FromStr;

use agent_client_protocol::v1::schema::InitializeRequest;
use harn_runtime::EncodingSlot;

use crate::ext;

/// What leaves on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// ACP and the Harn extensions under their own discriminators.
    Harn,
    /// ACP only; Harn activity degrades to what any client can show.
    Acp,
}

impl Profile {
    pub(crate) fn slot(self) -> EncodingSlot {
        let [harn, acp, ..] = EncodingSlot::ALL;
        match self {
            Self::Harn => harn,
            Self::Acp => acp,
        }
    }
}

/// Who decides on the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileChoice {
    /// The client, by its capabilities or by what is known of it.
    #[default]
    Auto,
    /// The command line: everything.
    Harn,
    /// The command line: plain ACP.
    Acp,
}

impl FromStr for ProfileChoice {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "auto" => Ok(Self::Auto),
            "harn" => Ok(Self::Harn),
            "acp" => Ok(Self::Acp),
            _ => Err("the profiles are auto, harn and acp".to_owned()),
        }
    }
}

/// Clients that break or complain when they meet a discriminator they do not know.
const PLAIN_CLIENTS: [&str; 3] = ["yopo", "acpx", "toad"];

/// The client's own word first, then the command line's, then what is known of the client.
pub(crate) fn choose(choice: ProfileChoice, request: &InitializeRequest) -> Profile {
    let wish = ext::client::wish(request.client_capabilities.meta.as_ref());
    match (wish.profile(), choice) {
        (Some(profile), _) => profile,
        (None, ProfileChoice::Harn) => Profile::Harn,
        (None, ProfileChoice::Acp) => Profile::Acp,
        (None, ProfileChoice::Auto) => {
            let name = request.client_info.as_ref().map(|info| info.name.as_str());
            let plain = name.is_some_and(|name| {
                PLAIN_CLIENTS
                    .iter()
                    .any(|plain| name.eq_ignore_ascii_case(plain))
            });
            if plain { Profile::Acp } else { Profile::Harn }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chosen(choice: ProfileChoice, params: serde_json::Value) -> Profile {
        choose(choice, &serde_json::from_value(params).unwrap())
    }

    #[test]
    fn the_client_decides_then_the_flag_then_the_table() {
        let by_name =
            |name| json!({"protocolVersion": 1, "clientInfo": {"name": name, "version": "1"}});
        assert_eq!(chosen(ProfileChoice::Auto, by_name("zed")), Profile::Harn);
        assert_eq!(chosen(ProfileChoice::Auto, by_name("yopo")), Profile::Acp);
        assert_eq!(chosen(ProfileChoice::Auto, by_name("Toad")), Profile::Acp);
        assert_eq!(chosen(ProfileChoice::Harn, by_name("acpx")), Profile::Harn);
        let wish =
            |harn| json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"harn": harn}}});
        assert_eq!(
            chosen(ProfileChoice::Harn, wish(json!({"profile": "acp"}))),
            Profile::Acp
        );
        assert_eq!(
            chosen(ProfileChoice::Acp, wish(json!({"profile": "harn"}))),
            Profile::Harn
        );
        let off = wish(json!({"sessionUpdateExtensions": false}));
        assert_eq!(chosen(ProfileChoice::Auto, off), Profile::Acp);
        let odd = wish(json!({"profile": 7}));
        assert_eq!(chosen(ProfileChoice::Auto, odd), Profile::Harn);
    }
}
