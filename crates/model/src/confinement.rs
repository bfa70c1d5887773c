//! The confinement of a command, as the receipt of its call records it.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the sandbox lets a command do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ConfinementRecord {
    /// What it may write besides its own temporary directory and basic devices.
    pub writes: ConfinedWrites,
    /// The network that it may reach.
    pub network: ConfinedNetwork,
    /// The TCP ports, if it may reach some only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// The layers of the system that enforce it, such as `namespaces`, `landlock` and `seccomp`.
    pub layers: Vec<String>,
}

/// What a confined command may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfinedWrites {
    /// Nothing.
    Nothing,
    /// The session's directories, without the files that decide about tools, and the folders of the rules.
    Workspace,
}

/// The network that a confined command may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfinedNetwork {
    /// None.
    Off,
    /// Some TCP ports.
    Ports,
    /// All of it.
    On,
}
