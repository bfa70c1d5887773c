//! `read_file`: reads a text file through the host and shows a part of it.

use std::{ops::Range, path::Path, sync::Arc};

use harn_model::{ToolAnnotations, ToolContent, ToolExecutor};
use harn_runtime::{AgentError, BoxFuture, ToolError, ToolOutput, TurnContext};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    BuiltinTool, BuiltinToolkit, builtin_call,
    execution::{display_path, executor, parse, run_by, to_json},
};
use crate::{
    Toolbox,
    markdown::{clip, fence, language},
};

/// The number of lines shown around one line.
const WINDOW: usize = 40;
/// The number of these lines before the requested line.
const BEFORE: usize = 5;
/// The maximum and default number of lines of a page.
pub(super) const MAX_LINES: usize = 2000;
/// The maximum length of a line in a window or a page, in characters: one line of a generated file may be as long
/// as the file.
const WINDOW_WIDTH: usize = 400;
const PAGE_WIDTH: usize = 2000;
/// The maximum size of a page.
const PAGE_BYTES: usize = 64 * 1024;

/// A file that was read.
#[derive(Clone, Debug)]
pub struct FileRead {
    /// The path, relative to the workspace if it is inside.
    pub path: String,
    /// The whole text.
    pub text: Arc<str>,
    output: ToolOutput,
}

impl From<FileRead> for ToolOutput {
    fn from(file: FileRead) -> Self {
        file.output
    }
}

/// The part of a file that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileView {
    /// Some lines around the requested one, for a person.
    Window,
    /// As many lines as fit from the requested one on, for a model.
    Page,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<usize>,
}

#[derive(Serialize)]
struct ReadOutput {
    lines: usize,
    bytes: usize,
}

impl BuiltinToolkit {
    /// Reads a file of the workspace, or a stored output of a command of this session.
    pub(super) fn read<'a>(
        &'a self,
        cx: &'a TurnContext,
        input: Value,
        view: FileView,
    ) -> BoxFuture<'a, Result<FileRead, AgentError>> {
        Box::pin(async move {
            let ReadInput { path, line, .. } = parse_input(&input)?;
            let target = cx.host().absolute(&path);
            let shown = display_path(cx.cwd(), &target);
            let mut tool = builtin_call(cx, BuiltinTool::ReadFile).input(input);
            let ours = self.outputs.as_ref().is_some_and(|it| it.contains(&target));
            if ours {
                tool = tool.annotations(annotations_without_path());
            }
            let title = match line {
                Some(line) => format!("Read {shown}:{line}"),
                None => format!("Read {shown}"),
            };
            let call = tool.title(title).location(&target, line).start().await?;
            let by = match ours {
                true => ToolExecutor::HarnBuiltin,
                false => executor(cx.host().client_offers().read_text),
            };
            let (host, input) = (call.host().clone(), call.input().clone());
            let work = async move {
                // The permission answer may have named another file.
                let input = parse_input(&input)?;
                let target = host.absolute(&input.path);
                let shown = display_path(cx.cwd(), &target);
                let text = match self.outputs.as_ref().filter(|it| it.contains(&target)) {
                    Some(outputs) if ours => outputs.read(&target).await?,
                    Some(_) | None => host.read_text(target).await?,
                };
                Ok::<_, ToolError>(build_file_read(shown, text.into(), &input, view))
            };
            run_by(cx, call, by, work).await
        })
    }
}

impl Toolbox {
    /// Calls `read_file` and shows the lines around `line`.
    pub async fn read_file(
        &self,
        cx: &TurnContext,
        path: &str,
        line: Option<u32>,
    ) -> Result<FileRead, AgentError> {
        let input = to_json(ReadInput {
            path: path.to_owned(),
            line,
            lines: None,
        });
        let file = self.kit.read(cx, input, FileView::Window).await?;
        self.note_read(cx, Path::new(&file.path)).await?;
        Ok(file)
    }
}

fn parse_input(input: &Value) -> Result<ReadInput, ToolError> {
    parse(input, "the arguments name no file")
}

/// Returns annotations without a path, for the session's stored outputs: they are in none of its directories, and
/// no rule about paths applies to them.
fn annotations_without_path() -> ToolAnnotations {
    ToolAnnotations {
        arg_schema: Some(json!({"path_params": []})),
        ..BuiltinTool::ReadFile.annotations()
    }
}

