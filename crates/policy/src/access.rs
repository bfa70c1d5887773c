//! The access that a command requests beyond its confinement: a call states it in its arguments, so that it is
//! shown, judged and remembered with the command.

use serde_json::Value;

/// What a command requests beyond its confinement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandAccess {
    /// It reaches the network: the argument `network` is true.
    pub network: bool,
    /// It runs outside the sandbox: the argument `sandbox` is false.
    pub outside: bool,
}

impl CommandAccess {
    /// Returns the access that the arguments of a command state. A value that is no boolean counts as a request.
    pub fn from_arguments(arguments: &Value) -> Self {
        let stated = |name: &str, usual: bool| match arguments.get(name) {
            None | Some(Value::Null) => false,
            Some(value) => *value != Value::Bool(usual),
        };
        Self {
            network: stated("network", false),
            outside: stated("sandbox", true),
        }
    }

    /// Whether it is more than every command has.
    pub fn is_more(self) -> bool {
        self.network || self.outside
    }

    /// Returns the access in words that follow a command, if there is any.
    pub fn describe(self) -> Option<&'static str> {
        match (self.outside, self.network) {
            (true, _) => Some("outside the sandbox"),
            (false, true) => Some("with network access"),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn anything_but_the_usual_value_requests_more() {
        let access = |network, outside| CommandAccess { network, outside };
        let table = [
            (json!({"command": "ls"}), access(false, false)),
            (
                json!({"network": false, "sandbox": true}),
                access(false, false),
            ),
            (
                json!({"network": null, "sandbox": null}),
                access(false, false),
            ),
            (json!({"network": true}), access(true, false)),
            (json!({"sandbox": false}), access(false, true)),
            (json!({"network": "no", "sandbox": 0}), access(true, true)),
            (json!(["network"]), access(false, false)),
        ];
        for (arguments, expected) in table {
            assert_eq!(
                CommandAccess::from_arguments(&arguments),
                expected,
                "{arguments}"
            );
        }
    }
}
