//! The agent's tool calls, each at its message, with their progress.

use harn_model::{
    CallOutput, OpenItems, ShownCall, TaggedItem, Timestamp, ToolCallStatus, ToolCallUpdate,
    ToolContent,
};
use serde::Serialize;

use super::{Document, output};
use crate::{
    changes::{DocumentChanges, at},
    wire::{ApprovalStatus, CallDiff, CallStatus, DocumentToolCall, MessageStatus},
};

/// How many bytes of a call's output are in the document; the log has all of it.
pub(crate) const OUTPUT_BYTES: usize = 64 * 1024;
/// How many bytes of a command's printed text are in the document: its end. The rest is for other content of the
/// call.
pub(super) const PRINTED_BYTES: usize = 48 * 1024;

/// The permanent position of a call: the index of its message, and its index there.
#[derive(Clone, Copy)]
pub(super) struct CallPosition {
    message: usize,
    index: usize,
}

type TaggedCall = TaggedItem<ShownCall, Option<CallPosition>>;

impl Document {
    pub(super) fn announce(
        &mut self,
        call: &harn_model::ToolCall,
        before: Option<TaggedCall>,
        at: Timestamp,
        out: &mut DocumentChanges,
    ) {
        let message = match &self.open {
            Some(open) => open.index,
            None => self.begin_message(
                call.tool_call_id.as_str(),
                MessageStatus::Streaming,
                at,
                out,
            ),
        };
        if let Some(open) = &mut self.open {
            open.acted = true;
        }
        let mut call_output = CallOutput::default();
        call_output.replace_content(&call.content, PRINTED_BYTES);
        let (output, cut) = cut_output(&call_output);
        let shown = DocumentToolCall {
            id: call.tool_call_id.to_string(),
            name: call.tool_name.clone(),
            status: status(call.status),
            title: call.title.clone().unwrap_or_else(|| call.tool_name.clone()),
            kind: call.kind.unwrap_or_default(),
            at,
            duration_ms: None,
            locations: call.locations.clone(),
            input: call.raw_input.clone(),
            output,
            cut,
            diffs: diffs(&call.content),
            error: None,
            approval: None,
        };
        // An earlier call with this id will receive no updates any more.
        if let Some(place) = before.and_then(|before| before.tag) {
            self.settle_call(place, out);
        }
        let calls = self.message(message).tool_calls.get_or_insert_default();
        let index = calls.len();
        calls.push(shown);
        if let Some(open) = self.transcript.open.calls.get_mut(&call.tool_call_id) {
            open.tag = Some(CallPosition { message, index });
        }
        if let Some(shown) = self.shown_call(message, index) {
            out.set(at!["messages", message, "toolCalls", index], shown);
        }
        self.set_message_status(message, MessageStatus::Streaming, out);
    }

    pub(super) fn update(
        &mut self,
        update: &ToolCallUpdate,
        ended: Option<TaggedCall>,
        out: &mut DocumentChanges,
    ) {
        let open = self.transcript.open.calls.get(&update.tool_call_id);
        let Some((call, place)) = ended.as_ref().or(open).and_then(|it| Some((it, it.tag?))) else {
            return;
        };
        // Both may be long, and most updates contain neither.
        let says = update.content.is_some() || update.raw_output.is_some();
        let shown = says.then(|| cut_output(&call.output));
        let changed = update.content.is_some();
        let changed = changed.then(|| diffs(&call.output.content));
        let mut edit = self.edit(place, out);
        edit.set_field("status", |call| &mut call.status, status(update.status));
        if let Some(title) = &update.title {
            edit.set_field("title", |call| &mut call.title, title.clone());
        }
        if let Some(input) = &update.raw_input {
            edit.set_field("input", |call| &mut call.input, input.clone());
        }
        if let Some(locations) = &update.locations {
            edit.set_field("locations", |call| &mut call.locations, locations.clone());
        }
        if let Some(error) = &update.error {
            edit.set_field("error", |call| &mut call.error, Some(error.clone()));
        }
        // The time of execution, without the wait for a permission.
        if let Some(took) = update.execution_duration_ms.or(update.duration_ms) {
            edit.set_field("durationMs", |call| &mut call.duration_ms, Some(took));
        }
        if let Some((text, is_cut)) = shown {
            edit.set_output(text);
            edit.set_field("cut", |call| &mut call.cut, is_cut);
        }
        if let Some(changed) = changed {
            edit.set_field("diffs", |call| &mut call.diffs, changed);
        }
    }

