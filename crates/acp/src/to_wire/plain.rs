//! The substitutes for extensions that a plain client receives: a thought, or a tool call with its status.
//!
//! Each is made from one event alone, so that it is the same live and in a replay.

use harn_model::{
    CompositionRun, HandoffArtifact, Progress, Seq, SkillNarrow, ToolCallStatus, ToolKind,
    TranscriptCompacted, WorkerEvent, WorkerUpdate,
};
use serde_json::Value;

use super::UpdateProjector;
use crate::wire::{StandardUpdate, ToolCallWire, ToolContents};

pub(super) fn progress_text(progress: &Progress) -> String {
    let message = &progress.message;
    match (progress.progress, progress.total) {
        (Some(done), Some(total)) => format!("{message} ({done} of {total})"),
        (Some(done), None) => format!("{message} ({done})"),
        (None, Some(total)) => format!("{message} (of {total})"),
        (None, None) => message.clone(),
    }
}

pub(super) fn skill_activated_text(name: &str, reason: &str) -> String {
    join_title(&format!("Skill {name} is active"), reason)
}

pub(super) fn skill_deactivated_text(name: &str) -> String {
    format!("Skill {name} is no longer active")
}

pub(super) fn skill_narrow_text(narrow: &SkillNarrow) -> String {
    let text = join_title("Fewer tools are available", &narrow.reason);
    match narrow.removed_tools.as_slice() {
        [] => text,
        removed => format!("{text} (without {})", removed.join(", ")),
    }
}

pub(super) fn handoff_text(handoff: &HandoffArtifact) -> String {
    let target = &handoff.target_persona_or_human;
    // An empty name counts as absent.
    let names = [
        target.label.as_deref(),
        target.id.as_deref(),
        Some(target.kind.as_str()),
    ];
    let mut names = names.into_iter().flatten();
    let text = match names.find(|name| !name.trim().is_empty()) {
        None => "Work is handed over".to_owned(),
        Some(who) => format!("Work is handed over to {who}"),
    };
    join_title(&text, &handoff.task)
}

pub(super) fn hitl_request_text(kind: &str, payload: &Value) -> String {
    const WORDS: [&str; 5] = ["prompt", "question", "message", "detail", "action"];
    let asked = WORDS.iter().find_map(|word| payload.get(word)?.as_str());
    join_title(
        &format!("Question to a person ({kind})"),
        asked.unwrap_or_default(),
    )
}

pub(super) fn compaction_text(compacted: &TranscriptCompacted) -> String {
    format!(
        "Compacted {} older messages: about {} tokens before and {} after",
        compacted.archived_messages,
        compacted.estimated_tokens_before,
        compacted.estimated_tokens_after
    )
}

impl UpdateProjector {
    /// Writes a worker as one tool call per cycle. A worker that ends while it waits has no open call; a
    /// thought reports its end.
    pub(super) fn write_worker_as_call(&self, seq: Seq, worker: &WorkerUpdate, out: &mut Vec<u8>) {
        let id = format!("worker-{}-{}", worker.worker_id, worker.cycle);
        let title = join_title(&worker.worker_name, cycle_task(worker));
        let (status, text) = match worker.event {
            WorkerEvent::WorkerSpawned => return self.write_call_start(&id, &title, out),
            // The cycle that follows shows the progress.
            WorkerEvent::WorkerProgressed => return,
            WorkerEvent::WorkerWaitingForInput => {
                let text = "Done for now, and waiting for input";
                return self.write_call_end(&id, &title, ToolCallStatus::Completed, text, out);
            }
            WorkerEvent::WorkerCompleted => (ToolCallStatus::Completed, "Done"),
            WorkerEvent::WorkerStopped => (ToolCallStatus::Completed, "Stopped after handing over"),
            WorkerEvent::WorkerFailed => (ToolCallStatus::Failed, "Failed"),
            WorkerEvent::WorkerCancelled => (ToolCallStatus::Failed, "Cancelled"),
        };
        let text = join_title(text, worker.metadata.error.as_deref().unwrap_or_default());
        if worker.metadata.awaiting_started_at.is_some() {
            self.write_note(seq, &join_title(&worker.worker_name, &text), out);
        } else {
            self.write_call_end(&id, &title, status, &text, out);
        }
    }

    /// Writes a composition as one tool call; its children are not shown.
    pub(super) fn write_composition_start(&self, run: &CompositionRun, out: &mut Vec<u8>) {
        self.write_call_start(&composition_id(run), &composition_title(run), out);
    }

    pub(super) fn write_composition_end(
        &self,
        run: &CompositionRun,
        well: bool,
        out: &mut Vec<u8>,
    ) {
        let (status, texts) = if well {
            (ToolCallStatus::Completed, [run.stdout.as_deref(), None])
        } else {
            let texts = [run.error.as_deref(), run.stderr.as_deref()];
            (ToolCallStatus::Failed, texts)
        };
        let text = texts.into_iter().flatten().find(|text| !text.is_empty());
        let text = text.unwrap_or_default();
        self.write_call_end(
            &composition_id(run),
            &composition_title(run),
            status,
            text,
            out,
        );
    }

    fn write_call_start(&self, id: &str, title: &str, out: &mut Vec<u8>) {
        let mut call = call(id, title, ToolCallStatus::InProgress);
        call.kind = Some(ToolKind::Other);
        self.write_update(&StandardUpdate::ToolCall(call), out);
    }

    fn write_call_end(
        &self,
        id: &str,
        title: &str,
        status: ToolCallStatus,
        text: &str,
        out: &mut Vec<u8>,
    ) {
        let mut call = call(id, title, status);
        call.content = (!text.is_empty()).then_some(ToolContents::Text(text));
        self.write_update(&StandardUpdate::ToolCallUpdate(call), out);
    }
}

/// Returns the task of this cycle; a worker that is triggered again has a different one.
pub(super) fn cycle_task(worker: &WorkerUpdate) -> &str {
    match worker.metadata.task.as_str() {
        "" => &worker.worker_task,
        task => task,
    }
}

fn composition_id(run: &CompositionRun) -> String {
    format!("composition-{}", run.run_id)
}

fn composition_title(run: &CompositionRun) -> String {
    join_title("Composition", &run.language)
}

/// Joins two texts with a colon, unless one is empty.
fn join_title(title: &str, text: &str) -> String {
    match (title, text.trim()) {
        (title, "") => title.to_owned(),
        ("", text) => text.to_owned(),
        (title, text) => format!("{title}: {text}"),
    }
}

pub(super) fn call<'a>(id: &'a str, title: &'a str, status: ToolCallStatus) -> ToolCallWire<'a> {
    ToolCallWire {
        tool_call_id: id,
        title: Some(title),
        name: None,
        kind: None,
        status,
        content: None,
        locations: None,
        raw_input: None,
        raw_output: None,
        meta: None,
    }
}

#[cfg(test)]
mod tests {
    use harn_model::HandoffTarget;

    use super::*;

    #[test]
    fn handoff_skips_empty_names() {
        let to = |label: &str, id: &str, kind: &str| {
            handoff_text(&HandoffArtifact {
                target_persona_or_human: HandoffTarget {
                    kind: kind.to_owned(),
                    id: Some(id.to_owned()),
                    label: Some(label.to_owned()),
                },
                ..HandoffArtifact::default()
            })
        };
        assert_eq!(to("Ann", "u1", "human"), "Work is handed over to Ann");
        assert_eq!(to(" ", "u1", "human"), "Work is handed over to u1");
        assert_eq!(to("", "", "human"), "Work is handed over to human");
        assert_eq!(to("", "", ""), "Work is handed over");
    }
}
