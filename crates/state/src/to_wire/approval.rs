//! Questions about tool calls, with everything a decision needs, while they are open.

use harn_model::{Decision, OpenItems, PermissionAsked, TaggedItem};

use super::{
    Document,
    call::{CallPosition, diffs},
    output,
};
use crate::{
    changes::{DocumentChanges, at},
    wire::{ApprovalChoice, ApprovalStatus, PendingApproval},
};

type TaggedAsk = TaggedItem<Box<PermissionAsked>, Option<CallPosition>>;

impl Document {
    pub(super) fn add_ask(
        &mut self,
        ask: &PermissionAsked,
        before: Option<TaggedAsk>,
        out: &mut DocumentChanges,
    ) {
        // An earlier question with this id will not be answered any more.
        if let Some(before) = before {
            self.close_ask(&before, ApprovalStatus::Denied, out);
        }
        let calls = &self.transcript.open.calls;
        let call = calls.get(&ask.tool_call.tool_call_id);
        let call = call.and_then(|call| call.tag);
        if let Some(call) = call {
            self.set_decision(call, ApprovalStatus::Pending, out);
        }
        if let Some(open) = self.transcript.open.asks.get_mut(&ask.ask_id) {
            open.tag = call;
        }
        self.state.approvals.push(approval(ask));
        out.set(at!["approvals"], &self.state.approvals);
    }

    /// Closes questions that are open when their turn ends. The runtime leaves none; a log may have been cut.
    pub(super) fn settle_asks(
        &mut self,
        left: &OpenItems<Option<CallPosition>>,
        out: &mut DocumentChanges,
    ) {
        let open = self.state.approvals.iter();
        let open = open.filter_map(|it| left.asks.get(it.id.as_str()));
        for ask in open.collect::<Vec<_>>() {
            self.close_ask(ask, ApprovalStatus::Denied, out);
        }
    }

    /// Removes a question that was decided, or never will be.
    pub(super) fn close_ask(
        &mut self,
        ask: &TaggedAsk,
        how: ApprovalStatus,
        out: &mut DocumentChanges,
    ) {
        if let Some(call) = ask.tag {
            self.set_decision(call, how, out);
        }
        let id = ask.ask_id.as_str();
        self.state.approvals.retain(|approval| approval.id != id);
        out.set(at!["approvals"], &self.state.approvals);
    }
}

pub(super) fn status(decision: &Decision) -> ApprovalStatus {
    match decision.allows() {
        true => ApprovalStatus::Approved,
        false => ApprovalStatus::Denied,
    }
}

fn approval(ask: &PermissionAsked) -> PendingApproval {
    let call = &ask.tool_call;
    let receipt = ask.policy_decision.as_ref();
    let workers = ask.lineage.iter().map(|above| above.worker_name.as_str());
    let workers: Vec<_> = workers.collect();
    let paths = ask.shown_paths().into_iter().map(str::to_owned);
    let options = ask.options.iter().map(|option| ApprovalChoice {
        id: option.option_id.clone(),
        name: option.name.clone(),
        kind: option.kind,
        scope: option.scope,
    });
    PendingApproval {
        id: ask.ask_id.to_string(),
        tool_call_id: call.tool_call_id.to_string(),
        name: call.tool_name.clone(),
        title: call.title.clone().unwrap_or_else(|| call.tool_name.clone()),
        kind: call.kind.unwrap_or_default(),
        input: call.raw_input.clone(),
        command: ask.command().map(str::to_owned),
        locations: call.locations.clone(),
        diffs: diffs(&call.content),
        output: output::text(&call.content, None),
        reason: receipt.map(|receipt| receipt.reason.clone()),
        risks: receipt.map_or_else(Vec::new, |receipt| receipt.risk_labels.clone()),
        paths: paths.collect(),
        options: options.collect(),
        requested_at: ask.requested_at,
        deadline: ask.deadline,
        worker: (!workers.is_empty()).then(|| workers.join(" / ")),
    }
}
