//! Questions about tool calls: an item each that waits, and what was decided.

use harn_model::{
    Decision, GrantScope, GrantSubject, PermissionAsked, PermissionOption, PermissionOptionKind,
    PermissionResolved,
};
use serde_json::{Map, Value, json};

use super::{OpenAsk, Projector, content};
use crate::wire::{
    Approval, ApprovalData, ApprovalEnd, ApprovalReply, AskedCall, ItemEnd, ItemStart, Notification,
};

impl Projector {
    pub(super) fn ask(&mut self, ask: &PermissionAsked, out: &mut Vec<Notification>) {
        let Some(turn) = &mut self.turn else { return };
        // Asked once, whatever a log says.
        if turn.asks.contains_key(&ask.ask_id) {
            return;
        }
        let item = self.names.item(ask.ask_id.as_str());
        let open = OpenAsk {
            item: item.clone(),
            options: ask.options.clone(),
        };
        turn.asks.insert(ask.ask_id.clone(), open);
        let (turn_id, message_id) = (turn.id.clone(), turn.last_message.to_string());
        let data = ApprovalData {
            request_id: ask.ask_id.to_string(),
            permission: ask.tool_call.tool_name.clone(),
            patterns: patterns(ask),
            metadata: metadata(ask),
        };
        self.started(&item, ItemStart::Approval(data.clone()), out);
        // A worker's call is in a thread of its own, and no item here.
        let own = ask.lineage.is_empty();
        let tool = own.then(|| AskedCall {
            message_id,
            call_id: ask.tool_call.tool_call_id.clone(),
        });
        out.push(Notification::ApprovalRequested(Box::new(Approval {
            thread_id: self.thread.clone(),
            turn_id,
            item_id: item,
            ask: data,
            tool,
        })));
    }

    pub(super) fn resolve(&mut self, resolved: &PermissionResolved, out: &mut Vec<Notification>) {
        let turn = self.turn.as_mut();
        let Some(ask) = turn.and_then(|turn| turn.asks.remove(&resolved.ask_id)) else {
            return;
        };
        let end = ItemEnd::Approval(decided(&resolved.decision, &ask.options));
        self.completed(ask.item, Some(end), out);
    }

    /// Ends what nobody decided. The runtime leaves nothing; a log may have been cut.
    pub(super) fn settle_asks(&mut self, why: &str, out: &mut Vec<Notification>) {
        let turn = self.turn.as_mut();
        let asks = turn.map(|turn| std::mem::take(&mut turn.asks));
        for ask in asks.unwrap_or_default().into_values() {
            let end = ItemEnd::Approval(ApprovalEnd {
                reply: ApprovalReply::Reject,
                reason: Some(why.to_owned()),
            });
            self.completed(ask.item, Some(end), out);
        }
    }
}

/// A decision in three words: what does not allow is a no.
fn decided(decision: &Decision, options: &[PermissionOption]) -> ApprovalEnd {
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
            let why = "it was cancelled before anybody decided".to_owned();
            (ApprovalReply::Reject, Some(why))
        }
        Decision::Unavailable { reason } => (ApprovalReply::Reject, Some(reason.clone())),
    };
    ApprovalEnd { reply, reason }
}

/// What exactly is asked for: what would be remembered, else the files of the call.
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

/// What else somebody who decides should see.
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
    // What `always` would mean, in the words of the option it chooses.
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
