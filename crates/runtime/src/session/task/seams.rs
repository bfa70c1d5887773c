//! What is delivered where: the seams an agent passes, and those the runtime passes on its way out.

use std::{collections::HashSet, sync::Arc};

use harn_journal::JournalError;
use harn_model::{
    AgentEvent, ComingReminders, DeliveryMode, ErrorCategory, LoopCheckpoint, PendingDelivery,
    PendingMessage, ReminderChange, ReminderSource, Seam, SessionView, SystemReminder, ToolCallId,
    ToolCallUpdate, UsedIdKind,
};
use tokio::sync::oneshot;

use super::{SessionTask, send_reply};
use crate::{AgentError, IdKind, Steering, SteeringDelivery};

/// What an agent, or the runtime in its place, gets where it stops, and the events that say so.
#[derive(Default)]
struct SeamDrain {
    events: Vec<AgentEvent>,
    items: Vec<Steering>,
    /// How many messages and reminders.
    count: u64,
}

impl SeamDrain {
    /// Takes these for an agent, after items that were there before, or for the transcript alone where no agent is
    /// there. Reminders that are only recorded are given to nobody.
    fn take(
        mut coming: ComingReminders<'_>,
        mut items: Vec<Steering>,
        rows: Vec<PendingDelivery>,
        for_agent: bool,
    ) -> Self {
        let mut drain = Self::default();
        for row in rows {
            drain.count += 1;
            match row {
                PendingDelivery::Message(message) => {
                    drain.events.push(delivered(&message));
                    items.push(Steering::Message {
                        id: message.message_id.clone(),
                        content: message.content.clone(),
                    });
                }
                PendingDelivery::Reminder(pending) => {
                    let (mode, reminder) = (pending.mode, &pending.reminder);
                    drain.inject(mode, reminder.clone(), &mut coming);
                    if mode != DeliveryMode::AuditOnly && for_agent {
                        items.push(Steering::Reminder(reminder.clone()));
                    }
                }
            }
        }
        // One whose place was taken meanwhile is not rendered any more.
        items.retain(|item| match item {
            Steering::Message { .. } => true,
            Steering::Reminder(reminder) => coming.contains(&reminder.id),
        });
        drain
            .events
            .extend(items.iter().filter_map(|item| match item {
                Steering::Message { .. } => None,
                Steering::Reminder(reminder) => Some(emitted(reminder)),
            }));
        drain.items = items;
        drain
    }

    fn inject(
        &mut self,
        mode: DeliveryMode,
        reminder: SystemReminder,
        coming: &mut ComingReminders<'_>,
    ) {
        let mut changes = match mode {
            DeliveryMode::AuditOnly => Vec::new(),
            DeliveryMode::InterruptImmediate | DeliveryMode::FinishStep => coming.comes(&reminder),
        };
        changes.push(ReminderChange::Injected { mode, reminder });
        self.events.extend(changes.into_iter().map(lifecycle));
    }

    /// That the seam was passed.
    fn passed(&mut self, iteration: u64, seam: Seam, dispatch_skipped: bool) {
        self.events.push(AgentEvent::LoopCheckpoint(LoopCheckpoint {
            iteration,
            seam,
            delivered: self.count,
            dispatch_skipped,
        }));
    }
}

