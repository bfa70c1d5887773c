//! `/run COMMAND`: asks, runs it, and says how it ended. Its call shows what it prints.

use harn_runtime::{AgentError, TurnContext};
use harn_tools::CommandEnd;

use super::{
    files::told,
    markdown::{code, shorten},
    toolbox,
};

/// Runs a command, if it may.
pub(super) async fn run(cx: &TurnContext, command: &str) -> Result<(), AgentError> {
    let name = |command: &str| code(&shorten(command, 80));
    let ran = match told(toolbox(cx).run_command(cx, command).await)? {
        Ok(ran) => ran,
        Err(reason) => {
            let name = name(command);
            return cx.say(format!("{name} was not run: {reason}.")).await;
        }
    };
    // Whoever was asked may have put another command in its place.
    let name = name(&ran.command);
    cx.say(match ran.end {
        CommandEnd::Well(how) => format!("{name} ended well ({how})."),
        CommandEnd::Badly(how) => format!("{name} failed: {how}."),
        CommandEnd::Broken(reason) => format!("{name} could not be run: {reason}."),
    })
    .await
}
