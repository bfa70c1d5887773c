//! Creates a toolbox for each session from the settings of the process: the only entry for its environment.

use std::{collections::BTreeMap, ffi::OsString, sync::Arc};

use harn_runtime::{Equipment, EquipmentProvider, HostDeadlines, NewEquipment};

use super::Toolbox;
use crate::{
    LocalHost,
    mcp_settings::McpDeadlines,
    skills::{SkillLibrary, SkillMatching},
    tool_search::ToolSearchOptions,
    trust::{NothingTrusted, TrustLookup},
};

/// The configuration of toolboxes.
#[derive(Clone)]
pub struct ToolboxConfig {
    /// This machine, whose commands end with the process, and its shells for hosts without any.
    pub local: LocalHost,
    /// The environment at the start of the process, as far as it is valid Unicode.
    pub env: Arc<BTreeMap<String, String>>,
    /// The whole environment, for MCP servers.
    pub inherited: Arc<[(OsString, OsString)]>,
    /// Decides which files of workspaces may cause programs to run.
    pub trust: Arc<dyn TrustLookup>,
    /// The deadlines for a host's answers.
    pub host_deadlines: HostDeadlines,
    /// The deadlines for MCP servers.
    pub mcp_deadlines: McpDeadlines,
    /// The skills of every workspace; if `None`, sessions have no skills.
    pub skills: Option<Arc<SkillLibrary>>,
    /// How skills are matched.
    pub matching: SkillMatching,
    /// Whether and how tools are searched.
    pub search: ToolSearchOptions,
    /// The default size of a model's context in tokens, which the catalogue's size is compared with.
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

/// Provides sessions with toolboxes.
pub struct Toolboxes {
    config: Arc<ToolboxConfig>,
}

impl Toolboxes {
    /// Creates a provider with this configuration.
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
