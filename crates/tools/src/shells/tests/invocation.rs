//! Tests of the invocation of a command.

use expect_test::{Expect, expect};
use harn_model::{GivenShell, ShellCommand, ShellPlatform, ShellSource};
use serde_json::{Value, json};

use super::FakeShellWorld;
use crate::shells::{ShellError, discover, invocation};

/// Sends a command as a bridge does, on a machine with zsh, PowerShell and cmd.
fn ask(command: Value) -> Result<harn_model::ShellInvocation, ShellError> {
    let world = FakeShellWorld {
        etc_shells: Some("/bin/zsh\n/opt/pwsh\n/opt/cmd\n"),
        ..FakeShellWorld::new(ShellPlatform::Linux)
    };
    let world = world.files(&["/bin/zsh", "/opt/pwsh", "/opt/xsh"]);
    let command: ShellCommand = serde_json::from_value(command).unwrap();
    invocation(&world, &discover(&world), &command)
}

fn check(command: Value, expected: Expect) {
    let made = ask(command).unwrap();
    let index = usize::try_from(made.command_arg_index).unwrap();
    assert_eq!(made.args[index], "ls");
    assert_eq!(made.program, made.shell.description().unwrap().path);
    let args = serde_json::to_string(&made.args).unwrap();
    expected.assert_eq(&format!("{} {args} {index}", made.program));
}

#[test]
fn login_and_interactive_apply_to_posix_shells_only() {
    let of = |id: &str, login: bool, interactive: bool| json!({"shell_id": id, "command": "ls", "login": login, "interactive": interactive});
    check(
        of("zsh", false, false),
        expect![[r#"/bin/zsh ["-c","ls"] 1"#]],
    );
    check(
        of("zsh", true, false),
        expect![[r#"/bin/zsh ["-l","-c","ls"] 2"#]],
    );
    check(
        of("zsh", false, true),
        expect![[r#"/bin/zsh ["-i","-c","ls"] 2"#]],
    );
    check(
        of("zsh", true, true),
        expect![[r#"/bin/zsh ["-i","-l","-c","ls"] 3"#]],
    );
    check(
        of("pwsh", true, true),
        expect![[r#"/opt/pwsh ["-NoProfile","-Command","ls"] 2"#]],
    );
    check(
        of("cmd", true, true),
        expect![[r#"/opt/cmd ["/C","ls"] 1"#]],
    );
}

#[test]
fn a_shell_with_a_path_need_not_be_listed() {
    let made = ask(json!({"shell": {"path": "/opt/xsh"}, "command": "ls"})).unwrap();
    let shell = made.shell.description().unwrap().clone();
    assert_eq!(
        (&*shell.id, &*shell.label, shell.available),
        ("xsh", "xsh", true)
    );
    assert_eq!(
        (shell.platform, shell.source),
        (ShellPlatform::Linux, ShellSource::Host)
    );
    assert_eq!(
        (shell.default_args, shell.login_args),
        (
            vec!["-c".to_owned()],
            vec!["-l".to_owned(), "-c".to_owned()]
        )
    );
    // The id, not the path, determines the missing properties.
    let given = json!({"shell": {"id": "pwsh", "path": "/srv/ps"}, "command": "ls", "login": true});
    check(
        given,
        expect![[r#"/srv/ps ["-NoProfile","-Command","ls"] 2"#]],
    );
    let given = json!({"id": "xsh", "path": "/srv/x", "default_args": ["-i", "--run"], "supports_login": false});
    let command = json!({"shell": given, "command": "ls", "login": true, "interactive": true});
    check(command, expect![[r#"/srv/x ["-i","--run","ls"] 2"#]]);
    // The object takes precedence over the id.
    let both = json!({"shell": {"path": "/opt/xsh"}, "shell_id": "zsh", "command": "ls"});
    check(both, expect![[r#"/opt/xsh ["-c","ls"] 1"#]]);
}

#[test]
fn a_shell_with_only_an_id_is_looked_up() {
    let given = json!({"shell": {"id": "zsh", "label": "mine"}, "command": "ls"});
    check(given, expect![[r#"/bin/zsh ["-c","ls"] 1"#]]);
    let refused = ask(json!({"shell": {"id": "ksh"}, "command": "ls"})).unwrap_err();
    expect![[r#"unknown shell "ksh"; known shells: zsh, pwsh, cmd, bash, sh"#]]
        .assert_eq(&refused.to_string());
}

#[test]
fn a_command_must_name_a_shell() {
    for command in [
        json!({"command": "ls"}),
        json!({"command": "ls", "shell": {}}),
        json!({"command": "ls", "shell": {"label": "Z", "path": " "}}),
        json!({"command": "ls", "shell": {"path": "/"}}),
    ] {
        assert_eq!(ask(command), Err(ShellError::Unnamed));
    }
}

#[test]
fn unknown_properties_of_a_shell_are_not_sent() {
    let given = GivenShell {
        path: Some("/opt/xsh".to_owned()),
        ..GivenShell::default()
    };
    let sent = serde_json::to_value(&given).unwrap();
    assert_eq!(sent, json!({"path": "/opt/xsh"}));
}
