//! Judges a call: looks where its paths lead, takes its command apart, and asks the rules.

use std::sync::Arc;

use harn_model::{
    Grant, GrantEffect, PolicyAction, PolicyContext, PolicyDecision, ReceiptType, RuleSource,
};
use harn_policy::{Call, Located, PolicyError, narrow, shell};

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
}

impl Judged {
    /// Whether it is worth a record: what merely reads, and nothing but the mode lets it, is not.
    pub(crate) fn is_told(&self, act: &Act) -> bool {
        let by_mode = match &self.receipt.matched_rule {
            Some(rule) => rule.source == RuleSource::Mode,
            None => true,
        };
        !by_mode || writes(act)
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
    })
}

fn judge_now(shared: &Shared, act: &Act) -> Judged {
    let config = &shared.config;
    let paths = harn_policy::locate_all(&shared.roots, &act.paths(), &*config.probe);
    let line = act.command().map(|text| (text, shell::read(text)));
    let capabilities = act.capabilities();
    let workspace = shared.cwd.to_string_lossy();
    let known = config.rules.policy(&shared.cwd);
    let remembered = match config.rules.grants(&shared.cwd) {
        Ok(lasting) => {
            let own = shared.root().view().grants.clone();
            Ok([own, lasting].concat())
        }
        Err(error) if writes(act) => Err(error),
        // What only reads needs nothing that was remembered.
        Err(_) => Ok(Vec::new()),
    };
    let (policy, grants) = match (known, remembered) {
        (Ok(policy), Ok(grants)) => (policy, grants),
        (Err(error), _) | (_, Err(error)) => return unreadable(act, &paths, &error),
    };
    shared.note_policy(&policy);
    let call = Call {
        tool: &act.tool,
        kind: act.kind(),
        side_effect: act
            .annotations
            .as_ref()
            .map(|known| known.side_effect_level),
        capabilities: &capabilities,
        arguments: &act.input,
        paths: &paths,
        command: line.as_ref().map(|(text, line)| (*text, line)),
        workspace: &workspace,
        mode: shared.mode(),
        agent: shared.worker_name(),
        grants: &grants,
    };
    let receipt = policy.decide(&call);
    Judged {
        grant: match receipt.action {
            PolicyAction::Ask => narrow(&call, GrantEffect::Allow),
            PolicyAction::Allow | PolicyAction::Deny => None,
        },
        receipt,
        permit: Permit::granted(
            act.tool.clone(),
            act.input.clone(),
            writes(act),
            paths,
            act.command().map(str::to_owned),
        ),
    }
}

/// Whether it may change something; what does not say counts as if it did.
fn writes(act: &Act) -> bool {
    !act.kind().is_some_and(harn_model::ToolKind::is_read_only)
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
