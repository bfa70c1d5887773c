//! The profile that the binary selects for a client, by its name, its declaration and the flags; and the
//! command that a client may run in a terminal.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Agent;

/// Returns the Harn capabilities that the agent advertises to such a client.
fn advertised_capabilities(flags: &[&str], name: Option<&str>, harn: Option<Value>) -> Value {
    let state = TempDir::new().unwrap();
    let place = ["acp", "--state-dir", state.path().to_str().unwrap()];
    let mut agent = Agent::harn_serve(&[&place, flags].concat());
    let mut params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    if let Some(name) = name {
        params["clientInfo"] = json!({"name": name, "version": "1"});
    }
    if let Some(harn) = harn {
        params["clientCapabilities"]["_meta"] = json!({"harn": harn});
    }
    let answer = agent.request("initialize", params);
    answer["agentCapabilities"]["_meta"]["harn"].clone()
}

/// Returns whether the agent sends updates that plain ACP does not have.
fn has_extensions(flags: &[&str], name: Option<&str>, harn: Option<Value>) -> bool {
    let advertised = advertised_capabilities(flags, name, harn);
    let extensions = &advertised["sessionUpdateExtensions"];
    extensions.as_array().is_some_and(|list| !list.is_empty())
}

#[test]
fn known_editors_receive_plain_acp_and_others_all_extensions() {
    for name in [
        "zed",
        "JetBrains.IntelliJ IDEA",
        "codecompanion.nvim",
        "agent-shell",
        "toad",
        "acpx",
        "agentpool",
    ] {
        assert!(!has_extensions(&[], Some(name), None), "{name}");
    }
    assert!(has_extensions(&[], Some("somebody else"), None));
    assert!(has_extensions(&[], None, None));
    assert!(has_extensions(&[], Some("zed"), Some(json!({}))));
    assert!(has_extensions(&["--profile", "harn"], Some("zed"), None));
    assert!(!has_extensions(&["--profile", "acp"], None, None));
}

#[test]
fn host_bridge_flag_overrides_the_declaration() {
    let asked = |flags: &[&str], harn| {
        let advertised = advertised_capabilities(flags, None, harn);
        advertised["hostCapabilityOperations"].is_object()
    };
    let declared = || Some(json!({"hostBridge": true}));
    assert!(!asked(&[], None) && asked(&[], declared()));
    assert!(asked(&["--host-bridge", "on"], None));
    assert!(!asked(&["--host-bridge", "off"], declared()));
    assert!(asked(&["--host-bridge", "auto"], declared()));
}

/// Returns the terminal method that `initialize` lists, if there is one.
fn terminal_method(agent: &mut Agent, capabilities: Value) -> Option<Value> {
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    let mut answer = agent.request("initialize", params);
    let mut methods = answer["authMethods"].take();
    let methods = methods.as_array_mut().map(std::mem::take);
    let mut methods = methods.unwrap_or_default();
    assert!(methods.len() <= 1, "{methods:?}");
    methods.pop()
}

/// Runs the command; returns the doctor's report.
fn run_doctor(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_client_with_a_terminal_can_run_the_doctor_in_it() {
    const PROGRAM: &str = env!("CARGO_BIN_EXE_harn-serve");
    let (state, work) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let dir = state.path().to_str().unwrap();
    let started = ["acp", "--state-dir", dir, "--profile", "acp"];
    let words = |list: &Value| -> Vec<String> { serde_json::from_value(list.clone()).unwrap() };

    let mut agent = Agent::harn_serve(&started);
    let method = terminal_method(&mut agent, json!({"auth": {"terminal": true}})).unwrap();
    assert_eq!(
        (&method["type"], &method["id"]),
        (&json!("terminal"), &json!("doctor"))
    );
    assert!(method.get("_meta").is_none(), "{method}");
    // No session needs it, and a client that sends it anyway is not rejected.
    let new = json!({"cwd": work.path(), "mcpServers": []});
    assert!(agent.request("session/new", new)["sessionId"].is_string());
    let done = agent.request("authenticate", json!({"methodId": "doctor"}));
    assert_eq!(done, json!({}));
    // The client starts the agent again, with the method's arguments after its own.
    let mut again = Command::new(PROGRAM);
    let found = run_doctor(again.args(started).args(words(&method["args"])));
    assert!(found.contains("sessions") && found.contains(dir), "{found}");

    let mut agent = Agent::harn_serve(&started);
    let by_meta = json!({"_meta": {"terminal-auth": true}});
    let method = terminal_method(&mut agent, by_meta).unwrap();
    let command = &method["_meta"]["terminal-auth"];
    let program = std::path::Path::new(command["command"].as_str().unwrap());
    assert!(
        program.is_absolute() && command["label"].is_string(),
        "{command}"
    );
    let found = run_doctor(Command::new(program).args(words(&command["args"])));
    assert!(found.contains(dir), "{found}");

    let mut agent = Agent::harn_serve(&started);
    assert_eq!(terminal_method(&mut agent, json!({"terminal": true})), None);
    let id = agent.send("authenticate", json!({"methodId": "doctor"}));
    assert_eq!(
        agent.read_answer(id)["error"]["data"]["reason"],
        "unknown_auth_method"
    );
}
