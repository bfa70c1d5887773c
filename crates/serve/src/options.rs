//! The options of a server, and the default directories for its state and configuration.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use harn_acp::{AcpConfig, HostBridgeChoice, ProfileChoice, TerminalAuth};
use harn_policy::{SessionMode, ToolApprovalPolicy};
use harn_runtime::HostDeadlines;
use harn_tools::{
    skills::{SkillMatching, SkillPlaces},
    tool_search::ToolSearchOptions,
};

use crate::SandboxMode;

/// The environment variable with the token, in place of a file. MCP servers and skills do not inherit it.
pub(crate) const TOKEN_VARIABLE: &str = "HARN_SERVE_TOKEN";

/// The options of a server.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use harn_serve::{Agent, ServeOptions, SessionMode};
///
/// fn serve_read_only(agent: Arc<dyn Agent>) -> harn_serve::Result<()> {
///     let mut options = ServeOptions::new(harn_serve::default_state_dir()?);
///     options.mode = SessionMode::ReadOnly;
///     harn_serve::acp_stdio_with(agent, options)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The directory of the token, the socket, trust and grants. It also has the sessions, unless
    /// [`sessions_dir`](Self::sessions_dir) is set. It need not exist yet.
    pub state_dir: PathBuf,
    /// The directory of the sessions, in its folder `threads`, if not `state_dir`. It need not exist yet.
    /// Others may have written there, so grants and modes stored in such a session are ignored, and no tool
    /// writes there.
    pub sessions_dir: Option<PathBuf>,
    /// The working directory of sessions whose client names none; without one, the current directory.
    pub directory: Option<PathBuf>,
    /// The ACP profile that clients receive.
    pub profile: ProfileChoice,
    /// Whether ACP clients are asked for tools, operations and skills.
    pub host_bridge: HostBridgeChoice,
    /// A command of the program that an ACP client on stdin and stdout may run in a terminal, as an
    /// authentication method.
    pub terminal_auth: Option<TerminalAuth>,
    /// Rules of the program itself. A call must pass them and every other policy.
    pub policy: ToolApprovalPolicy,
    /// Files with further rules, in TOML. While one is unusable, no tool runs.
    pub policy_files: Vec<PathBuf>,
    /// The directory of the user's own `policy.toml`; without one, there is no user policy.
    pub config_dir: Option<PathBuf>,
    /// The mode of a new session.
    pub mode: SessionMode,
    /// Whether commands run in a sandbox.
    pub sandbox: SandboxMode,
    /// The program that confines commands, if not this one: it calls
    /// [`dispatch_sandbox_helper`](crate::dispatch_sandbox_helper) first in `main`.
    pub sandbox_helper: Option<PathBuf>,
    /// More files and folders that no command in the sandbox sees, such as private keys. Absolute paths.
    pub hidden_paths: Vec<PathBuf>,
    /// How long a question about a tool call waits for an answer.
    pub ask_timeout: Duration,
    /// How long a host may take to answer any request that no person has to answer; without it, the defaults of
    /// [`HostDeadlines`].
    pub host_call_timeout: Option<Duration>,
    /// Where skills are searched besides the workspace; by default, nowhere.
    pub skills: SkillPlaces,
    /// How skills are chosen for a prompt.
    pub skill_matching: SkillMatching,
    /// Whether and how an agent searches tools when there are many.
    pub tool_search: ToolSearchOptions,
}

/// The default of [`ServeOptions::ask_timeout`].
pub(crate) const ASK_TIMEOUT: Duration = Duration::from_secs(30 * 60);

impl ServeOptions {
    /// Options with sessions in `state_dir`, the profile that each client supports, and a question before every
    /// change. A workspace's own `.harn/policy.toml` applies, and can only restrict.
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
            sessions_dir: None,
            directory: None,
            profile: ProfileChoice::Auto,
            host_bridge: HostBridgeChoice::Auto,
            terminal_auth: None,
            policy: ToolApprovalPolicy::default(),
            policy_files: Vec::new(),
            config_dir: None,
            mode: SessionMode::default(),
            sandbox: SandboxMode::default(),
            sandbox_helper: None,
            hidden_paths: Vec::new(),
            ask_timeout: ASK_TIMEOUT,
            host_call_timeout: None,
            skills: SkillPlaces::default(),
            skill_matching: SkillMatching::default(),
            tool_search: ToolSearchOptions::default(),
        }
    }

    /// Returns the working directory of sessions whose client names none, as an absolute path.
    pub(crate) fn work_dir(&self) -> Result<PathBuf> {
        match &self.directory {
            Some(dir) => std::path::absolute(dir).with_context(|| dir.display().to_string()),
            None => std::env::current_dir().context("cannot determine the current directory"),
        }
    }

    pub(crate) fn acp_config(&self) -> AcpConfig {
        AcpConfig {
            profile: self.profile,
            host_bridge: self.host_bridge,
            deadlines: self.deadlines(),
            ..AcpConfig::default()
        }
    }

    pub(crate) fn deadlines(&self) -> HostDeadlines {
        let chosen = self.host_call_timeout.map(HostDeadlines::all);
        chosen.unwrap_or_default()
    }
}

