//! Deliveries at the seams that an agent passes, and at those that the runtime passes when the agent returns.

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

/// The deliveries at a seam, to the agent or only to the transcript, and their events.
#[derive(Default)]
struct SeamDrain {
    events: Vec<AgentEvent>,
    items: Vec<Steering>,
    /// The number of messages and reminders.
    count: u64,
}

impl SeamDrain {
    /// Takes rows for an agent, after `items` from before, or only for the transcript if there is no agent. Reminders
    /// that are only recorded are not delivered.
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
                    drain.events.push(delivery_event(&message));
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
        // A reminder that was replaced meanwhile is not rendered.
        items.retain(|item| match item {
            Steering::Message { .. } => true,
            Steering::Reminder(reminder) => coming.contains(&reminder.id),
        });
        drain
            .events
            .extend(items.iter().filter_map(|item| match item {
                Steering::Message { .. } => None,
                Steering::Reminder(reminder) => Some(emission_event(reminder)),
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
            DeliveryMode::InterruptImmediate | DeliveryMode::FinishStep => {
                coming.activate(&reminder)
            }
        };
        changes.push(ReminderChange::Injected { mode, reminder });
        self.events.extend(changes.into_iter().map(lifecycle_event));
    }

    /// Records that the seam was passed.
    fn record_checkpoint(&mut self, iteration: u64, seam: Seam, dispatch_skipped: bool) {
        self.events.push(AgentEvent::LoopCheckpoint(LoopCheckpoint {
            iteration,
            seam,
            delivered: self.count,
            dispatch_skipped,
        }));
    }
}

impl SessionTask {
    /// Handles an agent that passes a seam.
    pub(super) async fn pass_seam(
        &mut self,
        seam: Seam,
        iteration: u64,
        after_a_wait: bool,
        reply: oneshot::Sender<SteeringDelivery>,
    ) -> Result<(), JournalError> {
        // An agent that stopped waiting or was cancelled receives nothing, because it would be lost.
        if reply.is_closed() {
            return Ok(());
        }
        let stays = self.turn.as_ref().is_some_and(|turn| turn.may_ask());
        let (mut drain, skipped) = {
            let view = self.shared.view();
            let modes = if stays { seam.delivery_modes() } else { &[] };
            let mut rows = match is_exit_before_steers(&view, seam) {
                true => view.pending.reminders_with_modes(modes),
                false => view.pending.entries_with_modes(modes),
            };
            let has_message = rows
                .iter()
                .any(|row| matches!(row, PendingDelivery::Message(_)));
            if stays && after_a_wait && !has_message {
                let next = view.pending.first_message(DeliveryMode::AuditOnly);
                rows.extend(next.map(PendingDelivery::Message));
            }
            // The word for the interruption in messages.
            let interrupted = match rows.first() {
                Some(first) if seam == Seam::PreToolDispatch => Some(interrupter(first)),
                _ => None,
            };
            let skipped = match (interrupted, &self.turn) {
                (Some(by), Some(turn)) => skip_calls(&view, &turn.allowed, by),
                _ => Vec::new(),
            };
            // At a seam that delivers them: reminders in force that the agent has not received.
            let missed = view.reminders.iter_unrendered();
            let missed = missed.filter(|_| modes.contains(&DeliveryMode::FinishStep));
            let missed = missed.map(|it| Steering::Reminder(it.reminder.clone()));
            let coming = ComingReminders::new(&view.reminders);
            let mut drain = SeamDrain::take(coming, missed.collect(), rows, true);
            drain.record_checkpoint(iteration, seam, interrupted.is_some());
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
            if seam
                .delivery_modes()
                .contains(&DeliveryMode::InterruptImmediate)
            {
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

    /// Returns the events after an agent's return: reminders age and go to the transcript, and a waiting
    /// message is delivered, which becomes the next prompt.
    pub(super) fn exit_events(
        &self,
        iteration: u64,
    ) -> (Vec<AgentEvent>, Option<Arc<PendingMessage>>) {
        let view = self.shared.view();
        let aged = view.reminders.changes_after_turn();
        let mut events = Vec::new();
        for seam in [Seam::TurnEnd, Seam::LoopExit] {
            let rows = view
                .pending
                .reminders_and_first_message(seam.delivery_modes());
            let message = rows.iter().find_map(|row| match row {
                PendingDelivery::Message(message) => Some(message.clone()),
                PendingDelivery::Reminder(_) => None,
            });
            // A reminder in force from the first seam is not replaced at the second, which only records.
            let mut coming = ComingReminders::new(&view.reminders);
            coming.record_changes(&aged);
            let mut drain = SeamDrain::take(coming, Vec::new(), rows, false);
            if drain.count > 0 {
                drain.record_checkpoint(iteration, seam, false);
            }
            events.append(&mut drain.events);
            if message.is_some() {
                return (prepend_aged(aged, events), message);
            }
        }
        (prepend_aged(aged, events), None)
    }

    /// Ages the reminders in force by a turn.
    pub(super) fn age_reminders(&self) -> Vec<AgentEvent> {
        let aged = self.shared.view().reminders.changes_after_turn();
        aged.into_iter().map(lifecycle_event).collect()
    }

    /// Returns the effect of a compaction on the reminders in force.
    pub(super) fn compact_reminders(&self) -> Vec<AgentEvent> {
        let gone = self.shared.view().reminders.changes_after_compaction();
        gone.into_iter().map(lifecycle_event).collect()
    }

    /// Sends the reminders in force to the agent, for a prompt.
    pub(super) async fn send_reminders(
        &mut self,
        reply: oneshot::Sender<Vec<SystemReminder>>,
    ) -> Result<(), JournalError> {
        // As at a seam: a dropped reply means that the turn is over.
        let stays = self.turn.as_ref().is_some_and(|turn| turn.may_ask());
        if !stays || reply.is_closed() {
            return Ok(());
        }
        let (events, in_force) = {
            let view = self.shared.view();
            let fresh = view.reminders.iter_unrendered();
            let events = fresh.map(|it| emission_event(&it.reminder)).collect();
            let in_force = view.reminders.iter().map(|it| it.reminder.clone());
            (events, in_force.collect())
        };
        self.write(events).await?;
        send_reply(reply, in_force);
        Ok(())
    }

    /// Puts an agent's own reminder in force, unless too many are.
    pub(super) async fn remind_itself(
        &mut self,
        mut reminder: SystemReminder,
        reply: oneshot::Sender<Result<(), AgentError>>,
    ) -> Result<(), JournalError> {
        reminder.source = ReminderSource::InPipeline;
        if !self.has_room_for(&self.shared.view(), 1, reminder.weight()) {
            let full = "too many reminders are active or waiting already; wait until some expire";
            send_reply(reply, Err(AgentError::failed(full)));
            return Ok(());
        }
        let events = {
            let view = self.shared.view();
            if reminder.id.is_empty() || view.has_reminder(&reminder.id) {
                reminder.id = self.shared.config.ids.mint(IdKind::Reminder);
            }
            let (mut drain, mut coming) =
                (SeamDrain::default(), ComingReminders::new(&view.reminders));
            drain.inject(DeliveryMode::FinishStep, reminder.clone(), &mut coming);
            drain.events
        };
        self.write(events).await?;
        send_reply(reply, Ok(()));
        self.pass_on_reminder(DeliveryMode::FinishStep, &reminder);
        Ok(())
    }

    /// Puts reminders of the parent session in force; known ones stay unchanged.
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
                    tracing::warn!(%session, "too many reminders; the worker does not receive all of them");
                    break;
                }
                all.append(&mut coming.activate(&reminder));
                all.push(ReminderChange::Inherited { reminder });
            }
            all
        };
        self.write(changes.into_iter().map(lifecycle_event).collect())
            .await?;
        Ok(())
    }
}

