//! `/run COMMAND`: asks for permission, runs the command and reports how it ended. The call shows the output.

use harn_runtime::{AgentError, TurnContext};
use harn_tools::CommandEnd;

use super::{
    files::separate_tool_failure,
    markdown::{code, shorten},
    toolbox,
};

/// Runs a command if the permission allows it.
pub(super) async fn run(cx: &TurnContext, command: &str) -> Result<(), AgentError> {
    let name = |command: &str| code(&shorten(command, 80));
    let ran = match separate_tool_failure(toolbox(cx).run_command(cx, command).await)? {
        Ok(ran) => ran,
        Err(reason) => {
            let name = name(command);
            return cx.say(format!("{name} was not run: {reason}.")).await;
        }
    };
    // The user who was asked may have replaced the command.
    let name = name(&ran.command);
    // A terminal shows the output of the command and not the notes behind it.
    let note = ran.sandbox_note.map(|note| format!("\n\n{note}"));
    cx.say(match ran.end {
        CommandEnd::Well(how) => format!("{name} succeeded ({how})."),
        CommandEnd::Badly(how) => format!("{name} failed: {how}.{}", note.unwrap_or_default()),
        CommandEnd::Broken(reason) => format!("{name} could not be run: {reason}."),
    })
    .await
}
