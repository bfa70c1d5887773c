//! Logs: what they contain on request, and what they never contain.

use std::fs;

use crate::client::Agent;
use serde_json::json;

#[test]
fn secrets_are_not_logged_at_any_level() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("log");
    let (state, log) = (dir.path().to_str().unwrap(), file.to_str().unwrap());
    let args = [
        "--state-dir",
        state,
        "--log-file",
        log,
        "--log-level",
        "trace",
    ];
    let mut agent = Agent::harn_serve(&[&["acp"], &args[..]].concat());
    agent.request("initialize", json!({"protocolVersion": 1}));
    let env = json!([{"name": "KEY", "value": "hunter2"}]);
    let headers = json!([{"name": "Authorization", "value": "Bearer hunter2"}]);
    let servers = json!([
        {"name": "a", "command": "/bin/true", "args": [], "env": env},
        {"type": "http", "name": "b", "url": "https://example.com", "headers": headers},
    ]);
    agent.request(
        "session/new",
        json!({"cwd": dir.path(), "mcpServers": servers}),
    );
    // A rejected request is not quoted either.
    let id = agent.send("session/new", json!({"cwd": 5, "mcpServers": servers}));
    assert!(agent.read_answer(id)["error"].is_object());
    agent.write(&json!({"jsonrpc": "2.0", "params": servers}));
    let (status, _, stderr) = agent.end();
    assert!(status.success(), "{status}");

    let logged = fs::read_to_string(&file).unwrap();
    assert!(
        logged.contains("TRACE") || logged.contains("DEBUG"),
        "{logged}"
    );
    for text in [logged, stderr.join("\n")] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn errors_that_answer_nothing_are_logged_once_at_info_and_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().to_str().unwrap();
    for (level, count) in [("warn", 0), ("info", 1)] {
        let args = ["acp", "--state-dir", state, "--log-level", level];
        let mut agent = Agent::harn_serve(&args);
        let data = json!({"token": "hunter2"});
        let error = json!({"code": -32602, "message": "unknown \u{1b}[31mupdate", "data": data});
        for _ in 0..3 {
            agent.write(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
            agent.write(&json!({"jsonrpc": "2.0", "error": error}));
        }
        // None of them was answered.
        agent.request("initialize", json!({"protocolVersion": 1}));
        let (status, _, stderr) = agent.end();
        assert!(status.success(), "{status}");
        let told: Vec<_> = stderr.iter().filter(|it| it.contains("ignored")).collect();
        assert_eq!(told.len(), count, "{level}: {stderr:?}");
        for line in told {
            assert!(
                line.contains("-32602") && line.contains("unknown [31mupdate"),
                "{line}"
            );
        }
        assert!(!stderr.concat().contains("hunter2"), "{stderr:?}");
    }
}
