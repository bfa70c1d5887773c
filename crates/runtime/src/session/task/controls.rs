//! What is wanted of a running session: checked, written with what came of it, and only then answered.

use harn_journal::JournalError;
use harn_model::{
    Actor, AgentEvent, AskId, ContentBlock, ControlOutcome, ControlResult, Decision, DeliveryMode,
    MessageId, Named, PendingChange, PendingMessage, PendingReminder, PermissionAsked, SessionView,
    SystemReminder, TurnId, WakeReason,
};

use super::{SessionTask, asks::resolved};
use crate::{
    ControlError, IdKind, Observer,
    session::{
        control::{ControlRequest, Controlled, Wanted},
        running::{PendingAsk, RunningTurn},
    },
};

/// What comes of something that is wanted.
enum Verdict {
    Done(ControlResult),
    Refused(ControlResult),
    /// It is somebody else's.
    Theirs(Actor),
    /// Nothing runs that it could be for, and it is to leave no trace.
    Idle,
    /// What was said cannot be taken.
    Unfit(String),
}

impl SessionTask {
    /// The owner of a message, where it is not this actor's to change. What waits goes with control: a client
    /// that came by its name may change what whoever was in control before it has said.
    fn whose(&self, view: &SessionView, id: &MessageId, actor: &Actor) -> Option<Actor> {
        let owner = &view.pending.message(id)?.owner;
        let controls = || self.shared.live.roster().is_controller(&actor.client_id);
        let theirs = owner != actor && !actor.is_host_owner() && !controls();
        theirs.then(|| owner.clone())
    }

    pub(super) async fn control(&mut self, request: ControlRequest) -> Result<(), JournalError> {
        match self.settle_control(request).await? {
            Some(effect) => self.take_effect(effect).await,
            None => Ok(()),
        }
    }

    /// Does what is wanted, writes it and answers; what else is to happen then.
    pub(super) async fn settle_control(
        &mut self,
        request: ControlRequest,
    ) -> Result<Option<Effect>, JournalError> {
        let ControlRequest {
            actor,
            wanted,
            reply,
        } = request;
        let verdict = match &wanted {
            // Before it is told: whoever hears of it finds it done.
            Wanted::Cancel(turn) => self.cancel_wanted(turn.as_ref()).await?,
            other => self.judge(other, &actor),
        };
        let (result, owner) = match verdict {
            Verdict::Done(result) => (Ok(result), None),
            Verdict::Refused(result) => (Err(result), None),
            Verdict::Theirs(owner) => (Err(ControlResult::NotOwnerOrNotAuthorized), Some(owner)),
            Verdict::Idle => {
                let refused = ControlError::Refused {
                    result: ControlResult::NoActivePrompt,
                    actor,
                    owner: None,
                };
                // The caller may have gone.
                let _ = reply.send(Err(refused));
                return Ok(None);
            }
            Verdict::Unfit(why) => {
                // The caller may have gone.
                let _ = reply.send(Err(ControlError::Unfit(why)));
                return Ok(None);
            }
        };
        let outcome = ControlOutcome {
            control_id: self.shared.config.ids.mint(IdKind::Control),
            control: wanted.control(),
            result: result.unwrap_or_else(|refused| refused),
            actor: actor.clone(),
            target: wanted.target(&Observer {
                shared: self.shared.clone(),
            }),
        };
        let effect = result.is_ok().then(|| self.effect_of(&wanted)).flatten();
        let change = match result {
            Ok(result) => change(wanted, result, &actor),
            Err(_) => None,
        };
        let mut events: Vec<_> = change.into_iter().collect();
        events.push(AgentEvent::ControlOutcome(Box::new(outcome)));
        let seq = self.write(events).await?;
        let answer = match result {
            Ok(result) => Ok(Controlled {
                result,
                seq,
                pending: self.shared.view().pending.len(),
            }),
            Err(result) => Err(ControlError::Refused {
                result,
                actor,
                owner,
            }),
        };
        // The caller may have gone; what is written stands.
        let _ = reply.send(answer);
        Ok(effect)
    }

