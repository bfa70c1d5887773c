//! The operations of a host that the agent may request with `host/call`: one table of their names, arguments
//! and results.

use crate::JsonSchema;
use harn_model::{
    ProcessExec, ProcessExit, SetDefaultShell, ShellCommand, ShellInvocation, ShellList,
    SystemShell,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{NoParams, answer_error};

macro_rules! process_operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal / $full:literal: $params:ty => $result:ty;)*) => {
        /// An operation of a host's capability `process`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
        #[schemars(rename = "ProcessOperation")]
        pub enum ProcessOperation {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl ProcessOperation {
            /// All operations, as `initialize` advertises them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the operation with this full name, which includes the capability.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($full => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the full name, with the capability.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $full,)*
                }
            }

            /// Returns the arguments as they are sent. The error describes what is wrong with them.
            pub fn prepare_args(self, args: &Value) -> Result<Value, String> {
                match self {
                    $(Self::$variant => normalize::<$params>(args),)*
                }
            }

            /// Checks the result of the operation. The error describes what is wrong with it.
            pub fn check_result(self, result: &Value) -> Result<(), String> {
                match self {
                    $(Self::$variant => read::<$result>(result).map(drop),)*
                }
            }
        }

        /// Every operation with its arguments and its result, for the schema.
        #[cfg(test)]
        #[derive(Serialize, JsonSchema)]
        #[schemars(deny_unknown_fields)]
        #[allow(non_snake_case, reason = "one member an operation")]
        pub(crate) struct ShellDiscovery {
            $(
                $(#[$doc])*
                #[serde(rename = $full)]
                $variant: super::tests::OperationExchange<$params, $result>,
            )*
        }
    };
}

process_operations! {
    /// Lists the host's shells.
    ListShells = "list_shells" / "process.list_shells": NoParams => ShellList;
    /// Returns the default shell.
    GetDefaultShell = "get_default_shell" / "process.get_default_shell": NoParams => Option<SystemShell>;
    /// Changes the default shell.
    SetDefaultShell = "set_default_shell" / "process.set_default_shell": SetDefaultShell => SystemShell;
    /// Returns how to run a command in a shell.
    ShellInvocation = "shell_invocation" / "process.shell_invocation": ShellCommand => ShellInvocation;
    /// Runs a command to its end.
    Exec = "exec" / "process.exec": ProcessExec => ProcessExit;
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    // serde also reads a struct from an array by position, where its members could fit by chance.
    if value.is_array() {
        return Err("expected an object".to_owned());
    }
    T::deserialize(value).map_err(|e| answer_error::describe_without_value(&e))
}

/// Deserializes and serializes the value, so that an accepted alias is not sent.
fn normalize<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value, String> {
    let read = read::<T>(value)?;
    serde_json::to_value(read).map_err(|e| answer_error::describe_without_value(&e))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_advertised_operation_is_found_by_its_full_name() {
        for operation in ProcessOperation::ALL {
            let name = serde_json::to_value(operation).unwrap();
            let full = format!("process.{}", name.as_str().unwrap());
            assert_eq!(ProcessOperation::from_name(&full), Some(*operation));
            assert_eq!(operation.name(), full);
        }
        assert_eq!(ProcessOperation::from_name("list_shells"), None);
        assert_eq!(ProcessOperation::from_name("process.reboot"), None);
    }

    #[test]
    fn arguments_and_results_must_match_their_types() {
        let set = ProcessOperation::SetDefaultShell;
        assert!(set.prepare_args(&json!({})).is_err());
        assert!(set.check_result(&json!({"id": "zsh"})).is_err());
        let get = ProcessOperation::GetDefaultShell;
        assert!(get.prepare_args(&json!({})).is_ok());
        assert!(get.check_result(&Value::Null).is_ok());
        let list = json!({"shells": [], "default_shell_id": null});
        assert!(ProcessOperation::ListShells.check_result(&list).is_ok());
    }

    #[test]
    fn accepted_alias_is_not_sent() {
        let set = |args: Value| {
            ProcessOperation::SetDefaultShell
                .prepare_args(&args)
                .unwrap()
        };
        let sent = json!({"shell_id": "zsh"});
        assert_eq!(set(json!({"id": "zsh"})), sent);
        assert_eq!(set(json!({"shell_id": "zsh"})), sent);
    }

    #[test]
    fn exec_accepts_a_command_line_or_a_list_of_words() {
        let args = |args: Value| ProcessOperation::Exec.prepare_args(&args);
        let line = json!({"command": "make all"});
        assert_eq!(args(line.clone()).unwrap(), line);
        let argv = json!({"command": ["make", "all"], "cwd": "/w", "timeout_ms": 500});
        assert_eq!(args(argv.clone()).unwrap(), argv);
        assert!(args(json!({"command": 7})).is_err());
        let result = |result: Value| ProcessOperation::Exec.check_result(&result);
        let exit = json!({"exit_code": null, "signal": "SIGKILL", "stdout": "", "stderr": "", "timed_out": true});
        assert!(result(exit).is_ok());
        assert!(result(json!({"exit_code": 0})).is_err());
    }

    #[test]
    fn error_message_omits_the_rejected_value() {
        let set = ProcessOperation::SetDefaultShell;
        let told = |args: Value| set.prepare_args(&args).unwrap_err();
        assert_eq!(told(json!({})), "missing field `shell_id`");
        assert_eq!(told(json!({"shell_id": 4711})), "expected a string");
        let secret = told(json!("hunter2, expected nothing"));
        assert!(!secret.contains("hunter2"), "{secret}");
        assert!(secret.starts_with("expected struct"), "{secret}");
    }
}
