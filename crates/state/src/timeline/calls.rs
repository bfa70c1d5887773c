//! Rows of tools: calls, searches for tools, and compositions.

use harn_model::{
    ChildCall, ChildResult, CompositionRun, Seq, ToolCall, ToolCallId, ToolCallStatus,
    ToolCallUpdate, ToolKind, ToolSearchQuery, ToolSearchResult,
};
use serde_json::Value;

use super::{RowDraft, RowJoin, memory::TimelineMemory, text_format};
use crate::{to_wire::output, wire::TimelineKind};

pub(super) fn tool_call(seq: Seq, call: &ToolCall, memory: &mut TimelineMemory) -> RowDraft {
    let id = &call.tool_call_id;
    if may_execute(call.kind) {
        memory.executes.insert(seq, id.clone(), ());
    }
    remember_command(seq, id, &call.raw_input, memory);
    let subject = subject(call);
    let title = match call.status {
        ToolCallStatus::Pending => format!("Called: {subject}"),
        ToolCallStatus::InProgress => format!("Running: {subject}"),
        ToolCallStatus::Completed => format!("Done: {subject}"),
        ToolCallStatus::Failed => format!("Failed: {subject}"),
    };
    let shown = output::text(&call.content, None);
    let text = text_format::join_lines([text_format::format_json(&call.raw_input), Some(shown)]);
    RowDraft::new(TimelineKind::Tool, title).with_text(text)
}

pub(super) fn tool_call_update(
    seq: Seq,
    update: &ToolCallUpdate,
    memory: &mut TimelineMemory,
) -> RowDraft {
    let id = &update.tool_call_id;
    if let Some(input) = &update.raw_input {
        remember_command(seq, id, input, memory);
    }
    let command = memory.executes.get(seq, id.as_str());
    let command = command.and_then(|()| memory.commands.get(seq, id.as_str())?.as_deref());
    let name = update.title.as_deref().unwrap_or(&update.tool_name);
    let subject = command.map_or_else(|| name.to_owned(), quote_command);
    let took = text_format::duration_suffix(update.execution_duration_ms.or(update.duration_ms));
    let title = match update.status {
        ToolCallStatus::Pending => format!("Preparing: {subject}"),
        ToolCallStatus::InProgress => format!("Running: {subject}"),
        ToolCallStatus::Completed if command.is_some() => format!("Ran {subject}{took}"),
        ToolCallStatus::Completed => format!("Done: {subject}{took}"),
        ToolCallStatus::Failed => format!("Failed: {subject}{took}"),
    };
    let content = update.content.as_deref().unwrap_or_default();
    let output = output::text(content, update.raw_output.as_ref());
    let input = update.raw_input.as_ref().and_then(text_format::format_json);
    let input = input.or_else(|| update.raw_input_partial.clone());
    let text = text_format::join_lines([input, update.error.clone(), Some(output)]);
    let draft = RowDraft::new(TimelineKind::Tool, title).with_text(text);
    match update.status.is_terminal() {
        true => draft,
        false => draft.with_join(RowJoin::Call(id.clone())),
    }
}

/// Describes a call, by its command if it runs one.
pub(super) fn subject(call: &ToolCall) -> String {
    let command = command(&call.raw_input).filter(|_| may_execute(call.kind));
    let name = call.title.as_deref().unwrap_or(&call.tool_name);
    command.map_or_else(|| name.to_owned(), quote_command)
}

/// Formats a command in one line. An ellipsis shows that it has more lines.
pub(super) fn quote_command(command: &str) -> String {
    let more = match command.trim().lines().count() {
        0 | 1 => "",
        _ => " …",
    };
    format!("`{}{more}`", text_format::first_line(command))
}

/// Whether a `command` argument may be a command line. Tools that edit have commands that are none.
pub(super) fn may_execute(kind: Option<ToolKind>) -> bool {
    match kind {
        None | Some(ToolKind::Execute) => true,
        Some(
            ToolKind::Read
            | ToolKind::Edit
            | ToolKind::Delete
            | ToolKind::Move
            | ToolKind::Search
            | ToolKind::Think
            | ToolKind::Fetch
            | ToolKind::Other,
        ) => false,
    }
}

pub(super) fn command(input: &Value) -> Option<&str> {
    let command = input.get("command")?.as_str()?;
    (!command.trim().is_empty()).then_some(command)
}

fn remember_command(seq: Seq, id: &ToolCallId, input: &Value, memory: &mut TimelineMemory) {
    if !input.is_null() {
        let command = command(input).map(str::to_owned);
        memory.commands.insert(seq, id.clone(), command);
    }
}

pub(super) fn search(query: &ToolSearchQuery) -> RowDraft {
    let wanted = query.query.get("query").unwrap_or(&query.query);
    let wanted = text_format::format_json(wanted).unwrap_or_default();
    let title = format!("Searched for tools: {}", text_format::first_line(&wanted));
    let text = text_format::format_json(&query.query).unwrap_or_default();
    RowDraft::new(TimelineKind::Tool, title).with_text(text)
}

pub(super) fn search_result(result: &ToolSearchResult) -> RowDraft {
    let title = format!("Tools found: {}", text_format::join_list(&result.promoted));
    RowDraft::new(TimelineKind::Tool, title)
}

pub(super) fn composition_start(run: &CompositionRun) -> RowDraft {
    let title = format!("Snippet started{}", language(run));
    RowDraft::new(TimelineKind::Tool, title).with_text(&run.snippet)
}

pub(super) fn composition_end(how: &str, run: &CompositionRun) -> RowDraft {
    let took = text_format::duration_suffix(run.duration_ms);
    let title = format!("Snippet {how}{}{took}", language(run));
    let text = text_format::join_lines([
        run.error.clone(),
        run.result.as_ref().and_then(text_format::format_json),
        run.stdout.clone(),
        run.stderr.clone(),
    ]);
    RowDraft::new(TimelineKind::Tool, title).with_text(text)
}

fn language(run: &CompositionRun) -> String {
    match run.language.is_empty() {
        true => String::new(),
        false => format!(" ({})", run.language),
    }
}

pub(super) fn child_call(child: &ChildCall) -> RowDraft {
    let title = format!("{} of the snippet: called", child.tool_name);
    let text = text_format::format_json(&child.raw_input).unwrap_or_default();
    RowDraft::new(TimelineKind::Tool, title).with_text(text)
}

pub(super) fn child_result(child: &ChildResult) -> RowDraft {
    let how = match child.status {
        ToolCallStatus::Completed => "done",
        ToolCallStatus::Failed => "failed",
        ToolCallStatus::Pending | ToolCallStatus::InProgress => "running",
    };
    let took = text_format::duration_suffix(child.execution_duration_ms.or(child.duration_ms));
    let title = format!("{} of the snippet: {how}{took}", child.tool_name);
    let output = child.raw_output.as_ref().and_then(text_format::format_json);
    let text = text_format::join_lines([child.error.clone(), output]);
    RowDraft::new(TimelineKind::Tool, title).with_text(text)
}
