//! Operations of a host that the agent may ask for with `host/call`: the one table of their names, of what
//! they take and of what they give.

use harn_model::{SetDefaultShell, Shell, ShellCommand, ShellInvocation, ShellList};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The request that carries an operation.
pub const METHOD: &str = "host/call";

macro_rules! process_operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal / $full:literal: $params:ty => $result:ty;)*) => {
        /// An operation of a host, of its capability `process`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
        #[schemars(rename = "ProcessOperation")]
        pub enum Operation {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Operation {
            /// All of them, advertised at `initialize`.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The operation of this name, capability and all.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($full => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Whether these are arguments for it; the error says what is wrong with them.
            pub fn check_args(self, args: &Value) -> Result<(), String> {
                match self {
                    $(Self::$variant => fits::<$params>(args),)*
                }
            }

            /// Whether this is a result of it; the error says what is wrong with it.
            pub fn check_result(self, result: &Value) -> Result<(), String> {
                match self {
                    $(Self::$variant => fits::<$result>(result),)*
                }
            }
        }

        /// Every operation with what it takes and what it gives, for the schema.
        #[derive(Serialize, JsonSchema)]
        #[schemars(deny_unknown_fields)]
        #[allow(non_snake_case, reason = "one member an operation")]
        pub(crate) struct ShellDiscovery {
            $(
                $(#[$doc])*
                #[serde(rename = $full)]
                $variant: Exchange<$params, $result>,
            )*
        }
    };
}

process_operations! {
    /// The shells the host has.
    ListShells = "list_shells" / "process.list_shells": NoArgs => ShellList;
    /// The one to use.
    GetDefaultShell = "get_default_shell" / "process.get_default_shell": NoArgs => Option<Shell>;
    /// Use another from now on.
    SetDefaultShell = "set_default_shell" / "process.set_default_shell": SetDefaultShell => Shell;
    /// How to run a command in a shell.
    ShellInvocation = "shell_invocation" / "process.shell_invocation": ShellCommand => ShellInvocation;
}

/// The params of [`METHOD`].
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostCall<'a> {
    pub(crate) session_id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) args: Value,
}

/// No arguments.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct NoArgs {}

/// What an operation takes and gives.
#[derive(Serialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub(crate) struct Exchange<P, R> {
    /// What `args` holds.
    args: P,
    /// What the host answers.
    result: R,
}

fn fits<T: DeserializeOwned>(value: &Value) -> Result<(), String> {
    let fits = T::deserialize(value).map(drop);
    fits.map_err(|e| without_value(&e.to_string()))
}

/// What was wanted, from words that also repeat the value: it may be a secret, and an agent may show them.
fn without_value(message: &str) -> String {
    match message.rsplit_once(", expected ") {
        Some((_, wanted)) => format!("expected {wanted}"),
        // The name is one of ours.
        None if message.starts_with("missing field") => message.to_owned(),
        None => "of another shape than it should be".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_advertised_operation_has_its_name() {
        for operation in Operation::ALL {
            let name = serde_json::to_value(operation).unwrap();
            let full = format!("process.{}", name.as_str().unwrap());
            assert_eq!(Operation::named(&full), Some(*operation));
        }
        assert_eq!(Operation::named("list_shells"), None);
        assert_eq!(Operation::named("process.exec"), None);
    }

    #[test]
    fn arguments_and_results_are_held_to_their_types() {
        let set = Operation::SetDefaultShell;
        assert!(set.check_args(&json!({"shell_id": "zsh"})).is_ok());
        assert!(set.check_args(&json!({})).is_err());
        assert!(set.check_result(&json!({"id": "zsh"})).is_err());
        let get = Operation::GetDefaultShell;
        assert!(get.check_args(&json!({})).is_ok());
        assert!(get.check_result(&Value::Null).is_ok());
        let list = json!({"shells": [], "default_shell_id": null});
        assert!(Operation::ListShells.check_result(&list).is_ok());
    }

    #[test]
    fn a_misfit_is_told_without_its_value() {
        let set = Operation::SetDefaultShell;
        let told = |args: Value| set.check_args(&args).unwrap_err();
        assert_eq!(told(json!({})), "missing field `shell_id`");
        assert_eq!(told(json!({"shell_id": 4711})), "expected a string");
        let secret = told(json!("hunter2, expected nothing"));
        assert!(!secret.contains("hunter2"), "{secret}");
        assert!(secret.starts_with("expected struct"), "{secret}");
    }
}
