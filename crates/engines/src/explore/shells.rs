//! `/shells`: lists the shells of the host or of this machine, or chooses one.

use harn_model::{ShellSource, SystemShell};
use harn_runtime::{AgentError, TurnContext};

use super::{markdown::code, toolbox};

/// Handles `/shells` and `/shells ID`.
pub(super) async fn answer(cx: &TurnContext, wanted: &str) -> Result<(), AgentError> {
    let toolbox = toolbox(cx);
    let shells = toolbox.shells();
    if !wanted.is_empty() {
        return match shells.set_default(cx, wanted).await {
            Ok(shell) => {
                cx.say(format!(
                    "{} is now the shell of this session.",
                    code(&shell.id)
                ))
                .await
            }
            Err(error) => cx.say(format!("Nothing was changed: {error}.")).await,
        };
    }
    let list = shells.list(cx).await;
    if list.shells.is_empty() {
        return cx.say("There are no shells here.").await;
    }
    let mut out = "Shells (`/shells ID` chooses one):\n\n".to_owned();
    for shell in &list.shells {
        let chosen = list.default_shell_id.as_ref() == Some(&shell.id);
        out.push_str(&item(shell, chosen));
    }
    cx.say(out).await
}

/// Formats one shell as one line.
fn item(shell: &SystemShell, chosen: bool) -> String {
    let found = match shell.source {
        ShellSource::Configured => "configured",
        ShellSource::Env => "from the environment",
        ShellSource::Login => "your login shell",
        ShellSource::EtcShells => "in /etc/shells",
        ShellSource::Fallback => "found",
        ShellSource::Host => "of the host",
    };
    let missing = if shell.available { "" } else { ", missing" };
    let chosen = if chosen { ", in use" } else { "" };
    format!(
        "- {} ({found}{missing}{chosen}): {}\n",
        code(&shell.id),
        code(&shell.path)
    )
}
