//! Decodes the steps that ask a person.

use std::time::Duration;

use harn_model::HitlKind;
use harn_tools::yaml::{YamlFault, YamlNode};

use super::{
    super::{hitl::HitlStep, scenario::ScenarioStep},
    MapFields, count, non_empty_text, number, text,
};

/// Decodes a step that asks. Fields of other kinds are rejected first, so below they are always missing.
pub(super) fn hitl_step(
    node: &YamlNode,
    kind: HitlKind,
    depth: usize,
) -> Result<ScenarioStep, YamlFault> {
    let (names, subject, on_yes, on_no) = match kind {
        HitlKind::Question => (
            "prompt, detail, choices, default, deadline_ms, on_answer, on_none",
            "prompt",
            "on_answer",
            None,
        ),
        HitlKind::Approval | HitlKind::DualControl => (
            "action, detail, args, reviewers, quorum, deadline_ms, on_approve, on_refuse, on_none",
            "action",
            "on_approve",
            Some("on_refuse"),
        ),
        HitlKind::Escalation => (
            "reason, detail, to, deadline_ms, on_accept, on_decline, on_none",
            "reason",
            "on_accept",
            Some("on_decline"),
        ),
    };
    let fields = MapFields::parse(node, kind.as_str(), names)?;
    let subject = fields.required(subject, non_empty_text)?;
    let choices = fields.parse_list("choices", non_empty_text)?;
    let default = fields.optional("default", |node, what| {
        let default = text(node, what)?;
        if !choices.is_empty() && !choices.contains(&default) {
            let reason = "the default must be one of the choices";
            return Err(YamlFault::new(node.at, reason));
        }
        Ok(default)
    })?;
    let least = if kind == HitlKind::DualControl { 2 } else { 1 };
    let quorum = |node: &YamlNode, what: &str| number(node, what, least, u64::MAX);
    let deadline = fields.optional("deadline_ms", count)?;
    let on_no = on_no.map(|name| fields.steps(name, depth)).transpose()?;
    Ok(ScenarioStep::Person(Box::new(HitlStep {
        kind,
        subject,
        detail: fields.optional("detail", text)?,
        choices,
        default,
        args: fields.get("args").map(YamlNode::to_value),
        reviewers: fields.parse_list("reviewers", non_empty_text)?,
        quorum: fields.optional("quorum", quorum)?,
        to: fields.optional("to", non_empty_text)?,
        deadline: deadline.map(Duration::from_millis),
        on_yes: fields.steps(on_yes, depth)?.unwrap_or_default(),
        on_no: on_no.flatten().unwrap_or_default(),
        on_none: fields.steps("on_none", depth)?,
    })))
}
