//! Makes a toolbox for each session out of what the process hands in: the world comes in here.

use std::{collections::BTreeMap, ffi::OsString, path::Path, sync::Arc};

use harn_runtime::{Equipment, EquipmentProvider, HostDeadlines, NewEquipment};

use super::Toolbox;
use crate::{
    LocalHost,
    mcp_settings::McpDeadlines,
    skills::{SkillLibrary, SkillMatching},
    tool_search::ToolSearchOptions,
};

/// What toolboxes are made of.
#[derive(Clone)]
pub struct ToolboxConfig {
    /// This machine, whose commands end with the process; with the shells there are where the host has none.
    pub local: LocalHost,
    /// The environment, as it was when the process began, as far as it is text.
    pub env: Arc<BTreeMap<String, String>>,
    /// All of it, for MCP servers.
    pub inherited: Arc<[(OsString, OsString)]>,
    /// Says which workspaces may run something of their own.
    pub trust: Arc<dyn TrustLookup>,
    /// How long a host may take to answer.
    pub host_deadlines: HostDeadlines,
    /// How long MCP servers may take.
    pub mcp_deadlines: McpDeadlines,
    /// The skills of every workspace; without it, sessions have none.
    pub skills: Option<Arc<SkillLibrary>>,
    /// How skills are matched.
    pub matching: SkillMatching,
    /// Whether and how tools are searched.
    pub search: ToolSearchOptions,
    /// How much a model holds, where nobody says: what the catalogue is measured against.
    pub context_tokens: u64,
}

impl Default for ToolboxConfig {
    fn default() -> Self {
        Self {
            local: LocalHost::new(),
            env: Arc::default(),
            inherited: Arc::default(),
            trust: Arc::new(NothingTrusted),
            host_deadlines: HostDeadlines::default(),
            mcp_deadlines: McpDeadlines::default(),
            skills: None,
            matching: SkillMatching::default(),
            search: ToolSearchOptions::default(),
            context_tokens: 128_000,
        }
    }
}

/// Says which workspaces may run something of their own: hooks of skills, servers.
pub trait TrustLookup: Send + Sync + 'static {
    /// Whether somebody trusted this workspace. May look at the disk.
    fn is_trusted(&self, workspace: &Path) -> bool;
}

/// Trusts no workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingTrusted;

impl TrustLookup for NothingTrusted {
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

impl EquipmentProvider for Toolboxes {
    fn equip(&self, session: NewEquipment) -> Arc<dyn Equipment> {
        Toolbox::new(self.config.clone(), session)
    }
}
