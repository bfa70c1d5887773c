//! The steps that ask a person.

use std::time::Duration;

use harn_model::HitlKind;
use harn_tools::yaml::{Fault, Node};

use super::{
    super::{person::Person, scenario::Step},
    each, fields, filled, number, required, steps, text,
};

pub(super) fn question(node: &Node, depth: usize) -> Result<Step, Fault> {
    let what = "question";
    let names = [
        "prompt",
        "detail",
        "choices",
        "default",
        "deadline_ms",
        "on_answer",
        "on_none",
    ];
    let [prompt, detail, choices, default, deadline, yes, none] = fields(node, what, names)?;
    let subject = filled(required(node, what, "prompt", prompt)?, "prompt")?;
    let choices = each(choices, "choices", |choice| filled(choice, "choices"))?;
    let answer = default.map(|node| text(node, "default")).transpose()?;
    if let (Some(node), Some(answer)) = (default, &answer)
        && !choices.is_empty()
        && !choices.contains(answer)
    {
        let reason = "the default must be one of the choices";
        return Err(Fault::new(node.at, reason));
    }
    let branches = (yes, None, none);
    let person = of(
        HitlKind::Question,
        subject,
        detail,
        deadline,
        branches,
        depth,
    )?;
    Ok(Step::Person(Box::new(Person {
        choices,
        default: answer,
        ..person
    })))
}

pub(super) fn approval(node: &Node, kind: HitlKind, depth: usize) -> Result<Step, Fault> {
    let what = kind.as_str();
    let names = [
        "action",
        "detail",
        "args",
        "reviewers",
        "quorum",
        "deadline_ms",
        "on_approve",
        "on_refuse",
        "on_none",
    ];
    let [
        action,
        detail,
        args,
        reviewers,
        quorum,
        deadline,
        yes,
        no,
        none,
    ] = fields(node, what, names)?;
    let subject = filled(required(node, what, "action", action)?, "action")?;
    let least = if kind == HitlKind::DualControl { 2 } else { 1 };
    let quorum = quorum.map(|node| number(node, "quorum", least, u64::MAX));
    let person = of(kind, subject, detail, deadline, (yes, no, none), depth)?;
    Ok(Step::Person(Box::new(Person {
        args: args.map(Node::to_value),
        reviewers: each(reviewers, "reviewers", |name| filled(name, "reviewers"))?,
        quorum: quorum.transpose()?,
        ..person
    })))
}

pub(super) fn escalation(node: &Node, depth: usize) -> Result<Step, Fault> {
    let what = "escalation";
    let names = [
        "reason",
        "detail",
        "to",
        "deadline_ms",
        "on_accept",
        "on_decline",
        "on_none",
    ];
    let [reason, detail, to, deadline, yes, no, none] = fields(node, what, names)?;
    let subject = filled(required(node, what, "reason", reason)?, "reason")?;
    let branches = (yes, no, none);
    let person = of(
        HitlKind::Escalation,
        subject,
        detail,
        deadline,
        branches,
        depth,
    )?;
    Ok(Step::Person(Box::new(Person {
        to: to.map(|to| filled(to, "to")).transpose()?,
        ..person
    })))
}

/// What all kinds have: text, time, and what is played afterwards.
fn of(
    kind: HitlKind,
    subject: String,
    detail: Option<&Node>,
    deadline: Option<&Node>,
    (yes, no, none): (Option<&Node>, Option<&Node>, Option<&Node>),
    depth: usize,
) -> Result<Person, Fault> {
    let branch = |node: Option<&Node>| node.map(|node| steps(node, depth + 1)).transpose();
    let deadline = deadline.map(|node| number(node, "deadline_ms", 1, u64::MAX));
    Ok(Person {
        kind,
        subject,
        detail: detail.map(|detail| text(detail, "detail")).transpose()?,
        choices: Vec::new(),
        default: None,
        args: None,
        reviewers: Vec::new(),
        quorum: None,
        to: None,
        deadline: deadline.transpose()?.map(Duration::from_millis),
        on_yes: branch(yes)?.unwrap_or_default(),
        on_no: branch(no)?.unwrap_or_default(),
        on_none: branch(none)?,
    })
}
