//! What a command is run as: a line for `/bin/sh`, or the words of another shell. What is declared, judged, shown
//! and run is the same.

use harn_model::ShellCommand;
use harn_runtime::{CommandSpec, TurnContext};
use serde::{Deserialize, Serialize};

use crate::shells::{SessionShells, ShellError};

/// The argument `command`, as a model gives it or as its call declares it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum CommandArgument {
    /// For `/bin/sh -c`.
    Line(String),
    /// The program and its arguments.
    Words(Vec<String>),
}

impl CommandArgument {
    /// What a line is in a shell. Nobody was asked yet, so one that cannot be used fails nothing else.
    pub(super) async fn within(
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
        // A host that gives an id alone has found the shell.
        if let Some(shell) = found.shell.described().filter(|shell| !shell.available) {
            let (id, path) = (shell.id.clone(), shell.path.clone());
            return Err(ShellError::Unavailable { id, path });
        }
        let mut words = vec![found.program];
        words.extend(found.args);
        Ok(match &words[..] {
            // Has one name only, so that rules and grants for it hold.
            [program, flag, line] if program == "/bin/sh" && flag == "-c" => {
                Self::Line(line.clone())
            }
            _ => Self::Words(words),
        })
    }

    /// What to run; none where there are no words.
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
                })
            }
        }
    }
}
