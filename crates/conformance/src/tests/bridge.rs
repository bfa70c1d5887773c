//! The host bridge: when a host may be asked, the params and the answers.

use serde_json::{Value, json};

use super::{ConformanceRule, answer, findings, prompt, request, rule_cases::BrokenCase, update};
use harn_acp::Profile;

/// Starts a turn for a client with or without the bridge: four lines, then `lines`.
fn turn_with(bridge: Value, lines: Vec<String>) -> Vec<String> {
    let capabilities = json!({"_meta": {"harn": {"hostBridge": bridge}}});
    let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    let mut all = vec![
        request(0, "initialize", hello),
        request(1, "session/new", json!({"cwd": "/w", "mcpServers": []})),
        answer(1, json!({"sessionId": "s"})),
        prompt(2),
    ];
    all.extend(lines);
    all
}

fn call(name: &str, args: Value) -> String {
    let params = json!({"sessionId": "s", "name": name, "args": args});
    request(9, "host/call", params)
}

pub(super) fn cases() -> Vec<BrokenCase> {
    let tools = || request(9, "host/tools/list", json!({}));
    let after = |lines| turn_with(json!(true), lines);
    let servers = |servers: Value| {
        update(json!({"sessionUpdate": "session_info_update", "_meta": {"harn": {"mcp": servers}}}))
    };
    vec![
        (
            ConformanceRule::NotOffered,
            5,
            turn_with(json!(false), vec![tools()]),
        ),
        (
            ConformanceRule::NotOffered,
            5,
            turn_with(json!(null), vec![tools()]),
        ),
        (
            ConformanceRule::WrongExtension,
            5,
            after(vec![request(9, "skills/fetch", json!({}))]),
        ),
        (
            ConformanceRule::WrongExtension,
            5,
            after(vec![request(
                9,
                "builtin_call",
                json!({"name": "dice", "args": []}),
            )]),
        ),
        (
            ConformanceRule::WrongExtension,
            5,
            after(vec![call("process.exec", json!({"command": 7}))]),
        ),
        (
            ConformanceRule::WrongExtension,
            5,
            after(vec![call("process.list_shells", json!({"all": true}))]),
        ),
        // Mistakes of the host.
        (
            ConformanceRule::WrongExtension,
            6,
            after(vec![tools(), answer(9, json!([{"title": "dice"}]))]),
        ),
        (
            ConformanceRule::WrongExtension,
            6,
            after(vec![
                call("process.list_shells", json!({})),
                answer(9, json!({"shells": []})),
            ]),
        ),
        (
            ConformanceRule::WrongExtension,
            5,
            after(vec![servers(
                json!([{"name": "issues", "state": "asleep"}]),
            )]),
        ),
        (
            ConformanceRule::WrongExtension,
            2,
            vec![
                request(1, "session/new", json!({"cwd": "/w", "mcpServers": []})),
                answer(
                    1,
                    json!({"sessionId": "s", "_meta": {"harn": {"mcp": [{"name": "issues"}]}}}),
                ),
            ],
        ),
    ]
}

/// `--host-bridge on` calls a host that does not declare the bridge; then the answer to `initialize` names
/// the methods.
#[test]
fn host_may_be_asked_for_methods_that_initialize_names() {
    for forced in [true, false] {
        let ours = harn_acp::ext::capabilities::build_initialize_meta(Profile::Harn.into(), forced);
        let capabilities = json!({"_meta": ours});
        let hello = json!({"protocolVersion": 1, "agentCapabilities": capabilities});
        let mut lines = turn_with(json!(null), vec![request(9, "host/tools/list", json!({}))]);
        lines.insert(1, answer(0, hello));
        let found = findings(lines.iter().map(String::as_str));
        let wrong = [(6, ConformanceRule::NotOffered)];
        assert_eq!(found, if forced { &[][..] } else { &wrong[..] });
    }
}

#[test]
fn declared_host_bridge_breaks_no_rule() {
    let skills = json!([{"id": "a", "name": "a", "description": "", "source": "host"}]);
    let lines = turn_with(
        json!({"version": 1}),
        vec![
            request(3, "host/tools/list", json!({})),
            answer(
                3,
                json!({"result": {"tools": [{"name": "dice", "parameters": {}}]}}),
            ),
            request(4, "skills/list", json!({})),
            answer(4, json!({"skills": skills})),
            request(5, "host/capabilities", json!({"sessionId": "s"})),
            answer(5, json!({"process": {"ops": ["exec"]}})),
            call("process.get_default_shell", json!({})),
            answer(9, json!(null)),
        ],
    );
    assert_eq!(findings(lines.iter().map(String::as_str)), []);
}
