//! The directives for what a run waits for: permission for a tool call, and the agent's own questions.

use harn_model::{
    HitlKind, HitlRequest, PermissionAsked, PermissionOptionKind, RiskLabel, Timestamp, ToolCall,
    ToolContent, ToolKind, visible_text,
};

use super::{continuation, message::to_short_line};
use crate::{
    report::RunReport,
    wire::directive::{
        AnsweredBy, ApprovalDiff, ApprovalPayload, DecisionChoice, Directive, DirectiveAction,
        DirectiveDecision, DirectivePriority, QuestionPayload, RiskTier,
    },
};

/// Returns the directive for a tool call that waits for permission.
pub(super) fn tool_directive<'a>(
    told: &RunReport,
    ask: &'a PermissionAsked,
    now: Timestamp,
) -> Directive<'a> {
    let call = &ask.tool_call;
    let command = ask.command();
    let paths = paths(ask);
    let receipt = ask.policy_decision.as_ref();
    let reason = receipt.map(|receipt| &*receipt.reason);
    let worker = ask.lineage.last().map(|worker| &*worker.worker_name);
    let title = visible_text(call.title.as_deref().unwrap_or(&call.tool_name));
    let approval = ApprovalPayload {
        id: ask.ask_id.as_str(),
        message: format_message(call, worker, command, &paths, reason),
        title,
        tool: &call.tool_name,
        kind: call.kind,
        command,
        paths,
        diffs: diffs(call),
        arguments: Some(&call.raw_input).filter(|arguments| !arguments.is_null()),
        reason,
        worker,
        options: choices(ask),
        continuation: continuation(told),
    };
    Directive {
        action: DirectiveAction::RequestApproval(Box::new(approval)),
        priority: DirectivePriority::High,
        execution: None,
        risk_tier: risk_tier(ask),
        requires_user_approval: Some(true),
        deadline_ms: ask.deadline.map(|deadline| deadline.saturating_sub(now)),
    }
}

/// Returns the directive for a question to a person.
pub(super) fn question_directive<'a>(
    told: &RunReport,
    asked: &'a HitlRequest,
    now: Timestamp,
) -> Directive<'a> {
    let decided = match asked.kind {
        HitlKind::Question => false,
        HitlKind::Approval | HitlKind::DualControl | HitlKind::Escalation => true,
    };
    let question = QuestionPayload {
        id: &asked.request_id,
        kind: asked.kind,
        prompt: visible_text(&asked.headline()).into_owned(),
        detail: asked
            .particulars()
            .map(|text| visible_text(&text).into_owned()),
        choices: &asked.choices,
        default: asked.default.as_deref(),
        options: if decided { yes_or_no() } else { Vec::new() },
        message: visible_text(&asked.text()).into_owned(),
        answered_by: if decided {
            AnsweredBy::Approval
        } else {
            AnsweredBy::Answer
        },
        continuation: continuation(told),
    };
    Directive {
        action: DirectiveAction::Question(Box::new(question)),
        priority: DirectivePriority::High,
        execution: None,
        risk_tier: if decided {
            RiskTier::Caution
        } else {
            RiskTier::Safe
        },
        requires_user_approval: decided.then_some(true),
        deadline_ms: Some(asked.deadline.saturating_sub(now)),
    }
}

fn yes_or_no() -> Vec<DecisionChoice<'static>> {
    let choice = |decision, label: &'static str| DecisionChoice { decision, label };
    vec![
        choice(DirectiveDecision::Once, "Yes"),
        choice(DirectiveDecision::Reject, "No"),
    ]
}

/// Returns the possible decisions, each with the label of its option; "always" has the one that is remembered
/// longest. To reject is always possible.
fn choices(ask: &PermissionAsked) -> Vec<DecisionChoice<'_>> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let label = |kind: PermissionOptionKind| {
        let offered = ask.options.iter().filter(|option| option.kind == kind);
        let widest = offered.max_by_key(|option| option.scope);
        widest.map(|option| option.name.as_str())
    };
    let offered = [
        (DirectiveDecision::Once, label(AllowOnce)),
        (DirectiveDecision::Always, label(AllowAlways)),
        (
            DirectiveDecision::Reject,
            label(RejectOnce).or(Some("Reject")),
        ),
    ];
    offered
        .into_iter()
        .filter_map(|(decision, label)| {
            Some(DecisionChoice {
                decision,
                label: label?,
            })
        })
        .collect()
}

fn paths(ask: &PermissionAsked) -> Vec<&str> {
    let declared = ask.shown_paths();
    if !declared.is_empty() {
        return declared;
    }
    let locations = ask.tool_call.locations.iter();
    locations.map(|location| &*location.path).collect()
}

fn diffs(call: &ToolCall) -> Vec<ApprovalDiff<'_>> {
    let diffs = call.content.iter().filter_map(ToolContent::diff);
    let diffs = diffs.map(|(path, old_text, new_text)| ApprovalDiff {
        path,
        old_text,
        new_text,
    });
    diffs.collect()
}

/// Returns the whole request as text.
fn format_message(
    call: &ToolCall,
    worker: Option<&str>,
    command: Option<&str>,
    paths: &[&str],
    reason: Option<&str>,
) -> String {
    let who = worker.unwrap_or("The agent");
    let title = call
        .title
        .as_deref()
        .filter(|title| Some(*title) != command);
    let mut lines = vec![format!("{who} wants to use {}.", call.tool_name)];
    lines.extend(title.map(str::to_owned));
    lines.extend(command.map(|command| format!("Command: {command}")));
    if !paths.is_empty() {
        lines.push(format!("Files: {}", paths.join(", ")));
    }
    if command.is_none() && !call.raw_input.is_null() {
        lines.push(format!(
            "With: {}",
            to_short_line(&call.raw_input.to_string())
        ));
    }
    lines.extend(reason.map(|reason| format!("Why you are asked: {reason}")));
    visible_text(&lines.join("\n")).into_owned()
}

/// Returns the risk of the kind of tool, raised if the policy found that the call reaches further or could
/// not see how far.
fn risk_tier(ask: &PermissionAsked) -> RiskTier {
    let kind = match ask.tool_call.kind {
        Some(ToolKind::Read | ToolKind::Search | ToolKind::Think) => RiskTier::Safe,
        Some(ToolKind::Fetch | ToolKind::Edit | ToolKind::Move) => RiskTier::Caution,
        Some(ToolKind::Delete | ToolKind::Execute | ToolKind::Other) | None => RiskTier::Dangerous,
    };
    let labels = ask.policy_decision.iter().flat_map(|it| &it.risk_labels);
    labels
        .map(|label| label_risk(*label))
        .fold(kind, RiskTier::max)
}

fn label_risk(label: RiskLabel) -> RiskTier {
    match label {
        RiskLabel::ApprovalRequired | RiskLabel::PathRule => RiskTier::Safe,
        RiskLabel::CommandRule
        | RiskLabel::McpRule
        | RiskLabel::NetworkRule
        | RiskLabel::WritePathNotAllowed => RiskTier::Caution,
        RiskLabel::DynamicCommand
        | RiskLabel::ExecCapable
        | RiskLabel::ExternalPath
        | RiskLabel::InvalidPath
        | RiskLabel::MatchedDenyRule
        | RiskLabel::ProtectedPath
        | RiskLabel::UnparsableCommand => RiskTier::Dangerous,
    }
}
