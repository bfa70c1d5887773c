//! Questions about tool calls: an item each while they are open, and their decisions.

use harn_model::{
    Decision, GrantScope, GrantSubject, PermissionAsked, PermissionOption, PermissionOptionKind,
    TaggedItem,
};
use serde_json::{Map, Value, json};

use super::{ItemTag, ThreadProjector, content};
use crate::wire::{
    ApprovalData, ApprovalEnd, ApprovalReply, AskedCall, ItemEnd, ItemStart, ThreadApproval,
    ThreadNotification,
};

type AskItem = TaggedItem<Box<PermissionAsked>, ItemTag>;

impl ThreadProjector {
    pub(super) fn add_ask(
        &mut self,
        ask: &PermissionAsked,
        before: Option<AskItem>,
        out: &mut Vec<ThreadNotification>,
    ) {
        if let Some(before) = before {
            self.end_ask(before, undecided_end("the agent asked again"), out);
        }
        let open = self.transcript.open.asks.get_mut(&ask.ask_id);
        let (Some(turn), Some(open)) = (&self.turn, open) else {
            return;
        };
        let item = self.names.new_item_id(ask.ask_id.as_str());
        open.tag.id.clone_from(&item);
        let (turn_id, message_id) = (turn.id.clone(), turn.last_message.to_string());
        let data = ApprovalData {
            request_id: ask.ask_id.to_string(),
            permission: ask.tool_call.tool_name.clone(),
            patterns: patterns(ask),
            metadata: metadata(ask),
        };
        self.notify_started(&item, ItemStart::Approval(data.clone()), out);
        // A worker's call is in a thread of its own, and no item here.
        let own = ask.lineage.is_empty();
        let tool = own.then(|| AskedCall {
            message_id,
            call_id: ask.tool_call.tool_call_id.clone(),
        });
        out.push(ThreadNotification::ApprovalRequested(Box::new(
            ThreadApproval {
                thread_id: self.thread.clone(),
                turn_id,
                item_id: item,
                ask: data,
                tool,
            },
        )));
    }

    pub(super) fn end_ask(
        &self,
        ask: AskItem,
        end: ApprovalEnd,
        out: &mut Vec<ThreadNotification>,
    ) {
        self.notify_completed(ask.tag.id, Some(ItemEnd::Approval(end)), out);
    }
}

pub(super) fn undecided_end(why: &str) -> ApprovalEnd {
    ApprovalEnd {
        reply: ApprovalReply::Reject,
        reason: Some(why.to_owned()),
    }
}

/// Maps a decision to the three words of this wire: a decision that does not allow is a rejection.
pub(super) fn decided_end(decision: &Decision, options: &[PermissionOption]) -> ApprovalEnd {
    let (reply, reason) = match decision {
        Decision::Allowed { option_id, .. } => {
            let chosen = options.iter().find(|it| it.option_id == *option_id);
            let lasting = |it: &PermissionOption| it.kind == PermissionOptionKind::AllowAlways;
            match chosen.is_some_and(lasting) {
                true => (ApprovalReply::Always, None),
                false => (ApprovalReply::Once, None),
            }
        }
        Decision::Rejected { reason, .. } => (ApprovalReply::Reject, reason.clone()),
        Decision::Cancelled => {
            let why = "the request was cancelled before a decision".to_owned();
            (ApprovalReply::Reject, Some(why))
        }
        Decision::Unavailable { reason } => (ApprovalReply::Reject, Some(reason.clone())),
    };
    ApprovalEnd { reply, reason }
}

/// Returns the exact subject of the question: the one of its grant, else the files of the call.
fn patterns(ask: &PermissionAsked) -> Vec<String> {
    match ask.grant.as_ref().map(|grant| &grant.subject) {
        Some(GrantSubject::Argv(words)) => match ask.command() {
            Some(command) => vec![command.to_owned()],
            None => vec![words.join(" ")],
        },
        Some(GrantSubject::Line(line)) => vec![ask.command().unwrap_or(line).to_owned()],
        Some(GrantSubject::Paths(paths)) => paths.clone(),
        Some(GrantSubject::Arguments(_)) | None => {
            let locations = ask.tool_call.locations.iter();
            locations.map(|location| location.path.clone()).collect()
        }
    }
}

/// Returns further facts for the person who decides.
fn metadata(ask: &PermissionAsked) -> Map<String, Value> {
    let call = &ask.tool_call;
    let mut metadata = Map::new();
    let mut add = |name: &str, value: Value| {
        if !value.is_null() {
            metadata.insert(name.to_owned(), value);
        }
    };
    add("title", json!(call.title));
    add("kind", json!(call.kind));
    add("input", call.raw_input.clone());
    add("command", json!(ask.command()));
    let receipt = ask.policy_decision.as_ref();
    let diffs = content::diffs(&call.content);
    if !diffs.is_empty() {
        add("diffs", json!(diffs));
    }
    add("reason", json!(receipt.map(|receipt| &receipt.reason)));
    // The meaning of `always`, in the words of the option that it selects.
    let lasting = ask
        .options
        .iter()
        .filter(|it| it.kind == PermissionOptionKind::AllowAlways && it.scope != GrantScope::Once);
    let widest = lasting.max_by_key(|option| option.scope);
    add("always", json!(widest.map(|option| &option.name)));
    add("deadline", json!(ask.deadline));
    let workers: Vec<_> = ask.lineage.iter().map(|it| &it.worker_name).collect();
    if !workers.is_empty() {
        add("workers", json!(workers));
    }
    metadata
}