    fn judge(&self, wanted: &Wanted, actor: &Actor) -> Verdict {
        let view = self.shared.view();
        match wanted {
            Wanted::Inject {
                content,
                only_running,
                ..
            } => {
                if let Err(unfit) = self.shared.check(content) {
                    return Verdict::Unfit(unfit.to_string());
                }
                let stops = |turn: &RunningTurn| turn.is_cancelled();
                let goes_on = !self.waiting.is_empty() || !self.turn.as_ref().is_none_or(stops);
                if *only_running && !goes_on {
                    return Verdict::Idle;
                }
                if self.turn.is_none() && self.waiting.is_empty() {
                    return Verdict::Refused(ControlResult::NoActivePrompt);
                }
                self.room(&view, 1, weigh(content))
            }
            Wanted::RevokeInject(id) => match self.whose(&view, id, actor) {
                Some(owner) => Verdict::Theirs(owner),
                None => match standing(&view, id) {
                    Standing::Pending => Verdict::Done(ControlResult::Revoked),
                    Standing::Revoked => Verdict::Done(ControlResult::AlreadyRevoked),
                    Standing::Delivered => Verdict::Refused(ControlResult::AlreadyDelivered),
                    Standing::Unknown => Verdict::Refused(ControlResult::UnknownMessageId),
                },
            },
            Wanted::ReplaceInject { id, content } => {
                if let Some(owner) = self.whose(&view, id, actor) {
                    return Verdict::Theirs(owner);
                }
                let content = match content {
                    Ok(content) => content,
                    Err(unreadable) => return Verdict::Unfit(unreadable.clone()),
                };
                if let Err(unfit) = self.shared.check(content) {
                    return Verdict::Unfit(unfit.to_string());
                }
                match standing(&view, id) {
                    Standing::Pending => self.room_instead(&view, id, content),
                    Standing::Revoked => Verdict::Refused(ControlResult::AlreadyRevoked),
                    Standing::Delivered => Verdict::Refused(ControlResult::AlreadyDelivered),
                    Standing::Unknown => Verdict::Refused(ControlResult::UnknownMessageId),
                }
            }
            Wanted::Remind(pending) => {
                let PendingReminder { reminder, .. } = &**pending;
                let id = &reminder.id;
                if view.knows_reminder(id) {
                    return Verdict::Refused(ControlResult::IdInUse);
                }
                match self.has_room_for(&view, 1, reminder.weight()) {
                    true => Verdict::Done(ControlResult::Accepted),
                    false => Verdict::Refused(ControlResult::QueueFull),
                }
            }
            Wanted::RevokeReminder(id) => {
                if view.pending.reminder(id).is_some() {
                    Verdict::Done(ControlResult::Revoked)
                } else if view.reminders.contains(id) {
                    // Whatever became of others that had its name before.
                    Verdict::Refused(ControlResult::AlreadyDelivered)
                } else if view.used.contains(Named::RevokedReminder, id) {
                    Verdict::Done(ControlResult::AlreadyRevoked)
                } else if view.used.contains(Named::DeliveredReminder, id) {
                    Verdict::Refused(ControlResult::AlreadyDelivered)
                } else {
                    Verdict::Refused(ControlResult::UnknownReminderId)
                }
            }
            // Not judged but done; see `control`.
            Wanted::Cancel(_) => Verdict::Refused(ControlResult::NoActivePrompt),
        }
    }

    /// Whether so much more may wait.
    fn room(&self, view: &SessionView, rows: usize, bytes: usize) -> Verdict {
        let config = &self.shared.config;
        let full = view.pending.len().saturating_add(rows) > config.max_pending
            || view.pending.bytes().saturating_add(bytes) > config.max_pending_bytes;
        match full {
            true => Verdict::Refused(ControlResult::QueueFull),
            false => Verdict::Done(ControlResult::Accepted),
        }
    }

