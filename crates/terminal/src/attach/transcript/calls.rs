//! Tool calls in a transcript: one entry each, with the current state.

use std::{borrow::Cow, path::Path};

use agent_client_protocol::v1::schema::{ToolCall, ToolCallContent, ToolCallUpdate};
use serde_json::Value;

use super::{ToolCallEntry, TranscriptEntry, TranscriptWindow};
use crate::{
    agent_messages::{activity::tool_meta, call_fold, call_text, diff},
    paint::PaintStyle,
};

/// The maximum length of an output in bytes; its end is kept.
const OUTPUT: usize = 64 * 1024;
/// The maximum number of lines of a diff.
const DIFF: usize = 1000;
/// The maximum length of the arguments in bytes.
const INPUT: usize = 16 * 1024;

impl TranscriptWindow {
    pub(in crate::attach) fn add_call(&mut self, call: ToolCall) {
        let ours = tool_meta(call.meta.as_ref());
        let id = call.tool_call_id.0.clone();
        let ended = call_fold::announce(&mut self.fold, &call);
        let status = ended.as_ref().or(self.fold.open.calls.get(&*id));
        let mut shown = ToolCallEntry {
            kind: call.kind,
            status: status.map_or_else(Default::default, |call| call.status),
            title: call.title,
            took: ours.duration_ms,
            error: ours.error.map(Cow::into_owned),
            input: String::new(),
            output: String::new(),
            diff: Vec::new(),
        };
        let input = call.raw_input.as_ref();
        shown.set_content(input, Some(&call.content), &self.cwd);
        let number = self.push(TranscriptEntry::Call(shown));
        if let Some(open) = self.fold.open.calls.get_mut(&*id) {
            open.tag = number;
        }
    }

    /// Updates a call. An unknown or dropped call is ignored.
    pub(in crate::attach) fn update_call(&mut self, update: ToolCallUpdate) {
        let ours = tool_meta(update.meta.as_ref());
        let ended = call_fold::update(&mut self.fold, &update);
        let open = self.fold.open.calls.get(&*update.tool_call_id.0);
        let Some(now) = ended.as_ref().or(open) else {
            return;
        };
        let (number, title, status) = (now.tag, now.title().to_owned(), now.status);
        let fields = update.fields;
        let cwd = self.cwd.clone();
        self.change(number, |entry| {
            let TranscriptEntry::Call(call) = entry else {
                return;
            };
            call.title = title;
            call.kind = fields.kind.unwrap_or(call.kind);
            call.status = status;
            call.took = ours.duration_ms.or(call.took);
            call.error = ours.error.map(Cow::into_owned).or(call.error.take());
            call.set_content(fields.raw_input.as_ref(), fields.content.as_deref(), &cwd);
        });
    }
}

impl ToolCallEntry {
    /// Replaces the arguments and the content, if the update has them; each update has them whole.
    fn set_content(
        &mut self,
        input: Option<&Value>,
        content: Option<&[ToolCallContent]>,
        cwd: &Path,
    ) {
        if let Some(input) = input {
            self.input = call_text::input_lines(self.kind, input);
            truncate(&mut self.input, INPUT);
        }
        let Some(content) = content else {
            return;
        };
        self.output = tail(&call_text::text_lines(content).join("\n"));
        let diffs = content.iter().filter_map(|item| match item {
            ToolCallContent::Diff(diff) => Some(diff),
            _ => None,
        });
        self.diff = diffs
            .flat_map(|diff| diff::unified_diff(diff, cwd))
            .collect();
        let more = self.diff.len().saturating_sub(DIFF);
        if more > 0 {
            self.diff.truncate(DIFF);
            let more = format!("… {more} more lines");
            self.diff.push((PaintStyle::Dim, more));
        }
    }
}

fn truncate(text: &mut String, longest: usize) {
    if text.len() > longest {
        let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
}

/// Returns the end of a long text, from the beginning of a line.
fn tail(text: &str) -> String {
    let mut places = text.len().saturating_sub(OUTPUT)..;
    let from = places.find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    match (from, text[from..].split_once('\n')) {
        (0, _) => text.to_owned(),
        (_, Some((_, lines))) => format!("…\n{lines}"),
        (_, None) => format!("…{}", &text[from..]),
    }
}
