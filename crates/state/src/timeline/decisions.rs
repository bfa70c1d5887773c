//! Rows of decisions: permissions of calls, and other questions to people.

use harn_model::{
    Decision, GrantScope, HitlOutcome, HitlResponse, PermissionAsked, PermissionOptionKind,
    PermissionRecord, PermissionResolved, PermissionRoute, Seq, hitl_subject,
};
use serde_json::Value;

use super::{
    RowDraft, calls,
    memory::{TimelineAsk, TimelineMemory},
    text_format,
};
use crate::{to_wire::output, wire::TimelineKind};

pub(super) fn permission_ask(
    seq: Seq,
    ask: &PermissionAsked,
    memory: &mut TimelineMemory,
) -> RowDraft {
    let call = &ask.tool_call;
    let subject = calls::subject(call);
    let doing = match (calls::command(&call.raw_input), &call.title) {
        (Some(_), _) if calls::may_execute(call.kind) => format!("run {subject}"),
        (_, Some(title)) => lowercase_first_letter(title),
        (_, None) => format!("call {subject}"),
    };
    let workers: Vec<_> = ask.lineage.iter().map(|it| &*it.worker_name).collect();
    let title = match workers[..] {
        [] => format!("Asked whether to {doing}"),
        _ => format!("{} asked whether to {doing}", workers.join(" / ")),
    };
    let receipt = ask.policy_decision.as_ref();
    let paths: Vec<_> = call.locations.iter().map(|it| &*it.path).collect();
    let shown = output::text(&call.content, None);
    let text = text_format::join_lines([
        receipt.map(|receipt| receipt.reason.clone()),
        text_format::format_json(&call.raw_input),
        Some(paths.join("\n")),
        Some(shown),
    ]);
    let options = ask.options.clone();
    let ask_id = ask.ask_id.clone();
    memory
        .asks
        .insert(seq, ask_id, TimelineAsk { subject, options });
    RowDraft::new(TimelineKind::Permission, title).with_text(text)
}

/// Lowercases a title for use in a sentence: `Write NOTES.md` becomes `write NOTES.md`. Names keep their letters.
fn lowercase_first_letter(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            let rest = &title[first.len_utf8()..];
            first.to_lowercase().chain(rest.chars()).collect()
        }
        _ => title.to_owned(),
    }
}

pub(super) fn permission_route(
    seq: Seq,
    route: &PermissionRoute,
    memory: &mut TimelineMemory,
) -> RowDraft {
    let client = route.client.client_id.clone();
    let title = format!("{client} was asked");
    if let Some(ask) = &route.ask_id {
        memory.asked.insert(seq, ask.clone(), client);
    }
    RowDraft::new(TimelineKind::Permission, title).with_text(&route.request_id)
}

pub(super) fn permission_resolution(
    seq: Seq,
    resolved: &PermissionResolved,
    memory: &TimelineMemory,
) -> RowDraft {
    let ask = memory.asks.get(seq, resolved.ask_id.as_str());
    let client = memory.asked.get(seq, resolved.ask_id.as_str());
    let by = client.map(|client| format!(" by {client}"));
    let by = by.unwrap_or_default();
    let scope = |option_id: Option<&str>| {
        let option = ask.and_then(|ask| {
            let mut options = ask.options.iter();
            options.find(|it| Some(&*it.option_id) == option_id)
        });
        let told = option.map_or("", |option| match (option.scope, option.kind) {
            (GrantScope::Session, _) => " for the session",
            (GrantScope::Always, _) => " from now on",
            (
                GrantScope::Once,
                PermissionOptionKind::AllowAlways | PermissionOptionKind::RejectAlways,
            ) => " from now on",
            (
                GrantScope::Once,
                PermissionOptionKind::AllowOnce | PermissionOptionKind::RejectOnce,
            ) => " once",
        });
        match resolved.remembered.as_ref().map(|it| it.scope) {
            Some(GrantScope::Session) => " for the session",
            Some(GrantScope::Always) => " from now on",
            Some(GrantScope::Once) | None => told,
        }
    };
    let (title, why) = match &resolved.decision {
        Decision::Allowed { option_id, args } => {
            let changed = args.as_ref().and_then(text_format::format_json);
            let changed =
                changed.and_then(|args| text_format::with_label("With other arguments", &args));
            (format!("Allowed{}{by}", scope(Some(option_id))), changed)
        }
        Decision::Rejected { option_id, reason } => {
            let title = format!("Rejected{}{by}", scope(option_id.as_deref()));
            (title, reason.clone())
        }
        Decision::Cancelled => ("The question was withdrawn".to_owned(), None),
        Decision::Unavailable { reason } => {
            ("No decision was possible".to_owned(), Some(reason.clone()))
        }
    };
    let text = text_format::join_lines([ask.map(|ask| ask.subject.clone()), why]);
    RowDraft::new(TimelineKind::Permission, title).with_text(text)
}