impl SessionTask {
    /// The agent passes a seam.
    pub(super) async fn pass(
        &mut self,
        seam: Seam,
        iteration: u64,
        after_a_wait: bool,
        reply: oneshot::Sender<SteeringDelivery>,
    ) -> Result<(), JournalError> {
        // Nothing is given to an agent that has stopped looking or was told to stop: it would be lost.
        if reply.is_closed() {
            return Ok(());
        }
        let stays = self.turn.as_ref().is_some_and(|turn| turn.may_ask());
        let (mut drain, skipped) = {
            let view = self.shared.view();
            let modes = if stays { seam.delivers() } else { &[] };
            let mut rows = match is_exit_before_steers(&view, seam) {
                true => view.pending.reminders_of(modes),
                false => view.pending.of(modes),
            };
            let has_message = rows
                .iter()
                .any(|row| matches!(row, PendingDelivery::Message(_)));
            if stays && after_a_wait && !has_message {
                let next = view.pending.first_message(DeliveryMode::AuditOnly);
                rows.extend(next.map(PendingDelivery::Message));
            }
            // What is said of it to those who are interrupted.
            let interrupted = match rows.first() {
                Some(first) if seam == Seam::PreToolDispatch => Some(interrupter(first)),
                _ => None,
            };
            let skipped = match (interrupted, &self.turn) {
                (Some(by), Some(turn)) => skip(&view, &turn.allowed, by),
                _ => Vec::new(),
            };
            // Where this is the place for it: what is in force and has not been given to the agent.
            let missed = view.reminders.fresh();
            let missed = missed.filter(|_| modes.contains(&DeliveryMode::FinishStep));
            let missed = missed.map(|it| Steering::Reminder(it.reminder.clone()));
            let coming = ComingReminders::new(&view.reminders);
            let mut drain = SeamDrain::take(coming, missed.collect(), rows, true);
            drain.passed(iteration, seam, interrupted.is_some());
            (drain, (interrupted, skipped))
        };
        let (interrupted, mut events) = skipped;
        events.append(&mut drain.events);
        if let Some(by) = interrupted {
            self.interrupt_asks(by).await?;
        }
        if let Some(turn) = &mut self.turn {
            if !drain.items.is_empty() {
                turn.waits.note_activity();
            }
            if seam.delivers().contains(&DeliveryMode::InterruptImmediate) {
                turn.interrupted = None;
            }
        }
        self.write(events).await?;
        let delivered = SteeringDelivery {
            items: drain.items,
            dispatch_skipped: interrupted.is_some(),
        };
        if let (Err(unread), Some(turn)) = (reply.send(delivered), &self.turn) {
            turn.unread.keep(unread.items);
        }
        Ok(())
    }

    /// What happens on the way out of an agent that returned: its turn has passed, reminders are put in the
    /// transcript, and a message that waits is delivered. It is the next prompt then.
    pub(super) fn exit(&self, iteration: u64) -> (Vec<AgentEvent>, Option<Arc<PendingMessage>>) {
        let view = self.shared.view();
        let aged = view.reminders.age();
        let mut events = Vec::new();
        for seam in [Seam::TurnEnd, Seam::LoopExit] {
            let rows = view.pending.up_to_a_message(seam.delivers());
            let message = rows.iter().find_map(|row| match row {
                PendingDelivery::Message(message) => Some(message.clone()),
                PendingDelivery::Reminder(_) => None,
            });
            // What comes into force at the one takes nobody's place at the other: there it is only recorded.
            let mut coming = ComingReminders::new(&view.reminders);
            coming.after(&aged);
            let mut drain = SeamDrain::take(coming, Vec::new(), rows, false);
            if drain.count > 0 {
                drain.passed(iteration, seam, false);
            }
            events.append(&mut drain.events);
            if message.is_some() {
                return (aged_first(aged, events), message);
            }
        }
        (aged_first(aged, events), None)
    }

    /// A turn has passed for the reminders that are in force.
    pub(super) fn age(&self) -> Vec<AgentEvent> {
        let aged = self.shared.view().reminders.age();
        aged.into_iter().map(lifecycle).collect()
    }

    /// What a compaction does to the reminders that are in force.
    pub(super) fn compacted(&self) -> Vec<AgentEvent> {
        let gone = self.shared.view().reminders.compact();
        gone.into_iter().map(lifecycle).collect()
    }

    /// Gives the agent what is in force, for a prompt.
    pub(super) async fn render(
        &mut self,
        reply: oneshot::Sender<Vec<SystemReminder>>,
    ) -> Result<(), JournalError> {
        // As at a seam; losing its reply, it learns that its turn is over.
        let stays = self.turn.as_ref().is_some_and(|turn| turn.may_ask());
        if !stays || reply.is_closed() {
            return Ok(());
        }
        let (events, in_force) = {
            let view = self.shared.view();
            let fresh = view.reminders.fresh();
            let events = fresh.map(|it| emitted(&it.reminder)).collect();
            let in_force = view.reminders.iter().map(|it| it.reminder.clone());
            (events, in_force.collect())
        };
        self.write(events).await?;
        send_reply(reply, in_force);
        Ok(())
    }

