//! Requests to people: sent, answered, and settled once. Each answer is written when it arrives.

use std::sync::Arc;

use harn_journal::JournalError;
use harn_model::{AgentEvent, HitlRequest, HitlResponse, MessageId, Seq};
use tokio::sync::oneshot;

use super::{SessionTask, lock, send_reply};
use crate::{
    HitlError, IdKind,
    hitl::{HitlEnd, PendingHitl, ResponseTally},
};

impl SessionTask {
    /// Opens a request if the turn may still ask; else settles it at once.
    pub(super) fn open_hitl(
        &mut self,
        request: HitlRequest,
        reply: oneshot::Sender<HitlEnd>,
        events: &mut Vec<AgentEvent>,
    ) {
        events.push(AgentEvent::HitlRequested {
            request_id: request.request_id.clone(),
            kind: request.kind.as_str().to_owned(),
            payload: request.payload(),
        });
        match &mut self.turn {
            Some(turn) if turn.may_ask() => {
                let request = Arc::new(request);
                // Before the event is published: a client that receives it can look it up.
                let id = request.request_id.clone();
                lock(&self.shared.hitl).insert(id, request.clone());
                // Only the root session watches the deadline.
                let timed = self.shared.lineage.is_none();
                turn.hitl.insert(request, reply, timed);
            }
            _ => events.push(resolved_event(&request, &HitlEnd::Cancelled)),
        }
    }

    /// Withdraws a request without a reply to the asker.
    pub(super) fn withdraw_hitl(&mut self, id: &str, events: &mut Vec<AgentEvent>) {
        let turn = self.turn.as_mut();
        if let Some(pending) = turn.and_then(|turn| turn.hitl.take(id)) {
            lock(&self.shared.hitl).remove(id);
            events.push(resolved_event(&pending.request, &HitlEnd::Cancelled));
        }
    }

    /// Whether an agent's event would settle an open request, which it may not.
    pub(super) fn settles_open_hitl(&self, event: &AgentEvent) -> bool {
        if let AgentEvent::HitlResolved { request_id, .. } = event {
            let turn = self.turn.as_ref();
            return turn.is_some_and(|turn| turn.hitl.contains(request_id));
        }
        false
    }

    /// Counts an answer, and replies with the position of its last event once it is written.
    pub(super) async fn hitl_respond(
        &mut self,
        response: HitlResponse,
        reply: oneshot::Sender<Result<Seq, HitlError>>,
    ) -> Result<(), JournalError> {
        let counted = match &mut self.turn {
            Some(turn) => turn.hitl.count_response(&response),
            None => Err(HitlError::Unknown(response.request_id.clone())),
        };
        let counted = match counted {
            Ok(counted) => counted,
            Err(error) => {
                send_reply(reply, Err(error));
                return Ok(());
            }
        };
        let mut events = vec![AgentEvent::HitlResponded(Box::new(response))];
        let settled = match counted {
            ResponseTally::Wait => None,
            ResponseTally::Done(pending) => {
                lock(&self.shared.hitl).remove(&pending.request.request_id);
                let end = HitlEnd::Answered(pending.counted);
                events.push(resolved_event(&pending.request, &end));
                Some((pending.reply, end))
            }
        };
        let seq = self.write(events).await?;
        if let Some((asker, end)) = settled {
            send_reply(asker, end);
        }
        send_reply(reply, Ok(seq));
        Ok(())
    }

    /// Settles a request without an answer here: there was none, or it was given in the parent session. If
    /// `said`, the question is sent as text, so that a person can answer with the next prompt.
    pub(super) async fn end_hitl(
        &mut self,
        id: &str,
        end: HitlEnd,
        said: bool,
    ) -> Result<(), JournalError> {
        let turn = self.turn.as_mut();
        let Some(pending) = turn.and_then(|turn| turn.hitl.take(id)) else {
            return Ok(());
        };
        lock(&self.shared.hitl).remove(id);
        let mut events = Vec::new();
        if let HitlEnd::Answered(counted) = &end {
            let counted = counted.iter().cloned().map(Box::new);
            events.extend(counted.map(AgentEvent::HitlResponded));
        }
        // With a default the agent continues by itself.
        if said && pending.request.default.is_none() {
            events.push(self.question_message(&pending.request));
        }
        events.push(resolved_event(&pending.request, &end));
        self.write(events).await?;
        send_reply(pending.reply, end);
        Ok(())
    }

    /// Removes all open requests; returns the events that settle them, and the waiting replies.
    pub(super) fn cancel_hitl(&mut self) -> (Vec<AgentEvent>, Vec<oneshot::Sender<HitlEnd>>) {
        lock(&self.shared.hitl).clear();
        let turn = self.turn.as_mut();
        let all = turn.map(|turn| turn.hitl.take_all()).unwrap_or_default();
        let settled = |pending: PendingHitl| {
            let event = resolved_event(&pending.request, &HitlEnd::Cancelled);
            (event, pending.reply)
        };
        all.into_iter().map(settled).unzip()
    }

    /// Returns the question as a separate text message.
    fn question_message(&self, request: &HitlRequest) -> AgentEvent {
        let mut content = request.text();
        for choice in &request.choices {
            content.push_str("\n- ");
            content.push_str(choice);
        }
        let id = self.shared.config.ids.mint(IdKind::Message);
        AgentEvent::AgentMessageChunk {
            content,
            message_id: Some(MessageId::new(id)),
        }
    }
}

fn resolved_event(request: &HitlRequest, end: &HitlEnd) -> AgentEvent {
    AgentEvent::HitlResolved {
        request_id: request.request_id.clone(),
        kind: request.kind.as_str().to_owned(),
        outcome: end.outcome(),
    }
}
