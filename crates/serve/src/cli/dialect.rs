//! Flags for ACP clients: the profile they receive, and the requests that hosts receive.

use harn_acp::{HostBridgeChoice, ProfileChoice};

/// What clients of ACP are told.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub(super) struct DialectFlags {
    /// What clients get that do not declare it: auto plain ACP for the editors known by name and
    /// everything for others, harn everything, meta everything in a form that typed clients deliver,
    /// acp nothing beyond plain ACP
    #[arg(long, value_name = "auto|harn|meta|acp", default_value = "auto")]
    pub(super) profile: ProfileChoice,
}

/// What hosts are asked for.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub(super) struct BridgeFlags {
    /// Ask hosts for tools, operations and skills: auto those that declare the bridge, on every host
    /// that does not decline, off none
    #[arg(long, value_name = "on|off|auto", default_value = "auto")]
    pub(super) host_bridge: HostBridgeChoice,
}
