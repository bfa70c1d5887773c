//! Questions about tool calls, with all that a decision needs, for as long as they are open.

use harn_model::{AskId, PermissionAsked, PermissionResolved};

use super::{Document, call::diffs, output};
use crate::{
    changes::{Changes, at},
    wire::{Approval, ApprovalChoice, ApprovalStatus},
};

impl Document {
    pub(super) fn ask(&mut self, ask: &PermissionAsked, out: &mut Changes) {
        // One that has this id already will not be answered any more.
        self.close(&ask.ask_id, ApprovalStatus::Denied, out);
        let call = self.place_of(&ask.tool_call.tool_call_id);
        if let Some(call) = call {
            self.decided(call, ApprovalStatus::Pending, out);
        }
        self.asks.insert(ask.ask_id.clone(), call);
        self.state.approvals.push(approval(ask));
        out.set(at!["approvals"], &self.state.approvals);
    }

    pub(super) fn resolve(&mut self, resolved: &PermissionResolved, out: &mut Changes) {
        let how = match resolved.decision.allows() {
            true => ApprovalStatus::Approved,
            false => ApprovalStatus::Denied,
        };
        self.close(&resolved.ask_id, how, out);
    }

    /// Questions that are left when their turn ends. The runtime leaves none; a log may have been cut.
    pub(super) fn settle_asks(&mut self, out: &mut Changes) {
        let left: Vec<_> = self
            .state
            .approvals
            .iter()
            .map(|it| it.id.clone())
            .collect();
        for id in left {
            self.close(&id.into(), ApprovalStatus::Denied, out);
        }
    }

    /// Somebody decided, or nobody will.
    fn close(&mut self, ask: &AskId, how: ApprovalStatus, out: &mut Changes) {
        let Some(call) = self.asks.remove(ask) else {
            return;
        };
        if let Some(call) = call {
            self.decided(call, how, out);
        }
        let id = ask.as_str();
        self.state.approvals.retain(|approval| approval.id != id);
        out.set(at!["approvals"], &self.state.approvals);
    }
}

fn approval(ask: &PermissionAsked) -> Approval {
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
    Approval {
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