    /// An agent's own reminder comes into force, unless too many are.
    pub(super) async fn remind_itself(
        &mut self,
        mut reminder: SystemReminder,
        reply: oneshot::Sender<Result<(), AgentError>>,
    ) -> Result<(), JournalError> {
        reminder.source = ReminderSource::InPipeline;
        if !self.has_room_for(&self.shared.view(), 1, reminder.weight()) {
            let full = "too many reminders are in force or wait already; let some expire";
            send_reply(reply, Err(AgentError::failed(full)));
            return Ok(());
        }
        let events = {
            let view = self.shared.view();
            if reminder.id.is_empty() || view.knows_reminder(&reminder.id) {
                reminder.id = self.shared.config.ids.mint(IdKind::Reminder);
            }
            let (mut drain, mut coming) =
                (SeamDrain::default(), ComingReminders::new(&view.reminders));
            drain.inject(DeliveryMode::FinishStep, reminder.clone(), &mut coming);
            drain.events
        };
        self.write(events).await?;
        send_reply(reply, Ok(()));
        self.pass_on(DeliveryMode::FinishStep, &reminder);
        Ok(())
    }

    /// Puts in force what the session above has its workers keep in mind; what is known already stays as it
    /// is.
    pub(super) async fn inherit(
        &mut self,
        reminders: Vec<SystemReminder>,
    ) -> Result<(), JournalError> {
        let changes = {
            let view = self.shared.view();
            let known = |id: &str| {
                view.pending.reminder(id).is_some()
                    || view.used.contains(UsedIdKind::DeliveredReminder, id)
                    || view.used.contains(UsedIdKind::RevokedReminder, id)
            };
            let (mut coming, mut all) = (ComingReminders::new(&view.reminders), Vec::new());
            let (mut rows, mut bytes) = (0, 0);
            for reminder in reminders.into_iter().filter(|it| !known(&it.id)) {
                rows += 1;
                bytes += reminder.weight();
                if !self.has_room_for(&view, rows, bytes) {
                    let session = &self.shared.meta.thread_id;
                    tracing::warn!(%session, "too many reminders; the worker does not hear of all");
                    break;
                }
                all.append(&mut coming.comes(&reminder));
                all.push(ReminderChange::Inherited { reminder });
            }
            all
        };
        self.write(changes.into_iter().map(lifecycle).collect())
            .await?;
        Ok(())
    }
}

/// Whether an agent leaves its loop while messages wait that are for an earlier seam. Those for the end wait then,
/// too: the agent is called again with the earlier ones first.
fn is_exit_before_steers(view: &SessionView, seam: Seam) -> bool {
    let earlier = Seam::TurnEnd.delivers();
    seam == Seam::LoopExit && view.pending.first_message_of(earlier).is_some()
}

/// Calls that were announced and have not begun do not run; but those that somebody allowed have as good as
/// begun, wherever their own task is.
fn skip(view: &SessionView, allowed: &HashSet<ToolCallId>, by: &str) -> Vec<AgentEvent> {
    let error = format!("skipped: {by} interrupted before this tool ran");
    let calls = view.open_turn.iter().flat_map(|turn| &turn.calls);
    let waiting = calls.filter(|(id, call)| call.started_at.is_none() && !allowed.contains(*id));
    let skipped = waiting.map(|(id, call)| {
        let tool = call.tool_name.clone();
        let update = ToolCallUpdate::failed(id.clone(), tool, &*error, ErrorCategory::Cancelled);
        AgentEvent::ToolCallUpdate(Box::new(update))
    });
    skipped.collect()
}

/// What it is that interrupts.
fn interrupter(row: &PendingDelivery) -> &'static str {
    match row {
        PendingDelivery::Message(_) => "a message",
        PendingDelivery::Reminder(_) => "a reminder",
    }
}

fn delivered(message: &PendingMessage) -> AgentEvent {
    AgentEvent::UserMessage {
        message_id: message.message_id.clone(),
        content: message.content.clone(),
        live_session: message.live_session.clone(),
    }
}

fn emitted(reminder: &SystemReminder) -> AgentEvent {
    AgentEvent::ReminderEmitted(Box::new(reminder.rendered()))
}

fn aged_first(aged: Vec<ReminderChange>, then: Vec<AgentEvent>) -> Vec<AgentEvent> {
    aged.into_iter().map(lifecycle).chain(then).collect()
}

fn lifecycle(change: ReminderChange) -> AgentEvent {
    AgentEvent::ReminderLifecycle(Box::new(change))
}