pub(super) fn record(how: &str, record: &PermissionRecord) -> RowDraft {
    let command = calls::command(&record.arguments).map(calls::quote_command);
    let subject = command.as_deref().unwrap_or(&record.tool_name);
    let text = text_format::join_lines([
        Some(record.reason.clone()),
        text_format::format_json(&record.arguments),
    ]);
    RowDraft::new(TimelineKind::Permission, format!("{subject} {how}")).with_text(text)
}

pub(super) fn grant_revocation(grant_id: &str) -> RowDraft {
    RowDraft::new(TimelineKind::Permission, "A remembered answer was revoked").with_text(grant_id)
}

pub(super) fn question(
    seq: Seq,
    request_id: &str,
    kind: &str,
    payload: &Value,
    memory: &mut TimelineMemory,
) -> RowDraft {
    let subject = hitl_subject(payload).unwrap_or_default().to_owned();
    // The kinds that the contract defines; an agent may send others.
    let asked = match kind {
        "question" => "Asked",
        "approval" => "Asked for approval",
        "dual_control" => "Asked several people for approval",
        "escalation" => "Asked a person to take over",
        other => other,
    };
    let title = match subject.is_empty() {
        true => asked.to_owned(),
        false => format!("{asked}: {subject}"),
    };
    memory.questions.insert(seq, request_id.to_owned(), subject);
    let text = text_format::format_json(payload).unwrap_or_default();
    RowDraft::new(TimelineKind::Question, title).with_text(text)
}

pub(super) fn answer(response: &HitlResponse) -> RowDraft {
    let who = response.reviewer.as_deref().unwrap_or("A person");
    let answer = response.answer.as_ref().and_then(text_format::format_json);
    let title = match (answer, response.approved, response.accepted) {
        (Some(answer), _, _) => format!("{who} answered: {}", text_format::first_line(&answer)),
        (None, Some(true), _) => format!("{who} approved"),
        (None, Some(false), _) => format!("{who} did not approve"),
        (None, None, Some(true)) => format!("{who} took over"),
        (None, None, Some(false)) => format!("{who} did not take over"),
        (None, None, None) => format!("{who} answered"),
    };
    let text = text_format::join_lines([
        response.answer.as_ref().and_then(text_format::format_json),
        response.reason.clone(),
    ]);
    RowDraft::new(TimelineKind::Question, title).with_text(text)
}

pub(super) fn question_resolution(
    seq: Seq,
    request_id: &str,
    outcome: HitlOutcome,
    memory: &TimelineMemory,
) -> RowDraft {
    let how = match outcome {
        HitlOutcome::Answered => "The question was answered",
        HitlOutcome::Timeout => "The question got no answer in time",
        HitlOutcome::Cancelled => "The question was withdrawn",
    };
    let subject = memory.questions.get(seq, request_id);
    let draft = RowDraft::new(TimelineKind::Question, how);
    draft.with_text(subject.map_or("", String::as_str))
}
