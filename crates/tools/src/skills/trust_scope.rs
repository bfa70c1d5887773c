//! What trust in a workspace covers: the files that cause programs to run, with their contents and effects, for a
//! person who decides.

use std::{collections::BTreeMap, path::PathBuf};

use harn_model::{McpServerSpec, McpTransport};

use super::card::Skill;
use crate::trust::{ContentHash, TrustRefusal, WorkspaceTrust};

/// The files of a workspace to which trust applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustScope {
    /// The root of the workspace.
    pub root: PathBuf,
    /// The sources of programs, in the order in which they are found.
    pub sources: Vec<TrustedSource>,
}

/// A file that causes programs to run, and the files that these are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedSource {
    /// Its name for people: `harn.toml`, or the id of a skill.
    pub name: String,
    /// What runs because of it, one line each.
    pub effects: Vec<String>,
    /// The hashes of its files, by their paths relative to the root; an error if they cannot be read.
    pub files: Result<BTreeMap<PathBuf, ContentHash>, TrustRefusal>,
}

impl TrustScope {
    /// Returns all files, by their paths relative to the root.
    pub fn files(&self) -> BTreeMap<PathBuf, ContentHash> {
        let files = self
            .sources
            .iter()
            .filter_map(|source| source.files.as_ref().ok());
        files
            .flatten()
            .map(|(path, hash)| (path.clone(), *hash))
            .collect()
    }
}

impl TrustedSource {
    /// Checks that all its files are trusted as they are.
    pub fn check(&self, trust: &WorkspaceTrust) -> Result<(), TrustRefusal> {
        match (&self.files, trust) {
            (_, WorkspaceTrust::Everything) => Ok(()),
            (_, WorkspaceTrust::Nothing) => Err(TrustRefusal::Untrusted),
            (Ok(files), WorkspaceTrust::Files(_)) => trust.check(files),
            (Err(refusal), WorkspaceTrust::Files(_)) => Err(refusal.clone()),
        }
    }
}

/// Returns a line for each hook and each server of a skill.
pub(super) fn skill_effects(skill: &Skill) -> Vec<String> {
    let hooks = skill.card.hooks.iter();
    let hooks = hooks.map(|hook| format!("hook {}: {}", hook.event, hook.command));
    hooks
        .chain(server_effects(&skill.card.mcp_servers))
        .collect()
}

/// Returns a line for each server. Values of variables and headers are left out.
pub(super) fn server_effects(servers: &[McpServerSpec]) -> Vec<String> {
    let effect = |server: &McpServerSpec| {
        let how = match &server.transport {
            McpTransport::Stdio { command, args, .. } => {
                harn_policy::quote_words(&[std::slice::from_ref(command), args].concat())
            }
            McpTransport::Http { url, .. } => url.clone(),
            McpTransport::Unsupported(name) => (*name).to_owned(),
        };
        format!("MCP server {}: {how}", server.name)
    };
    servers.iter().map(effect).collect()
}
