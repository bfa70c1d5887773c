//! The shell of a command: the same one is judged, shown and run.

use std::sync::Arc;

use harn_model::{ErrorCategory, ShellPlatform};
use harn_tools::{LocalHost, ToolboxConfig, shells::ShellWorld};
use serde_json::json;

use crate::toolbox::support::{Rig, allow_with, assert_failed, shown_text};

/// A machine with bash and sh, whose user's shell is missing.
struct Machine;

impl ShellWorld for Machine {
    fn platform(&self) -> ShellPlatform {
        ShellPlatform::Linux
    }

    fn env(&self, name: &str) -> Option<String> {
        (name == "SHELL").then(|| "/opt/gone/zsh".to_owned())
    }

    fn passwd(&self) -> Option<String> {
        None
    }

    fn etc_shells(&self) -> Option<String> {
        None
    }

    fn is_file(&self, path: &str) -> bool {
        ["/bin/bash", "/bin/sh"].contains(&path)
    }
}

async fn rig() -> Rig {
    let config = ToolboxConfig {
        local: LocalHost::new().with_shells(Arc::new(Machine)),
        ..ToolboxConfig::default()
    };
    Rig::with(&[], config).await
}

const WHICH: &str = "echo \"in ${BASH_VERSION:+bash}.\"";

#[tokio::test]
async fn command_runs_in_the_shell_that_its_call_names() {
    let mut rig = rig().await;
    let call = json!({"command": WHICH, "shell": "bash"});
    let turn = rig.call_allowed("run_command", call.clone()).await;
    let (told, end) = turn.only_call();
    assert_eq!(
        told.raw_input,
        json!({"command": ["/bin/bash", "-c", WHICH]})
    );
    let title = told.title.as_deref().unwrap_or_default();
    assert!(title.starts_with("/bin/bash -c "), "{title}");
    assert_eq!(shown_text(end), "```\nin bash.\n```\n\nexit code 0\n");

    // The arguments of the answer replace those of the call: a line, in the shell in which lines run.
    let other = allow_with(Some(json!({"command": "echo other"})));
    let turn = rig.call_answered("run_command", call, other).await;
    assert_eq!(
        shown_text(turn.only_call().1),
        "```\nother\n```\n\nexit code 0\n"
    );
}

#[tokio::test]
async fn unusable_shell_fails_without_a_question() {
    let mut rig = rig().await;
    for (shell, words) in [
        ("fish", "unknown shell \"fish\"; known shells: "),
        ("zsh", "the shell \"zsh\" is not at /opt/gone/zsh"),
    ] {
        let call = json!({"command": "true", "shell": shell});
        let turn = rig.call("run_command", call).await;
        assert_failed(&turn, ErrorCategory::ToolError, words);
        assert!(turn.agent_text().contains(words), "{}", turn.agent_text());
    }
}

#[tokio::test]
async fn chosen_shell_applies_to_the_session() {
    let mut rig = rig().await;
    let call = json!({"command": WHICH});
    // No shell was chosen: bash may be the default, but is not used.
    let turn = rig.call_allowed("run_command", call.clone()).await;
    assert_eq!(turn.only_call().0.raw_input, call);
    rig.run_turn("shell bash").await;
    let turn = rig.call_allowed("run_command", call.clone()).await;
    assert!(shown_text(turn.only_call().1).contains("in bash."));
    // One form for one shell, so that rules match it.
    rig.run_turn("shell sh").await;
    let turn = rig.call_allowed("run_command", call.clone()).await;
    assert_eq!(turn.only_call().0.raw_input, call);
}