const HOST_CALL_TIMEOUT: &str = "HARN_HOST_CALL_TIMEOUT_SECS";

/// Reads how long a host may take to answer from `HARN_HOST_CALL_TIMEOUT_SECS`, a whole number of seconds.
/// Returns an error for any other value.
pub fn chosen_host_call_timeout() -> Result<Option<Duration>> {
    let chosen = read_env_var(HOST_CALL_TIMEOUT);
    chosen.as_deref().map(parse_whole_seconds).transpose()
}

fn parse_whole_seconds(text: &OsStr) -> Result<Duration> {
    // A `u32`, because the largest `u64` overflows clocks.
    let seconds = text.to_str().and_then(|text| text.parse::<u32>().ok());
    match seconds {
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds.into())),
        _ => bail!(
            "{HOST_CALL_TIMEOUT} is `{}`; it must be a whole number of seconds, from 1 to {}",
            text.to_string_lossy(),
            u32::MAX
        ),
    }
}

/// Returns the default directory of sessions: `$XDG_STATE_HOME/harn`, else `~/.local/state/harn`, on macOS
/// `~/Library/Application Support/harn`. Without `HOME`, `~` is the home directory in the user database.
pub fn default_state_dir() -> Result<PathBuf> {
    resolve_own_dir(read_env_var, home_dir(), "XDG_STATE_HOME", ".local/state").context(
        "no state directory: HOME is not an absolute path, or is not set and this user has \
         no home directory; set HOME or XDG_STATE_HOME, or give a directory with --state-dir",
    )
}

/// Returns the directory of the user's configuration: `$XDG_CONFIG_HOME/harn`, else `~/.config/harn`, on macOS
/// `~/Library/Application Support/harn`; none without a home directory.
pub fn default_config_dir() -> Option<PathBuf> {
    resolve_own_dir(read_env_var, home_dir(), "XDG_CONFIG_HOME", ".config")
}

/// Reads an environment variable. The rest of the project receives the values from here.
#[allow(
    clippy::disallowed_methods,
    reason = "everyone else is handed what it says"
)]
pub(crate) fn read_env_var(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the user's home directory: `HOME`, or without it the entry in the user database. Some editors start
/// agents with no variable but `PATH`.
pub(crate) fn home_dir() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

fn resolve_own_dir(
    env: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
    chosen: &str,
    at_home: &str,
) -> Option<PathBuf> {
    // A relative path would mean another directory in each working directory.
    let dir = |name| env(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = if let Some(chosen) = dir(chosen) {
        chosen
    } else if cfg!(target_os = "macos") {
        home?.join("Library/Application Support")
    } else {
        home?.join(Path::new(at_home))
    };
    Some(base.join("harn"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn resolve_state_dir(home: Option<&str>, vars: &[(&str, &str)]) -> Option<PathBuf> {
        let env = |name: &str| {
            let found = vars.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let home = home.map(PathBuf::from);
        resolve_own_dir(env, home, "XDG_STATE_HOME", ".local/state")
    }

    #[test]
    fn the_state_dir_follows_the_environment() {
        let usual = if cfg!(target_os = "macos") {
            "/home/ada/Library/Application Support/harn"
        } else {
            "/home/ada/.local/state/harn"
        };
        let home = Some("/home/ada");
        let state = |dir| [("XDG_STATE_HOME", dir)];
        assert_eq!(resolve_state_dir(home, &[]), Some(usual.into()));
        assert_eq!(
            resolve_state_dir(home, &state("/var/state")),
            Some("/var/state/harn".into())
        );
        assert_eq!(
            resolve_state_dir(home, &state("relative")),
            Some(usual.into())
        );
        assert_eq!(
            resolve_state_dir(None, &state("/var/state")),
            Some("/var/state/harn".into())
        );
        assert_eq!(resolve_state_dir(None, &[]), None);
    }

    #[test]
    fn chosen_timeout_applies_to_every_request_to_a_host() {
        let mut options = ServeOptions::new("/state");
        assert_eq!(options.deadlines(), HostDeadlines::default());
        options.host_call_timeout = Some(parse_whole_seconds("7".as_ref()).unwrap());
        let limit = Duration::from_secs(7);
        let usual = HostDeadlines::default();
        let all = HostDeadlines {
            call: limit,
            request: limit,
            list: usual.list,
            skill: limit,
        };
        assert_eq!(options.deadlines(), all);
    }

    #[test]
    fn a_timeout_is_a_positive_whole_number() {
        for wrong in ["", "0", "-1", "1.5", "10s", " 10", "4294967296"] {
            let error = parse_whole_seconds(wrong.as_ref()).unwrap_err().to_string();
            let told =
                format!("HARN_HOST_CALL_TIMEOUT_SECS is `{wrong}`; it must be a whole number");
            assert!(error.starts_with(&told), "{error}");
        }
    }
}
