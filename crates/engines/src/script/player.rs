//! Plays the steps of a turn. It uses a stack of frames instead of recursion: a repeat costs only its steps, and
//! one check detects a cancelled turn.

use std::{future::Future, sync::Arc};

use harn_model::{AgentEvent, StopReason};
use harn_runtime::{AgentError, BoxFuture, SteeringDelivery, ToolHandle, TurnContext};
use serde_json::json;

use super::{
    apply_if_some,
    scenario::{EventRole, PermissionStep, ScenarioAction, ScenarioStep, TURN},
    scenario_workers::ScenarioWorkers,
    steering,
    turn_workers::TurnWorkers,
};

/// Plays the steps to their end, or to the first step that ends the turn.
pub(super) fn play<'a>(
    steps: &'a [ScenarioStep],
    cast: &'a Arc<ScenarioWorkers>,
    cx: &'a TurnContext,
) -> BoxFuture<'a, Result<StopReason, AgentError>> {
    Box::pin(async move {
        let player = StepPlayer {
            cx,
            crew: TurnWorkers::new(cast.clone(), cx.clone()),
            stack: vec![StepFrame::new(steps)],
            parting: false,
            came: SteeringDelivery::default(),
        };
        player.run().await
    })
}

struct StepPlayer<'s> {
    cx: &'s TurnContext,
    crew: TurnWorkers,
    stack: Vec<StepFrame<'s>>,
    /// Whether an `await_cancel` has passed: the steps after it are the agent's reaction to the cancel, so the
    /// cancel does not stop them. The runtime's deadline still does.
    parting: bool,
    /// The messages and reminders of the last seam or wait.
    came: SteeringDelivery,
}

struct StepFrame<'s> {
    steps: &'s [ScenarioStep],
    next: usize,
    /// The number of remaining repetitions.
    again: u64,
    /// The call that the steps belong to; completed after the last step.
    call: Option<ToolHandle>,
}

impl<'s> StepFrame<'s> {
    fn new(steps: &'s [ScenarioStep]) -> Self {
        Self {
            steps,
            next: 0,
            again: 0,
            call: None,
        }
    }

    fn next(&mut self) -> Option<&'s ScenarioStep> {
        if self.next == self.steps.len() && self.again > 0 {
            self.again -= 1;
            self.next = 0;
        }
        let step = self.steps.get(self.next)?;
        self.next += 1;
        Some(step)
    }
}

impl<'s> StepPlayer<'s> {
    async fn run(mut self) -> Result<StopReason, AgentError> {
        while let Some(frame) = self.stack.last_mut() {
            let Some(step) = frame.next() else {
                self.leave_frame().await?;
                continue;
            };
            if !self.parting && self.cx.is_cancelled() && !matches!(step, ScenarioStep::AwaitCancel)
            {
                return Err(AgentError::Cancelled);
            }
            if let Some(reason) = self.step(step).await? {
                while !self.stack.is_empty() {
                    self.leave_frame().await?;
                }
                return Ok(reason);
            }
        }
        Ok(StopReason::EndTurn)
    }

    /// Ends the innermost frame and its call.
    async fn leave_frame(&mut self) -> Result<(), AgentError> {
        match self.stack.pop().and_then(|frame| frame.call) {
            Some(call) => call.complete(json!({ "ok": true })).await,
            None => Ok(()),
        }
    }

