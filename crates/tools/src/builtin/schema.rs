//! The built-in tools as a model reads of them: what each does, and its arguments as a JSON Schema.

use serde_json::{Value, json};

use super::{Builtin, command, fetch, list, read};

/// What a tool does, and the schema of its arguments.
pub(super) fn of(builtin: Builtin) -> (&'static str, Value) {
    let path = json!({
        "type": "string",
        "minLength": 1,
        "description": "A path, from the working directory unless it is absolute",
    });
    match builtin {
        Builtin::ReadFile => (
            "Read a text file, or some lines of it. Also reads the files in which run_command keeps long output.",
            object(
                &["path"],
                json!({
                    "path": path,
                    "line": {"type": "integer", "minimum": 1, "maximum": u32::MAX,
                        "description": "The first line to show, from 1"},
                    "lines": {"type": "integer", "minimum": 1, "maximum": read::MAX_LINES,
                        "description": "How many lines to show; 2000 unless said otherwise"},
                }),
            ),
        ),
        Builtin::WriteFile => (
            "Write a text file whole, making it and its folders where they are missing. To change a part of a \
             file, use edit_file.",
            object(
                &["path", "content"],
                json!({
                    "path": path,
                    "content": {"type": "string", "description": "The whole text"},
                }),
            ),
        ),
        Builtin::EditFile => (
            "Change a part of a text file: put new_text in the place of old_text, which must stand in the file \
             exactly once unless replace_all is set; or apply a unified diff given as patch, all of it or \
             nothing.",
            edit_schema(&path),
        ),
        Builtin::RunCommand => (
            "Run a command line with a shell, /bin/sh unless another was chosen, in the working directory and show \
             what it prints. Of long output the end is shown and the whole is kept in a file, which the result names.",
            object(
                &["command"],
                json!({
                    "command": {"type": "string", "minLength": 1, "description": "The command line"},
                    "shell": {"type": "string", "minLength": 1,
                        "description": "The id of the shell to run it with, such as bash"},
                    "timeout_ms": {"type": "integer", "minimum": 1, "maximum": command::MAX_TIMEOUT_MS,
                        "description": "When to end it with all it started; 120000 unless said otherwise"},
                }),
            ),
        ),
        Builtin::Search => (
            "Find the places in the workspace that fit some words best, ranked: definitions first.",
            object(
                &["query"],
                json!({
                    "query": {"type": "string", "minLength": 1, "description": "Words, or a question"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 50,
                        "description": "How many places; 10 unless said otherwise"},
                }),
            ),
        ),
        Builtin::Grep => (
            "Find the lines of the workspace's files that match a regular expression.",
            object(
                &["pattern"],
                json!({
                    "pattern": {"type": "string", "minLength": 1,
                        "description": "A regular expression, as Rust's regex crate reads them"},
                }),
            ),
        ),
        Builtin::Glob => (
            "List the files of the workspace whose paths match a glob such as src/**/*.rs. Hidden and ignored \
             files are passed over.",
            object(
                &["pattern"],
                json!({
                    "pattern": {"type": "string", "minLength": 1,
                        "description": "A path from the working directory with *, ?, [ab], {a,b} and **"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": list::MAX_MATCHES,
                        "description": "How many files; 200 unless said otherwise"},
                }),
            ),
        ),
        Builtin::ListFiles => (
            "List what lies directly in a folder; folders end with a slash. Hidden and ignored files are passed \
             over.",
            object(&[], json!({"path": path})),
        ),
        Builtin::Fetch => (
            "Get a text from a web address with http or https. Redirects to another host are told and not \
             followed.",
            object(
                &["url"],
                json!({
                    "url": {"type": "string", "pattern": "^https?://",
                        "description": "The address, without a user or a password in it"},
                    "timeout_ms": {"type": "integer", "minimum": 1, "maximum": fetch::MAX_TIMEOUT_MS,
                        "description": "How long to wait; 30000 unless said otherwise"},
                }),
            ),
        ),
    }
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Either a replacement or a patch. Said with `dependentRequired` rather than `oneOf`, so that what is missing
/// can be named; [`super::edit`] refuses what is both or neither.
fn edit_schema(path: &Value) -> Value {
    let mut schema = object(
        &["path"],
        json!({
            "path": path,
            "old_text": {"type": "string", "minLength": 1,
                "description": "What stands there, letter by letter"},
            "new_text": {"type": "string", "description": "What is to stand there"},
            "replace_all": {"type": "boolean", "description": "Whether to replace every old_text"},
            "patch": {"type": "string", "minLength": 1,
                "description": "A unified diff of this file, with @@ lines that count right"},
        }),
    );
    if let Value::Object(members) = &mut schema {
        members.insert(
            "dependentRequired".to_owned(),
            json!({
                "old_text": ["new_text"],
                "new_text": ["old_text"],
                "replace_all": ["old_text"],
            }),
        );
    }
    schema
}
