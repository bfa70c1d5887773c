//! Shells inside a turn: the host's, this machine's, and the chosen one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use harn_model::{
    AgentEvent, GivenShell, HostCapabilities, SessionId, ShellCommand, ShellPlatform, ShellSource,
};
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostDeadlines, HostError, HostOffers, HostPort, NoHost,
    RootedPath,
};
use harn_tools::shells::{LocalShells, SessionShells, ShellError, ShellWorld};
use serde_json::{Value, json};

use crate::session_tools::support::{run_turn, run_turn_under_rules};

/// A machine with bash and sh, whose zsh is missing.
struct Machine;

impl ShellWorld for Machine {
    fn platform(&self) -> ShellPlatform {
        ShellPlatform::Linux
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn passwd(&self) -> Option<String> {
        None
    }

    fn etc_shells(&self) -> Option<String> {
        None
    }

    fn is_file(&self, path: &str) -> bool {
        path != "/bin/zsh"
    }
}

/// A host that has some operations, of which some fail.
#[derive(Default)]
struct Lender {
    has: &'static [&'static str],
    fails: &'static [&'static str],
    mute: bool,
    asked: Mutex<Vec<String>>,
}

impl Lender {
    fn note(&self, what: &str) {
        self.asked.lock().unwrap().push(what.to_owned());
    }

    fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn shell_json(id: &str, available: bool) -> Value {
    json!({
        "id": id, "label": id, "path": format!("/host/{id}"), "platform": "linux", "available": available,
        "supports_login": true, "supports_interactive": true, "default_args": ["-c"], "login_args": ["-l", "-c"],
        "source": "host",
    })
}

#[async_trait]
impl HostPort for Lender {
    fn offers(&self) -> HostOffers {
        HostOffers {
            tools: true,
            ..HostOffers::default()
        }
    }

    async fn read_text(&self, _: &SessionId, _: &RootedPath) -> Result<String, HostError> {
        Err(HostError::Unsupported("reading files"))
    }

    async fn write_text(&self, _: &SessionId, _: &RootedPath, _: &str) -> Result<(), HostError> {
        Err(HostError::Unsupported("writing files"))
    }

    async fn run(
        &self,
        _: &SessionId,
        _: CommandSpec,
        _: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        Err(HostError::Unsupported("running commands"))
    }

    async fn call_tool(&self, _: &SessionId, _: &str, _: Value) -> Result<Value, HostError> {
        Err(HostError::Unsupported("tools"))
    }

    async fn capabilities(&self, _: &SessionId) -> Result<HostCapabilities, HostError> {
        self.note("capabilities");
        if self.mute {
            return Err(HostError::TimedOut("host/capabilities"));
        }
        let operations = self.has.iter().map(|name| (*name).to_owned()).collect();
        Ok(HostCapabilities(BTreeMap::from([(
            "process".to_owned(),
            operations,
        )])))
    }