    /// Whether so many more reminders may come: those that are in force count like those that wait.
    pub(super) fn has_room_for(&self, view: &SessionView, rows: usize, bytes: usize) -> bool {
        let rows = view.reminders.len().saturating_add(rows);
        let bytes = view.reminders.bytes().saturating_add(bytes);
        matches!(self.room(view, rows, bytes), Verdict::Done(_))
    }

    /// Whether a message that waits may say this instead. What does not grow has its room.
    fn room_instead(
        &self,
        view: &SessionView,
        id: &MessageId,
        content: &[ContentBlock],
    ) -> Verdict {
        let now = view.pending.message(id).map_or(0, |it| weigh(&it.content));
        let more = weigh(content).saturating_sub(now);
        match self.room(view, 0, more) {
            Verdict::Refused(full) if more > 0 => Verdict::Refused(full),
            _ => Verdict::Done(ControlResult::Replaced),
        }
    }

    async fn cancel_wanted(&mut self, turn: Option<&TurnId>) -> Result<Verdict, JournalError> {
        let Some(turn) = turn else {
            return Ok(Verdict::Refused(ControlResult::NoActivePrompt));
        };
        let running = self.turn.as_ref().filter(|running| running.id == *turn);
        let waits = self.waiting.iter().any(|prompt| prompt.turn == *turn);
        let cancelled = match running {
            Some(running) => Some(running.is_cancelled()),
            None => waits.then_some(false),
        };
        Ok(match cancelled {
            None => Verdict::Refused(ControlResult::NoActivePrompt),
            Some(true) => Verdict::Done(ControlResult::AlreadyCancelled),
            Some(false) => {
                self.cancel(turn).await?;
                Verdict::Done(ControlResult::Cancelled)
            }
        })
    }

    async fn take_effect(&mut self, effect: Effect) -> Result<(), JournalError> {
        if let Some(by) = effect.interrupts {
            self.interrupt_asks(by).await?;
            if let Some(turn) = &mut self.turn {
                turn.interrupted = Some(by);
            }
        }
        match effect.passed_on {
            Some(PassOn::Reminder(mode, reminder)) => self.pass_on(mode, &reminder),
            Some(PassOn::Revoked { id, origin }) => self.pass_on_revoked(&id, origin),
            None => {}
        }
        match effect.wakes {
            Some(reason) => self.wake_daemon(reason).await,
            None => Ok(()),
        }
    }

    /// Takes open questions about tool calls back: something that interrupts has to be read first. The calls
    /// do not run; the turn goes on. Those of workers are not the session's to take back: a worker that hears
    /// of it too takes its own back, which ends them here.
    pub(super) async fn interrupt_asks(&mut self, by: &str) -> Result<(), JournalError> {
        let Some(turn) = &mut self.turn else {
            return Ok(());
        };
        let own = |_: &AskId, pending: &mut PendingAsk| pending.is_own();
        let asks: Vec<_> = turn.asks.extract_if(own).collect();
        let withdrawn = asks
            .iter()
            .map(|(id, _)| resolved(id.clone(), Decision::Cancelled, None));
        let withdrawn = withdrawn.collect();
        self.write(withdrawn).await?;
        for (_, pending) in asks {
            // The agent may have stopped waiting.
            let _ = pending.reply.send(withdrawn_by(by));
        }
        Ok(())
    }

    /// What interrupted the agent and has not been delivered to it: until it is, the session's own questions
    /// are put to nobody.
    pub(super) fn interrupter_of(&self, ask: &PermissionAsked) -> Option<&'static str> {
        let by = self.turn.as_ref()?.interrupted?;
        let waits = !self
            .shared
            .view()
            .pending
            .of(&[DeliveryMode::InterruptImmediate])
            .is_empty();
        (waits && ask.lineage.is_empty()).then_some(by)
    }
}