    async fn step(&mut self, step: &'s ScenarioStep) -> Result<Option<StopReason>, AgentError> {
        match step {
            ScenarioStep::Emit(event) => self.cx.emit(event.clone()).await?,
            ScenarioStep::EmitInTurn(event) => self.cx.emit(self.with_turn_id(event)).await?,
            ScenarioStep::Ask(ask) => self.ask(ask).await?,
            ScenarioStep::Person(person) => {
                let steps = person.ask(self.cx).await?;
                self.stack.push(StepFrame::new(steps));
            }
            // A seam fails in a cancelled turn; after `await_cancel` it only flushes.
            ScenarioStep::Seam(_) if self.parting => self.cx.flush().await?,
            ScenarioStep::Seam(seam) => self.came = self.cx.seam(*seam).await?,
            ScenarioStep::Idle(wait) => self.came = wait.wait(self.cx).await?,
            ScenarioStep::TellDelivered => steering::say_delivered(&self.came, self.cx).await?,
            ScenarioStep::SkipIfInterrupted(steps) => {
                if !self.came.dispatch_skipped() {
                    self.stack.push(StepFrame::new(steps));
                }
            }
            ScenarioStep::Remind(reminder) => self.cx.remind((**reminder).clone()).await?,
            ScenarioStep::Sleep(time) => {
                self.run_unless_cancelled(tokio::time::sleep(*time)).await?
            }
            ScenarioStep::AwaitCancel => {
                self.cx.cancelled().await;
                self.parting = true;
                // Inside a repeat, this never waits again, so without a yield nothing could end the loop.
                tokio::task::consume_budget().await;
            }
            ScenarioStep::Act(act) => self.act(act).await?,
            ScenarioStep::Worker(worker) => self.crew.start(worker).await?,
            ScenarioStep::AwaitWorkers(names) => {
                self.run_unless_cancelled(self.crew.wait_until_finished(names))
                    .await??
            }
            ScenarioStep::Trigger {
                worker,
                task,
                steps,
            } => self.crew.trigger(worker, task, steps.as_ref()).await?,
            ScenarioStep::StopWorker { worker, handoff } => {
                self.crew.find(worker)?.stop((**handoff).clone()).await?;
            }
            ScenarioStep::CancelWorker(worker) => self.crew.find(worker)?.cancel().await?,
            ScenarioStep::Repeat { times, steps } => self.stack.push(StepFrame {
                again: times.saturating_sub(1),
                ..StepFrame::new(steps)
            }),
            ScenarioStep::Stop(reason) => return Ok(Some(*reason)),
            ScenarioStep::Fail(message) => return Err(AgentError::failed(message)),
        }
        Ok(None)
    }

    async fn ask(&mut self, ask: &'s PermissionStep) -> Result<(), AgentError> {
        let tool = self.cx.tool(&ask.tool).kind(ask.kind);
        let tool = apply_if_some(tool, ask.title.as_ref(), |tool, title| tool.title(title));
        let tool = apply_if_some(tool, ask.input.clone(), |tool, input| tool.input(input));
        let tool = apply_if_some(tool, ask.path.as_ref(), |tool, path| tool.path(path));
        let tool = apply_if_some(tool, ask.diff.as_ref(), |tool, diff| {
            tool.content(diff.content(&self.cx.host().absolute(&diff.path)))
        });
        let frame = match tool.ask().await {
            Ok(call) => StepFrame {
                call: Some(call),
                ..StepFrame::new(&ask.on_allow)
            },
            Err(AgentError::Denied { .. }) => StepFrame::new(&ask.on_reject),
            Err(error) => return Err(error),
        };
        self.stack.push(frame);
        Ok(())
    }

    /// Starts a call and performs it. A refused or failed call shows its reason; the turn continues.
    async fn act(&self, act: &ScenarioAction) -> Result<(), AgentError> {
        match act.describe(self.cx).await.ask().await {
            Ok(call) => {
                let done = self
                    .run_unless_cancelled(act.perform(self.cx, &call))
                    .await??;
                done.finish_call(call).await
            }
            Err(AgentError::Denied { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn run_unless_cancelled<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, AgentError> {
        if self.parting {
            return Ok(work.await);
        }
        tokio::select! {
            biased;
            () = self.cx.cancelled() => Err(AgentError::Cancelled),
            done = work => Ok(done),
        }
    }

    fn with_turn_id(&self, event: &AgentEvent) -> AgentEvent {
        let mut event = event.clone();
        let turn = self.cx.turn_id().as_str();
        match EventRole::of_event(&mut event) {
            EventRole::OfCall(id) => *id = id.as_str().replace(TURN, turn).into(),
            EventRole::OfChild(id) => *id = id.replace(TURN, turn),
            EventRole::Reserved(_) | EventRole::Free => {}
        }
        event
    }
}
