//! Makes a toolbox for each session out of what the process hands in: the world comes in here.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use harn_runtime::{Equip, Equipment, NewEquipment};

use super::Toolbox;
use crate::LocalHost;

/// What toolboxes are made of.
#[derive(Clone)]
pub struct ToolboxConfig {
    /// This machine, whose commands end with the process.
    pub local: LocalHost,
    /// The environment, as it was when the process began.
    pub env: Arc<BTreeMap<String, String>>,
    /// Says which workspaces may run something of their own.
    pub trust: Arc<dyn Trust>,
    /// How long others are waited for.
    pub deadlines: Deadlines,
}

impl Default for ToolboxConfig {
    fn default() -> Self {
        Self {
            local: LocalHost::new(),
            env: Arc::default(),
            trust: Arc::new(NothingTrusted),
            deadlines: Deadlines::default(),
        }
    }
}

/// How long others are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// A host that is asked what it lends; the turn waits meanwhile.
    pub host_list: Duration,
    /// A tool of the host; it may have somebody to ask.
    pub host_call: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            host_list: Duration::from_secs(5),
            host_call: Duration::from_secs(10 * 60),
        }
    }
}

/// Says which workspaces may run something of their own: hooks of skills, servers.
pub trait Trust: Send + Sync + 'static {
    /// Whether somebody trusted this workspace. May look at the disk.
    fn is_trusted(&self, workspace: &Path) -> bool;
}

/// Trusts no workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingTrusted;

impl Trust for NothingTrusted {
    fn is_trusted(&self, _: &Path) -> bool {
        false
    }
}

/// Equips sessions with toolboxes.
pub struct Toolboxes {
    config: Arc<ToolboxConfig>,
}

impl Toolboxes {
    /// Toolboxes made of this.
    #[must_use]
    pub fn new(config: ToolboxConfig) -> Self {
        let config = Arc::new(config);
        Self { config }
    }
}

impl Equip for Toolboxes {
    fn equip(&self, session: NewEquipment) -> Arc<dyn Equipment> {
        Arc::new(Toolbox::new(self.config.clone(), session))
    }
}