    async fn host_call(&self, _: &SessionId, op: &str, args: Value) -> Result<Value, HostError> {
        let name = op.strip_prefix("process.").unwrap();
        self.note(name);
        if self.fails.contains(&name) {
            return Err(HostError::Host("it broke".to_owned()));
        }
        Ok(match name {
            "list_shells" => json!({
                "shells": [shell_json("fish", true), shell_json("zsh", true), shell_json("ksh", false)],
                "default_shell_id": "zsh",
            }),
            "get_default_shell" => shell_json("fish", true),
            "set_default_shell" => shell_json(args["shell_id"].as_str().unwrap(), true),
            "shell_invocation" => json!({
                "program": "/host/made", "args": ["-c", args["command"]], "command_arg_index": 1,
                "shell": shell_json("zsh", true),
            }),
            other => panic!("{other} was not offered"),
        })
    }
}

const ALL: &[&str] = &[
    "list_shells",
    "get_default_shell",
    "set_default_shell",
    "shell_invocation",
];

fn session_shells() -> SessionShells {
    let local = LocalShells::new(Arc::new(Machine));
    SessionShells::new(local, SessionId::new("s"), HostDeadlines::default())
}

fn ls_command(id: &str) -> ShellCommand {
    ShellCommand {
        shell_id: Some(id.to_owned()),
        shell: None,
        command: "ls".to_owned(),
        login: false,
        interactive: false,
    }
}

/// Returns the calls of a turn, and whether each was asked about.
fn calls(events: &[AgentEvent]) -> Vec<(&str, bool)> {
    let mut calls = Vec::new();
    for event in events {
        match event {
            AgentEvent::ToolCall(call) => calls.push((&*call.tool_name, false)),
            AgentEvent::PermissionAsked(_) => calls.last_mut().unwrap().1 = true,
            _ => {}
        }
    }
    calls
}

#[tokio::test]
async fn shells_of_this_machine_are_used_without_a_host() {
    let events = run_turn(Arc::new(NoHost), false, |cx| async move {
        let shells = session_shells();
        let list = shells.list(&cx).await;
        let ids: Vec<_> = list.shells.iter().map(|shell| &*shell.id).collect();
        assert_eq!(ids, ["zsh", "bash", "sh"]);
        assert_eq!(list.default_shell_id.as_deref(), Some("bash"));
        assert_eq!(shells.default_shell(&cx).await.unwrap().id, "bash");

        let refused = shells.set_default(&cx, "fish").await.unwrap_err();
        assert!(matches!(refused, ShellError::Unknown { .. }), "{refused}");
        let refused = shells.set_default(&cx, "zsh").await.unwrap_err();
        assert!(
            matches!(refused, ShellError::Unavailable { .. }),
            "{refused}"
        );
        assert_eq!(shells.default_shell(&cx).await.unwrap().id, "bash");

        assert_eq!(shells.set_default(&cx, "sh").await.unwrap().path, "/bin/sh");
        assert_eq!(shells.default_shell(&cx).await.unwrap().id, "sh");
        assert_eq!(
            shells.list(&cx).await.default_shell_id.as_deref(),
            Some("sh")
        );
        let made = shells.invocation(&cx, &ls_command("bash")).await.unwrap();
        assert_eq!(
            (&*made.program, &*made.args.join(" ")),
            ("/bin/bash", "-c ls")
        );
        Ok(())
    })
    .await;
    assert_eq!(calls(&events), []);
}

#[tokio::test]
async fn host_with_shells_is_asked_for_them() {
    let host = Arc::new(Lender {
        has: ALL,
        ..Lender::default()
    });
    let asked = host.clone();
    let events = run_turn(host, true, move |cx| {
        let host = asked.clone();
        async move {
            let shells = session_shells();
            let list = shells.list(&cx).await;
            assert!(
                list.shells
                    .iter()
                    .all(|shell| shell.source == ShellSource::Host)
            );
            assert_eq!(list.default_shell_id.as_deref(), Some("zsh"));
            assert_eq!(host.take_requests(), ["capabilities", "list_shells"]);
            assert_eq!(shells.default_shell(&cx).await.unwrap().id, "fish");
            let made = shells.invocation(&cx, &ls_command("zsh")).await.unwrap();
            assert_eq!(made.program, "/host/made");
            assert_eq!(
                host.take_requests(),
                ["get_default_shell", "shell_invocation"]
            );

            let refused = shells.set_default(&cx, "ksh").await.unwrap_err();
            assert!(
                matches!(refused, ShellError::Unavailable { .. }),
                "{refused}"
            );
            assert_eq!(host.take_requests(), ["list_shells"]);
            assert_eq!(
                shells.set_default(&cx, "fish").await.unwrap().path,
                "/host/fish"
            );
            assert_eq!(host.take_requests(), ["list_shells", "set_default_shell"]);
            assert_eq!(
                shells.list(&cx).await.default_shell_id.as_deref(),
                Some("fish")
            );
            Ok(())
        }
    })
    .await;
    // Reading needs no call; a change does, and asks.
    assert_eq!(calls(&events), [("process.set_default_shell", true)]);
}

#[tokio::test]
async fn denied_choice_does_not_change_the_default_shell() {
    let host = Arc::new(Lender {
        has: ALL,
        ..Lender::default()
    });
    let asked = host.clone();
    run_turn(host, false, move |cx| {
        let host = asked.clone();
        async move {
            let shells = session_shells();
            let refused = shells.set_default(&cx, "fish").await.unwrap_err();
            assert!(matches!(refused, ShellError::Host(_)), "{refused}");
            assert_eq!(host.take_requests(), ["capabilities", "list_shells"]);
            assert_eq!(
                shells.list(&cx).await.default_shell_id.as_deref(),
                Some("zsh")
            );
            Ok(())
        }
    })
    .await;
}

#[tokio::test]
async fn local_code_completes_a_host_that_only_lists_shells() {
    let host = Arc::new(Lender {
        has: &["list_shells"],
        ..Lender::default()
    });
    let events = run_turn(host, false, |cx| async move {
        let shells = session_shells();
        assert_eq!(shells.default_shell(&cx).await.unwrap().path, "/host/zsh");
        assert_eq!(
            shells.set_default(&cx, "fish").await.unwrap().path,
            "/host/fish"
        );
        assert_eq!(shells.default_shell(&cx).await.unwrap().path, "/host/fish");
        let by_id = ShellCommand {
            shell_id: None,
            shell: Some(GivenShell {
                id: Some("fish".to_owned()),
                ..GivenShell::default()
            }),
            login: true,
            ..ls_command("")
        };
        let made = shells.invocation(&cx, &by_id).await.unwrap();
        assert_eq!(
            (&*made.program, &*made.args.join(" ")),
            ("/host/fish", "-l -c ls")
        );
        Ok(())
    })
    .await;
    assert_eq!(calls(&events), []);
}

#[tokio::test]
async fn failing_host_is_asked_once_per_turn() {
    let broken = || Lender {
        has: ALL,
        fails: &["list_shells"],
        ..Lender::default()
    };
    let mute = || Lender {
        mute: true,
        ..Lender::default()
    };
    for (host, expected) in [
        (broken(), &["capabilities", "list_shells"][..]),
        (mute(), &["capabilities"]),
    ] {
        let host = Arc::new(host);
        run_turn(host.clone(), false, |cx| async move {
            let shells = session_shells();
            for _ in 0..2 {
                let list = shells.list(&cx).await;
                assert_eq!(list.default_shell_id.as_deref(), Some("bash"));
            }
            assert_eq!(shells.default_shell(&cx).await.unwrap().path, "/bin/bash");
            Ok(())
        })
        .await;
        assert_eq!(host.take_requests(), expected);
    }
}

#[tokio::test]
async fn deny_rule_blocks_the_shell_list_of_the_host() {
    let host = Arc::new(Lender {
        has: ALL,
        ..Lender::default()
    });
    let rules = "[[rules]]\ndeny = { tool = \"process.list_*\" }";
    run_turn_under_rules(rules, host.clone(), false, |cx| async move {
        let list = session_shells().list(&cx).await;
        assert_eq!(list.shells[0].path, "/bin/zsh");
        Ok(())
    })
    .await;
    assert_eq!(host.take_requests(), ["capabilities"]);
}

#[tokio::test]
async fn inquiry_rejects_operations_that_change_something() {
    let host = Arc::new(Lender {
        has: ALL,
        ..Lender::default()
    });
    run_turn(host.clone(), true, |cx| async move {
        for operation in ["process.set_default_shell", "process.exec", "list_shells"] {
            let refused = cx
                .host()
                .inquire(operation, json!({"shell_id": "zsh"}))
                .await;
            assert!(matches!(refused, Err(HostError::Denied(_))), "{refused:?}");
        }
        Ok(())
    })
    .await;
    assert!(host.take_requests().is_empty());
}
