//! Shells a host or this machine has, and how to run a command in one.

use std::collections::BTreeMap;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shell that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Shell")]
pub struct SystemShell {
    /// Its file name in lower case, without `.exe`.
    pub id: String,
    /// Its name, for people.
    pub label: String,
    /// Where it is.
    pub path: String,
    /// Which system it is for.
    pub platform: ShellPlatform,
    /// Whether it is there.
    pub available: bool,
    /// Whether it can be a login shell.
    pub supports_login: bool,
    /// Whether it can be interactive.
    pub supports_interactive: bool,
    /// What comes before a command.
    pub default_args: Vec<String>,
    /// The same for a login shell.
    pub login_args: Vec<String>,
    /// How it was found.
    pub source: ShellSource,
}

/// Which system a shell is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShellPlatform {
    /// macOS.
    Darwin,
    /// Linux.
    Linux,
    /// Windows.
    Windows,
}

/// How a shell was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShellSource {
    /// It was configured.
    Configured,
    /// The environment names it.
    Env,
    /// It is the user's login shell.
    Login,
    /// `/etc/shells` lists it.
    EtcShells,
    /// It is where shells usually are.
    Fallback,
    /// The host offers it.
    Host,
}

/// The answer to `process.list_shells`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ShellList {
    /// What was found.
    pub shells: Vec<SystemShell>,
    /// Which one to use.
    pub default_shell_id: Option<String>,
}

/// The params of `process.set_default_shell`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SetDefaultShell {
    /// The shell to use from now on; read as `id` too.
    #[serde(alias = "id")]
    pub shell_id: String,
}

/// The params of `process.shell_invocation`: a shell by id, or as an object, and a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ShellCommand {
    /// A shell that was listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell_id: Option<String>,
    /// Or the shell itself, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<GivenShell>,
    /// What to run.
    pub command: String,
    /// In a login shell.
    #[serde(default)]
    pub login: bool,
    /// In an interactive one.
    #[serde(default)]
    pub interactive: bool,
}

/// A shell as somebody names it: by the id of one that was listed, or by its path and what else they know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct GivenShell {
    /// Its file name in lower case, without `.exe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Which system it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<ShellPlatform>,
    /// Whether it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<bool>,
    /// Whether it can be a login shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_login: Option<bool>,
    /// Whether it can be interactive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_interactive: Option<bool>,
    /// What comes before a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_args: Option<Vec<String>>,
    /// The same for a login shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_args: Option<Vec<String>>,
    /// How it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ShellSource>,
}

/// The answer to `process.shell_invocation`: what to execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ShellInvocation {
    /// The program.
    pub program: String,
    /// Its arguments, the command among them.
    pub args: Vec<String>,
    /// Which of them is the command.
    pub command_arg_index: u64,
    /// The shell it was made for.
    pub shell: InvocationShell,
}

/// The shell of an invocation: the whole description, or its id alone where a host leaves it at that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "invalid shell, expected a shell, or an object with its `id`"
)]
#[schemars(deny_unknown_fields)]
pub enum InvocationShell {
    /// The whole description.
    Described(SystemShell),
    /// The id of a shell that was listed.
    Named {
        /// Its file name in lower case, without `.exe`.
        id: String,
    },
}

impl InvocationShell {
    /// The description, where there is one.
    #[must_use]
    pub fn described(&self) -> Option<&SystemShell> {
        match self {
            Self::Described(shell) => Some(shell),
            Self::Named { .. } => None,
        }
    }
}

/// The params of `process.exec`: a command that a host runs to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ProcessExec {
    /// What to run.
    pub command: ExecCommand,
    /// Where, an absolute path; where the host likes, if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables it gets beside the host's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// After how many milliseconds the host ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExecCommand {
    /// A line for the host's default shell.
    Line(String),
    /// A program and its arguments, without a shell.
    Argv(#[schemars(length(min = 1))] Vec<String>),
}

/// The answer to `process.exec`: how the command ended and what it printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ProcessExit {
    /// Its exit code; null where a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it, or null.
    pub signal: Option<String>,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
    /// Whether part of what it printed is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Whether it was ended because its time was up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}
