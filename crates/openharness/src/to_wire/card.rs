//! The card of a run: what the engine did itself, for a Shell that renders more than text.

use harn_model::{Artifact, PlanEntryStatus, ToolCallStatus, visible_text};

use crate::{
    ext,
    report::{CallSummary, RunReport},
    wire::directive::{ArtifactCard, RunCard, UiComponent, UiPayload},
};

/// Returns the card; none if there is only text to show.
pub(super) fn run_card(told: &RunReport) -> Option<UiPayload<'_>> {
    let plan = told.plan.as_ref().map(|plan| plan.entries());
    let data = RunCard {
        state: ext::run_extension(told).run.state,
        calls: &told.calls,
        plan: plan.unwrap_or_default(),
        artifacts: told.artifacts.iter().map(artifact_card).collect(),
    };
    let bare = data.calls.is_empty() && data.plan.is_empty() && data.artifacts.is_empty();
    (!bare).then(|| UiPayload {
        component: UiComponent::Run,
        message: format_fallback(told, &data),
        data,
    })
}

fn artifact_card(artifact: &Artifact) -> ArtifactCard<'_> {
    ArtifactCard {
        id: &artifact.artifact_id,
        kind: &artifact.kind,
        title: artifact.title.as_deref(),
        mime_type: &artifact.mime_type,
        spec: &artifact.spec,
        message: &artifact.fallback,
    }
}

/// Returns the card as lines of text.
fn format_fallback(told: &RunReport, card: &RunCard<'_>) -> String {
    let plan = card.plan.iter().map(|entry| {
        let mark = match entry.status {
            PlanEntryStatus::Pending => " ",
            PlanEntryStatus::InProgress => "~",
            PlanEntryStatus::Completed => "x",
        };
        format!("[{mark}] {}", entry.content)
    });
    let calls = told.calls.iter().map(format_call);
    let artifacts = told.artifacts.iter().map(|artifact| {
        let shown = [artifact.title.as_deref(), Some(&*artifact.fallback)];
        let mut shown = shown
            .into_iter()
            .flatten()
            .filter(|text| !text.trim().is_empty());
        shown.next().unwrap_or(&artifact.kind).to_owned()
    });
    let lines: Vec<_> = plan.chain(calls).chain(artifacts).collect();
    visible_text(&lines.join("\n")).into_owned()
}

fn format_call(call: &CallSummary) -> String {
    let title = call.title.as_deref().unwrap_or(&call.tool);
    let status = match call.status {
        ToolCallStatus::Pending => "waiting",
        ToolCallStatus::InProgress => "running",
        ToolCallStatus::Completed => "done",
        ToolCallStatus::Failed => "failed",
    };
    format!("{title}: {status}")
}