/// Whether an agent leaves its loop while messages for an earlier seam wait. Then those for the end wait, too: the
/// agent is called again with the earlier ones first.
fn is_exit_before_steers(view: &SessionView, seam: Seam) -> bool {
    let earlier = Seam::TurnEnd.delivery_modes();
    seam == Seam::LoopExit && view.pending.first_message_with_modes(earlier).is_some()
}

/// Fails calls that were announced but not started. Allowed calls count as started, whatever the state of their task.
fn skip_calls(view: &SessionView, allowed: &HashSet<ToolCallId>, by: &str) -> Vec<AgentEvent> {
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

/// Returns the word for what interrupts.
fn interrupter(row: &PendingDelivery) -> &'static str {
    match row {
        PendingDelivery::Message(_) => "a message",
        PendingDelivery::Reminder(_) => "a reminder",
    }
}

fn delivery_event(message: &PendingMessage) -> AgentEvent {
    AgentEvent::UserMessage {
        message_id: message.message_id.clone(),
        content: message.content.clone(),
        live_session: message.live_session.clone(),
    }
}

fn emission_event(reminder: &SystemReminder) -> AgentEvent {
    AgentEvent::ReminderEmitted(Box::new(reminder.to_rendered()))
}

fn prepend_aged(aged: Vec<ReminderChange>, then: Vec<AgentEvent>) -> Vec<AgentEvent> {
    aged.into_iter().map(lifecycle_event).chain(then).collect()
}

fn lifecycle_event(change: ReminderChange) -> AgentEvent {
    AgentEvent::ReminderLifecycle(Box::new(change))
}
