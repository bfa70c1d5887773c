//! Every form in which an answer of a host is read, by method.

use harn_acp::ext::bridge::Method;
use serde_json::{Value, json};

/// A form of an answer. The first one of a method is its canonical one.
pub struct Form {
    /// Of which method.
    pub method: Method,
    /// What it is called.
    pub name: &'static str,
    /// An answer like that.
    pub answer: fn() -> Value,
}

const fn form(method: Method, name: &'static str, answer: fn() -> Value) -> Form {
    Form {
        method,
        name,
        answer,
    }
}

/// All of them.
pub const FORMS: &[Form] = &[
    form(Method::ToolsList, "listed", || json!({"tools": tools()})),
    form(Method::ToolsList, "bare", tools),
    form(
        Method::ToolsList,
        "wrapped",
        || json!({"result": {"tools": tools()}}),
    ),
    form(Method::ToolsList, "older-names", || {
        json!([
            {"name": "dice", "short_description": "Rolls a die", "parameters": sides()},
            {"name": "reveal", "short_description": "Shows a file in the editor", "input_schema": path(), "deprecated": true},
        ])
    }),
    form(
        Method::Capabilities,
        "list",
        || json!({"process": operations()}),
    ),
    form(
        Method::Capabilities,
        "ops-list",
        || json!({"process": {"ops": operations()}}),
    ),
    form(
        Method::Capabilities,
        "ops-object",
        || json!({"process": {"ops": described()}}),
    ),
    form(
        Method::Capabilities,
        "operations-list",
        || json!({"process": {"operations": operations()}}),
    ),
    form(
        Method::Capabilities,
        "operations-object",
        || json!({"process": {"operations": described()}}),
    ),
    form(Method::SkillsList, "bare", skills),
    form(Method::SkillsList, "listed", || json!({"skills": skills()})),
    form(Method::SkillsFetch, "nested", || {
        json!({
            "name": "deploy",
            "description": "Ship it",
            "body": "# Deploy\n\nRun the pipeline.\n",
            "manifest": {"allowed_tools": ["dice"], "when_to_use": "To ship a release"},
        })
    }),
    form(Method::SkillsFetch, "flat", || {
        json!({
            "name": "deploy",
            "description": "Ship it",
            "body": "# Deploy\n\nRun the pipeline.\n",
            "allowed_tools": ["dice"],
            "when_to_use": "To ship a release",
        })
    }),
    form(
        Method::SkillMatch,
        "matches",
        || json!({"matches": ranked()}),
    ),
    form(Method::SkillMatch, "skills", || json!({"skills": ranked()})),
    form(
        Method::SkillMatch,
        "wrapped",
        || json!({"result": {"matches": ranked()}}),
    ),
    form(Method::SkillMatch, "bare", ranked),
    form(Method::BuiltinCall, "any", || json!({"rolled": 4})),
];

/// What a host answers that has nothing special about it.
pub(super) fn canonical(method: Method, params: &Value) -> Value {
    let first = FORMS.iter().find(|form| form.method == method);
    match (first, params["name"].as_str()) {
        (Some(form), _) => (form.answer)(),
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

fn operations() -> Value {
    json!(["exec", "list_shells"])
}

fn described() -> Value {
    json!({"exec": {}, "list_shells": {}})
}

fn skills() -> Value {
    json!([
        {"id": "deploy", "name": "deploy", "description": "Ship it", "source": "host"},
        {"id": "acme/review", "name": "review", "description": "Look at the code", "source": "host"},
    ])
}

fn ranked() -> Value {
    json!([{"name": "deploy", "score": 0.9, "reason": "it is about a release"}, {"name": "review"}])
}

fn shell() -> Value {
    json!({
        "id": "zsh", "label": "zsh", "path": "/bin/zsh", "platform": "linux", "available": true,
        "supports_login": true, "supports_interactive": true, "default_args": ["-c"],
        "login_args": ["-l", "-c"], "source": "host",
    })
}
