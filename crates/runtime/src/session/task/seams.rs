//! What is delivered where: the seams an agent passes, and those the runtime passes on its way out.

use std::sync::Arc;

use harn_journal::JournalError;
use harn_model::{
    ActiveReminders, AgentEvent, DeliveryMode, ErrorCategory, LoopCheckpoint, MessageId, Pending,
    PendingMessage, ReminderChange, ReminderSource, Seam, SessionView, SystemReminder,
    ToolCallUpdate,
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

impl Drain {
    /// Takes these; what is to be rendered is given to the agent too.
    fn take(mut active: ActiveReminders, rows: Vec<Pending>, render: bool) -> Self {
        let mut drain = Self::default();
        let mut items = Vec::new();
        if render {
            let waiting = active.iter().filter(|it| !it.rendered);
            items.extend(waiting.map(|it| Steering::Reminder(it.reminder.clone())));
        }
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
        // Nothing is given to an agent that was told to stop: it would be lost.
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
            let interrupted = seam == Seam::PreToolDispatch && !rows.is_empty();
            let skipped = if interrupted { skip(&view) } else { Vec::new() };
            let render = modes.contains(&DeliveryMode::FinishStep) || !rows.is_empty();
            let mut drain = Drain::take(view.reminders.clone(), rows, stays && render);
            drain.passed(iteration, seam, interrupted);
            (drain, (interrupted, skipped))
        };
        let (dispatch_skipped, mut events) = skipped;
        events.append(&mut drain.events);
        self.write(events).await?;
        // The agent may have stopped waiting.
        let _ = reply.send(Delivered {
            items: drain.items,
            dispatch_skipped,
        });
        Ok(())
    }

    /// What happens on the way out of an agent that returned: its turn has passed, reminders are put in the
    /// transcript, and a message that waits is delivered. It is the next prompt then.
    pub(super) fn exit(&self, iteration: u64) -> (Vec<AgentEvent>, Option<Arc<PendingMessage>>) {
        let view = self.shared.view();
        let (aged, mut active) = (view.reminders.age(), view.reminders.clone());
        aged.iter().for_each(|change| active.apply(change));
        let mut events: Vec<_> = aged.into_iter().map(lifecycle).collect();
        let is_reminder = |row: &Pending| matches!(row, Pending::Reminder(_));
        let steps = [
            (Seam::TurnEnd, DeliveryMode::FinishStep),
            (Seam::LoopExit, DeliveryMode::AuditOnly),
        ];
        for (seam, mode) in steps {
            let mut rows = view.pending.of(seam.delivers());
            rows.retain(is_reminder);
            let message = view.pending.first_message(mode);
            rows.extend(message.clone().map(Pending::Message));
            let mut drain = Drain::take(active.clone(), rows, false);
            if drain.count > 0 {
                drain.passed(iteration, seam, false);
            }
            events.append(&mut drain.events);
            if message.is_some() {
                return (events, message);
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
        let mut rows = view.pending.of(&[DeliveryMode::AuditOnly]);
        rows.retain(|row| matches!(row, Pending::Reminder(_)));
        Drain::take(view.reminders.clone(), rows, false).events
    }

    /// What a compaction does to the reminders that are in force.
    pub(super) fn compacted(&self) -> Vec<AgentEvent> {
        let gone = self.shared.view().reminders.compact();
        gone.into_iter().map(lifecycle).collect()
    }

    /// What is in force, for a prompt; and the events that say that it was rendered.
    pub(super) fn render(&self) -> (Vec<AgentEvent>, Vec<SystemReminder>) {
        let view = self.shared.view();
        let fresh = view.reminders.iter().filter(|it| !it.rendered);
        let events = fresh.map(|it| emitted(&it.reminder)).collect();
        let in_force = view.reminders.iter().map(|it| it.reminder.clone());
        (events, in_force.collect())
    }

    /// An agent's own reminder comes into force.
    pub(super) fn remind_itself(&self, mut reminder: SystemReminder) -> Vec<AgentEvent> {
        reminder.source = ReminderSource::InPipeline;
        let view = self.shared.view();
        if reminder.id.is_empty() || view.reminders.contains(&reminder.id) {
            reminder.id = self.shared.config.ids.mint(IdKind::Reminder);
        }
        let (mut drain, mut active) = (Drain::default(), view.reminders.clone());
        drain.inject(DeliveryMode::FinishStep, reminder, &mut active);
        drain.events
    }
}

/// Calls that were announced and have not begun do not run.
fn skip(view: &SessionView) -> Vec<AgentEvent> {
    let calls = view.open_turn.iter().flat_map(|turn| &turn.calls);
    let waiting = calls.filter(|(_, call)| call.started_at.is_none());
    let skipped = waiting.map(|(id, call)| {
        let error = "skipped: a reminder interrupted before this tool ran";
        let tool = call.tool_name.clone();
        let update = ToolCallUpdate::failed(id.clone(), tool, error, ErrorCategory::Cancelled);
        AgentEvent::ToolCallUpdate(Box::new(update))
    });
    skipped.collect()
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

pub(super) fn inherited(reminder: SystemReminder) -> AgentEvent {
    lifecycle(ReminderChange::Inherited { reminder })
}
