//! What is wanted of a running session: checked, written with what came of it, and only then answered.

use harn_journal::JournalError;
use harn_model::{
    Actor, AgentEvent, ControlOutcome, ControlResult, Decision, DeliveryMode, MessageId, Named,
    PendingChange, PendingMessage, PendingReminder, SessionView, SystemReminder, TurnId,
    WakeReason,
};

use super::{SessionTask, asks::resolved};
use crate::{
    ControlError, IdKind, Observer,
    session::control::{ControlRequest, Controlled, Wanted},
};

/// What comes of something that is wanted.
enum Verdict {
    Done(ControlResult),
    Refused(ControlResult),
    /// It is, or may be done by, somebody else.
    Theirs(Actor),
    /// What was said cannot be taken.
    Unfit(String),
}

impl SessionTask {
    pub(super) async fn control(&mut self, request: ControlRequest) -> Result<(), JournalError> {
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
            Verdict::Unfit(why) => {
                // The caller may have gone.
                let _ = reply.send(Err(ControlError::Unfit(why)));
                return Ok(());
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
        let effect = result.is_ok().then(|| Effect::of(&wanted)).flatten();
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
        match effect {
            Some(effect) => self.take_effect(effect).await,
            None => Ok(()),
        }
    }

    fn judge(&self, wanted: &Wanted, actor: &Actor) -> Verdict {
        let view = self.shared.view();
        match wanted {
            Wanted::Inject { content, .. } => {
                if let Some(controller) = in_control(&view, actor) {
                    return Verdict::Theirs(controller);
                }
                if let Err(unfit) = self.shared.check(content) {
                    return Verdict::Unfit(unfit.to_string());
                }
                if self.turn.is_none() && self.waiting.is_empty() {
                    return Verdict::Refused(ControlResult::NoActivePrompt);
                }
                self.room(&view)
            }
            Wanted::RevokeInject(id) => match whose(&view, id, actor) {
                Some(owner) => Verdict::Theirs(owner),
                None => match standing(&view, id) {
                    Standing::Pending => Verdict::Done(ControlResult::Revoked),
                    Standing::Revoked => Verdict::Done(ControlResult::AlreadyRevoked),
                    Standing::Delivered => Verdict::Refused(ControlResult::AlreadyDelivered),
                    Standing::Unknown => Verdict::Refused(ControlResult::UnknownMessageId),
                },
            },
            Wanted::ReplaceInject { id, content } => {
                if let Some(owner) = whose(&view, id, actor) {
                    return Verdict::Theirs(owner);
                }
                let unfit = match content {
                    Ok(content) => self.shared.check(content).err().map(|e| e.to_string()),
                    Err(unreadable) => Some(unreadable.clone()),
                };
                if let Some(unfit) = unfit {
                    return Verdict::Unfit(unfit);
                }
                match standing(&view, id) {
                    Standing::Pending => Verdict::Done(ControlResult::Replaced),
                    Standing::Revoked => Verdict::Refused(ControlResult::AlreadyRevoked),
                    Standing::Delivered => Verdict::Refused(ControlResult::AlreadyDelivered),
                    Standing::Unknown => Verdict::Refused(ControlResult::UnknownMessageId),
                }
            }
            Wanted::Remind { reminder, .. } => {
                let id = &reminder.id;
                if view.pending.reminder(id).is_some() || view.reminders.contains(id) {
                    return Verdict::Refused(ControlResult::IdInUse);
                }
                self.room(&view)
            }
            Wanted::RevokeReminder(id) => {
                if view.pending.reminder(id).is_some() {
                    Verdict::Done(ControlResult::Revoked)
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

    fn room(&self, view: &SessionView) -> Verdict {
        let config = &self.shared.config;
        let full = view.pending.len() >= config.max_pending
            || view.pending.bytes() >= config.max_pending_bytes;
        match full {
            true => Verdict::Refused(ControlResult::QueueFull),
            false => Verdict::Done(ControlResult::Accepted),
        }
    }

    async fn cancel_wanted(&mut self, turn: Option<&TurnId>) -> Result<Verdict, JournalError> {
        let Some(turn) = turn else {
            return Ok(Verdict::Refused(ControlResult::NoActivePrompt));
        };
        let running = self.turn.as_ref().filter(|running| running.id == *turn);
        let mut waiting = self.waiting.iter();
        let cancelled = match running {
            Some(running) => Some(running.is_cancelled()),
            None => waiting.find(|it| it.turn == *turn).map(|it| it.cancelled),
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
        if effect.interrupts {
            self.interrupt_asks().await?;
        }
        match effect.passed_on {
            Some(PassOn::Reminder(mode, reminder)) => self.pass_on(mode, &reminder),
            Some(PassOn::Revoked(id)) => self.pass_on_revoked(&id),
            None => {}
        }
        match effect.wakes {
            Some(reason) => self.wake_daemon(reason).await,
            None => Ok(()),
        }
    }

    /// Takes open questions about tool calls back: something that interrupts has to be read first. The calls
    /// do not run; the turn goes on.
    async fn interrupt_asks(&mut self) -> Result<(), JournalError> {
        let Some(turn) = &mut self.turn else {
            return Ok(());
        };
        let asks: Vec<_> = turn.asks.drain().collect();
        let withdrawn = asks
            .iter()
            .map(|(id, _)| resolved(id.clone(), Decision::Cancelled, None));
        let withdrawn = withdrawn.collect();
        self.write(withdrawn).await?;
        for (_, pending) in asks {
            let reason = "a reminder interrupted before anybody answered".to_owned();
            // The agent may have stopped waiting.
            let _ = pending.reply.send(Decision::Unavailable { reason });
        }
        Ok(())
    }

    /// Has the workers that are at work hear of a reminder too.
    fn pass_on(&self, mode: DeliveryMode, reminder: &SystemReminder) {
        let session = self.shared.meta.thread_id.as_str();
        let Some(copy) = reminder.inherited(session) else {
            return;
        };
        // Beside this task: a worker that is behind must not hold it up.
        for worker in self.workers() {
            let copy = copy.clone();
            tokio::spawn(async move {
                // It may have ended, or have the reminder already.
                let _ = worker.remind(mode, copy, above()).await;
            });
        }
    }

    fn pass_on_revoked(&self, id: &str) {
        for worker in self.workers() {
            let id = id.to_owned();
            tokio::spawn(async move {
                // It may have ended, or never have had it.
                let _ = worker.revoke_reminder(&id, above()).await;
            });
        }
    }

    fn workers(&self) -> Vec<crate::Controller> {
        let hub = self.shared.hub.upgrade();
        let session = &self.shared.meta.thread_id;
        hub.map_or_else(Vec::new, |hub| hub.workers_of(session))
    }

    /// Puts in force what the session above has its workers keep in mind; what is known already stays as it
    /// is.
    pub(super) async fn inherit(
        &mut self,
        reminders: Vec<SystemReminder>,
    ) -> Result<(), JournalError> {
        let events = {
            let view = self.shared.view();
            let known = |id: &str| {
                view.pending.reminder(id).is_some()
                    || view.used.contains(Named::DeliveredReminder, id)
                    || view.used.contains(Named::RevokedReminder, id)
            };
            let new = reminders.into_iter().filter(|it| !known(&it.id));
            new.map(super::seams::inherited).collect()
        };
        self.write(events).await?;
        Ok(())
    }
}

/// Who speaks for the session above.
fn above() -> Actor {
    Actor {
        client_id: "session-above".to_owned(),
        role: "host_owner".to_owned(),
        source: "worker".to_owned(),
    }
}

/// What else happens once something is written.
struct Effect {
    interrupts: bool,
    passed_on: Option<PassOn>,
    wakes: Option<WakeReason>,
}

enum PassOn {
    Reminder(DeliveryMode, Box<SystemReminder>),
    Revoked(String),
}

impl Effect {
    fn of(wanted: &Wanted) -> Option<Self> {
        match wanted {
            Wanted::Inject { .. } => Some(Self {
                interrupts: false,
                passed_on: None,
                wakes: Some(WakeReason::Message),
            }),
            Wanted::Remind { mode, reminder } => {
                let delivered = *mode != DeliveryMode::AuditOnly;
                Some(Self {
                    interrupts: *mode == DeliveryMode::InterruptImmediate,
                    passed_on: delivered
                        .then(|| PassOn::Reminder(*mode, Box::new(reminder.clone()))),
                    wakes: delivered.then_some(WakeReason::Reminder),
                })
            }
            Wanted::RevokeReminder(id) => Some(Self {
                interrupts: false,
                passed_on: Some(PassOn::Revoked(id.clone())),
                wakes: None,
            }),
            Wanted::RevokeInject(_) | Wanted::ReplaceInject { .. } | Wanted::Cancel(_) => None,
        }
    }
}

/// The event that does what was wanted; none where it had been done.
fn change(wanted: Wanted, result: ControlResult, actor: &Actor) -> Option<AgentEvent> {
    let change = match wanted {
        Wanted::Inject { id, mode, content } => PendingChange::MessageQueued(PendingMessage {
            message_id: id,
            mode,
            content,
            owner: actor.clone(),
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
        Wanted::Remind { mode, reminder } => {
            PendingChange::ReminderQueued(PendingReminder { mode, reminder })
        }
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

/// The owner of a message, where it is not this actor's to change.
fn whose(view: &SessionView, id: &MessageId, actor: &Actor) -> Option<Actor> {
    let owner = &view.pending.message(id)?.owner;
    (owner != actor && !actor.is_host_owner()).then(|| owner.clone())
}

/// Who is in control, where it is somebody else.
fn in_control(view: &SessionView, actor: &Actor) -> Option<Actor> {
    let live = view.live.as_ref()?;
    let controller = live.active_controller_id.as_ref()?;
    let attached = live.clients.iter().any(|it| it.client_id == *controller);
    (attached && actor.client_id != *controller).then(|| Actor {
        client_id: controller.clone(),
        role: "controller".to_owned(),
        source: "live_session".to_owned(),
    })
}
