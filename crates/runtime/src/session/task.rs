//! The task that owns a session: the only writer of its journal, and the only publisher.
//!
//! Append, then publish: no client receives an event that is not written. When the journal cannot be written
//! the session ends; published events are safe, and the next open recovers the rest.

mod asks;
mod controls;
mod daemon;
mod ending;
mod equipment;
mod hitl;
mod live;
mod seams;
mod settings;
mod workers;

use std::{collections::VecDeque, pin::pin, sync::Arc};

use harn_journal::{JournalError, MetaChange, SessionLog};
use harn_model::{AgentEvent, Decision, Durability, Envelope, Seq, SlashCommand, TurnId};
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep_until,
};

use controls::interrupted_decision;
use workers::WorkerDeliveries;

pub(crate) use daemon::DaemonWaits;

use super::{
    SharedSession, TaskRequest,
    handle::QueuedPrompt,
    running_turn::{PendingAsk, RunningTurn, TurnCarryover, TurnWake, expiry},
    scribe::EventScribe,
    settlement::cancelled_ask,
    shared_session::{lock, or_never},
};
use crate::{HitlError, SessionEnd, hitl::HitlEnd, turn::TurnItem};

pub(crate) struct SessionTask {
    shared: Arc<SharedSession>,
    /// Before the inbox, for the drop order: a session with a closed inbox has released its journal.
    log: Box<dyn SessionLog>,
    inbox: mpsc::Receiver<TaskRequest>,
    waiting: VecDeque<QueuedPrompt>,
    turn: Option<RunningTurn>,
    scribe: EventScribe,
    on_the_way: WorkerDeliveries,
    /// The slash commands of its equipment, as last published.
    commands_told: Vec<SlashCommand>,
    items: Vec<TurnItem>,
    /// Set once the session is over: the callers that wait for the close.
    closed: Option<Vec<oneshot::Sender<()>>>,
}

impl SessionTask {
    pub(crate) fn new(
        shared: Arc<SharedSession>,
        log: Box<dyn SessionLog>,
        inbox: mpsc::Receiver<TaskRequest>,
    ) -> Self {
        Self {
            scribe: EventScribe::new(shared.meta.thread_id.clone()),
            shared,
            log,
            inbox,
            waiting: VecDeque::new(),
            turn: None,
            on_the_way: WorkerDeliveries::default(),
            commands_told: Vec::new(),
            items: Vec::new(),
            closed: None,
        }
    }

    /// Serves the session until it is closed, all handles are dropped, or its journal fails. Calls `forget`
    /// once the journal can be opened again.
    pub(crate) async fn run(mut self, forget: impl FnOnce()) {
        let end = match self.serve().await {
            Ok(()) => SessionEnd::Closed,
            Err(error) => {
                tracing::error!(session = %self.shared.meta.thread_id, %error, "the journal failed");
                SessionEnd::Failed(error.to_string().into())
            }
        };
        if let Some(turn) = &self.turn {
            turn.abandon();
        }
        // A worker's session only borrows the equipment.
        if self.shared.lineage.is_none() {
            self.shared.equipment.close();
        }
        let (shared, closed) = (self.shared.clone(), self.closed.take());
        drop(self);
        forget();
        shared.feed.end(end);
        for closed in closed.into_iter().flatten() {
            send_reply(closed, ());
        }
    }

