//! The descriptions of the built-in tools for a model, with the JSON Schemas of their arguments.

use serde::Serialize;
use serde_json::{Value, json};

use super::{BuiltinTool, command, fetch, list, read};

/// Returns the description of a tool and the schema of its arguments.
pub(super) fn description_and_schema(builtin: BuiltinTool) -> (&'static str, Value) {
    let path = string_schema("A path, from the working directory unless it is absolute");
    match builtin {
        BuiltinTool::ReadFile => (
            "Read a text file, or some lines of it. Also reads the files in which run_command keeps long output.",
            object_schema(
                &["path"],
                json!({
                    "path": path,
                    "line": integer_schema(u32::MAX, "The first line to show, from 1"),
                    "lines": integer_schema(read::MAX_LINES, "How many lines to show; 2000 by default"),
                }),
            ),
        ),
        BuiltinTool::WriteFile => (
            "Write a whole text file; create it and its folders if they are missing. To change a part of a \
             file, use edit_file.",
            object_schema(
                &["path", "content"],
                json!({
                    "path": path,
                    "content": {"type": "string", "description": "The whole text"},
                }),
            ),
        ),
        BuiltinTool::EditFile => (
            "Change a part of a text file: replace old_text, which must occur in the file exactly once \
             unless replace_all is set, with new_text; or apply a unified diff given as patch, all of \
             it or nothing.",
            edit_schema(&path),
        ),
        BuiltinTool::RunCommand => (
            "Run a command line with a shell, /bin/sh unless another was chosen, in the working directory and show \
             what it prints. The result shows the end of long output and names a file with the whole output.",
            object_schema(
                &["command"],
                json!({
                    "command": string_schema("The command line"),
                    "shell": string_schema("The id of the shell to run it with, such as bash"),
                    "timeout_ms": integer_schema(
                        command::MAX_TIMEOUT_MS,
                        "Milliseconds after which it and every process it started is ended; 120000 by default",
                    ),
                    "network": {"type": "boolean", "description":
                        "Whether it needs the network, which it does not have otherwise; a person is asked first"},
                    "sandbox": {"type": "boolean", "description":
                        "False to run it outside the sandbox, if it failed there; a person is asked first"},
                }),
            ),
        ),
        BuiltinTool::Search => (
            "Find the places in the workspace that match some words best, ranked: definitions first.",
            object_schema(
                &["query"],
                json!({
                    "query": string_schema("Words, or a question"),
                    "limit": integer_schema(50, "How many places; 10 by default"),
                }),
            ),
        ),
        BuiltinTool::Grep => (
            "Find the lines of the workspace's files that match a regular expression.",
            object_schema(
                &["pattern"],
                json!({"pattern": string_schema("A regular expression, as Rust's regex crate reads them")}),
            ),
        ),
        BuiltinTool::Glob => (
            "List the files of the workspace whose paths match a glob such as src/**/*.rs. Hidden and \
             ignored files are skipped.",
            object_schema(
                &["pattern"],
                json!({
                    "pattern": string_schema("A path from the working directory with *, ?, [ab], {a,b} and **"),
                    "limit": integer_schema(list::MAX_MATCHES, "How many files; 200 by default"),
                }),
            ),
        ),
        BuiltinTool::ListFiles => (
            "List the files and folders directly in a folder; folders end with a slash. Hidden and \
             ignored files are skipped.",
            object_schema(&[], json!({"path": path})),
        ),
        BuiltinTool::Fetch => (
            "Get a text from a web address with http or https. Redirects to another host are reported \
             and not followed.",
            object_schema(
                &["url"],
                json!({
                    "url": {"type": "string", "pattern": "^https?://",
                        "description": "The address, without a user or a password in it"},
                    "timeout_ms": integer_schema(fetch::MAX_TIMEOUT_MS, "How many milliseconds to wait; 30000 by default"),
                }),
            ),
        ),
    }
}

/// Returns the schema of a non-empty string.
fn string_schema(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

/// Returns the schema of an integer from 1 to `most`.
fn integer_schema(most: impl Serialize, description: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": most, "description": description})
}

fn object_schema(required: &[&str], properties: Value) -> Value {
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
    let mut schema = object_schema(
        &["path"],
        json!({
            "path": path,
            "old_text": string_schema("The text to replace, letter by letter"),
            "new_text": {"type": "string", "description": "The text to write in its place"},
            "replace_all": {"type": "boolean", "description": "Whether to replace every old_text"},
            "patch": string_schema("A unified diff of this file, with correct line counts in its @@ lines"),
        }),
    );
    schema["dependentRequired"] = json!({
        "old_text": ["new_text"],
        "new_text": ["old_text"],
        "replace_all": ["old_text"],
    });
    schema
}
