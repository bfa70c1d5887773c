//! The section `[sandbox]` of policies: what confined commands and MCP servers may reach, and how the sections of
//! several policies combine.

use std::path::PathBuf;

use crate::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::ToolApprovalPolicy;

/// The section `[sandbox]` of a policy. In a policy that only tightens, lists and permissions only narrow those of
/// others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxRules {
    /// Whether commands are refused where a part of the sandbox is missing, as with `--sandbox require`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub require: bool,
    /// More folders that an allowed command may write, as absolute paths.
    #[serde(
        deserialize_with = "some_absolute",
        skip_serializing_if = "Option::is_none"
    )]
    pub writable: Option<Vec<PathBuf>>,
    /// More files and folders that no command sees, as absolute paths.
    #[serde(deserialize_with = "absolute", skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<PathBuf>,
    /// The TCP ports that an allowed command may reach without network access; 53 also permits looking up names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<u16>>,
    /// Whether commands may connect to Unix sockets of other programs, such as Docker and SSH agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_sockets: Option<bool>,
    /// The most processes and threads of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// The most memory of one process of a command, in MiB of address space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// The folders of tools that commands appear to change, in place of the usual ones.
    #[serde(
        deserialize_with = "some_absolute",
        skip_serializing_if = "Option::is_none"
    )]
    pub caches: Option<Vec<PathBuf>>,
    /// MCP servers on stdio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpSandboxRules>,
}

/// The section `[sandbox.mcp]`: the confinement of MCP servers, which does not follow the mode of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpSandboxRules {
    /// Whether servers run in the sandbox; true unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confined: Option<bool>,
    /// Whether they reach the network; true unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Whether they may connect to Unix sockets of other programs; false unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_sockets: Option<bool>,
    /// Folders that they may write besides those of commands, as absolute paths.
    #[serde(
        deserialize_with = "some_absolute",
        skip_serializing_if = "Option::is_none"
    )]
    pub writable: Option<Vec<PathBuf>>,
}

/// The sections `[sandbox]` of all policies that apply, combined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// Whether commands are refused where a part of the sandbox is missing.
    pub require: bool,
    /// More folders that an allowed command may write.
    pub writable: Vec<PathBuf>,
    /// More files and folders that no command sees.
    pub hidden: Vec<PathBuf>,
    /// The TCP ports that an allowed command may reach, sorted.
    pub ports: Vec<u16>,
    /// Whether commands may connect to Unix sockets of other programs.
    pub unix_sockets: bool,
    /// The most processes and threads of a command.
    pub processes: Option<u64>,
    /// The most memory of one process, in MiB of address space.
    pub memory_mib: Option<u64>,
    /// The folders of tools that commands appear to change; none for the usual ones.
    pub caches: Option<Vec<PathBuf>>,
    /// Whether MCP servers run in the sandbox.
    pub mcp_confined: bool,
    /// Whether MCP servers reach the network.
    pub mcp_network: bool,
    /// Whether MCP servers may connect to Unix sockets of other programs.
    pub mcp_unix_sockets: bool,
    /// Folders that MCP servers may write besides those of commands.
    pub mcp_writable: Vec<PathBuf>,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            require: false,
            writable: Vec::new(),
            hidden: Vec::new(),
            ports: Vec::new(),
            unix_sockets: false,
            processes: None,
            memory_mib: None,
            caches: None,
            mcp_confined: true,
            mcp_network: true,
            mcp_unix_sockets: false,
            mcp_writable: Vec::new(),
        }
    }
}

impl SandboxSettings {
    /// Combines the sections of a policy and of those in it. Sections that only tighten apply last.
    pub(crate) fn from_policy(policy: &ToolApprovalPolicy) -> Self {
        let mut settings = Self::default();
        settings.read(policy, true, true);
        settings.read(policy, true, false);
        settings
    }

    /// Applies the sections that give, or those that tighten.
    fn read(&mut self, policy: &ToolApprovalPolicy, gives: bool, giving: bool) {
        let gives = gives && !policy.only_tightens;
        if let Some(rules) = policy.sandbox.as_ref().filter(|_| gives == giving) {
            self.restrict(rules);
            match giving {
                true => self.give(rules),
                false => self.narrow(rules),
            }
        }
        for inner in &policy.all_of {
            self.read(inner, gives, giving);
        }
    }

    /// Applies what only restricts, from any policy.
    fn restrict(&mut self, rules: &SandboxRules) {
        let least = |known: Option<u64>, given: Option<u64>| known.into_iter().chain(given).min();
        self.require |= rules.require;
        self.hidden.extend(rules.hidden.iter().cloned());
        self.processes = least(self.processes, rules.processes);
        self.memory_mib = least(self.memory_mib, rules.memory_mib);
    }

