//! Flags for ACP clients: the profile they receive, and the requests that hosts receive.

use harn_acp::{HostBridgeChoice, ProfileChoice};

/// The profile of ACP clients.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub(super) struct DialectFlags {
    /// The profile of clients that declare none: auto is plain ACP for editors known by name and harn for
    /// others, harn has all extensions, meta has them in a form that typed clients deliver, acp has none
    #[arg(long, value_name = "auto|harn|meta|acp", default_value = "auto")]
    pub(super) profile: ProfileChoice,
}

/// The requests that hosts receive.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub(super) struct BridgeFlags {
    /// Ask hosts for tools, operations and skills: auto asks those that declare the bridge, on every host that
    /// does not decline, off none
    #[arg(long, value_name = "on|off|auto", default_value = "auto")]
    pub(super) host_bridge: HostBridgeChoice,
}
