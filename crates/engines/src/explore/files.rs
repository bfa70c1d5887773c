//! Reading files through the host, as calls that can be seen.

use std::{borrow::Cow, path::Path, sync::Arc};

use harn_model::ToolContent;
use harn_runtime::{AgentError, ToolError, ToolOutput, TurnContext};
use harn_tools::Builtin;
use serde::{Deserialize, Serialize};

use super::{
    call::{built_in, executor, run_by},
    markdown::{code, fence, language},
};

/// How many lines a reader is shown.
const SHOWN: usize = 40;
/// How many of them stand before the line that was asked for.
const BEFORE: usize = 5;

/// A file that was read.
#[derive(Clone)]
pub(super) struct ReadFile {
    /// From the workspace.
    pub(super) path: String,
    pub(super) text: Arc<str>,
    output: ToolOutput,
}

impl From<ReadFile> for ToolOutput {
    fn from(file: ReadFile) -> Self {
        file.output
    }
}

#[derive(Deserialize, Serialize)]
struct ReadInput {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct ReadOutput {
    lines: usize,
    bytes: usize,
}

/// A tool that failed or was refused has said so on its call; the turn goes on with the reason.
pub(super) fn told<T>(result: Result<T, AgentError>) -> Result<Result<T, String>, AgentError> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(AgentError::Tool(reason) | AgentError::Denied { reason }) => Ok(Err(reason)),
        Err(
            error @ (AgentError::Cancelled | AgentError::Failed(_) | AgentError::Unanswered { .. }),
        ) => Err(error),
    }
}

/// A value for a log; what cannot be written down is left out.
pub(super) fn value(value: impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A path inside the workspace as a person reads it.
pub(super) fn shown_path(cwd: &Path, path: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}

/// Reads a file of the workspace.
pub(super) async fn read(
    cx: &TurnContext,
    path: &str,
    line: Option<u32>,
) -> Result<ReadFile, AgentError> {
    let target = cx.host().absolute(path);
    let shown = shown_path(cx.cwd(), &target);
    let input = value(ReadInput {
        path: path.to_owned(),
        line,
    });
    let tool = built_in(cx, Builtin::ReadFile).input(input);
    let title = match line {
        Some(line) => format!("Read {shown}:{line}"),
        None => format!("Read {shown}"),
    };
    let call = tool.title(title).location(&target, line).start().await?;
    let by = executor(cx.host().client_offers().read_text);
    let (host, input) = (call.host().clone(), call.input().clone());
    let work = async move {
        // Whoever was asked may have named another file.
        let unclear = |error| ToolError::new(format!("the arguments name no file: {error}"));
        let ReadInput { path, line } = serde_json::from_value(input).map_err(unclear)?;
        let target = host.absolute(path);
        let shown = shown_path(cx.cwd(), &target);
        let text: Arc<str> = host.read_text(target).await?.into();
        let output = ToolOutput {
            raw: Some(value(ReadOutput {
                lines: text.lines().count(),
                bytes: text.len(),
            })),
            content: Some(vec![ToolContent::text(part(&shown, &text, line).1)]),
            ..ToolOutput::default()
        };
        Ok::<_, ToolError>(ReadFile {
            path: shown,
            text,
            output,
        })
    };
    run_by(cx, call, by, work).await
}

/// `/read PATH[:LINE]`.
pub(super) async fn show(cx: &TurnContext, argument: &str) -> Result<(), AgentError> {
    let (path, line) = split_line(argument);
    let file = match told(read(cx, path, line).await)? {
        Ok(file) => file,
        Err(reason) => return cx.say(format!("Not read: {reason}.")).await,
    };
    let count = file.text.lines().count();
    let name = code(&file.path);
    if count == 0 {
        return cx.say(format!("{name} is empty.")).await;
    }
    let (range, block) = part(&file.path, &file.text, line);
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

/// The lines to show of a text, counted from 0, and their code block.
fn part(path: &str, text: &str, line: Option<u32>) -> (std::ops::Range<usize>, String) {
    let lines: Vec<&str> = text.lines().collect();
    let wanted = line.map_or(0, |line| usize::try_from(line).unwrap_or(usize::MAX));
    let last_start = lines.len().saturating_sub(SHOWN);
    let start = wanted.saturating_sub(1 + BEFORE).min(last_start);
    let range = start..(start + SHOWN).min(lines.len());
    let shown: Vec<_> = lines[range.clone()].iter().map(|line| clip(line)).collect();
    let block = fence(language(path), &shown.join("\n"), 0);
    (range, block)
}

/// A line that fits a screen: one line of a generated file may be as long as the file.
fn clip(line: &str) -> Cow<'_, str> {
    const MAX: usize = 400;
    match line.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &line[..end]).into(),
        None => line.into(),
    }
}

/// A path and the line after its last colon, if that is a number.
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
    fn lines_are_split_off_paths() {
        assert_eq!(split_line("a.rs:12"), ("a.rs", Some(12)));
        assert_eq!(split_line("a.rs"), ("a.rs", None));
        assert_eq!(split_line("a.rs:0"), ("a.rs:0", None));
        assert_eq!(split_line("a:b.rs"), ("a:b.rs", None));
    }

    #[test]
    fn a_window_of_lines_is_shown() {
        let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
        let range = |line| part("a", &text, line).0;
        assert_eq!(range(None), 0..40);
        assert_eq!(range(Some(1)), 0..40);
        assert_eq!(range(Some(50)), 44..84);
        assert_eq!(range(Some(100)), 60..100);
        assert_eq!(range(Some(9999)), 60..100);
        assert_eq!(part("a", "one", Some(7)).0, 0..1);
        assert_eq!(part("a", "", None).0, 0..0);
        assert!(part("a", &"ö".repeat(5000), None).1.len() < 1000);
    }
}
