//! What is delivered where: the seams an agent passes, and those the runtime passes on its way out.

use std::collections::HashSet;

use harn_journal::JournalError;
use harn_model::{
    ActiveReminders, AgentEvent, ContentBlock, DeliveryMode, ErrorCategory, LoopCheckpoint,
    MessageId, Named, Pending, PendingMessage, ReminderChange, ReminderSource, Seam, SessionView,
    SystemReminder, ToolCallId, ToolCallUpdate,
};
use tokio::sync::oneshot;

use super::SessionTask;
use crate::{Delivered, IdKind, Steering};

/// What an agent, or the runtime in its place, gets where it stops, and the events that say so.
#[derive(Default)]
struct Drain {
    events: Vec<AgentEvent>,
    items: Vec<Steering>,
    /// How many messages and reminders.
    count: u64,
}

/// Who gets what is drained.
#[derive(Clone, Copy)]
enum For {
    /// The agent; where this is the place for it, with what is in force and has not been given to it.
    Agent { missed: bool },
    /// The transcript alone: no agent is there.
    Transcript,
}

impl Drain {
    /// Takes these. Reminders that are only recorded are given to nobody.
    fn take(mut active: ActiveReminders, rows: Vec<Pending>, to: For) -> Self {
        let mut drain = Self::default();
        let mut items = Vec::new();
        if let For::Agent { missed: true } = to {
            let missed = active.iter().filter(|it| !it.rendered);
            items.extend(missed.map(|it| Steering::Reminder(it.reminder.clone())));
        }
        let render = matches!(to, For::Agent { .. });
        for row in rows {
            drain.count += 1;
            match row {
                Pending::Message(message) => {
                    drain.events.push(delivered(&message));
                    items.push(Steering::Message {
                        id: message.message_id.clone(),
                        content: message.content.clone(),
                    });
                }
                Pending::Reminder(pending) => {
                    let (mode, reminder) = (pending.mode, &pending.reminder);
                    drain.inject(mode, reminder.clone(), &mut active);
                    if mode != DeliveryMode::AuditOnly && render {
                        items.push(Steering::Reminder(reminder.clone()));
                    }
                }
            }
        }
        // One whose place was taken meanwhile is not rendered any more.
        items.retain(|item| match item {
            Steering::Message { .. } => true,
            Steering::Reminder(reminder) => active.contains(&reminder.id),
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
        active: &mut ActiveReminders,
    ) {
        let mut changes = match mode {
            DeliveryMode::AuditOnly => Vec::new(),
            DeliveryMode::InterruptImmediate | DeliveryMode::FinishStep => active.dedupe(&reminder),
        };
        changes.push(ReminderChange::Injected { mode, reminder });
        for change in changes {
            active.apply(&change);
            self.events.push(lifecycle(change));
        }
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
        reply: oneshot::Sender<Delivered>,
    ) -> Result<(), JournalError> {
        // Nothing is given to an agent that has stopped looking or was told to stop: it would be lost.
        if reply.is_closed() {
            return Ok(());
        }
        let stays = self.turn.as_ref().is_some_and(|turn| turn.may_ask());
        let (mut drain, skipped) = {
            let view = self.shared.view();
            let modes = if stays { seam.delivers() } else { &[] };
            let mut rows = view.pending.of(modes);
            let has_message = rows.iter().any(|row| matches!(row, Pending::Message(_)));
            if stays && after_a_wait && !has_message {
                let next = view.pending.first_message(DeliveryMode::AuditOnly);
                rows.extend(next.map(Pending::Message));
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
            let missed = modes.contains(&DeliveryMode::FinishStep);
            let mut drain = Drain::take(view.reminders.clone(), rows, For::Agent { missed });
            drain.passed(iteration, seam, interrupted.is_some());
            (drain, (interrupted, skipped))
        };
        let (interrupted, mut events) = skipped;
        events.append(&mut drain.events);
        if let Some(by) = interrupted {
            self.interrupt_asks(by).await?;
        }
        if let Some(turn) = &mut self.turn
            && !drain.items.is_empty()
        {
            turn.waits.note_activity();
        }
        self.write(events).await?;
        let delivered = Delivered {
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
    pub(super) fn exit(
        &self,
        iteration: u64,
    ) -> (Vec<AgentEvent>, Option<(MessageId, Vec<ContentBlock>)>) {
        let view = self.shared.view();
        let (aged, mut active) = (view.reminders.age(), view.reminders.clone());
        aged.iter().for_each(|change| active.apply(change));
        let mut events: Vec<_> = aged.into_iter().map(lifecycle).collect();
        for seam in [Seam::TurnEnd, Seam::LoopExit] {
            let mut rows = view.pending.reminders_of(seam.delivers());
            let message = view.pending.first_message_of(seam.delivers());
            rows.extend(message.clone().map(Pending::Message));
            let mut drain = Drain::take(active.clone(), rows, For::Transcript);
            if drain.count > 0 {
                drain.passed(iteration, seam, false);
            }
            events.append(&mut drain.events);
            if let Some(message) = message {
                let next = (message.message_id.clone(), message.content.clone());
                return (events, Some(next));
            }
        }
        (events, None)
    }

    /// A turn has passed for the reminders that are in force.
    pub(super) fn age(&self) -> Vec<AgentEvent> {
        let aged = self.shared.view().reminders.age();
        aged.into_iter().map(lifecycle).collect()
    }

    /// Reminders that are only to be recorded.
    pub(super) fn recorded(&self) -> Vec<AgentEvent> {
        let view = self.shared.view();
        let rows = view.pending.reminders_of(&[DeliveryMode::AuditOnly]);
        Drain::take(view.reminders.clone(), rows, For::Transcript).events
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
            let fresh = view.reminders.iter().filter(|it| !it.rendered);
            let events = fresh.map(|it| emitted(&it.reminder)).collect();
            let in_force = view.reminders.iter().map(|it| it.reminder.clone());
            (events, in_force.collect())
        };
        self.write(events).await?;
        // The agent may have stopped waiting.
        let _ = reply.send(in_force);
        Ok(())
    }

    /// An agent's own reminder comes into force.
    pub(super) async fn remind_itself(
        &mut self,
        mut reminder: SystemReminder,
    ) -> Result<(), JournalError> {
        reminder.source = ReminderSource::InPipeline;
        let events = {
            let view = self.shared.view();
            if reminder.id.is_empty() || view.knows_reminder(&reminder.id) {
                reminder.id = self.shared.config.ids.mint(IdKind::Reminder);
            }
            let (mut drain, mut active) = (Drain::default(), view.reminders.clone());
            drain.inject(DeliveryMode::FinishStep, reminder.clone(), &mut active);
            drain.events
        };
        self.write(events).await?;
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
                    || view.used.contains(Named::DeliveredReminder, id)
                    || view.used.contains(Named::RevokedReminder, id)
            };
            let (mut active, mut all) = (view.reminders.clone(), Vec::new());
            for reminder in reminders.into_iter().filter(|it| !known(&it.id)) {
                let mut changes = active.dedupe(&reminder);
                changes.push(ReminderChange::Inherited { reminder });
                changes.iter().for_each(|change| active.apply(change));
                all.append(&mut changes);
            }
            all
        };
        self.write(changes.into_iter().map(lifecycle).collect())
            .await?;
        Ok(())
    }
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
fn interrupter(row: &Pending) -> &'static str {
    match row {
        Pending::Message(_) => "a message",
        Pending::Reminder(_) => "a reminder",
    }
}

fn delivered(message: &PendingMessage) -> AgentEvent {
    let (message_id, content): (MessageId, _) =
        (message.message_id.clone(), message.content.clone());
    AgentEvent::UserMessage {
        message_id,
        content,
    }
}

fn emitted(reminder: &SystemReminder) -> AgentEvent {
    AgentEvent::ReminderEmitted(Box::new(reminder.rendered()))
}

fn lifecycle(change: ReminderChange) -> AgentEvent {
    AgentEvent::ReminderLifecycle(Box::new(change))
}