    /// Sets the state of the decision about a call.
    pub(super) fn set_decision(
        &mut self,
        call: CallPosition,
        how: ApprovalStatus,
        out: &mut DocumentChanges,
    ) {
        let mut edit = self.edit(call, out);
        edit.set_field("approval", |call| &mut call.approval, Some(how));
    }

    /// Ends calls that are open when their turn ends. The runtime leaves none; a log may have been cut.
    pub(super) fn settle_calls(
        &mut self,
        left: &OpenItems<Option<CallPosition>>,
        out: &mut DocumentChanges,
    ) {
        let mut left: Vec<_> = left.calls.values().filter_map(|call| call.tag).collect();
        left.sort_by_key(|place| (place.message, place.index));
        for place in left {
            self.settle_call(place, out);
        }
    }

    fn settle_call(&mut self, place: CallPosition, out: &mut DocumentChanges) {
        let mut edit = self.edit(place, out);
        edit.set_field("status", |call| &mut call.status, CallStatus::Error);
    }

    fn edit<'a>(&'a mut self, place: CallPosition, out: &'a mut DocumentChanges) -> CallEdit<'a> {
        CallEdit {
            document: self,
            place,
            out,
        }
    }

    fn shown_call(&self, message: usize, index: usize) -> Option<&DocumentToolCall> {
        self.state.messages[message].tool_calls.as_ref()?.get(index)
    }
}

/// A call to change, with its position and the list of changes.
struct CallEdit<'a> {
    document: &'a mut Document,
    place: CallPosition,
    out: &'a mut DocumentChanges,
}

impl CallEdit<'_> {
    fn call(&mut self) -> Option<&mut DocumentToolCall> {
        let CallPosition { message, index } = self.place;
        let calls = self.document.message(message).tool_calls.as_mut()?;
        calls.get_mut(index)
    }

    fn path(&self, field: &str) -> Vec<String> {
        let CallPosition { message, index } = self.place;
        at!["messages", message, "toolCalls", index, field]
    }

    fn set_field<T: PartialEq + Serialize>(
        &mut self,
        name: &str,
        of: impl FnOnce(&mut DocumentToolCall) -> &mut T,
        value: T,
    ) {
        let path = self.path(name);
        if let Some(field) = self.call().map(of)
            && *field != value
        {
            *field = value;
            let field = &*field;
            // A value of its own: the field is borrowed from `self`, as `out` is.
            let told = serde_json::to_value(field).unwrap_or_default();
            self.out.set(path, &told);
        }
    }

    /// Sets the output. It mostly grows, so only the new part is sent.
    fn set_output(&mut self, text: String) {
        let path = self.path("output");
        let Some(call) = self.call() else {
            return;
        };
        let grown = text.strip_prefix(call.output.as_str()).map(str::to_owned);
        call.output = text;
        match grown {
            Some(more) => self.out.append(path, &more),
            None => {
                let text = call.output.clone();
                self.out.set(path, &text);
            }
        }
    }
}

fn status(status: ToolCallStatus) -> CallStatus {
    match status {
        ToolCallStatus::Pending | ToolCallStatus::InProgress => CallStatus::Running,
        ToolCallStatus::Completed => CallStatus::Complete,
        ToolCallStatus::Failed => CallStatus::Error,
    }
}

/// Returns the file changes of a call, whole.
pub(super) fn diffs(content: &[ToolContent]) -> Vec<CallDiff> {
    let diffs = content.iter().filter_map(ToolContent::diff);
    let diffs = diffs.map(|(path, old_text, new_text)| CallDiff {
        path: path.to_owned(),
        old_text: old_text.map(str::to_owned),
        new_text: new_text.to_owned(),
    });
    diffs.collect()
}

/// Returns the part of an output that the document contains, and whether it was cut.
fn cut_output(output: &CallOutput) -> (String, bool) {
    let (text, is_long) = cut_text(output::whole_text(output));
    (text, is_long || output::is_cut(output))
}

/// Returns the part of a text that the document contains, and whether it was cut.
pub(super) fn cut_text(mut text: String) -> (String, bool) {
    let is_cut = text.len() > OUTPUT_BYTES;
    if is_cut {
        let mut ends = (0..=OUTPUT_BYTES).rev();
        let end = ends.find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or_default());
    }
    (text, is_cut)
}
