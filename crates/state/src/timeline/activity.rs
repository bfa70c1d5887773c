//! Rows of an agent's activity besides messages and tool calls: plans, reports, workers, skills, reminders.

use harn_model::{
    Artifact, ExpiryReason, FsWatchEvent, HandoffArtifact, LogRecord, Plan, Progress,
    ProgressReport, ReminderChange, RenderedReminder, SkillMatch, SkillNarrow, WorkerStatus,
    WorkerUpdate,
};

use super::{RowDraft, text_format};
use crate::wire::TimelineKind;

pub(super) fn plan(plan: &Plan) -> RowDraft {
    let entries = plan.entries();
    let title = format!("Plan: {}", text_format::completed_count(&entries));
    let checklist = text_format::checklist(&entries);
    let text = match plan {
        Plan::Entries(_) => checklist,
        Plan::Document(document) => text_format::join_lines([
            Some(document.title.clone()),
            Some(document.summary.clone()),
            Some(checklist),
        ]),
    };
    RowDraft::new(TimelineKind::Plan, title).with_text(text)
}

pub(super) fn report(report: &ProgressReport) -> RowDraft {
    let done = (!report.entries.is_empty()).then(|| text_format::completed_count(&report.entries));
    let title = match (report.message.as_deref().map(text_format::first_line), done) {
        (Some(message), Some(done)) => format!("Progress: {message} ({done})"),
        (Some(message), None) => format!("Progress: {message}"),
        (None, Some(done)) => format!("Progress: {done}"),
        (None, None) => "Progress".to_owned(),
    };
    let text = text_format::join_lines([
        report.message.clone(),
        Some(text_format::checklist(&report.entries)),
        text_format::format_json(&report.metadata),
    ]);
    RowDraft::new(TimelineKind::Plan, title).with_text(text)
}

pub(super) fn progress(progress: &Progress) -> RowDraft {
    let said = text_format::first_line_or(&progress.message, &progress.phase);
    let title = match (progress.progress, progress.total) {
        (Some(done), Some(total)) => format!("{said}: {done} of {total}"),
        (Some(done), None) => format!("{said}: {done}"),
        (None, _) => said,
    };
    let text = text_format::join_lines([
        Some(progress.message.clone()),
        progress.data.as_ref().and_then(text_format::format_json),
    ]);
    RowDraft::new(TimelineKind::Other, title).with_text(text)
}

pub(super) fn log(record: &LogRecord) -> RowDraft {
    let title = format!(
        "Log, {}: {}",
        record.level,
        text_format::first_line(&record.message)
    );
    let text = text_format::join_lines([
        Some(record.message.clone()),
        record.fields.as_ref().and_then(text_format::format_json),
    ]);
    RowDraft::new(TimelineKind::Other, title).with_text(text)
}

pub(super) fn artifact(artifact: &Artifact) -> RowDraft {
    let name = artifact.title.as_deref().unwrap_or(&artifact.artifact_id);
    let title = format!("Made: {name} ({})", artifact.kind);
    let text = text_format::join_lines([
        Some(artifact.fallback.clone()),
        text_format::format_json(&artifact.spec),
    ]);
    RowDraft::new(TimelineKind::Other, title).with_text(text)
}

pub(super) fn files(events: &[FsWatchEvent]) -> RowDraft {
    let paths = |event: &FsWatchEvent| match event.relative_paths[..] {
        [] => event.paths.clone(),
        _ => event.relative_paths.clone(),
    };
    let all: Vec<_> = events.iter().flat_map(paths).collect();
    let title = match &all[..] {
        [] => "Watched files changed".to_owned(),
        [one] => format!("Changed on disk: {one}"),
        [first, rest @ ..] => {
            let rest = text_format::count_items(rest.len(), "other", "others");
            format!("Changed on disk: {first} and {rest}")
        }
    };
    let line = |event: &FsWatchEvent| {
        let paths = paths(event).join(", ");
        let error = event.error.as_deref().unwrap_or_default();
        let told = [&*event.kind, &*paths, error];
        let told: Vec<_> = told.into_iter().filter(|it| !it.is_empty()).collect();
        told.join(" ")
    };
    let text: Vec<_> = events.iter().map(line).collect();
    RowDraft::new(TimelineKind::Other, title).with_text(text.join("\n"))
}

