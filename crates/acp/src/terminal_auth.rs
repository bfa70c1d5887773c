//! The authentication method of ACP's type `terminal`: a command of the agent's program that a client runs in a
//! terminal of its own. No session needs it; registries of agents and some clients require such a method.

use agent_client_protocol::v1::schema::{AuthMethod, AuthMethodTerminal, ClientCapabilities, Meta};
use serde_json::{Value, json};

/// The capability of clients older than ACP's own, and the member of a method that they read.
const TERMINAL_AUTH: &str = "terminal-auth";

/// A command of the agent's program that a client may run in a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalAuth {
    /// The id of the authentication method.
    pub id: &'static str,
    /// The name, for people.
    pub name: &'static str,
    /// The description, for people.
    pub description: &'static str,
    /// The arguments that a client appends to those that it starts the agent with.
    pub args: Vec<String>,
    /// The absolute path of the agent's program.
    pub program: String,
    /// The arguments that the agent was started with.
    pub started_with: Vec<String>,
}

/// How a client can run such a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TerminalAuthSupport {
    /// `auth.terminal`: it starts the agent again, with further arguments.
    standard: bool,
    /// `_meta["terminal-auth"]`: it runs the command that the method's `_meta` names.
    by_meta: bool,
}

impl TerminalAuthSupport {
    /// Reads the declarations of a client.
    pub(crate) fn from_capabilities(client: &ClientCapabilities) -> Self {
        let by_meta = client.meta.as_ref().and_then(|it| it.get(TERMINAL_AUTH));
        Self {
            standard: client.auth.terminal,
            by_meta: by_meta.is_some_and(|it| it == &Value::Bool(true) || it.is_object()),
        }
    }

    /// Returns the method for this client; none if it cannot run one, or the agent has none.
    pub(crate) fn offered_method(self, method: Option<&TerminalAuth>) -> Option<&TerminalAuth> {
        method.filter(|_| self.standard || self.by_meta)
    }

    /// Returns the method in the form of the `initialize` answer.
    pub(crate) fn auth_methods(self, method: Option<&TerminalAuth>) -> Vec<AuthMethod> {
        let listed = self.offered_method(method).map(|method| {
            let meta = self.by_meta.then(|| method.command_for_meta());
            let terminal = AuthMethodTerminal::new(method.id, method.name)
                .description(method.description.to_owned())
                .args(method.args.clone())
                .meta(meta);
            AuthMethod::Terminal(terminal)
        });
        listed.into_iter().collect()
    }
}

impl TerminalAuth {
    fn command_for_meta(&self) -> Meta {
        let args: Vec<_> = self.started_with.iter().chain(&self.args).collect();
        let command = json!({"command": self.program, "args": args, "label": self.name});
        Meta::from_iter([(TERMINAL_AUTH.to_owned(), command)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_methods(capabilities: Value, method: Option<&TerminalAuth>) -> Value {
        let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap();
        let support = TerminalAuthSupport::from_capabilities(&capabilities);
        serde_json::to_value(support.auth_methods(method)).unwrap()
    }

    #[test]
    fn a_client_gets_the_method_in_the_form_it_declared() {
        let method = TerminalAuth {
            id: "doctor",
            name: "Check",
            description: "Checks the installation",
            args: vec!["--doctor".to_owned()],
            program: "/bin/agent".to_owned(),
            started_with: vec!["acp".to_owned()],
        };
        let standard = json!({
            "type": "terminal", "id": "doctor", "name": "Check", "description": "Checks the installation",
            "args": ["--doctor"],
        });
        let mut by_meta = standard.clone();
        by_meta["_meta"] = json!({
            "terminal-auth": {"command": "/bin/agent", "args": ["acp", "--doctor"], "label": "Check"},
        });
        let with_meta = |value: Value| json!({"_meta": {"terminal-auth": value}});
        for (declared, expected) in [
            (json!({"auth": {"terminal": true}}), json!([standard])),
            (with_meta(json!(true)), json!([by_meta])),
            (with_meta(json!({})), json!([by_meta])),
            (with_meta(json!(false)), json!([])),
            (json!({"auth": {"terminal": false}}), json!([])),
            // This capability is about terminals for the agent's commands.
            (json!({"terminal": true}), json!([])),
        ] {
            assert_eq!(
                list_methods(declared.clone(), Some(&method)),
                expected,
                "{declared}"
            );
            assert_eq!(list_methods(declared, None), json!([]));
        }
    }
}
