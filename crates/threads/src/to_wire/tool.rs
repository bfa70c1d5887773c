//! Tool calls: an item each, whose output grows.

use harn_model::{ShownCall, TaggedItem, ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate};
use serde_json::Value;

use super::{ItemTag, ThreadProjector, content};
use crate::wire::{
    ItemDelta, ItemEnd, ItemStart, PendingStatus, ThreadNotification, ToolData, ToolEnd,
    ToolLogData, ToolOutcome,
};

/// The maximum number of bytes of a command's output in the end of its item.
pub(super) const OUTPUT_BYTES: usize = 2 * 1024 * 1024;

type CallItem = TaggedItem<ShownCall, ItemTag>;

impl ThreadProjector {
    /// Starts the item of a call, and before that ends an earlier call with the same id. The runtime makes an
    /// update of a second announcement.
    pub(super) fn announce(
        &mut self,
        call: &ToolCall,
        before: Option<CallItem>,
        out: &mut Vec<ThreadNotification>,
    ) {
        let id = &call.tool_call_id;
        if let Some(before) = before {
            let error = "another call has the same id".to_owned();
            self.end_call(id.clone(), before, ToolOutcome::Failed { error }, out);
        }
        if self.turn.is_none() {
            return;
        }
        let item = self.names.new_item_id(id.as_str());
        let ends = call.status.is_terminal();
        let mut ended = ends.then(|| self.transcript.new_call(call));
        let open = self.transcript.open.calls.get_mut(id);
        let Some(shown) = ended.as_mut().or(open) else {
            return;
        };
        shown.tag.id.clone_from(&item);
        let new = new_text(shown);
        let data = ToolData {
            call_id: id.clone(),
            tool: call.tool_name.clone(),
            status: PendingStatus::Pending,
            title: call.title.clone(),
            kind: call.kind,
            input: (!call.raw_input.is_null()).then(|| call.raw_input.clone()),
        };
        self.notify_started(&item, ItemStart::ToolExec(Box::new(data)), out);
        if new.is_some() {
            let data = ToolLogData {
                call_id: id.clone(),
                tool: call.tool_name.clone(),
                input: None,
            };
            self.notify_delta(item, ItemDelta::ToolLog { delta: new, data }, out);
        }
        if let Some(ended) = ended {
            let outcome = outcome(&ended, None, None);
            self.end_call(id.clone(), ended, outcome, out);
        }
    }

    /// Adds the output and the arguments of an update. A change of only the status, the title or partial arguments
    /// is notified at the end of the call.
    pub(super) fn update(
        &mut self,
        update: &ToolCallUpdate,
        mut ended: Option<CallItem>,
        out: &mut Vec<ThreadNotification>,
    ) {
        let id = &update.tool_call_id;
        let open = self.transcript.open.calls.get_mut(id);
        let Some(call) = ended.as_mut().or(open) else {
            return;
        };
        let shows = update.content.is_some();
        let new = shows.then(|| new_text(call)).flatten();
        if new.is_some() || update.raw_input.is_some() {
            let item = call.tag.id.clone();
            let data = ToolLogData {
                call_id: id.clone(),
                tool: call.tool_name.clone(),
                input: update.raw_input.clone(),
            };
            self.notify_delta(item, ItemDelta::ToolLog { delta: new, data }, out);
        }
        if let Some(ended) = ended {
            let outcome = outcome(&ended, update.error.as_deref(), update.raw_output.as_ref());
            self.end_call(id.clone(), ended, outcome, out);
        }
    }

    pub(super) fn end_call(
        &self,
        call_id: ToolCallId,
        call: CallItem,
        outcome: ToolOutcome,
        out: &mut Vec<ThreadNotification>,
    ) {
        let diffs = content::diffs(&call.output.content);
        let end = ToolEnd {
            call_id,
            tool: call.item.tool_name,
            outcome,
            diffs,
        };
        self.notify_completed(call.tag.id, Some(ItemEnd::ToolExec(Box::new(end))), out);
    }
}

/// Returns the text that clients append to their output of a call. A text that replaces another has no delta:
/// clients would append it to the one it replaces. The end of the item has it.
fn new_text(call: &mut CallItem) -> Option<String> {
    let output = &call.item.output;
    let prints = output
        .content
        .iter()
        .any(|part| part.command_output().is_some());
    let new = match prints {
        true => output.added.clone(),
        false => {
            let appended = &mut call.tag.appended;
            let shown = content::shown_text(&output.content);
            let new = shown.strip_prefix(appended.as_str()).unwrap_or_default();
            appended.push_str(new);
            new.to_owned()
        }
    };
    (!new.is_empty()).then_some(new)
}

/// Returns how a call ended, with its final output: what its command printed, else what it showed last, else its
/// result.
fn outcome(call: &ShownCall, error: Option<&str>, raw: Option<&Value>) -> ToolOutcome {
    if call.status == ToolCallStatus::Failed {
        let error = error.unwrap_or("the tool failed").to_owned();
        return ToolOutcome::Failed { error };
    }
    let output = match &call.output.printed {
        Some(printed) if printed.is_cut() => {
            format!("[… the beginning is left out …]\n{}", printed.as_str())
        }
        Some(printed) => printed.as_str().to_owned(),
        None => {
            let shown = content::shown_text(&call.output.content);
            let raw = raw.filter(|_| shown.is_empty());
            raw.map_or(shown, as_text)
        }
    };
    let title = call.title().to_owned();
    ToolOutcome::Done { output, title }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
