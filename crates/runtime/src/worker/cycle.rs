//! One cycle of a worker, from the opening of its session to its final event. Runs in its own task, which is
//! the only writer of the worker's events meanwhile.

use std::sync::Arc;

use harn_model::{
    AgentEvent, ContentBlock, HandoffArtifact, LineageEntry, PendingDelivery, Seam, SessionId,
    StopReason, SystemReminder, TurnId, TurnOutcome, WorkerEvent, WorkerUpdate,
};
use tokio::sync::oneshot;

use super::{
    ParentLink, WorkerCrew, WorkerReport,
    active_workers::{WorkerClaim, WorkerCycle},
    calls::CallRelay,
    hitl::HitlRelay,
    relay::AskRelay,
    reply_tail::ReplyTail,
};
use crate::{
    Agent, Controller, IdKind, NewSession, Observer, PromptError, SessionEnd, Subscription,
    WorkerError, turn::TurnItem,
};

/// A cycle that is about to run.
pub(super) struct CycleRun {
    pub(super) claim: WorkerClaim,
    /// The worker's own session.
    pub(super) session: SessionId,
    /// The session to create; `None` if the cycle reuses the existing one.
    pub(super) new: Option<NewSession>,
    /// The update that starts the cycle.
    pub(super) update: WorkerUpdate,
    pub(super) prompt: String,
    pub(super) agent: Option<Arc<dyn Agent>>,
}

/// How a cycle ended, or how to end it.
pub(super) enum CycleEnd {
    Well(StopReason),
    Failed(String),
    Cancelled(&'static str),
    Stopped(Box<HandoffArtifact>),
}

impl CycleRun {
    /// Runs the cycle in its own task; the receiver gets a result when it has started or failed to start. Not async, so
    /// that the task is compiled in this crate and not in each crate that starts a worker.
    pub(super) fn spawn(self) -> oneshot::Receiver<Result<(), WorkerError>> {
        let (begun, when_begun) = oneshot::channel();
        tokio::spawn(self.run_to_end(begun));
        when_begun
    }

    async fn run_to_end(self, begun: oneshot::Sender<Result<(), WorkerError>>) {
        let child = match self.open().await {
            Ok(child) => child,
            Err(error) => {
                // Releases the claim before it reports, so that the caller can retry at once.
                drop(self);
                let _ = begun.send(Err(error));
                return;
            }
        };
        // The caller may have stopped waiting; the cycle runs anyway.
        let _ = begun.send(Ok(()));
        let entry = LineageEntry {
            worker_id: self.claim.id.clone(),
            worker_name: self.update.worker_name.clone(),
            session_id: self.session.clone(),
        };
        let mut events = child.subscribe_from_now();
        let mut calls = CallRelay::new(self.claim.crew.clone(), entry.clone());
        let (end, said) = self.follow(&child, entry, &mut events, &mut calls).await;
        child.close(false).await;
        calls.finish(&mut events).await;
        let (text, truncated) = said.finish();
        let (events, report) = end_events(&self.claim.crew, &self.update, end);
        let report = match self.claim.crew.write(events).await {
            Ok(()) => WorkerReport {
                text,
                truncated,
                ..report
            },
            // The turn ended first and has settled the worker.
            Err(_) => WorkerReport::for_lost_cycle(),
        };
        self.claim.finish(report);
    }

    /// Opens the session and writes that the cycle starts. Writes nothing on failure.
    async fn open(&self) -> Result<Controller, WorkerError> {
        let crew = &self.claim.crew;
        let hub = crew.session.hub.upgrade().ok_or(WorkerError::TurnOver)?;
        let child_of = ParentLink {
            worker_id: self.claim.id.clone(),
            worker_name: self.update.worker_name.clone(),
            parent: Observer {
                shared: crew.session.clone(),
            },
            turn: crew.turn.clone(),
        };
        let agent = self.agent.clone();
        let child = match self.new.clone() {
            Some(new) => {
                let id = self.session.clone();
                hub.create_child(id, new, child_of, agent).await?
            }
            None => hub.open_child(&self.session, child_of, agent).await?,
        };
        let mut steps = vec![update_event(
            self.update.with_event(WorkerEvent::WorkerSpawned),
        )];
        if self.update.event == WorkerEvent::WorkerProgressed {
            steps.insert(0, update_event(self.update.clone()));
        }
        if crew.write(steps).await.is_err() {
            child.close(false).await;
            // A worker that was never announced leaves nothing behind. If the delete fails, its session is
            // deleted with the parent.
            if self.new.is_some() {
                let _ = hub.delete(&self.session).await;
            }
            return Err(WorkerError::TurnOver);
        }
        let inherited = self.inherited_reminders();
        if !inherited.is_empty() {
            child.inherit(inherited).await;
        }
        Ok(child)
    }

