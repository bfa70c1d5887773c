//! The descriptions of the built-in tools for a model, with the JSON Schemas of their arguments.

use serde::Serialize;
use serde_json::{Value, json};

use super::{BuiltinTool, command, fetch, list, read};

/// Returns the description of a tool and the schema of its arguments.
pub(super) fn of(builtin: BuiltinTool) -> (&'static str, Value) {
    let path = text("A path, from the working directory unless it is absolute");
    match builtin {
        BuiltinTool::ReadFile => (
            "Read a text file, or some lines of it. Also reads the files in which run_command keeps long output.",
            object(
                &["path"],
                json!({
                    "path": path,
                    "line": number(u32::MAX, "The first line to show, from 1"),
                    "lines": number(read::MAX_LINES, "How many lines to show; 2000 unless said otherwise"),
                }),
            ),
        ),
        BuiltinTool::WriteFile => (
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
        BuiltinTool::EditFile => (
            "Change a part of a text file: put new_text in the place of old_text, which must stand in the file \
             exactly once unless replace_all is set; or apply a unified diff given as patch, all of it or \
             nothing.",
            edit_schema(&path),
        ),
        BuiltinTool::RunCommand => (
            "Run a command line with a shell, /bin/sh unless another was chosen, in the working directory and show \
             what it prints. Of long output the end is shown and the whole is kept in a file, which the result names.",
            object(
                &["command"],
                json!({
                    "command": text("The command line"),
                    "shell": text("The id of the shell to run it with, such as bash"),
                    "timeout_ms": number(
                        command::MAX_TIMEOUT_MS,
                        "When to end it with all it started; 120000 unless said otherwise",
                    ),
                }),
            ),
        ),
        BuiltinTool::Search => (
            "Find the places in the workspace that fit some words best, ranked: definitions first.",
            object(
                &["query"],
                json!({
                    "query": text("Words, or a question"),
                    "limit": number(50, "How many places; 10 unless said otherwise"),
                }),
            ),
        ),
        BuiltinTool::Grep => (
            "Find the lines of the workspace's files that match a regular expression.",
            object(
                &["pattern"],
                json!({"pattern": text("A regular expression, as Rust's regex crate reads them")}),
            ),
        ),
        BuiltinTool::Glob => (
            "List the files of the workspace whose paths match a glob such as src/**/*.rs. Hidden and ignored \
             files are passed over.",
            object(
                &["pattern"],
                json!({
                    "pattern": text("A path from the working directory with *, ?, [ab], {a,b} and **"),
                    "limit": number(list::MAX_MATCHES, "How many files; 200 unless said otherwise"),
                }),
            ),
        ),
        BuiltinTool::ListFiles => (
            "List what lies directly in a folder; folders end with a slash. Hidden and ignored files are passed \
             over.",
            object(&[], json!({"path": path})),
        ),
        BuiltinTool::Fetch => (
            "Get a text from a web address with http or https. Redirects to another host are told and not \
             followed.",
            object(
                &["url"],
                json!({
                    "url": {"type": "string", "pattern": "^https?://",
                        "description": "The address, without a user or a password in it"},
                    "timeout_ms": number(fetch::MAX_TIMEOUT_MS, "How long to wait; 30000 unless said otherwise"),
                }),
            ),
        ),
    }
}

/// Returns the schema of a non-empty string.
fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

/// Returns the schema of an integer from 1 to `most`.
fn number(most: impl Serialize, description: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": most, "description": description})
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Returns the schema of a replacement or a patch. It uses `dependentRequired` instead of `oneOf`, so that an error
/// can name the missing argument; [`super::edit`] rejects both and neither.
fn edit_schema(path: &Value) -> Value {
    let mut schema = object(
        &["path"],
        json!({
            "path": path,
            "old_text": text("What stands there, letter by letter"),
            "new_text": {"type": "string", "description": "What is to stand there"},
            "replace_all": {"type": "boolean", "description": "Whether to replace every old_text"},
            "patch": text("A unified diff of this file, with @@ lines that count right"),
        }),
    );
    schema["dependentRequired"] = json!({
        "old_text": ["new_text"],
        "new_text": ["old_text"],
        "replace_all": ["old_text"],
    });
    schema
}
