//! Judges a call: looks where its paths lead, takes its command apart, and asks the rules.

use std::sync::Arc;

use harn_model::{
    Grant, GrantEffect, PolicyAction, PolicyContext, PolicyDecision, ReceiptType, RuleSource,
};
use harn_policy::{Call, Located, PolicyError, locate_all, narrow, shell};

use super::{Act, Permit};
use crate::session::Shared;

/// A judgement.
pub(crate) struct Judged {
    /// What was decided, and why.
    pub(crate) receipt: PolicyDecision,
    /// What an answer that is to be remembered would say.
    pub(crate) grant: Option<Grant>,
    /// What the call may do if it runs.
    pub(crate) permit: Permit,
    /// Whether it may change something; what does not say counts as if it did.
    writes: bool,
}

impl Judged {
    /// Whether it is worth a record: what merely reads, and nothing but the mode lets it, is not.
    pub(crate) fn is_told(&self) -> bool {
        let by_mode = match &self.receipt.matched_rule {
            Some(rule) => rule.source == RuleSource::Mode,
            None => true,
        };
        !by_mode || self.writes
    }
}

/// Judges a call of a session. Looks at the disk, so not on this thread.
pub(crate) async fn judge(shared: &Arc<Shared>, act: Act) -> Judged {
    let session = shared.clone();
    let judged = tokio::task::spawn_blocking(move || judge_now(&session, &act));
    judged.await.unwrap_or_else(|_| Judged {
        receipt: refused(String::new(), "the call could not be judged".to_owned()),
        grant: None,
        permit: Permit::default(),
        writes: true,
    })
}

fn judge_now(shared: &Shared, act: &Act) -> Judged {
    let config = &shared.config;
    let paths = locate_all(&shared.roots, &act.paths(), &*config.probe);
    let line = act.command().map(|text| (text, shell::read(text)));
    let capabilities = act.capabilities();
    let workspace = shared.cwd.to_string_lossy();
    let annotations = act.annotations.as_ref();
    let call = Call {
        tool: &act.tool,
        kind: act.kind(),
        side_effect: annotations.map(|known| known.side_effect_level),
        capabilities: &capabilities,
        arguments: &act.input,
        paths: &paths,
        command: line.as_ref().map(|(text, line)| (*text, line)),
        workspace: &workspace,
        mode: shared.mode(),
        agent: shared.worker_name(),
        grants: &[],
    };
    let writes = call.writes();
    let policy = match config.rules.policy(&shared.cwd) {
        Ok(policy) => policy,
        Err(error) => return unreadable(act, &paths, &error),
    };
    shared.note_policy(&policy);
    let lasting = match config.rules.grants(&shared.cwd) {
        Ok(lasting) => lasting,
        Err(error) if writes => return unreadable(act, &paths, &error),
        // What only reads needs nothing that was remembered.
        Err(_) => Vec::new(),
    };
    let session = shared.root().view().grants.clone();
    let grants = [session, lasting].concat();
    let call = Call {
        grants: &grants,
        ..call
    };
    let receipt = policy.decide(&call);
    let grant = match receipt.action {
        PolicyAction::Ask => narrow(&call, GrantEffect::Allow),
        PolicyAction::Allow | PolicyAction::Deny => None,
    };
    let command = act.command().map(str::to_owned);
    let (tool, input) = (act.tool.clone(), act.input.clone());
    Judged {
        receipt,
        grant,
        permit: Permit::granted(tool, input, writes, paths, command),
        writes,
    }
}

/// Rules that cannot be read may forbid anything.
fn unreadable(act: &Act, paths: &[Located], error: &PolicyError) -> Judged {
    let reason =
        format!("the rules cannot be read, so nothing runs until they are mended: {error}");
    let mut receipt = refused(act.tool.clone(), reason);
    receipt.context.tool_kind = act.kind();
    receipt.context.paths = paths.iter().map(|path| path.info.clone()).collect();
    Judged {
        receipt,
        grant: None,
        permit: Permit::default(),
        writes: true,
    }
}

fn refused(tool_name: String, reason: String) -> PolicyDecision {
    PolicyDecision {
        receipt: ReceiptType::V1,
        action: PolicyAction::Deny,
        reason,
        matched_rule: None,
        risk_labels: Vec::new(),
        context: PolicyContext {
            tool_name,
            ..PolicyContext::default()
        },
    }
}