    async fn serve(&mut self) -> Result<(), JournalError> {
        while self.closed.is_none() {
            if self.turn.is_none() {
                if let Some(prompt) = self.waiting.pop_front() {
                    self.start(prompt).await?;
                    continue;
                }
                self.shared.feed.shrink_ring();
            }
            let due = self.next_due();
            tokio::select! {
                biased;
                msg = self.inbox.recv() => self.handle(msg).await?,
                () = or_never(due.map(sleep_until)) => self.detach_overdue().await?,
                () = self.shared.live.wait_for_control_change() => self.publish_control_change().await?,
                Some(wake) = next_wake(&mut self.turn, &mut self.items) => {
                    let more = matches!(wake, TurnWake::Items);
                    self.advance(wake).await?;
                    if more {
                        self.pace().await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn handle(&mut self, msg: Option<TaskRequest>) -> Result<(), JournalError> {
        let Some(msg) = msg else {
            // All handles are dropped.
            return self.wind_up(Vec::new(), false).await;
        };
        match msg {
            TaskRequest::Prompt(prompt) => self.queue(prompt).await?,
            TaskRequest::Cancel(turn) => self.cancel(&turn).await?,
            TaskRequest::Answer(ask, decision, term) => {
                if self.is_current_term(term) {
                    self.answer(&ask, decision).await?;
                }
            }
            TaskRequest::HitlRespond(response, term, reply) => {
                if self.is_current_term(term) {
                    self.hitl_respond(*response, reply).await?;
                } else {
                    send_reply(reply, Err(HitlError::Unknown(response.request_id)));
                }
            }
            TaskRequest::HitlEnd {
                id,
                end,
                said,
                term,
            } => {
                if self.is_current_term(term) {
                    self.end_hitl(&id, end, said).await?;
                }
            }
            TaskRequest::Routed(route) => {
                // A settled question was not sent to any client.
                let open = |ask| {
                    self.turn
                        .as_ref()
                        .is_some_and(|it| it.asks.contains_key(ask))
                };
                if route.ask_id.as_ref().is_none_or(open) {
                    let routed = AgentEvent::LiveSessionPermissionRoute(route);
                    self.write(vec![routed]).await?;
                }
            }
            TaskRequest::Control(request) => self.handle_control(*request).await?,
            TaskRequest::Live(request) => self.handle_live(*request).await?,
            TaskRequest::Leave(seat, reply) => self.leave(seat, reply).await?,
            TaskRequest::Inherit(reminders) => self.inherit(reminders).await?,
            TaskRequest::Forget(forgotten) => self.forget(forgotten).await?,
            TaskRequest::Equipped(change) => self.apply_equipment_change(change).await?,
            TaskRequest::Resume => self.resume().await?,
            TaskRequest::Set(setting, reply) => send_reply(reply, self.set(setting).await?),
            TaskRequest::Unarchive(reply) => {
                send_reply(reply, self.log.amend(MetaChange::Archived(false)));
            }
            TaskRequest::SetDirectories(additional) => self.set_directories(additional),
            TaskRequest::DealtWith(reply) => send_reply(reply, self.shared.view().last_seq),
            TaskRequest::Close { reply, told } => self.wind_up(vec![reply], told).await?,
        }
        Ok(())
    }

    /// Queues a prompt. Writes an event only if other prompts are before it.
    async fn queue(&mut self, prompt: QueuedPrompt) -> Result<(), JournalError> {
        if self.turn.is_some() || !self.waiting.is_empty() {
            let queued = AgentEvent::PromptQueued(prompt.turn_started());
            self.write_in(Some(&prompt.turn), vec![queued]).await?;
        }
        self.waiting.push_back(prompt);
        Ok(())
    }

    async fn start(&mut self, prompt: QueuedPrompt) -> Result<(), JournalError> {
        let started = AgentEvent::TurnStarted(prompt.turn_started());
        self.write_in(Some(&prompt.turn), vec![started]).await?;
        self.note_rules().await;
        self.turn = Some(RunningTurn::start(
            &self.shared,
            prompt,
            TurnCarryover::default(),
        ));
        self.refresh_audit();
        Ok(())
    }

    /// Lets late readers catch up before it takes more items from the agent. Requests to the session are
    /// handled meanwhile.
    async fn pace(&mut self) -> Result<(), JournalError> {
        let feed = self.shared.feed.clone();
        let mut paced = pin!(feed.pace());
        while self.closed.is_none() {
            tokio::select! {
                biased;
                () = &mut paced => break,
                msg = self.inbox.recv() => self.handle(msg).await?,
            }
        }
        Ok(())
    }

    async fn advance(&mut self, wake: TurnWake) -> Result<(), JournalError> {
        match wake {
            TurnWake::Items => self.take_items().await,
            TurnWake::Overdue => {
                tracing::warn!(
                    session = %self.shared.meta.thread_id,
                    "the agent did not stop in time; the turn is settled without it"
                );
                if let Some(turn) = &mut self.turn {
                    turn.give_up();
                }
                Ok(())
            }
            TurnWake::Unanswered(ask) => {
                let reason = "no answer arrived in time".to_owned();
                self.answer(&ask, Decision::Unavailable { reason }).await
            }
            TurnWake::HitlOverdue(id) => self.end_hitl(&id, HitlEnd::overdue(), false).await,
            TurnWake::StoppedWaiting => self.remove_dropped_waits().await,
            TurnWake::Over => self.finish().await,
        }
    }

    /// Writes the agent's items, in one batch as far as their order allows.
    async fn take_items(&mut self) -> Result<(), JournalError> {
        let mut items = std::mem::take(&mut self.items);
        let mut events = Vec::with_capacity(items.len());
        let (mut flushes, mut withdrawn) = (Vec::new(), Vec::new());
        for item in items.drain(..) {
            if let Some(turn) = &mut self.turn
                && item.is_activity()
            {
                turn.waits.note_activity();
            }
            if item.needs_written_events() {
                self.write(std::mem::take(&mut events)).await?;
            }
            match item {
                // The code that settles an open request to a person writes its end.
                TurnItem::Event(event) if self.settles_open_hitl(&event) => {}
                TurnItem::Event(AgentEvent::AvailableCommands { commands, .. }) => {
                    events.push(self.commands_event(commands, false));
                }
                TurnItem::Event(AgentEvent::SessionInfo(info)) => {
                    events.extend(self.agent_title_event(info));
                }
                TurnItem::Event(event) => {
                    if matches!(event, AgentEvent::TranscriptCompacted(_)) {
                        events = self.compact_reminders();
                    }
                    events.push(event);
                }
                TurnItem::Seam {
                    seam,
                    iteration,
                    after_a_wait,
                    reply,
                } => self.pass_seam(seam, iteration, after_a_wait, reply).await?,
                TurnItem::Idle(wait) => self.begin_wait(wait).await?,
                TurnItem::Wake(reason) => self.wake_daemon(reason).await?,
                TurnItem::Remind(reminder, reply) => self.remind_itself(*reminder, reply).await?,
                TurnItem::Reminders(reply) => self.send_reminders(reply).await?,
                TurnItem::Hitl(request, reply) => self.open_hitl(*request, reply, &mut events),
                TurnItem::WithdrawHitl(id) => self.withdraw_hitl(&id, &mut events),
                TurnItem::Flush(reply) => flushes.push(reply),
                TurnItem::Withdraw(ask) => {
                    let turn = self.turn.as_mut();
                    if turn.is_some_and(|turn| turn.asks.remove(&ask).is_some()) {
                        events.push(cancelled_ask(ask));
                    }
                }
                TurnItem::Ask(ask, reply) => {
                    events.push(AgentEvent::PermissionAsked(ask.clone()));
                    if let Some(by) = self.find_interrupter(&ask) {
                        events.push(cancelled_ask(ask.ask_id));
                        withdrawn.push((reply, by));
                        continue;
                    }
                    match &mut self.turn {
                        Some(turn) if turn.may_ask() => {
                            let left = ask.deadline.map(|at| at.saturating_sub(ask.requested_at));
                            let pending = PendingAsk {
                                expires: left.map(expiry),
                                ask,
                                reply,
                            };
                            turn.asks.insert(pending.ask.ask_id.clone(), pending);
                        }
                        _ => events.push(cancelled_ask(ask.ask_id)),
                    }
                }
            }
        }
        self.items = items;
        self.write(events).await?;
        for reply in flushes {
            send_reply(reply, ());
        }
        for (reply, by) in withdrawn {
            send_reply(reply, interrupted_decision(by));
        }
        Ok(())
    }

    async fn cancel(&mut self, id: &TurnId) -> Result<(), JournalError> {
        if let Some(turn) = &mut self.turn
            && turn.id == *id
        {
            turn.cancel(self.shared.config.cancel_deadline);
            let asks: Vec<_> = turn.asks.drain().collect();
            let (mut events, asked) = self.cancel_hitl();
            events.extend(asks.iter().map(|(id, _)| cancelled_ask(id.clone())));
            self.write(events).await?;
            for (_, pending) in asks {
                send_reply(pending.reply, Decision::Cancelled);
            }
            for reply in asked {
                send_reply(reply, HitlEnd::Cancelled);
            }
        } else if let Some(at) = self.waiting.iter().position(|prompt| prompt.turn == *id)
            && let Some(prompt) = self.waiting.remove(at)
        {
            self.withdraw(prompt).await?;
        }
        Ok(())
    }

    /// Records the rules at the start of a turn, for audits. Errors in them are reported when they are needed.
    async fn note_rules(&mut self) {
        let shared = self.shared.clone();
        let noted = tokio::task::spawn_blocking(move || {
            let top = shared.root();
            if let Ok(policy) = shared.config.rules.policy(&top.cwd) {
                top.note_policy(&policy);
            }
        });
        // Only the audit depends on it.
        let _ = noted.await;
    }

    fn refresh_audit(&mut self) {
        let turn = self.turn.as_ref().map(|turn| turn.id.clone());
        self.set_audit(turn.as_ref());
    }

    /// Sets the audit record of the turn.
    fn set_audit(&mut self, turn: Option<&TurnId>) {
        let audit = turn.and_then(|turn| self.shared.mutation_session(turn));
        self.scribe.set_audit(audit);
    }

    async fn write(&mut self, events: Vec<AgentEvent>) -> Result<Seq, JournalError> {
        let turn = self.turn.as_ref().map(|turn| turn.id.clone());
        self.write_in(turn.as_ref(), events).await
    }

    /// Writes and publishes events; returns the position of the last.
    async fn write_in(
        &mut self,
        turn: Option<&TurnId>,
        events: Vec<AgentEvent>,
    ) -> Result<Seq, JournalError> {
        let batch = self.append(turn, events)?;
        let last = self.shared.view().last_seq;
        if !batch.is_empty() {
            self.sync_if_required(&batch).await;
            self.shared.feed.publish(batch);
        }
        Ok(last)
    }

    /// Numbers and appends events; the caller publishes them.
    fn append(
        &mut self,
        turn: Option<&TurnId>,
        mut events: Vec<AgentEvent>,
    ) -> Result<Vec<Envelope>, JournalError> {
        EventScribe::hash(&mut events);
        // The parent session decides what a worker may do, and may change that at any time.
        if self.shared.lineage.is_some() {
            self.set_audit(turn);
        }
        let (clock, ids) = (&self.shared.config.clock, &*self.shared.config.ids);
        let batch = {
            let mut view = self.shared.view();
            self.scribe.enter(&mut view, turn, events, clock.now(), ids)
        };
        if !batch.is_empty() {
            self.log.append(&batch)?;
        }
        Ok(batch)
    }

    /// Syncs the journal if an event of the batch requires it.
    async fn sync_if_required(&mut self, batch: &[Envelope]) {
        let durability = batch.iter().map(|envelope| envelope.event.durability());
        if durability.into_iter().any(|it| it == Durability::Synced) {
            self.sync().await;
        }
    }

    /// Makes written events survive a power loss. A failure is only logged: the system has the data, and a
    /// disk that cannot sync will refuse the next write.
    async fn sync(&mut self) {
        let synced = tokio::task::spawn_blocking(self.log.syncer()).await;
        if let Ok(Err(error)) = synced {
            tracing::warn!(session = %self.shared.meta.thread_id, %error, "could not sync the journal");
        }
    }
}

/// Returns the next wake of the running turn. Returns `None` at once if no turn runs, so that `select!` skips
/// the branch. Cancel safe.
async fn next_wake(turn: &mut Option<RunningTurn>, items: &mut Vec<TurnItem>) -> Option<TurnWake> {
    match turn {
        Some(turn) => Some(turn.wake(items).await),
        None => None,
    }
}

/// Replies to a caller or an agent, which may have stopped waiting; the written events remain.
fn send_reply<T>(reply: oneshot::Sender<T>, answer: T) {
    let _ = reply.send(answer);
}
