//! The ends of an agent's call, of a turn, and of the session.

use std::sync::atomic::Ordering;

use harn_journal::{JournalError, MetaChange};
use harn_model::{AgentEvent, Envelope, PendingChange, StopReason, TurnEnded, TurnId, TurnOutcome};
use tokio::sync::oneshot;

use super::{SessionTask, lock};
use crate::session::{
    TaskRequest,
    handle::QueuedPrompt,
    running_turn::{CLOSE_PATIENCE, RunningTurn, TurnWake},
    settlement::{LeftoverCause, settle, title_event},
};

impl SessionTask {
    /// Ends the running turn. Ignores workers that still run for it.
    pub(super) async fn finish(&mut self) -> Result<(), JournalError> {
        let Some(turn) = &mut self.turn else {
            return Ok(());
        };
        turn.abandon();
        let outcome = turn.outcome();
        let (id, prompt, pipe) = (turn.id.clone(), turn.prompt.clone(), turn.pipe.clone());
        let (cancelled, iteration) = (turn.is_cancelled(), turn.iteration.clone());
        let (carried, unread) = (turn.carryover(), turn.unread.clone());
        // Items that it pushed before it stopped still count.
        if pipe.try_take(&mut self.items) {
            self.take_items().await?;
        }
        self.turn = None;
        lock(&self.shared.hitl).clear();
        // An idle session uses no buffers.
        self.items = Vec::new();
        let how = if cancelled {
            LeftoverCause::Cancelled
        } else {
            LeftoverCause::Abandoned
        };
        let (mut closing, untitled) = {
            let view = self.shared.view();
            (settle(&view, how), view.title.is_none())
        };
        if untitled {
            closing.extend(title_event(&prompt));
        }
        let well = match &outcome {
            // An agent may notice by itself that it was cancelled.
            TurnOutcome::Stopped { stop_reason } => *stop_reason != StopReason::Cancelled,
            TurnOutcome::Failed { .. } => false,
        };
        if cancelled || !well {
            // Pending messages keep waiting: they belong to the session, not to the turn.
            closing.extend(self.age_reminders());
            self.end_turn(&id, closing, outcome).await?;
        } else {
            let (exit, next) = match unread.take_message() {
                // Delivered but never read: it is the agent's next prompt. Because it was delivered to the
                // agent, it is no command.
                Some((message, content)) => (self.age_reminders(), Some((message, content, false))),
                None => {
                    let (events, next) = self.exit_events(iteration.load(Ordering::Relaxed));
                    let next = next.map(|it| {
                        let commands = it.owner.is_host_owner();
                        (it.message_id.clone(), it.content.clone(), commands)
                    });
                    (events, next)
                }
            };
            closing.extend(exit);
            match next {
                Some((message, content, commands)) => {
                    self.write_in(Some(&id), closing).await?;
                    let prompt = QueuedPrompt {
                        turn: id,
                        message,
                        blocks: content.into(),
                        commands,
                        // The delivery event has the author.
                        author: None,
                    };
                    let next = RunningTurn::start(&self.shared, prompt, carried);
                    self.turn = Some(next);
                }
                None => self.end_turn(&id, closing, outcome).await?,
            }
        }
        self.refresh_audit();
        Ok(())
    }

    /// Writes the last events of a turn, makes them durable, and only then publishes the end.
    pub(super) async fn end_turn(
        &mut self,
        id: &TurnId,
        mut closing: Vec<AgentEvent>,
        outcome: TurnOutcome,
    ) -> Result<(), JournalError> {
        closing.push(AgentEvent::TurnEnded(Box::new(TurnEnded { outcome })));
        let batch = self.append(Some(id), closing)?;
        self.update_listing();
        self.publish_end(id, batch).await;
        Ok(())
    }

    async fn publish_end(&mut self, id: &TurnId, batch: Vec<Envelope>) {
        self.sync_if_required(&batch).await;
        lock(&self.shared.unfinished).retain(|turn| turn != id);
        self.shared.feed.publish(batch);
    }

    /// Ends a waiting prompt without a turn.
    pub(super) async fn withdraw(&mut self, prompt: QueuedPrompt) -> Result<(), JournalError> {
        let withdrawn = AgentEvent::PromptWithdrawn(prompt.turn_started());
        let batch = self.append(Some(&prompt.turn), vec![withdrawn])?;
        self.publish_end(&prompt.turn, batch).await;
        Ok(())
    }

    /// Stores title, time and outcome of the last turn for listings. The log has all of it anyway, so a
    /// failure is only logged.
    pub(super) fn update_listing(&mut self) {
        let (title, updated, failed) = {
            let view = self.shared.view();
            (view.title.clone(), view.updated_at, view.last_turn_failed())
        };
        self.log.set_updated(updated);
        let changes = title.map(MetaChange::Title).into_iter();
        for change in changes.chain([MetaChange::Failed(failed)]) {
            if let Err(error) = self.log.amend(change) {
                tracing::warn!(session = %self.shared.meta.thread_id, %error, "could not update the listing");
            }
        }
    }

    /// Cancels everything and waits briefly for the running turn to stop. Drops requests that arrive
    /// meanwhile, which rejects them at once: front-ends must not wait for a closing session.
    pub(super) async fn wind_up(
        &mut self,
        mut closed: Vec<oneshot::Sender<()>>,
        mut told: bool,
    ) -> Result<(), JournalError> {
        if let Some(id) = self.turn.as_ref().map(|turn| turn.id.clone()) {
            self.cancel(&id).await?;
        }
        if let Some(turn) = &mut self.turn {
            turn.shorten_deadline(CLOSE_PATIENCE);
        }
        while let Some(turn) = &mut self.turn {
            tokio::select! {
                wake = turn.wake(&mut self.items) => {
                    let more = matches!(wake, TurnWake::Items);
                    self.advance(wake).await?;
                    if more {
                        self.shared.feed.pace().await;
                    }
                }
                Some(msg) = self.inbox.recv() => {
                    if let TaskRequest::Close { reply, told: tell } = msg {
                        closed.push(reply);
                        told |= tell;
                    }
                }
            }
        }
        while let Some(prompt) = self.waiting.pop_front() {
            self.withdraw(prompt).await?;
        }
        if told {
            if !self.shared.view().pending.is_empty() {
                let cleared = AgentEvent::Pending(Box::new(PendingChange::Cleared));
                self.write(vec![cleared]).await?;
            }
            let (reason, status) = ("client_request".to_owned(), "closed".to_owned());
            let closed = AgentEvent::SessionClosed { reason, status };
            self.write(vec![closed]).await?;
        }
        self.closed = Some(closed);
        Ok(())
    }
}
