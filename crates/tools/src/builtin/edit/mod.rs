//! `edit_file`: replaces a part of a file or applies a patch, in the same way as every change.

mod patch;
mod replace;

use harn_model::ErrorCategory;
use harn_runtime::{AgentError, ToolError, TurnContext};
use serde::Deserialize;
use serde_json::Value;

use super::{
    BuiltinTool,
    execution::parse,
    write::{FileChange, NOT_A_FILE, change_file},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditInput {
    path: String,
    old_text: Option<String>,
    new_text: Option<String>,
    #[serde(default)]
    replace_all: bool,
    patch: Option<String>,
}

/// Edits a file if it is allowed.
pub(super) async fn edit(cx: &TurnContext, input: Value) -> Result<FileChange, AgentError> {
    change_file(cx, BuiltinTool::EditFile, apply_edit, input).await
}

/// Returns the text of a file after an edit.
fn apply_edit(input: &Value, text: Option<&str>) -> Result<String, ToolError> {
    let input: EditInput = parse(input, NOT_A_FILE)?;
    let missing = || ToolError::new("the file does not exist; create it with write_file");
    let text = text.ok_or_else(missing)?;
    let new = match (input.old_text, input.new_text, input.patch) {
        (Some(old), Some(new), None) => replace::replace(text, &old, &new, input.replace_all),
        (None, None, Some(patch)) => patch::apply(&input.path, text, &patch),
        (_, _, Some(_)) => {
            return Err(schema_error(
                "give either `patch`, or `old_text` and `new_text`",
            ));
        }
        (_, _, None) => return Err(schema_error("give `old_text` and `new_text`, or `patch`")),
    };
    let new = new.map_err(ToolError::new)?;
    if new == text {
        return Err(ToolError::new("the edit changes nothing"));
    }
    Ok(new)
}

fn schema_error(message: &str) -> ToolError {
    ToolError::with_category(ErrorCategory::SchemaValidation, message)
}
