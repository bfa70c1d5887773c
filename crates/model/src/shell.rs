//! Shells of a host or this machine, and how to run a command in one.

use std::collections::BTreeMap;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shell of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Shell")]
pub struct SystemShell {
    /// Its file name in lower case, without `.exe`.
    pub id: String,
    /// Its name, for people.
    pub label: String,
    /// Its path.
    pub path: String,
    /// Its platform.
    pub platform: ShellPlatform,
    /// Whether it is installed.
    pub available: bool,
    /// Whether it can be a login shell.
    pub supports_login: bool,
    /// Whether it can be interactive.
    pub supports_interactive: bool,
    /// The arguments before a command.
    pub default_args: Vec<String>,
    /// The arguments before a command in a login shell.
    pub login_args: Vec<String>,
    /// How it was found.
    pub source: ShellSource,
}

/// The platform of a shell.
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
    /// It is in a usual location of shells.
    Fallback,
    /// The host offers it.
    Host,
}

/// The response to `process.list_shells`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ShellList {
    /// The shells that were found.
    pub shells: Vec<SystemShell>,
    /// The id of the default shell.
    pub default_shell_id: Option<String>,
}

/// The params of `process.set_default_shell`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SetDefaultShell {
    /// The new default shell; `id` is accepted as an alias.
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
    /// The shell itself, with the fields that are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<GivenShell>,
    /// The command to run.
    pub command: String,
    /// Whether to use a login shell.
    #[serde(default)]
    pub login: bool,
    /// Whether to use an interactive shell.
    #[serde(default)]
    pub interactive: bool,
}

/// A shell in a request: the id of a listed one, or its path with the fields that are known.
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
    /// Its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<ShellPlatform>,
    /// Whether it is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<bool>,
    /// Whether it can be a login shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_login: Option<bool>,
    /// Whether it can be interactive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_interactive: Option<bool>,
    /// The arguments before a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_args: Option<Vec<String>>,
    /// The arguments before a command in a login shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_args: Option<Vec<String>>,
    /// How it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ShellSource>,
}

/// The response to `process.shell_invocation`: the program to execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ShellInvocation {
    /// The program.
    pub program: String,
    /// Its arguments, including the command.
    pub args: Vec<String>,
    /// The index of the command in `args`.
    pub command_arg_index: u64,
    /// The shell that the invocation is for.
    pub shell: InvocationShell,
}

/// The shell of an invocation: the whole description, or only its id if the host sends no more.
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
    /// Returns the description, if there is one.
    pub fn description(&self) -> Option<&SystemShell> {
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
    /// The command to run.
    pub command: ExecCommand,
    /// The working directory, an absolute path; the host chooses one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment variables in addition to the host's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// After how many milliseconds the host ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExecCommand {
    /// A line for the host's default shell.
    Line(String),
    /// A program and its arguments, without a shell.
    Argv(#[schemars(length(min = 1))] Vec<String>),
}

/// The response to `process.exec`: the exit status and the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ProcessExit {
    /// Its exit code; null if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it, or null.
    pub signal: Option<String>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Whether part of the output is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Whether the host ended it after its timeout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}
