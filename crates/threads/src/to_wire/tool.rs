//! Tool calls: an item each, whose output grows.

use harn_model::{OutputText, ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent};
use serde_json::Value;

use super::{Projector, content};
use crate::wire::{
    Delta, Diff, ItemEnd, ItemStart, Notification, Pending, ToolData, ToolEnd, ToolLogData,
    ToolOutcome,
};

/// How much of a command's output the end of its item repeats at most.
const OUTPUT_BYTES: usize = 2 * 1024 * 1024;

/// A call that was told to have begun.
pub(super) struct OpenCall {
    item: String,
    tool: String,
    title: Option<String>,
    /// What it shows.
    shown: String,
    /// What clients have of that, from the deltas.
    appended: String,
    /// What its command printed.
    printed: Option<OutputText>,
    diffs: Vec<Diff>,
}

impl OpenCall {
    /// Takes over what it shows now, and returns what clients append to what they have. A text that replaces
    /// another has no delta: a client would append it to the one it replaces. The end of the item has it.
    fn show(&mut self, content: &[ToolContent]) -> Option<String> {
        self.diffs = content::diffs(content);
        let new = match content::output(content) {
            Some(part) => {
                let printed = &mut self.printed;
                let printed = printed.get_or_insert_with(|| OutputText::new(OUTPUT_BYTES));
                printed.append(part)
            }
            None => {
                self.shown = content::shown(content);
                let new = self.shown.strip_prefix(self.appended.as_str());
                let new = new.unwrap_or_default().to_owned();
                self.appended.push_str(&new);
                new
            }
        };
        (!new.is_empty()).then_some(new)
    }

    /// What it shows in the end: what its command printed, else what it showed last, else its result.
    fn output(&self, raw: Option<&Value>) -> String {
        match (&self.printed, raw) {
            (Some(printed), _) if printed.is_cut() => {
                format!("[… the beginning is left out …]\n{}", printed.as_str())
            }
            (Some(printed), _) => printed.as_str().to_owned(),
            (None, Some(raw)) if self.shown.is_empty() => as_text(raw),
            (None, _) => self.shown.clone(),
        }
    }

    fn title(&self) -> String {
        self.title.clone().unwrap_or_else(|| self.tool.clone())
    }
}

impl Projector {
    pub(super) fn announce(&mut self, call: &ToolCall, out: &mut Vec<Notification>) {
        let Some(turn) = &mut self.turn else { return };
        // The runtime makes an update of a second announcement; a log that has one all the same told nothing
        // new by it.
        if turn.calls.contains_key(&call.tool_call_id) {
            return;
        }
        let item = self.names.item(call.tool_call_id.as_str());
        let mut open = OpenCall {
            item: item.clone(),
            tool: call.tool_name.clone(),
            title: call.title.clone(),
            shown: String::new(),
            appended: String::new(),
            printed: None,
            diffs: Vec::new(),
        };
        let new = open.show(&call.content);
        turn.calls.insert(call.tool_call_id.clone(), open);
        let data = ToolData {
            call_id: call.tool_call_id.clone(),
            tool: call.tool_name.clone(),
            status: Pending::Pending,
            title: call.title.clone(),
            kind: call.kind,
            input: (!call.raw_input.is_null()).then(|| call.raw_input.clone()),
        };
        self.started(&item, ItemStart::ToolExec(Box::new(data)), out);
        if new.is_some() {
            let data = ToolLogData {
                call_id: call.tool_call_id.clone(),
                tool: call.tool_name.clone(),
                input: None,
            };
            self.delta(item, Delta::ToolLog { delta: new, data }, out);
        }
        if call.status.is_terminal() {
            let update = ToolCallUpdate::new(
                call.tool_call_id.clone(),
                call.tool_name.clone(),
                call.status,
            );
            self.update(&update, out);
        }
    }

    /// What only changes the status, the title or half of the arguments is told with the end of the call.
    pub(super) fn update(&mut self, update: &ToolCallUpdate, out: &mut Vec<Notification>) {
        let turn = self.turn.as_mut();
        let Some(call) = turn.and_then(|turn| turn.calls.get_mut(&update.tool_call_id)) else {
            return;
        };
        if update.title.is_some() {
            call.title.clone_from(&update.title);
        }
        let new = update.content.as_ref();
        let new = new.and_then(|content| call.show(content));
        if new.is_some() || update.raw_input.is_some() {
            let item = call.item.clone();
            let data = ToolLogData {
                call_id: update.tool_call_id.clone(),
                tool: call.tool.clone(),
                input: update.raw_input.clone(),
            };
            self.delta(item, Delta::ToolLog { delta: new, data }, out);
        }
        if update.status.is_terminal() {
            self.end_call(update, out);
        }
    }

    fn end_call(&mut self, update: &ToolCallUpdate, out: &mut Vec<Notification>) {
        let turn = self.turn.as_mut();
        let Some(call) = turn.and_then(|turn| turn.calls.remove(&update.tool_call_id)) else {
            return;
        };
        let outcome = if update.status == ToolCallStatus::Failed {
            let error = update.error.clone();
            let error = error.unwrap_or_else(|| "the tool failed".to_owned());
            ToolOutcome::Failed { error }
        } else {
            ToolOutcome::Done {
                output: call.output(update.raw_output.as_ref()),
                title: call.title(),
            }
        };
        let end = ToolEnd {
            call_id: update.tool_call_id.clone(),
            tool: call.tool,
            outcome,
            diffs: call.diffs,
        };
        self.completed(call.item, Some(ItemEnd::ToolExec(Box::new(end))), out);
    }

    /// Ends the calls that nobody ended. The runtime leaves none; a log may have been cut.
    pub(super) fn settle_calls(&mut self, why: &str, out: &mut Vec<Notification>) {
        let turn = self.turn.as_mut();
        let calls = turn.map(|turn| std::mem::take(&mut turn.calls));
        for (call_id, call) in calls.unwrap_or_default() {
            let error = why.to_owned();
            let end = ToolEnd {
                call_id,
                tool: call.tool,
                outcome: ToolOutcome::Failed { error },
                diffs: call.diffs,
            };
            self.completed(call.item, Some(ItemEnd::ToolExec(Box::new(end))), out);
        }
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