    /// Returns the reminders that the parent session passes on to its workers.
    fn inherited_reminders(&self) -> Vec<SystemReminder> {
        let above = &self.claim.crew.session;
        let view = above.view();
        let in_force = view.reminders.iter().map(|active| active.reminder.clone());
        let waiting = view
            .pending
            .entries_with_modes(Seam::TurnStart.delivery_modes());
        let waiting = waiting.into_iter().filter_map(|row| match row {
            PendingDelivery::Reminder(pending) => Some(pending.reminder.clone()),
            PendingDelivery::Message(_) => None,
        });
        let session = above.meta.thread_id.as_str();
        let all = in_force.chain(waiting);
        all.filter_map(|it| it.copy_for_worker(session)).collect()
    }

    /// Sends the prompt to the child's agent and follows it until it is done or stopped.
    async fn follow(
        &self,
        child: &Controller,
        entry: LineageEntry,
        events: &mut Subscription,
        calls: &mut CallRelay,
    ) -> (CycleEnd, ReplyTail) {
        let mut said = ReplyTail::default();
        let (crew, cycle) = (&self.claim.crew, &self.claim.cycle);
        // Stopped while its session was opened: the agent need not start.
        if cycle.stop.is_cancelled() {
            return (stop_cause(crew, cycle), said);
        }
        let prompt = vec![ContentBlock::text(self.prompt.clone())];
        let turn = match child.prompt(prompt, |_| ()).await {
            Ok(turn) => turn,
            Err(PromptError::Closed) => return (CycleEnd::Cancelled(CLOSED), said),
            Err(error) => return (CycleEnd::Failed(error.to_string()), said),
        };
        let mut relay = AskRelay::new(crew.clone(), entry.clone(), TurnItem::Withdraw);
        let mut hitl = HitlRelay::new(crew.clone(), entry, TurnItem::WithdrawHitl);
        let end = tokio::select! {
            biased;
            () = cycle.stop.cancelled() => stop_cause(crew, cycle),
            end = follow_turn(child, &turn, events, (&mut relay, &mut hitl, calls), &mut said) => {
                end.unwrap_or_else(|| stop_cause(crew, cycle))
            }
        };
        relay.withdraw_all().await;
        hitl.withdraw_all().await;
        (end, said)
    }
}

/// Processes the child's events until its turn ends, and relays questions and answers. Returns `None` if the
/// parent turn is over.
async fn follow_turn(
    child: &Controller,
    turn: &TurnId,
    events: &mut Subscription,
    (relay, hitl, calls): (&mut AskRelay, &mut HitlRelay, &mut CallRelay),
    said: &mut ReplyTail,
) -> Option<CycleEnd> {
    loop {
        let delivery = tokio::select! {
            (ask, decision) = relay.next_answer() => {
                child.answer(ask, decision).await;
                continue;
            }
            (id, end) = hitl.next_end() => {
                child.end_hitl(&id, end, false, None).await;
                continue;
            }
            delivery = events.next() => delivery,
        };
        let delivery = match delivery {
            Ok(delivery) => delivery,
            Err(SessionEnd::Closed) => return Some(CycleEnd::Cancelled(CLOSED)),
            Err(SessionEnd::Failed(reason)) => return Some(CycleEnd::Failed(reason.to_string())),
        };
        let ours = delivery.events().iter();
        for envelope in ours.filter(|envelope| envelope.turn.as_ref() == Some(turn)) {
            // Before a question about the call is relayed.
            if calls.relay(&envelope.event).await.is_err() {
                return None;
            }
            // The rest of a worker's work is published only in its own session.
            if let AgentEvent::AgentMessageChunk {
                content,
                message_id,
            } = &envelope.event
            {
                said.add(content, message_id.as_ref());
            } else if let AgentEvent::PermissionAsked(ask) = &envelope.event {
                if relay.send_question(ask).await.is_err() {
                    return None;
                }
            } else if let AgentEvent::PermissionResolved(resolved) = &envelope.event {
                relay.withdraw_settled(&resolved.ask_id).await;
            } else if let AgentEvent::HitlRequested { request_id, .. } = &envelope.event {
                // Requests that an agent merely reports have no waiting task.
                if let Some(asked) = child.hitl(request_id)
                    && hitl.send_request(&asked).await.is_err()
                {
                    return None;
                }
            } else if let AgentEvent::HitlResolved { request_id, .. } = &envelope.event {
                hitl.withdraw_settled(request_id).await;
            } else if let AgentEvent::TurnEnded(ended) = &envelope.event {
                return Some(cycle_end(&ended.outcome));
            } else if let AgentEvent::PromptWithdrawn(_) = &envelope.event {
                // Another client's prompt ran there, and this one was cancelled before it could start.
                return Some(CycleEnd::Cancelled("the worker's turn was cancelled"));
            }
        }
    }
}

const CLOSED: &str = "the worker's session was closed";

/// Returns how the end of the child's turn ends the cycle.
fn cycle_end(outcome: &TurnOutcome) -> CycleEnd {
    match outcome {
        TurnOutcome::Failed { message } => CycleEnd::Failed(message.clone()),
        TurnOutcome::Stopped { stop_reason } => match stop_reason {
            StopReason::EndTurn | StopReason::MaxTokens | StopReason::MaxTurnRequests => {
                CycleEnd::Well(*stop_reason)
            }
            StopReason::Refusal => {
                CycleEnd::Failed("the worker's agent refused the task".to_owned())
            }
            StopReason::Cancelled => CycleEnd::Cancelled("the worker's turn was cancelled"),
        },
    }
}

/// Returns why a cycle was stopped from outside.
fn stop_cause(crew: &WorkerCrew, cycle: &WorkerCycle) -> CycleEnd {
    let ending = cycle.take_end();
    ending.unwrap_or_else(|| CycleEnd::Cancelled(crew.stop_reason()))
}

/// Returns the events that end a cycle or a waiting worker, and its report.
pub(super) fn end_events(
    crew: &WorkerCrew,
    update: &WorkerUpdate,
    end: CycleEnd,
) -> (Vec<AgentEvent>, WorkerReport) {
    let (event, error, stop_reason) = match &end {
        CycleEnd::Well(reason) if update.retriggerable => {
            (WorkerEvent::WorkerWaitingForInput, None, Some(*reason))
        }
        CycleEnd::Well(reason) => (WorkerEvent::WorkerCompleted, None, Some(*reason)),
        CycleEnd::Failed(error) => (WorkerEvent::WorkerFailed, Some(error.clone()), None),
        CycleEnd::Cancelled(why) => (WorkerEvent::WorkerCancelled, Some((*why).to_owned()), None),
        CycleEnd::Stopped(_) => (WorkerEvent::WorkerStopped, None, None),
    };
    let mut events = Vec::new();
    if let CycleEnd::Stopped(handoff) = end {
        events.push(handoff_event(crew, update, handoff));
    }
    let mut update = update.with_event(event);
    update.metadata.error.clone_from(&error);
    events.push(update_event(update));
    let mut report = WorkerReport::without_text(event.status(), error);
    report.stop_reason = stop_reason;
    (events, report)
}

fn update_event(update: WorkerUpdate) -> AgentEvent {
    AgentEvent::WorkerUpdate(Box::new(update))
}

/// Returns the handoff of a worker; fills empty fields from the worker's data.
fn handoff_event(
    crew: &WorkerCrew,
    update: &WorkerUpdate,
    mut handoff: Box<HandoffArtifact>,
) -> AgentEvent {
    if handoff.id.is_empty() {
        handoff.id = crew.session.config.ids.mint(IdKind::Handoff);
    }
    if handoff.source_persona.is_empty() {
        handoff.source_persona.clone_from(&update.worker_name);
    }
    if handoff.task.is_empty() {
        handoff.task.clone_from(&update.worker_task);
    }
    if handoff.parent_run_id.is_none() {
        handoff.parent_run_id = Some(crew.turn.to_string());
    }
    AgentEvent::Handoff {
        artifact_id: handoff.id.clone(),
        handoff,
    }
}
