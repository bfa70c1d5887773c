//! Playing a turn's steps. A stack of frames rather than recursion: a repeat costs nothing but its
//! steps, and there is one place where a cancelled turn is noticed.

use std::{future::Future, sync::Arc};

use harn_model::{AgentEvent, StopReason};
use harn_runtime::{AgentError, BoxFuture, Delivered, ToolHandle, TurnContext};
use serde_json::json;

use super::{
    cast::Cast,
    crew::Crew,
    scenario::{Act, Ask, Role, Step, TURN},
    steering, with,
};

/// Plays steps to their end, or to the first that ends the turn.
pub(super) fn play<'a>(
    steps: &'a [Step],
    cast: &'a Arc<Cast>,
    cx: &'a TurnContext,
) -> BoxFuture<'a, Result<StopReason, AgentError>> {
    Box::pin(async move {
        let player = Player {
            cx,
            crew: Crew::new(cast.clone(), cx.clone()),
            stack: vec![Frame::new(steps)],
            parting: false,
            came: Delivered::default(),
        };
        player.run().await
    })
}

struct Player<'s> {
    cx: &'s TurnContext,
    crew: Crew,
    stack: Vec<Frame<'s>>,
    /// An `await_cancel` was passed: the steps after it are what the agent does about the cancel, so
    /// it no longer stops them. The runtime's deadline still does.
    parting: bool,
    /// What the last seam or wait delivered.
    came: Delivered,
}

struct Frame<'s> {
    steps: &'s [Step],
    next: usize,
    /// How often they are played again.
    again: u64,
    /// The call they belong to; completed when they are through.
    call: Option<ToolHandle>,
}

impl<'s> Frame<'s> {
    fn new(steps: &'s [Step]) -> Self {
        Self {
            steps,
            next: 0,
            again: 0,
            call: None,
        }
    }

    fn next(&mut self) -> Option<&'s Step> {
        if self.next == self.steps.len() && self.again > 0 {
            self.again -= 1;
            self.next = 0;
        }
        let step = self.steps.get(self.next)?;
        self.next += 1;
        Some(step)
    }
}

impl<'s> Player<'s> {
    async fn run(mut self) -> Result<StopReason, AgentError> {
        while let Some(frame) = self.stack.last_mut() {
            let Some(step) = frame.next() else {
                self.leave().await?;
                continue;
            };
            if !self.parting && self.cx.is_cancelled() && !matches!(step, Step::AwaitCancel) {
                return Err(AgentError::Cancelled);
            }
            if let Some(reason) = self.step(step).await? {
                while !self.stack.is_empty() {
                    self.leave().await?;
                }
                return Ok(reason);
            }
        }
        Ok(StopReason::EndTurn)
    }

    /// Ends the innermost frame, and its call with it.
    async fn leave(&mut self) -> Result<(), AgentError> {
        match self.stack.pop().and_then(|frame| frame.call) {
            Some(call) => call.complete(json!({ "ok": true })).await,
            None => Ok(()),
        }
    }

    async fn step(&mut self, step: &'s Step) -> Result<Option<StopReason>, AgentError> {
        match step {
            Step::Emit(event) => self.cx.emit(event.clone()).await?,
            Step::EmitInTurn(event) => self.cx.emit(self.in_turn(event)).await?,
            Step::Ask(ask) => self.ask(ask).await?,
            Step::Person(person) => {
                let steps = person.ask(self.cx).await?;
                self.stack.push(Frame::new(steps));
            }
            // A seam refuses a cancelled turn; a parting one only has to be in order.
            Step::Seam(_) if self.parting => self.cx.flush().await?,
            Step::Seam(seam) => self.came = self.cx.seam(*seam).await?,
            Step::Idle(wait) => self.came = wait.more(self.cx).await?,
            Step::TellDelivered => steering::tell(&self.came, self.cx).await?,
            Step::SkipIfInterrupted(steps) => {
                if !self.came.dispatch_skipped() {
                    self.stack.push(Frame::new(steps));
                }
            }
            Step::Remind(reminder) => self.cx.remind((**reminder).clone()).await?,
            Step::Sleep(time) => self.unless_cancelled(tokio::time::sleep(*time)).await?,
            Step::AwaitCancel => {
                self.cx.cancelled().await;
                self.parting = true;
                // Repeated, this would never wait again, and nothing could end it.
                tokio::task::consume_budget().await;
            }
            Step::Act(act) => self.act(act).await?,
            Step::Worker(worker) => self.crew.start(worker).await?,
            Step::AwaitWorkers(names) => self.unless_cancelled(self.crew.finished(names)).await??,
            Step::Trigger {
                worker,
                task,
                steps,
            } => self.crew.trigger(worker, task, steps.as_ref()).await?,
            Step::StopWorker { worker, handoff } => {
                self.crew.find(worker)?.stop((**handoff).clone()).await?;
            }
            Step::CancelWorker(worker) => self.crew.find(worker)?.cancel().await?,
            Step::Repeat { times, steps } => self.stack.push(Frame {
                again: times.saturating_sub(1),
                ..Frame::new(steps)
            }),
            Step::Stop(reason) => return Ok(Some(*reason)),
            Step::Fail(message) => return Err(AgentError::failed(message)),
        }
        Ok(None)
    }

    async fn ask(&mut self, ask: &'s Ask) -> Result<(), AgentError> {
        let tool = self.cx.tool(&ask.tool).kind(ask.kind);
        let tool = with(tool, ask.title.as_ref(), |tool, title| tool.title(title));
        let tool = with(tool, ask.input.clone(), |tool, input| tool.input(input));
        let tool = with(tool, ask.path.as_ref(), |tool, path| tool.path(path));
        let tool = with(tool, ask.diff.as_ref(), |tool, diff| {
            tool.content(diff.content(&self.cx.host().absolute(&diff.path)))
        });
        let frame = match tool.ask().await {
            Ok(call) => Frame {
                call: Some(call),
                ..Frame::new(&ask.on_allow)
            },
            Err(AgentError::Denied { .. }) => Frame::new(&ask.on_reject),
            Err(error) => return Err(error),
        };
        self.stack.push(frame);
        Ok(())
    }

    /// Starts a call and does its work. One that is refused or fails has said so; the turn goes on.
    async fn act(&self, act: &Act) -> Result<(), AgentError> {
        match act.describe(self.cx).await.ask().await {
            Ok(call) => {
                let done = self.unless_cancelled(act.perform(self.cx, &call)).await??;
                done.end(call).await
            }
            Err(AgentError::Denied { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, AgentError> {
        if self.parting {
            return Ok(work.await);
        }
        tokio::select! {
            biased;
            () = self.cx.cancelled() => Err(AgentError::Cancelled),
            done = work => Ok(done),
        }
    }

    fn in_turn(&self, event: &AgentEvent) -> AgentEvent {
        let mut event = event.clone();
        let turn = self.cx.turn_id().as_str();
        match Role::of(&mut event) {
            Role::OfCall(id) => *id = id.as_str().replace(TURN, turn).into(),
            Role::OfChild(id) => *id = id.replace(TURN, turn),
            Role::Reserved(_) | Role::Free => {}
        }
        event
    }
}
