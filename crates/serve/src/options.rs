//! What may be chosen about a server, and where its state goes when nobody chose.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use harn_acp::ProfileChoice;
use harn_policy::{SessionMode, ToolApprovalPolicy};
use harn_tools::{
    skills::{SkillMatching, SkillPlaces},
    tool_search::ToolSearchOptions,
};

/// What may be chosen about a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where sessions are kept; need not exist yet.
    pub state_dir: PathBuf,
    /// Which dialect of ACP clients get.
    pub profile: ProfileChoice,
    /// Rules of the program's own, which every other has to agree with.
    pub policy: ToolApprovalPolicy,
    /// Files of further rules, in TOML. While one cannot be used, no tool runs.
    pub policy_files: Vec<PathBuf>,
    /// Where the person's own `policy.toml` is looked for; without one, nowhere.
    pub config_dir: Option<PathBuf>,
    /// The mode a session begins in.
    pub mode: SessionMode,
    /// How long a question about a tool call waits for an answer.
    pub ask_timeout: Duration,
    /// Where skills are looked for beside the workspace; nowhere unless somebody says so.
    pub skills: SkillPlaces,
    /// How skills are chosen for a prompt.
    pub skill_matching: SkillMatching,
    /// Whether and how tools are searched when there are many.
    pub tool_search: ToolSearchOptions,
}

/// How long a question waits unless somebody says otherwise.
pub(crate) const ASK_TIMEOUT: Duration = Duration::from_secs(30 * 60);

impl Options {
    /// Sessions in `state_dir`, each client gets the dialect it can take, and whatever changes something
    /// asks. A workspace's own `.harn/policy.toml` counts, and can only forbid.
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
            profile: ProfileChoice::Auto,
            policy: ToolApprovalPolicy::default(),
            policy_files: Vec::new(),
            config_dir: None,
            mode: SessionMode::default(),
            ask_timeout: ASK_TIMEOUT,
            skills: SkillPlaces::default(),
            skill_matching: SkillMatching::default(),
            tool_search: ToolSearchOptions::default(),
        }
    }
}

/// Where sessions are kept unless somebody says otherwise: `$XDG_STATE_HOME/harn`, else
/// `~/.local/state/harn`, on macOS `~/Library/Application Support/harn`.
pub fn default_state_dir() -> Result<PathBuf> {
    #[allow(
        clippy::disallowed_methods,
        reason = "the environment enters the project here"
    )]
    own_dir(
        |name| std::env::var_os(name),
        "XDG_STATE_HOME",
        ".local/state",
    )
    .context("there is no home directory to keep sessions in; name one with --state-dir")
}

/// Where a person's configuration is: `$XDG_CONFIG_HOME/harn`, else `~/.config/harn`, on macOS
/// `~/Library/Application Support/harn`; none without a home.
#[must_use]
pub fn default_config_dir() -> Option<PathBuf> {
    #[allow(
        clippy::disallowed_methods,
        reason = "the environment enters the project here"
    )]
    own_dir(|name| std::env::var_os(name), "XDG_CONFIG_HOME", ".config")
}

/// Where a person is at home, if anywhere.
pub(crate) fn home_dir() -> Option<PathBuf> {
    #[allow(
        clippy::disallowed_methods,
        reason = "the environment enters the project here"
    )]
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute())
}

fn own_dir(env: impl Fn(&str) -> Option<OsString>, chosen: &str, at_home: &str) -> Option<PathBuf> {
    // A relative path would mean another place in every directory.
    let dir = |name| env(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || dir("HOME");
    let base = if let Some(chosen) = dir(chosen) {
        chosen
    } else if cfg!(target_os = "macos") {
        home()?.join("Library/Application Support")
    } else {
        home()?.join(Path::new(at_home))
    };
    Some(base.join("harn"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn chosen(vars: &[(&str, &str)]) -> Option<PathBuf> {
        let env = |name: &str| {
            let found = vars.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        own_dir(env, "XDG_STATE_HOME", ".local/state")
    }

    #[test]
    fn the_state_dir_follows_the_environment() {
        let usual = if cfg!(target_os = "macos") {
            "/home/ada/Library/Application Support/harn"
        } else {
            "/home/ada/.local/state/harn"
        };
        let home = ("HOME", "/home/ada");
        assert_eq!(chosen(&[home]), Some(usual.into()));
        assert_eq!(
            chosen(&[home, ("XDG_STATE_HOME", "/var/state")]),
            Some("/var/state/harn".into())
        );
        assert_eq!(
            chosen(&[home, ("XDG_STATE_HOME", "relative")]),
            Some(usual.into())
        );
        assert_eq!(chosen(&[]), None);
    }
}
