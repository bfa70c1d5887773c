//! Judges a call: resolves its paths, parses its command, and evaluates the rules.

use std::{borrow::Cow, sync::Arc};

use harn_model::{
    Grant, GrantEffect, JudgedAct, PolicyAction, PolicyContext, PolicyDecision, ReceiptType,
    RuleSource,
};
use harn_policy::{
    CommandFindings, LocatedPath, Policy, PolicyCall, PolicyError, grant_for_call,
    shell::{self, LineDoubt, ShellLine},
    visible_line,
};

use super::{
    CallPermit, CommandConfinement, DeclaredCommand, ProposedCall, confine_command, guarded_roots,
    locate,
};
use crate::session::SharedSession;

pub(crate) struct CallJudgement {
    /// The decision and its reason.
    pub(crate) receipt: PolicyDecision,
    /// The grant that a remembered answer would store.
    pub(crate) grant: Option<Grant>,
    /// What the call may do if it runs.
    pub(crate) permit: CallPermit,
    /// The declared files, where they can be resolved.
    pub(crate) locations: Vec<String>,
    /// The command and the paths to show with the question.
    pub(crate) shown: JudgedAct,
    /// Whether it may change something; an undeclared effect counts as a change.
    writes: bool,
}

impl CallJudgement {
    /// Denies a call that could not be judged.
    fn deny(tool: &str, reason: String) -> Self {
        let receipt = PolicyDecision {
            receipt: ReceiptType::V1,
            action: PolicyAction::Deny,
            reason,
            matched_rule: None,
            risk_labels: Vec::new(),
            context: PolicyContext {
                tool_name: tool.to_owned(),
                ..PolicyContext::default()
            },
            confinement: None,
        };
        Self {
            receipt,
            grant: None,
            permit: CallPermit::default(),
            locations: Vec::new(),
            shown: JudgedAct::default(),
            writes: true,
        }
    }

    /// Whether a grant needs a record: a read that only the mode allows does not.
    pub(crate) fn needs_record(&self) -> bool {
        let by_mode = match &self.receipt.matched_rule {
            Some(rule) => rule.source == RuleSource::Mode,
            None => true,
        };
        !by_mode || self.writes
    }
}

/// Judges a call of a session. Reads the disk, so it runs on a blocking thread.
pub(crate) async fn judge(shared: &Arc<SharedSession>, act: ProposedCall) -> CallJudgement {
    let session = shared.clone();
    let judged = tokio::task::spawn_blocking(move || judge_blocking(&session, &act));
    judged
        .await
        .unwrap_or_else(|_| CallJudgement::deny("", "the call could not be judged".to_owned()))
}

/// Judges the read of this file. Reads the disk.
pub(crate) fn judge_read(shared: &SharedSession, file: &LocatedPath) -> PolicyDecision {
    judge_located(shared, &ProposedCall::for_read(), vec![file.clone()]).receipt
}

fn judge_blocking(shared: &SharedSession, act: &ProposedCall) -> CallJudgement {
    let mut inputs = act.paths();
    // A command's effect depends on its directory, and people know only the root session's directory.
    if act.command().is_some() && *shared.cwd != *shared.root().cwd {
        inputs.push(shared.cwd.to_string_lossy().into_owned());
    }
    judge_located(shared, act, locate(shared, &inputs))
}