    fn give(&mut self, rules: &SandboxRules) {
        let given = |list: &Option<Vec<PathBuf>>| list.clone().unwrap_or_default();
        self.writable.extend(given(&rules.writable));
        self.ports.extend(rules.ports.iter().flatten());
        self.ports.sort_unstable();
        self.ports.dedup();
        self.unix_sockets = rules.unix_sockets.unwrap_or(self.unix_sockets);
        self.caches = rules.caches.clone().or(self.caches.take());
        let mcp = rules.mcp.clone().unwrap_or_default();
        self.mcp_confined = mcp.confined.unwrap_or(self.mcp_confined);
        self.mcp_network = mcp.network.unwrap_or(self.mcp_network);
        self.mcp_unix_sockets = mcp.unix_sockets.unwrap_or(self.mcp_unix_sockets);
        self.mcp_writable.extend(given(&mcp.writable));
    }

    /// Keeps only what a policy that tightens also gives, where it gives anything.
    fn narrow(&mut self, rules: &SandboxRules) {
        fn keep<T: PartialEq>(known: &mut Vec<T>, given: Option<&Vec<T>>) {
            if let Some(given) = given {
                known.retain(|it| given.contains(it));
            }
        }
        keep(&mut self.writable, rules.writable.as_ref());
        keep(&mut self.ports, rules.ports.as_ref());
        self.unix_sockets &= rules.unix_sockets.unwrap_or(true);
        if let Some(caches) = &mut self.caches {
            keep(caches, rules.caches.as_ref());
        }
        if let Some(mcp) = &rules.mcp {
            self.mcp_confined |= mcp.confined.unwrap_or(false);
            self.mcp_network &= mcp.network.unwrap_or(true);
            self.mcp_unix_sockets &= mcp.unix_sockets.unwrap_or(true);
            keep(&mut self.mcp_writable, mcp.writable.as_ref());
        }
    }
}

fn absolute<'de, D: Deserializer<'de>>(paths: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<PathBuf>::deserialize(paths)?;
    match paths.iter().find(|path| !path.is_absolute()) {
        Some(wrong) => Err(de::Error::custom(format!(
            "{} is not an absolute path; write it from the root, such as /srv/shared",
            wrong.display()
        ))),
        None => Ok(paths),
    }
}

fn some_absolute<'de, D: Deserializer<'de>>(paths: D) -> Result<Option<Vec<PathBuf>>, D::Error> {
    absolute(paths).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> ToolApprovalPolicy {
        ToolApprovalPolicy::from_toml("policy.toml", text).unwrap()
    }

    #[test]
    fn workspace_only_tightens_the_sandbox() {
        let user = policy(
            "[sandbox]\nwritable = [\"/srv/a\", \"/srv/b\"]\nports = [443, 53]\nunix_sockets = true\n\
             processes = 100\n[sandbox.mcp]\nconfined = false\n",
        );
        let workspace = policy(
            "[sandbox]\nrequire = true\nwritable = [\"/srv/b\", \"/etc\"]\nports = [443, 22]\n\
             unix_sockets = true\nprocesses = 500\nmemory_mib = 64\nhidden = [\"/srv/key\"]\n\
             [sandbox.mcp]\nconfined = true\nnetwork = false\nwritable = [\"/etc\"]\n",
        );
        // The order of the policies makes no difference.
        let tightening = workspace.with_only_tightens();
        let whole = [
            user.clone().and(tightening.clone()),
            ToolApprovalPolicy::default().and(tightening).and(user),
        ];
        for whole in whole {
            let settings = SandboxSettings::from_policy(&whole);
            let expected = SandboxSettings {
                require: true,
                writable: vec!["/srv/b".into()],
                hidden: vec!["/srv/key".into()],
                ports: vec![443],
                unix_sockets: true,
                processes: Some(100),
                memory_mib: Some(64),
                caches: None,
                mcp_confined: true,
                mcp_network: false,
                mcp_unix_sockets: false,
                mcp_writable: Vec::new(),
            };
            assert_eq!(settings, expected);
        }
    }

    #[test]
    fn paths_are_absolute_and_keys_are_known() {
        let wrong = |text: &str| {
            let error = ToolApprovalPolicy::from_toml("policy.toml", text).unwrap_err();
            error.to_string()
        };
        let relative = wrong("[sandbox]\nwritable = [\"build\"]\n");
        assert!(
            relative.contains("build is not an absolute path"),
            "{relative}"
        );
        let unknown = wrong("[sandbox]\nport = [1]\n");
        assert!(unknown.contains("unknown field `port`"), "{unknown}");
    }

    #[test]
    fn section_survives_writing_and_reading() {
        let text = "[sandbox]\nrequire = true\nwritable = []\nports = [443]\n[sandbox.mcp]\nnetwork = false\n";
        let read = policy(text);
        assert_eq!(policy(&read.to_toml()), read);
    }
}
