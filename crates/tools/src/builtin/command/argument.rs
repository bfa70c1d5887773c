//! The form in which a command runs: a line for `/bin/sh`, or the words of another shell. The declared, judged,
//! shown and executed command are the same.

use harn_model::ShellCommand;
use harn_runtime::{CommandSpec, TurnContext};
use serde::{Deserialize, Serialize};

use crate::shells::{SessionShells, ShellError};

/// The argument `command`, from a model or from a declared call.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum CommandArgument {
    /// A line for `/bin/sh -c`.
    Line(String),
    /// The program and its arguments.
    Words(Vec<String>),
}

impl CommandArgument {
    /// Expands a line for a shell. This runs before the permission request, so an unusable shell causes no other
    /// failure.
    pub(super) async fn expand_line(
        cx: &TurnContext,
        shells: &SessionShells,
        shell: String,
        line: &str,
    ) -> Result<Self, ShellError> {
        let command = ShellCommand {
            shell_id: Some(shell),
            shell: None,
            command: line.to_owned(),
            login: false,
            interactive: false,
        };
        let found = shells.invocation(cx, &command).await?;
        // A host that returns only an id has found the shell.
        if let Some(shell) = found.shell.description().filter(|shell| !shell.available) {
            let (id, path) = (shell.id.clone(), shell.path.clone());
            return Err(ShellError::Unavailable { id, path });
        }
        let mut words = vec![found.program];
        words.extend(found.args);
        Ok(match &words[..] {
            // Such a command has one form only, so that its rules and grants apply.
            [program, flag, line] if program == "/bin/sh" && flag == "-c" => {
                Self::Line(line.clone())
            }
            _ => Self::Words(words),
        })
    }

    /// Returns the command to run, or `None` if it has no words.
    pub(super) fn spec(&self, cx: &TurnContext, output_limit: usize) -> Option<CommandSpec> {
        let cwd = cx.cwd();
        match self {
            Self::Line(line) => Some(CommandSpec::shell(line, cwd, output_limit)),
            Self::Words(words) => {
                let (program, args) = words.split_first()?;
                Some(CommandSpec {
                    program: program.clone(),
                    args: args.to_vec(),
                    cwd: cwd.to_owned(),
                    output_limit,
                    confinement: None,
                })
            }
        }
    }
}
