//! Every form of a host's answer that the bridge accepts, by method.

use harn_acp::ext::bridge::BridgeMethod;
use serde_json::{Value, json};

/// One form of an answer.
pub struct HostAnswerForm {
    /// The method that it answers.
    pub method: BridgeMethod,
    /// The name of the form.
    pub name: &'static str,
    /// An answer in this form.
    pub answer: Value,
}

/// Returns all forms. The first form of a method is its canonical one.
pub fn forms() -> Vec<HostAnswerForm> {
    let older_tools = json!([
        {"name": "dice", "short_description": "Rolls a die", "parameters": sides()},
        {"name": "reveal", "short_description": "Shows a file in the editor", "input_schema": path(), "deprecated": true},
    ]);
    let nested_skill = json!({
        "name": "deploy",
        "description": "Ship it",
        "body": "# Deploy\n\nRun the pipeline.\n",
        "manifest": {"allowed_tools": ["dice"], "when_to_use": "To ship a release"},
    });
    let flat_skill = json!({
        "name": "deploy",
        "description": "Ship it",
        "body": "# Deploy\n\nRun the pipeline.\n",
        "allowed_tools": ["dice"],
        "when_to_use": "To ship a release",
    });
    let (operations, described) = (
        json!(["exec", "list_shells"]),
        json!({"exec": {}, "list_shells": {}}),
    );
    let ranked = json!([
        {"name": "deploy", "score": 0.9, "reason": "it is about a release"}, {"name": "review"},
    ]);
    let tools_list = vec![
        ("listed", json!({"tools": tools()})),
        ("bare", tools()),
        ("wrapped", json!({"result": {"tools": tools()}})),
        ("older-names", older_tools),
    ];
    let of_process = |process: Value| json!({"process": process});
    let capabilities = vec![
        ("list", of_process(operations.clone())),
        ("ops-list", of_process(json!({"ops": operations}))),
        ("ops-object", of_process(json!({"ops": described}))),
        (
            "operations-list",
            of_process(json!({"operations": operations})),
        ),
        (
            "operations-object",
            of_process(json!({"operations": described})),
        ),
    ];
    let skill_match = vec![
        ("matches", json!({"matches": ranked})),
        ("skills", json!({"skills": ranked})),
        ("wrapped", json!({"result": {"matches": ranked}})),
        ("bare", ranked),
    ];
    let skills_list = vec![("bare", skills()), ("listed", json!({"skills": skills()}))];
    let skills_fetch = vec![("nested", nested_skill), ("flat", flat_skill)];
    let of_methods = [
        (BridgeMethod::ToolsList, tools_list),
        (BridgeMethod::Capabilities, capabilities),
        (BridgeMethod::SkillsList, skills_list),
        (BridgeMethod::SkillsFetch, skills_fetch),
        (BridgeMethod::SkillMatch, skill_match),
        (
            BridgeMethod::BuiltinCall,
            vec![("any", json!({"rolled": 4}))],
        ),
    ];
    let forms = of_methods.into_iter().flat_map(|(method, forms)| {
        let forms = forms.into_iter();
        forms.map(move |(name, answer)| HostAnswerForm {
            method,
            name,
            answer,
        })
    });
    forms.collect()
}

/// Returns the canonical answer of a host.
pub(super) fn canonical_answer(method: BridgeMethod, params: &Value) -> Value {
    let first = forms().into_iter().find(|form| form.method == method);
    match (first, params["name"].as_str()) {
        (Some(form), _) => form.answer,
        (None, Some("process.list_shells")) => {
            json!({"shells": [shell()], "default_shell_id": "zsh"})
        }
        (None, Some("process.shell_invocation")) => json!({
            "program": "/bin/zsh", "args": ["-c", "ls"], "command_arg_index": 1, "shell": shell(),
        }),
        (None, Some("process.exec")) => {
            json!({"exit_code": 0, "signal": null, "stdout": "done\n", "stderr": ""})
        }
        (None, _) => shell(),
    }
}

fn tools() -> Value {
    json!([
        {"name": "dice", "description": "Rolls a die", "schema": sides(), "deprecated": false},
        {"name": "reveal", "description": "Shows a file in the editor", "schema": path(), "deprecated": true},
    ])
}

fn sides() -> Value {
    json!({"type": "object", "properties": {"sides": {"type": "integer"}}})
}

fn path() -> Value {
    json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
}

fn skills() -> Value {
    json!([
        {"id": "deploy", "name": "deploy", "description": "Ship it", "source": "host"},
        {"id": "acme/review", "name": "review", "description": "Look at the code", "source": "host"},
    ])
}

fn shell() -> Value {
    json!({
        "id": "zsh", "label": "zsh", "path": "/bin/zsh", "platform": "linux", "available": true,
        "supports_login": true, "supports_interactive": true, "default_args": ["-c"],
        "login_args": ["-l", "-c"], "source": "host",
    })
}
