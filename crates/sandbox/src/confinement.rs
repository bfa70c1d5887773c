//! What a command may do: a plain value, which a server derives from its policy and the helper enforces.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a command may write, see and reach. All paths are absolute; a path that does not exist is skipped.
///
/// The default is the strictest: nothing is writable, there is no network and no Unix socket, and the command has no
/// temporary directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Confinement {
    /// Files and folders that the command may change. It may read everything that is not hidden.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
    /// Files and folders inside writable ones that the command may not change. Neither they nor the folders between
    /// them and the writable one can be renamed or removed. Of a link directly in a writable folder, only the target is
    /// protected: a command can replace the link. Without namespaces, nothing inside a writable folder is protected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read_only: Vec<PathBuf>,
    /// Files and folders that appear empty. A writable path, the temporary directory, an overlay or the program of the
    /// command inside a hidden folder stays visible. The working directory does not, and the command does not start then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<PathBuf>,
    /// The command's own temporary directory, writable. The command sees it as `/tmp` and `/var/tmp` where the system
    /// permits; the helper sets `TMPDIR` to the path that the command sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temporary: Option<PathBuf>,
    /// Folders of tools that the command appears to change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheOverlay>,
    /// Which network the command may use.
    pub network: NetworkAccess,
    /// Whether the command may connect to Unix sockets of processes outside the sandbox, such as those of Docker,
    /// an SSH agent or the desktop. Pairs of stream sockets inside the sandbox always work.
    pub unix_sockets: bool,
    /// Limits on resources.
    pub limits: ResourceLimits,
}

/// A folder that a command reads and appears to change: its changes go to another folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheOverlay {
    /// The folder, for example `~/.cargo`. It stays as it is. Read-only if the system has no overlays.
    pub dir: PathBuf,
    /// The folder for the changes. The helper creates it and one beside it, with the suffix `.work`; its parent has
    /// to exist. While another command uses it, changes go to the temporary directory and are lost with it.
    pub upper: PathBuf,
}

/// Which network a command may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    /// No socket of any kind leads out of the sandbox, not even to this machine.
    #[default]
    Off,
    /// TCP to and on these ports. UDP only if port 53 is among them, because names are resolved through it.
    Ports(Vec<u16>),
    /// All of it.
    On,
}

/// Limits on resources, all off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceLimits {
    /// The most processes and threads. It does not apply to root. Without namespaces, all processes of the user count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// The most memory that one process may write to, in bytes (`RLIMIT_DATA`). Address space alone does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}
