//! The plan of a turn: a few steps, of which one is under way.

use harn_model::{PlanEntry, PlanEntryStatus, PlanPriority};
use harn_runtime::{AgentError, TurnContext};

/// Steps that are shown as a plan while they are taken, one after another.
pub(super) struct PlannedSteps<'a> {
    cx: &'a TurnContext,
    steps: Vec<String>,
    done: usize,
}

impl<'a> PlannedSteps<'a> {
    /// Shows the plan, with its first step under way.
    pub(super) async fn begin(
        cx: &'a TurnContext,
        steps: Vec<String>,
    ) -> Result<PlannedSteps<'a>, AgentError> {
        let steps = Self { cx, steps, done: 0 };
        steps.show().await?;
        Ok(steps)
    }

    /// The step under way is done; the next one begins.
    pub(super) async fn next(&mut self) -> Result<(), AgentError> {
        self.done += 1;
        self.show().await
    }

    /// Everything is done, or need not be.
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