/// The answer of somebody who was asked and then need not be.
pub(super) fn withdrawn_by(interrupter: &str) -> Decision {
    let reason = format!("{interrupter} interrupted before anybody answered");
    Decision::Unavailable { reason }
}

/// What else happens once something is written.
pub(super) struct Effect {
    /// What it is that interrupts.
    interrupts: Option<&'static str>,
    passed_on: Option<PassOn>,
    wakes: Option<WakeReason>,
}

enum PassOn {
    Reminder(DeliveryMode, Box<SystemReminder>),
    Revoked {
        id: String,
        /// Where it says that it comes from.
        origin: Option<String>,
    },
}

impl SessionTask {
    fn effect_of(&self, wanted: &Wanted) -> Option<Effect> {
        match wanted {
            Wanted::Inject { mode, .. } => Some(Effect {
                interrupts: (*mode == DeliveryMode::InterruptImmediate).then_some("a message"),
                passed_on: None,
                wakes: Some(WakeReason::Message),
            }),
            Wanted::Remind(pending) => {
                let PendingReminder { mode, reminder, .. } = &**pending;
                let delivered = *mode != DeliveryMode::AuditOnly;
                Some(Effect {
                    interrupts: (*mode == DeliveryMode::InterruptImmediate).then_some("a reminder"),
                    passed_on: delivered
                        .then(|| PassOn::Reminder(*mode, Box::new(reminder.clone()))),
                    wakes: delivered.then_some(WakeReason::Reminder),
                })
            }
            Wanted::RevokeReminder(id) => Some(Effect {
                interrupts: None,
                passed_on: Some(PassOn::Revoked {
                    id: id.clone(),
                    origin: self
                        .shared
                        .view()
                        .pending
                        .reminder(id)
                        .and_then(|it| it.reminder.originating_agent_id.clone()),
                }),
                wakes: None,
            }),
            Wanted::RevokeInject(_) | Wanted::ReplaceInject { .. } | Wanted::Cancel(_) => None,
        }
    }
}

/// The event that does what was wanted; none where it had been done.
fn change(wanted: Wanted, result: ControlResult, actor: &Actor) -> Option<AgentEvent> {
    let change = match wanted {
        Wanted::Inject {
            id,
            mode,
            content,
            author,
            only_running: _,
        } => PendingChange::MessageQueued(PendingMessage {
            message_id: id,
            mode,
            content,
            owner: actor.clone(),
            live_session: author,
        }),
        Wanted::RevokeInject(message_id) if result == ControlResult::Revoked => {
            PendingChange::MessageRevoked { message_id }
        }
        Wanted::ReplaceInject {
            id,
            content: Ok(content),
        } => PendingChange::MessageReplaced {
            message_id: id,
            content,
        },
        Wanted::Remind(pending) => PendingChange::ReminderQueued(*pending),
        Wanted::RevokeReminder(reminder_id) if result == ControlResult::Revoked => {
            PendingChange::ReminderRevoked { reminder_id }
        }
        Wanted::RevokeInject(_)
        | Wanted::ReplaceInject { .. }
        | Wanted::RevokeReminder(_)
        | Wanted::Cancel(_) => return None,
    };
    Some(AgentEvent::Pending(Box::new(change)))
}

fn weigh(content: &[ContentBlock]) -> usize {
    content.iter().map(ContentBlock::weight).sum()
}

/// What became of a message so far.
enum Standing {
    Pending,
    Revoked,
    Delivered,
    Unknown,
}

fn standing(view: &SessionView, id: &MessageId) -> Standing {
    let was = |named| view.used.contains(named, id.as_str());
    if view.pending.message(id).is_some() {
        Standing::Pending
    } else if was(Named::RevokedMessage) {
        Standing::Revoked
    } else if was(Named::DeliveredMessage) {
        Standing::Delivered
    } else {
        Standing::Unknown
    }
}