fn judge_located(
    shared: &SharedSession,
    act: &ProposedCall,
    paths: Vec<LocatedPath>,
) -> CallJudgement {
    let config = &shared.config;
    let top = shared.root();
    let command = act.command().map(|command| match command {
        DeclaredCommand::Line(text) => {
            let line = shell::read(&text);
            (text, line)
        }
        DeclaredCommand::Unreadable => {
            let doubts = vec![LineDoubt::Unparsable];
            let line = ShellLine {
                doubts,
                ..ShellLine::default()
            };
            (Cow::Borrowed(""), line)
        }
    });
    let roots = guarded_roots(top);
    let findings = command
        .as_ref()
        .map(|(_, line)| CommandFindings::read(&roots, &paths, line, &*config.probe));
    let capabilities = act.capabilities();
    let workspace = top.cwd.to_string_lossy();
    let annotations = act.annotations.as_ref();
    let call = PolicyCall {
        tool: &act.tool,
        kind: act.kind(),
        side_effect: annotations.map(|known| known.side_effect_level),
        capabilities: &capabilities,
        arguments: &act.input,
        paths: &paths,
        command: command.as_ref().map(|(text, line)| (&**text, line)),
        findings: findings.as_ref(),
        workspace: &workspace,
        mode: shared.mode(),
        agent: shared.worker_name(),
        grants: &[],
    };
    let writes = call.writes();
    let policy = match config.rules.policy(&top.cwd) {
        Ok(policy) => policy,
        Err(error) => return deny_for_unreadable_rules(act, &paths, &error),
    };
    top.note_policy(&policy);
    let lasting = match config.rules.grants(&top.cwd) {
        Ok(lasting) => lasting,
        Err(error) if writes => return deny_for_unreadable_rules(act, &paths, &error),
        // A read-only call needs no grants.
        Err(_) => Vec::new(),
    };
    let session = top.view().grants.clone();
    let grants = [session, lasting].concat();
    let call = PolicyCall {
        grants: &grants,
        ..call
    };
    let mut receipt = policy.decide(&call);
    let confinement = match act.is_local_command(shared) {
        true => confine(shared, &call, &policy, &mut receipt),
        false => None,
    };
    let grant = match receipt.action {
        PolicyAction::Ask => grant_for_call(&call, GrantEffect::Allow),
        PolicyAction::Allow | PolicyAction::Deny => None,
    };
    let locations = paths.iter().filter_map(|path| path.info.host_path.clone());
    let locations = locations.collect();
    let command = match act.command() {
        Some(DeclaredCommand::Line(line)) => Some(line.into_owned()),
        Some(DeclaredCommand::Unreadable) | None => None,
    };
    let (tool, input) = (act.tool.clone(), act.input.clone());
    let judged = receipt.context.paths.iter();
    let shown = JudgedAct {
        line: act.shown_command(),
        paths: judged.map(|path| visible_line(path.display())).collect(),
    };
    CallJudgement {
        receipt,
        grant,
        permit: CallPermit::for_call(tool, input, writes, paths, command, confinement),
        locations,
        shown,
        writes,
    }
}

/// Returns the confinement of a command that runs on this machine, and records it. Denies the call if the sandbox
/// is required and cannot confine it.
fn confine(
    shared: &SharedSession,
    call: &PolicyCall<'_>,
    policy: &Policy,
    receipt: &mut PolicyDecision,
) -> Option<CommandConfinement> {
    if receipt.action == PolicyAction::Deny {
        return None;
    }
    let sandbox = shared.config.local_host.sandbox();
    let (mode, access, roots) = (call.mode, call.access(), shared.roots());
    match confine_command(receipt, mode, access, &roots, policy.sandbox(), &sandbox) {
        Ok(confinement) => {
            let record = |it: &CommandConfinement| it.record(&sandbox.layers);
            receipt.confinement = confinement.as_ref().map(record);
            confinement
        }
        Err(reason) => {
            receipt.action = PolicyAction::Deny;
            receipt.reason = reason;
            receipt.matched_rule = None;
            None
        }
    }
}

/// Denies a call because rules that cannot be read may forbid it.
fn deny_for_unreadable_rules(
    act: &ProposedCall,
    paths: &[LocatedPath],
    error: &PolicyError,
) -> CallJudgement {
    let reason = format!("the rules cannot be read; no call runs until they are fixed: {error}");
    let mut judged = CallJudgement::deny(&act.tool, reason);
    let context = &mut judged.receipt.context;
    context.tool_kind = act.kind();
    context.paths = paths.iter().map(|path| path.info.clone()).collect();
    judged
}