pub(super) fn handoff(handoff: &HandoffArtifact) -> RowDraft {
    let target = &handoff.target_persona_or_human;
    let to = target.label.as_deref().or(target.id.as_deref());
    let to = to.or(Some(&*target.kind)).filter(|to| !to.is_empty());
    let task = text_format::first_line(&handoff.task);
    let title = match to {
        Some(to) => format!("Handed over to {to}: {task}"),
        None => format!("Handed over: {task}"),
    };
    let text = text_format::join_lines([
        Some(handoff.task.clone()),
        Some(handoff.reason.clone()),
        text_format::with_label("Open", &handoff.open_questions.join("; ")),
        text_format::with_label("Blocked on", &handoff.blocked_on.join("; ")),
    ]);
    RowDraft::new(TimelineKind::Other, title).with_text(text)
}

pub(super) fn worker(update: &WorkerUpdate) -> RowDraft {
    let status = match update.event.status() {
        WorkerStatus::Running => "running",
        WorkerStatus::Progressed => "made progress",
        WorkerStatus::AwaitingInput => "waiting for input",
        WorkerStatus::Completed => "completed",
        WorkerStatus::Failed => "failed",
        WorkerStatus::Stopped => "stopped after handing over",
        WorkerStatus::Cancelled => "cancelled",
    };
    let title = format!("Worker {}: {status}", update.worker_name);
    let text = text_format::join_lines([
        Some(update.worker_task.clone()),
        update.metadata.error.clone(),
    ]);
    RowDraft::new(TimelineKind::Worker, title).with_text(text)
}

pub(super) fn skill_activation(name: &str, reason: &str) -> RowDraft {
    RowDraft::new(TimelineKind::Skill, format!("Skill in use: {name}")).with_text(reason)
}

pub(super) fn skill_deactivation(name: &str) -> RowDraft {
    RowDraft::new(
        TimelineKind::Skill,
        format!("Skill no longer in use: {name}"),
    )
}

pub(super) fn skill_scope(name: &str, tools: &[String]) -> RowDraft {
    let title = format!(
        "Skill {name} may use only: {}",
        text_format::join_list(tools)
    );
    RowDraft::new(TimelineKind::Skill, title)
}

pub(super) fn skill_narrow(narrow: &SkillNarrow) -> RowDraft {
    let left = text_format::count_items(narrow.remaining_tools.len(), "tool is", "tools are");
    let title = format!("Fewer tools: {left} left");
    let text = text_format::join_lines([
        Some(narrow.reason.clone()),
        text_format::with_label("Removed", &narrow.removed_tools.join(", ")),
        text_format::with_label("Remaining", &narrow.remaining_tools.join(", ")),
    ]);
    RowDraft::new(TimelineKind::Skill, title).with_text(text)
}

pub(super) fn skill_match(matched: &SkillMatch) -> RowDraft {
    let names = matched.candidates.iter().map(|it| &it.name);
    let title = format!("Matching skills: {}", text_format::join_list(names));
    let why = matched.candidates.iter();
    let why = why.map(|it| format!("{} ({}): {}", it.name, it.score, it.reason));
    let text = why.collect::<Vec<_>>().join("\n");
    RowDraft::new(TimelineKind::Skill, title).with_text(text)
}

pub(super) fn emitted_reminder(reminder: &RenderedReminder) -> RowDraft {
    let title = format!("Reminded: {}", text_format::first_line(&reminder.body));
    RowDraft::new(TimelineKind::Reminder, title).with_text(&reminder.body)
}

pub(super) fn reminder(change: &ReminderChange) -> RowDraft {
    let (title, text) = match change {
        ReminderChange::Injected { reminder, .. } => {
            let title = format!(
                "Reminder delivered: {}",
                text_format::first_line(&reminder.body)
            );
            (title, &*reminder.body)
        }
        ReminderChange::Inherited { reminder } => {
            let title = format!(
                "Inherited reminder: {}",
                text_format::first_line(&reminder.body)
            );
            (title, &*reminder.body)
        }
        ReminderChange::Deduped { reminder_id, .. } => {
            let title = "A newer reminder replaced one";
            (title.to_owned(), &**reminder_id)
        }
        ReminderChange::Aged => ("The reminders aged by one turn".to_owned(), ""),
        ReminderChange::Expired {
            reminder_id,
            reason,
        } => {
            let why = match reason {
                ExpiryReason::Ttl => "its turns are over",
                ExpiryReason::Compaction => "older messages were compacted",
                ExpiryReason::Cleared => "it was cleared",
            };
            (format!("A reminder expired: {why}"), &**reminder_id)
        }
    };
    RowDraft::new(TimelineKind::Reminder, title).with_text(text)
}