fn build_file_read(path: String, text: Arc<str>, input: &ReadInput, view: FileView) -> FileRead {
    let block = match view {
        FileView::Window => format_window(&path, &text, input.line).1,
        FileView::Page => format_page(&path, &text, input.line, input.lines),
    };
    let output = ToolOutput {
        raw: Some(to_json(ReadOutput {
            lines: text.lines().count(),
            bytes: text.len(),
        })),
        content: Some(vec![ToolContent::text(block)]),
        ..ToolOutput::default()
    };
    FileRead { path, text, output }
}

impl FileRead {
    /// Returns the range of lines to show around one, counted from 0, and their code block.
    pub fn window(&self, line: Option<u32>) -> (Range<usize>, String) {
        format_window(&self.path, &self.text, line)
    }
}

fn format_window(path: &str, text: &str, line: Option<u32>) -> (Range<usize>, String) {
    let lines: Vec<&str> = text.lines().collect();
    let wanted = line.map_or(0, |line| usize::try_from(line).unwrap_or(usize::MAX));
    let last_start = lines.len().saturating_sub(WINDOW);
    let start = wanted.saturating_sub(1 + BEFORE).min(last_start);
    let range = start..(start + WINDOW).min(lines.len());
    let shown = lines[range.clone()].iter();
    let shown: Vec<_> = shown.map(|line| clip(line, WINDOW_WIDTH)).collect();
    let block = fence(language(path), &shown.join("\n"), 0);
    (range, block)
}

/// Formats a page that starts at a line; if it ends before the file, it names the next line.
fn format_page(path: &str, text: &str, line: Option<u32>, lines: Option<usize>) -> String {
    let total = text.lines().count();
    if total == 0 {
        return "The file is empty.\n".to_owned();
    }
    let start = line.map_or(0, |line| {
        usize::try_from(line)
            .unwrap_or(usize::MAX)
            .saturating_sub(1)
    });
    if start >= total {
        return format!("The file ends at line {total}.\n");
    }
    let most = lines.unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
    let mut shown = String::new();
    let mut end = start;
    for line in text.lines().skip(start).take(most) {
        let line = clip(line, PAGE_WIDTH);
        if end > start && shown.len() + line.len() > PAGE_BYTES {
            break;
        }
        shown.push_str(&line);
        shown.push('\n');
        end += 1;
    }
    let block = fence(language(path), &shown, 0);
    if start == 0 && end == total {
        return block;
    }
    let (first, next) = (start + 1, end + 1);
    let more = match end < total {
        true => format!("; the next is {next}"),
        false => String::new(),
    };
    format!("{block}\nThese are lines {first} to {end} of {total}{more}.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_surrounds_the_requested_line() {
        let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
        let range = |line| format_window("a", &text, line).0;
        assert_eq!(range(None), 0..40);
        assert_eq!(range(Some(1)), 0..40);
        assert_eq!(range(Some(50)), 44..84);
        assert_eq!(range(Some(100)), 60..100);
        assert_eq!(range(Some(9999)), 60..100);
        assert_eq!(format_window("a", "one", Some(7)).0, 0..1);
        assert_eq!(format_window("a", "", None).0, 0..0);
        assert!(format_window("a", &"ö".repeat(5000), None).1.len() < 1000);
    }

    #[test]
    fn a_page_names_the_first_line_of_the_next() {
        let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
        let whole = format_page("a.rs", &text, None, None);
        assert!(whole.starts_with("```rust\nline 1\n") && whole.ends_with("line 100\n```\n"));
        let part = format_page("a", &text, Some(99), Some(1));
        assert_eq!(
            part,
            "```\nline 99\n```\n\nThese are lines 99 to 99 of 100; the next is 100.\n"
        );
        let end = format_page("a", &text, Some(100), None);
        assert!(
            end.ends_with("These are lines 100 to 100 of 100.\n"),
            "{end}"
        );
        assert_eq!(
            format_page("a", &text, Some(101), None),
            "The file ends at line 100.\n"
        );
        assert_eq!(format_page("a", "", None, None), "The file is empty.\n");
        let wide = format!("{}\n", "ö".repeat(1000)).repeat(100);
        let page = format_page("a", &wide, None, None);
        assert!(page.len() < PAGE_BYTES + 200, "{}", page.len());
        assert!(page.ends_with("These are lines 1 to 32 of 100; the next is 33.\n"));
    }
}
