//! `/read`, and the handling of failed and refused tools.

use harn_runtime::{AgentError, TurnContext};
use harn_tools::FileRead;
use serde::Serialize;

use super::{markdown::code, toolbox};

/// Separates a failed or refused tool from errors that end the turn. The call already shows the reason; the turn
/// continues with it.
pub(super) fn separate_tool_failure<T>(
    result: Result<T, AgentError>,
) -> Result<Result<T, String>, AgentError> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(AgentError::Tool(reason) | AgentError::Denied { reason }) => Ok(Err(reason)),
        Err(
            error @ (AgentError::Cancelled | AgentError::Failed(_) | AgentError::Unanswered { .. }),
        ) => Err(error),
    }
}

/// Converts a value to JSON for the log; a value that cannot be serialised becomes null.
pub(super) fn to_json(value: impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Reads a file of the workspace.
pub(super) async fn read(
    cx: &TurnContext,
    path: &str,
    line: Option<u32>,
) -> Result<FileRead, AgentError> {
    toolbox(cx).read_file(cx, path, line).await
}

pub(super) async fn show(cx: &TurnContext, argument: &str) -> Result<(), AgentError> {
    let (path, line) = split_line(argument);
    let file = match separate_tool_failure(read(cx, path, line).await)? {
        Ok(file) => file,
        Err(reason) => return cx.say(format!("Not read: {reason}.")).await,
    };
    let count = file.text.lines().count();
    let name = code(&file.path);
    if count == 0 {
        return cx.say(format!("{name} is empty.")).await;
    }
    let (range, block) = file.window(line);
    let lines = if count == 1 { "line" } else { "lines" };
    let which = if range.len() == count {
        format!("{name} has {count} {lines}:")
    } else {
        let (first, last) = (range.start + 1, range.end);
        format!("{name} has {count} {lines}; these are {first} to {last}:")
    };
    cx.say(format!("{which}\n\n")).await?;
    cx.say(block).await
}

/// Splits a path from the line number after its last colon, if there is one.
fn split_line(argument: &str) -> (&str, Option<u32>) {
    if let Some((path, digits)) = argument.rsplit_once(':')
        && let Ok(line) = digits.parse::<u32>()
        && line > 0
    {
        return (path, Some(line));
    }
    (argument, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_number_is_split_from_the_path() {
        assert_eq!(split_line("a.rs:12"), ("a.rs", Some(12)));
        assert_eq!(split_line("a.rs"), ("a.rs", None));
        assert_eq!(split_line("a.rs:0"), ("a.rs:0", None));
        assert_eq!(split_line("a:b.rs"), ("a:b.rs", None));
    }
}
