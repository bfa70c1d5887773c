//! Writes the receipt of a decision: the deciding rule, the reason in words for a person, and the facts.

use harn_model::{
    GrantEffect, MatchedRule, PolicyAction, PolicyContext, PolicyDecision, ReceiptType, RiskLabel,
    RuleSource, SideEffectLevel, WorkspacePathInfo,
};

use super::{Opinion, OpinionSource, PolicyCall};
use crate::{LocatedPath, compile::CompiledRule, grant, mode::ModeReason};

pub(super) fn write(
    call: &PolicyCall<'_>,
    opinion: &Opinion<'_>,
    mut labels: Vec<RiskLabel>,
) -> PolicyDecision {
    let action = opinion.action;
    let (source, id, index) = matched_rule(call, opinion);
    if action == PolicyAction::Ask {
        labels.push(RiskLabel::ApprovalRequired);
    }
    let is_rule = matches!(
        opinion.source,
        OpinionSource::AutoDeny(..) | OpinionSource::Grant(_) | OpinionSource::Rule(..)
    );
    if is_rule && action == PolicyAction::Deny {
        labels.push(RiskLabel::MatchedDenyRule);
    }
    if let OpinionSource::Rule(_, rule) = opinion.source {
        labels.extend((!rule.path.is_empty()).then_some(RiskLabel::PathRule));
        labels.extend(
            rule.has_command_patterns()
                .then_some(RiskLabel::CommandRule),
        );
    }
    labels.sort_unstable();
    labels.dedup();
    PolicyDecision {
        receipt: ReceiptType::V1,
        action,
        reason: reason(call, opinion),
        matched_rule: Some(MatchedRule {
            source,
            action,
            id: id.map(str::to_owned),
            index,
        }),
        risk_labels: labels,
        context: context(call),
        confinement: None,
    }
}

fn matched_rule<'a>(
    call: &PolicyCall<'_>,
    opinion: &Opinion<'a>,
) -> (RuleSource, Option<&'a str>, Option<usize>) {
    match opinion.source {
        OpinionSource::AutoDeny(at, text) => (RuleSource::AutoDeny, Some(text), Some(at)),
        OpinionSource::AutoApprove(at, text) => (RuleSource::AutoApprove, Some(text), Some(at)),
        OpinionSource::RequireApproval(at, text) => {
            (RuleSource::RequireApproval, Some(text), Some(at))
        }
        OpinionSource::WritePaths(_) => (RuleSource::WritePathAllowlist, None, None),
        OpinionSource::Rule(at, rule) => (RuleSource::Rules, rule.id.as_deref(), Some(at)),
        OpinionSource::Grant(grant) => (RuleSource::Grant, Some(&grant.id), None),
        OpinionSource::Protected(_)
        | OpinionSource::ProtectedWord(_)
        | OpinionSource::Configuration(_) => (RuleSource::ProtectedPath, None, None),
        OpinionSource::Untold(_) => (RuleSource::DefaultPathGuard, None, None),
        OpinionSource::Outside(_) | OpinionSource::OutsideRedirect(_) => {
            (RuleSource::DefaultExternalPath, None, None)
        }
        OpinionSource::Doubt(_) => (RuleSource::DefaultCommandGuard, None, None),
        OpinionSource::Mode(_) => (RuleSource::Mode, Some(call.mode.id()), None),
    }
}

fn reason(call: &PolicyCall<'_>, opinion: &Opinion<'_>) -> String {
    let given = |path: &LocatedPath| match path.info.input.as_str() {
        "" => "the path".to_owned(),
        input => grant::visible_line(input),
    };
    match opinion.source {
        OpinionSource::AutoDeny(_, text) => format!("the tool is in auto_deny ({text:?})"),
        OpinionSource::AutoApprove(_, text) => format!("the tool is in auto_approve ({text:?})"),
        OpinionSource::RequireApproval(_, text) => {
            format!("the tool is in require_approval ({text:?})")
        }
        OpinionSource::WritePaths(path) => {
            format!(
                "{} is not in write_path_allowlist",
                grant::visible_line(path)
            )
        }
        OpinionSource::Rule(at, rule) => rule_reason(at, rule),
        OpinionSource::Grant(grant) => {
            let word = match grant.effect {
                GrantEffect::Allow => "allowed",
                GrantEffect::Deny => "refused",
            };
            format!("always {word} ({}): {}", grant.id, grant::describe(grant))
        }
        OpinionSource::Protected(path) => format!("{} is never written", grant::visible_line(path)),
        OpinionSource::ProtectedWord(path) => {
            let path = grant::visible_line(path);
            format!("the command names {path}, which is never written")
        }
        OpinionSource::Configuration(path) => {
            let path = grant::visible_line(path);
            format!("{path} decides what runs in this workspace, so every change of it asks")
        }
        OpinionSource::Untold(path) => {
            let reason = path.info.reason.as_deref();
            format!("{} {}", given(path), reason.unwrap_or("cannot be resolved"))
        }
        OpinionSource::Outside(path) => {
            let reason = path.info.reason.as_deref();
            let reason = reason.unwrap_or("is outside the session's directories");
            format!("{} {reason}", given(path))
        }
        OpinionSource::OutsideRedirect(path) => {
            let path = grant::visible_line(path);
            format!("the command writes {path}, which may be outside the session's directories")
        }
        OpinionSource::Doubt(about) => {
            let about = grant::visible_line(about);
            format!("cannot determine what the command does: {about}")
        }
        OpinionSource::Mode(why) => {
            let mode = call.mode.id();
            match why {
                ModeReason::Plain(why) => format!("the session's mode is {mode}: {why}"),
                ModeReason::OutsideLink(word) => {
                    let word = grant::visible_line(word);
                    format!(
                        "the session's mode is {mode}: {word} may lead outside the session's directories \
                         through a link"
                    )
                }
                ModeReason::Repository(risk) => {
                    let risk = grant::visible_line(risk);
                    format!("the session's mode is {mode}: git may run a program, because {risk}")
                }
            }
        }
    }
}

fn rule_reason(at: usize, rule: &CompiledRule) -> String {
    let verb = match rule.action {
        PolicyAction::Allow => "allows",
        PolicyAction::Ask => "asks",
        PolicyAction::Deny => "denies",
    };
    match (&rule.reason, &rule.id) {
        (Some(reason), _) => reason.clone(),
        (None, Some(id)) => format!("the rule {id:?} {verb}"),
        (None, None) => format!("rule {at} {verb}"),
    }
}

fn context(call: &PolicyCall<'_>) -> PolicyContext {
    let mut paths: Vec<WorkspacePathInfo> =
        call.paths.iter().map(|path| path.info.clone()).collect();
    paths.sort_by(|a, b| (a.display(), &a.input).cmp(&(b.display(), &b.input)));
    paths.dedup();
    let mut capabilities = call.capabilities.to_vec();
    capabilities.sort_unstable();
    capabilities.dedup();
    let commands = call.command.map(|(_, line)| line.commands.as_slice());
    let commands = commands.unwrap_or_default().iter();
    PolicyContext {
        tool_name: call.tool.to_owned(),
        tool_kind: call.kind,
        side_effect: match call.access().is_more() {
            true => Some(SideEffectLevel::Network),
            false => call.side_effect,
        },
        capabilities,
        paths,
        command_identities: commands
            .map(|command| grant::quote_words(&command.argv))
            .collect(),
        agent: call.agent.map(str::to_owned),
        mode: Some(call.mode.id().to_owned()),
    }
}
