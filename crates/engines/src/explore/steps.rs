//! The plan of a turn: a few steps, one of them in progress.

use harn_model::{PlanEntry, PlanEntryStatus, PlanPriority};
use harn_runtime::{AgentError, TurnContext};

/// Steps of a turn that run one after another and are shown as a plan.
pub(super) struct PlannedSteps<'a> {
    cx: &'a TurnContext,
    steps: Vec<String>,
    done: usize,
}

impl<'a> PlannedSteps<'a> {
    /// Shows the plan with its first step in progress.
    pub(super) async fn begin(
        cx: &'a TurnContext,
        steps: Vec<String>,
    ) -> Result<PlannedSteps<'a>, AgentError> {
        let steps = Self { cx, steps, done: 0 };
        steps.show().await?;
        Ok(steps)
    }

    /// Completes the current step and begins the next one.
    pub(super) async fn next(&mut self) -> Result<(), AgentError> {
        self.done += 1;
        self.show().await
    }

    /// Completes all steps, also those that were not needed.
    pub(super) async fn finish(mut self) -> Result<(), AgentError> {
        self.done = self.steps.len();
        self.show().await
    }

    async fn show(&self) -> Result<(), AgentError> {
        let entry = |(at, content): (usize, &String)| PlanEntry {
            content: content.clone(),
            status: match at.cmp(&self.done) {
                std::cmp::Ordering::Less => PlanEntryStatus::Completed,
                std::cmp::Ordering::Equal => PlanEntryStatus::InProgress,
                std::cmp::Ordering::Greater => PlanEntryStatus::Pending,
            },
            priority: PlanPriority::Medium,
        };
        let entries = self.steps.iter().enumerate().map(entry).collect();
        self.cx.plan(entries).await
    }
}
