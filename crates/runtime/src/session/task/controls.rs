//! Control requests to a running session: checked, written with their result, and only then answered.

use harn_journal::JournalError;
use harn_model::{
    Actor, AgentEvent, AskId, ContentBlock, ControlOutcome, ControlResult, Decision, DeliveryMode,
    MessageId, PendingChange, PendingMessage, PendingReminder, PermissionAsked, SessionView,
    SystemReminder, TurnId, UsedIdKind, WakeReason,
};

use super::{SessionTask, send_reply};
use crate::{
    ControlError, IdKind, Observer, PromptError,
    session::{
        control::{AppliedControl, ControlAction, ControlRequest},
        running_turn::{PendingAsk, RunningTurn},
        settlement::cancelled_ask,
    },
};

/// The reason why a control request is refused.
enum ControlRefusal {
    /// Written to the journal, with the owner of the message if the actor is not it.
    Written(ControlResult, Option<Actor>),
    /// Nothing runs that could receive it, and it must not be written.
    Idle,
    /// The content is not acceptable.
    Unfit(String),
}

impl From<ControlResult> for ControlRefusal {
    fn from(result: ControlResult) -> Self {
        Self::Written(result, None)
    }
}

impl From<PromptError> for ControlRefusal {
    fn from(unfit: PromptError) -> Self {
        Self::Unfit(unfit.to_string())
    }
}

type ControlVerdict = Result<ControlResult, ControlRefusal>;

impl SessionTask {
    /// Refuses a message that this actor may not change. The right passes with control: a named controller may change
    /// the waiting messages of earlier controllers.
    fn check_owner(
        &self,
        view: &SessionView,
        id: &MessageId,
        actor: &Actor,
    ) -> Result<(), ControlRefusal> {
        let Some(message) = view.pending.message(id) else {
            return Ok(());
        };
        let owner = &message.owner;
        let controls = || self.shared.live.roster().is_controller(&actor.client_id);
        if owner == actor || actor.is_host_owner() || controls() {
            return Ok(());
        }
        let result = ControlResult::NotOwnerOrNotAuthorized;
        Err(ControlRefusal::Written(result, Some(owner.clone())))
    }

    pub(super) async fn handle_control(
        &mut self,
        request: ControlRequest,
    ) -> Result<(), JournalError> {
        match self.settle_control(request).await? {
            Some(effect) => self.apply_effect(effect).await,
            None => Ok(()),
        }
    }

