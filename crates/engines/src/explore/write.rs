//! `/write PATH TEXT`: shows the change, asks for permission and writes the approved text.

use harn_runtime::{AgentError, TurnContext};
use harn_tools::display_path;

use super::{files::separate_tool_failure, markdown::code, toolbox};

/// Writes a file if the permission allows it.
pub(super) async fn write(cx: &TurnContext, path: &str, text: &str) -> Result<(), AgentError> {
    match separate_tool_failure(toolbox(cx).write_file(cx, path, text).await)? {
        Ok(target) => {
            let shown = display_path(cx.cwd(), &target);
            cx.say(format!("Wrote {}.", code(&shown))).await
        }
        Err(reason) => cx.say(format!("Not written: {reason}.")).await,
    }
}