    /// Applies a request, writes it and replies; returns its further effect.
    pub(super) async fn settle_control(
        &mut self,
        request: ControlRequest,
    ) -> Result<Option<ControlEffect>, JournalError> {
        let ControlRequest {
            actor,
            wanted,
            reply,
        } = request;
        let verdict = match &wanted {
            // Before the event is written: a client that receives it finds the turn cancelled.
            ControlAction::Cancel(turn) => self.apply_cancel(turn.as_ref()).await?,
            other => self.judge(other, &actor),
        };
        let (result, owner) = match verdict {
            Ok(result) => (Ok(result), None),
            Err(ControlRefusal::Written(result, owner)) => (Err(result), owner),
            Err(ControlRefusal::Idle) => {
                let refused = ControlError::Refused {
                    result: ControlResult::NoActivePrompt,
                    actor,
                    owner: None,
                };
                send_reply(reply, Err(refused));
                return Ok(None);
            }
            Err(ControlRefusal::Unfit(why)) => {
                send_reply(reply, Err(ControlError::Unfit(why)));
                return Ok(None);
            }
        };
        let outcome = ControlOutcome {
            control_id: self.shared.config.ids.mint(IdKind::Control),
            control: wanted.kind(),
            result: result.unwrap_or_else(|refused| refused),
            actor: actor.clone(),
            target: wanted.target(&Observer {
                shared: self.shared.clone(),
            }),
        };
        let effect = result
            .is_ok()
            .then(|| self.control_effect(&wanted))
            .flatten();
        let change = match result {
            Ok(result) => pending_event(wanted, result, &actor),
            Err(_) => None,
        };
        let mut events: Vec<_> = change.into_iter().collect();
        events.push(AgentEvent::ControlOutcome(Box::new(outcome)));
        let seq = self.write(events).await?;
        let answer = match result {
            Ok(result) => Ok(AppliedControl {
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
        send_reply(reply, answer);
        Ok(effect)
    }

    fn judge(&self, wanted: &ControlAction, actor: &Actor) -> ControlVerdict {
        let view = self.shared.view();
        match wanted {
            ControlAction::Inject {
                content,
                only_running,
                ..
            } => {
                self.shared.check_prompt(content)?;
                let stops = |turn: &RunningTurn| turn.is_cancelled();
                let goes_on = !self.waiting.is_empty() || !self.turn.as_ref().is_none_or(stops);
                if *only_running && !goes_on {
                    return Err(ControlRefusal::Idle);
                }
                if self.turn.is_none() && self.waiting.is_empty() {
                    return Err(ControlResult::NoActivePrompt.into());
                }
                self.check_room(&view, 1, weigh(content))
            }
            ControlAction::RevokeInject(id) => {
                self.check_owner(&view, id, actor)?;
                match check_pending(&view, id) {
                    Ok(()) => Ok(ControlResult::Revoked),
                    Err(done @ ControlResult::AlreadyRevoked) => Ok(done),
                    Err(refused) => Err(refused.into()),
                }
            }
            ControlAction::ReplaceInject { id, content } => {
                self.check_owner(&view, id, actor)?;
                let content = content.as_ref();
                let content =
                    content.map_err(|unreadable| ControlRefusal::Unfit(unreadable.clone()))?;
                self.shared.check_prompt(content)?;
                check_pending(&view, id)?;
                // A content that does not grow always fits.
                let now = view.pending.message(id).map_or(0, |it| weigh(&it.content));
                let more = weigh(content).saturating_sub(now);
                if more > 0 {
                    self.check_room(&view, 0, more)?;
                }
                Ok(ControlResult::Replaced)
            }
            ControlAction::Remind(pending) => {
                let PendingReminder { reminder, .. } = &**pending;
                if view.has_reminder(&reminder.id) {
                    return Err(ControlResult::IdInUse.into());
                }
                self.check_room_for_reminders(&view, 1, reminder.weight())
            }
            ControlAction::RevokeReminder(id) => {
                if view.pending.reminder(id).is_some() {
                    Ok(ControlResult::Revoked)
                } else if view.reminders.contains(id) {
                    // Earlier reminders of the same id do not matter.
                    Err(ControlResult::AlreadyDelivered.into())
                } else if view.used.contains(UsedIdKind::RevokedReminder, id) {
                    Ok(ControlResult::AlreadyRevoked)
                } else if view.used.contains(UsedIdKind::DeliveredReminder, id) {
                    Err(ControlResult::AlreadyDelivered.into())
                } else {
                    Err(ControlResult::UnknownReminderId.into())
                }
            }
            // Not judged here; `settle_control` applies it.
            ControlAction::Cancel(_) => Err(ControlResult::NoActivePrompt.into()),
        }
    }

    /// Whether this much more may wait.
    fn check_room(&self, view: &SessionView, rows: usize, bytes: usize) -> ControlVerdict {
        let config = &self.shared.config;
        let full = view.pending.len().saturating_add(rows) > config.max_pending
            || view.pending.bytes().saturating_add(bytes) > config.max_pending_bytes;
        match full {
            true => Err(ControlResult::QueueFull.into()),
            false => Ok(ControlResult::Accepted),
        }
    }

    /// Whether this many more reminders fit; reminders in force count like waiting ones.
    fn check_room_for_reminders(
        &self,
        view: &SessionView,
        rows: usize,
        bytes: usize,
    ) -> ControlVerdict {
        let rows = view.reminders.len().saturating_add(rows);
        let bytes = view.reminders.bytes().saturating_add(bytes);
        self.check_room(view, rows, bytes)
    }

    pub(super) fn has_room_for(&self, view: &SessionView, rows: usize, bytes: usize) -> bool {
        self.check_room_for_reminders(view, rows, bytes).is_ok()
    }

    async fn apply_cancel(
        &mut self,
        turn: Option<&TurnId>,
    ) -> Result<ControlVerdict, JournalError> {
        let running = self
            .turn
            .as_ref()
            .filter(|running| Some(&running.id) == turn);
        let waits = |turn: &&TurnId| self.waiting.iter().any(|prompt| prompt.turn == **turn);
        if running.is_some_and(RunningTurn::is_cancelled) {
            return Ok(Ok(ControlResult::AlreadyCancelled));
        }
        let Some(turn) = turn.filter(|turn| running.is_some() || waits(turn)) else {
            return Ok(Err(ControlResult::NoActivePrompt.into()));
        };
        self.cancel(turn).await?;
        Ok(Ok(ControlResult::Cancelled))
    }

    async fn apply_effect(&mut self, effect: ControlEffect) -> Result<(), JournalError> {
        if let Some(by) = effect.interrupts {
            self.interrupt_asks(by).await?;
            if let Some(turn) = &mut self.turn {
                turn.interrupted = Some(by);
            }
        }
        match effect.passed_on {
            Some(WorkerNotice::Reminder(mode, reminder)) => self.pass_on_reminder(mode, &reminder),
            Some(WorkerNotice::Revoked { id, origin }) => self.pass_on_revocation(&id, origin),
            None => {}
        }
        match effect.wakes {
            Some(reason) => self.wake_daemon(reason).await,
            None => Ok(()),
        }
    }

    /// Withdraws open questions about tool calls, because the agent must read an interrupting message first.
    /// The calls do not run; the turn continues. A worker's questions stay open here: a worker that receives
    /// the interruption withdraws its own, which ends them here.
    pub(super) async fn interrupt_asks(&mut self, by: &str) -> Result<(), JournalError> {
        let Some(turn) = &mut self.turn else {
            return Ok(());
        };
        let own = |_: &AskId, pending: &mut PendingAsk| pending.is_own();
        let asks: Vec<_> = turn.asks.extract_if(own).collect();
        let withdrawn = asks.iter().map(|(id, _)| cancelled_ask(id.clone()));
        self.write(withdrawn.collect()).await?;
        for (_, pending) in asks {
            send_reply(pending.reply, interrupted_decision(by));
        }
        Ok(())
    }

    /// Returns what interrupted the agent and is not delivered yet: until then, the session's own questions
    /// are not sent to a client.
    pub(super) fn find_interrupter(&self, ask: &PermissionAsked) -> Option<&'static str> {
        let by = self.turn.as_ref()?.interrupted?;
        let waits = !self
            .shared
            .view()
            .pending
            .entries_with_modes(&[DeliveryMode::InterruptImmediate])
            .is_empty();
        (waits && ask.lineage.is_empty()).then_some(by)
    }
}

/// Returns the answer to a question that was withdrawn.
pub(super) fn interrupted_decision(interrupter: &str) -> Decision {
    let reason = format!("{interrupter} interrupted before an answer arrived");
    Decision::Unavailable { reason }
}

/// The effect of a control request after it is written.
pub(super) struct ControlEffect {
    /// The thing that interrupts: "a message" or "a reminder".
    interrupts: Option<&'static str>,
    passed_on: Option<WorkerNotice>,
    wakes: Option<WakeReason>,
}

enum WorkerNotice {
    Reminder(DeliveryMode, Box<SystemReminder>),
    Revoked {
        id: String,
        /// The origin that the reminder names.
        origin: Option<String>,
    },
}

impl SessionTask {
    fn control_effect(&self, wanted: &ControlAction) -> Option<ControlEffect> {
        match wanted {
            ControlAction::Inject { mode, .. } => Some(ControlEffect {
                interrupts: (*mode == DeliveryMode::InterruptImmediate).then_some("a message"),
                passed_on: None,
                wakes: Some(WakeReason::Message),
            }),
            ControlAction::Remind(pending) => {
                let PendingReminder { mode, reminder, .. } = &**pending;
                let delivered = *mode != DeliveryMode::AuditOnly;
                Some(ControlEffect {
                    interrupts: (*mode == DeliveryMode::InterruptImmediate).then_some("a reminder"),
                    passed_on: delivered
                        .then(|| WorkerNotice::Reminder(*mode, Box::new(reminder.clone()))),
                    wakes: delivered.then_some(WakeReason::Reminder),
                })
            }
            ControlAction::RevokeReminder(id) => Some(ControlEffect {
                interrupts: None,
                passed_on: Some(WorkerNotice::Revoked {
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
            ControlAction::RevokeInject(_)
            | ControlAction::ReplaceInject { .. }
            | ControlAction::Cancel(_) => None,
        }
    }
}

/// Returns the event that applies a request; `None` if it was applied before.
fn pending_event(
    wanted: ControlAction,
    result: ControlResult,
    actor: &Actor,
) -> Option<AgentEvent> {
    let change = match wanted {
        ControlAction::Inject {
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
        ControlAction::RevokeInject(message_id) if result == ControlResult::Revoked => {
            PendingChange::MessageRevoked { message_id }
        }
        ControlAction::ReplaceInject {
            id,
            content: Ok(content),
        } => PendingChange::MessageReplaced {
            message_id: id,
            content,
        },
        ControlAction::Remind(pending) => PendingChange::ReminderQueued(*pending),
        ControlAction::RevokeReminder(reminder_id) if result == ControlResult::Revoked => {
            PendingChange::ReminderRevoked { reminder_id }
        }
        ControlAction::RevokeInject(_)
        | ControlAction::ReplaceInject { .. }
        | ControlAction::RevokeReminder(_)
        | ControlAction::Cancel(_) => return None,
    };
    Some(AgentEvent::Pending(Box::new(change)))
}

fn weigh(content: &[ContentBlock]) -> usize {
    content.iter().map(ContentBlock::weight).sum()
}

/// Whether a message waits; else returns how it ended.
fn check_pending(view: &SessionView, id: &MessageId) -> Result<(), ControlResult> {
    let was = |named| view.used.contains(named, id.as_str());
    if view.pending.message(id).is_some() {
        Ok(())
    } else if was(UsedIdKind::RevokedMessage) {
        Err(ControlResult::AlreadyRevoked)
    } else if was(UsedIdKind::DeliveredMessage) {
        Err(ControlResult::AlreadyDelivered)
    } else {
        Err(ControlResult::UnknownMessageId)
    }
}
