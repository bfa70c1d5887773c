//! Sends questions to one client while it is the one to ask, and cancels them when they are answered or another
//! client becomes the one to ask.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use agent_client_protocol::{Error, RequestCancellationHandle, SentRequest};
use harn_model::{AskId, PermissionAsked, Seq};
use harn_runtime::{ControlWatch, Observer, SeatTerm};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::SessionPump;
use crate::{
    EventId, UpdateProjector,
    attached_session::AttachedSession,
    connection::Peer,
    permission::{self, QuestionAddressee},
    transport::ClientDisconnected,
};

/// The questions of this client: those sent to it and those open in its stream.
pub(super) struct ClientQuestions {
    /// The term in which it is the one to ask; none if it is not.
    pub(super) term: Option<SeatTerm>,
    /// Questions about tool calls that were sent to it.
    asked: HashMap<AskId, SentQuestion>,
    /// Questions for a person that were sent to it.
    pub(super) put: HashMap<String, SentQuestion>,
    /// Questions that are open at the position of its stream: a client receives the call before the question
    /// about it.
    open: HashSet<AskId>,
    open_hitl: HashSet<String>,
    control: ControlWatch,
    live_calls: watch::Receiver<usize>,
    /// A change of the client to ask that could not be applied yet.
    late: bool,
    /// The client did not receive the stream up to this event.
    pub(super) unseen: Seq,
    /// The calls from before `unseen` that were announced to this client.
    announced: HashSet<String>,
}

/// A question that was sent to the client. Dropping it cancels the request if it has no answer yet.
pub(super) struct SentQuestion {
    pub(super) sent: Option<RequestCancellationHandle>,
    /// Ends the wait for the answer.
    pub(super) _waiting: DropGuard,
}

impl Drop for SentQuestion {
    fn drop(&mut self) {
        // Queued here, before the end of the turn can be. Fails if the client has disconnected, which is fine.
        if let Some(sent) = &self.sent {
            let _ = sent.cancel();
        }
    }
}

impl ClientQuestions {
    pub(super) fn new(attached: &Arc<AttachedSession>) -> Self {
        Self {
            term: None,
            asked: HashMap::new(),
            put: HashMap::new(),
            open: HashSet::new(),
            open_hitl: HashSet::new(),
            control: attached.session.watch(),
            live_calls: attached.watch_live_calls(),
            late: false,
            unseen: Seq::ZERO,
            announced: HashSet::new(),
        }
    }

    /// Adds the questions that are open when the client attaches.
    pub(super) fn add_open(&mut self, session: &Observer, asks: Vec<PermissionAsked>) {
        self.open.extend(asks.into_iter().map(|ask| ask.ask_id));
        let hitl = session.open_hitl().into_iter();
        self.open_hitl
            .extend(hitl.map(|request| request.request_id.clone()));
    }

    pub(super) fn mark_open(&mut self, ask: &AskId) {
        self.open.insert(ask.clone());
    }

    pub(super) fn mark_hitl_open(&mut self, request: &str) {
        self.open_hitl.insert(request.to_owned());
    }

    pub(super) fn remove_settled(&mut self, ask: &AskId) {
        self.open.remove(ask);
        self.asked.remove(ask);
    }

    pub(super) fn remove_settled_hitl(&mut self, request: &str) {
        self.open_hitl.remove(request);
        self.put.remove(request);
    }

    /// Resolves when the client to ask may have changed.
    pub(super) async fn wait_for_change(&mut self) {
        tokio::select! {
            () = self.control.changed() => {}
            // The sender is part of the attached session, which outlives this.
            Ok(()) = self.live_calls.changed() => {}
        }
    }

    /// Whether the client to ask may have changed, for a task that is too busy to wait for [`Self::wait_for_change`].
    pub(super) fn may_have_changed(&mut self) -> bool {
        self.control.has_changed() || self.late
    }
}

impl SessionPump {
    /// Applies a change of the client to ask, once this client has received the events that led to it, and its
    /// answer if it requested the change: cancels the questions sent to it, and sends it the open ones if it is
    /// the one to ask.
    pub(super) async fn sync_questions_with_controller(
        &mut self,
        position: Seq,
    ) -> Result<(), ClientDisconnected> {
        let (term, at) = self.attached.session.answering_term();
        let calls = *self.questions.live_calls.borrow_and_update();
        self.questions.late = at > position || calls > 0;
        if self.questions.late || term == self.questions.term {
            return Ok(());
        }
        self.questions.term = term;
        self.questions.asked.clear();
        self.questions.put.clear();
        if term.is_none() {
            return Ok(());
        }
        // A question that is sent again has no position in the stream.
        for ask in self.attached.session.open_asks() {
            let is_open = self.questions.open.contains(&ask.ask_id);
            if is_open && self.is_reached(ask.tool_call.tool_call_id.as_str(), position) {
                self.ask(&ask, None).await?;
            }
        }
        for request in self.attached.session.open_hitl() {
            let is_open = self.questions.open_hitl.contains(&request.request_id);
            if is_open && self.is_reached(&request.request_id, position) {
                self.ask_person(request).await?;
            }
        }
        Ok(())
    }

    fn announced_at(&self, id: &str) -> Option<Seq> {
        let session = &self.attached.session;
        session.announcement_seq(id, self.dialect.worker_calls)
    }

    /// Whether the stream has reached the announcement of the call; if not, it will also reach the question.
    fn is_reached(&self, id: &str, position: Seq) -> bool {
        self.announced_at(id).is_none_or(|seq| seq <= position)
    }

    /// Announces an open call, once, to a client that attached after its announcement.
    pub(super) async fn announce_unseen(
        &mut self,
        id: &str,
        write: impl FnOnce(&UpdateProjector, &mut Vec<u8>),
    ) -> Result<(), ClientDisconnected> {
        let announced = self.announced_at(id);
        let is_unseen = announced.is_some_and(|seq| seq <= self.questions.unseen);
        if !is_unseen || !self.questions.announced.insert(id.to_owned()) {
            return Ok(());
        }
        let mut out = Vec::new();
        write(&self.lines, &mut out);
        self.send(out).await
    }

    /// Asks the client if it is the one to ask. A separate task waits for the answer: an unanswered question
    /// must not block the session's updates. The question is queued before anything that follows, such as the
    /// end of its call.
    pub(super) async fn ask(
        &mut self,
        ask: &PermissionAsked,
        place: Option<EventId>,
    ) -> Result<(), ClientDisconnected> {
        let Some(term) = self.questions.term else {
            return Ok(());
        };
        // A question that was open when this client attached may also arrive in the stream.
        if self.questions.asked.contains_key(&ask.ask_id) {
            return Ok(());
        }
        let session = self.attached.session.clone();
        let Some(wire) = self.peer.wire().cloned() else {
            return Ok(());
        };
        let call = ask.tool_call.tool_call_id.as_str();
        self.announce_unseen(call, |lines, out| lines.write_asked_call(ask, out))
            .await?;
        // The client may only answer with the options that it is offered.
        let ask = permission::select_options(ask, self.peer.facts().declares_harn);
        // Sent here and not in the task, so that it precedes the end of its turn.
        let profile = self.dialect.profile;
        let client = session.asked_name();
        let client = client.as_deref();
        let to = QuestionAddressee { client, place };
        let message = permission::message(session.id(), &ask, profile, to);
        let mut gate = None;
        let sent = message.map(|message| {
            let stream = place.map(|_| self.stream);
            gate = Some(
                self.peer
                    .order
                    .gates
                    .gate_behind_question(session.id(), call, stream),
            );
            wire.send_request(message)
        });
        let withdrawn = CancellationToken::new();
        let question = SentQuestion {
            sent: sent.as_ref().ok().map(|sent| sent.cancellation_handle()),
            _waiting: withdrawn.clone().drop_guard(),
        };
        self.questions.asked.insert(ask.ask_id.clone(), question);
        let asked = session.asked_client();
        let peer = self.peer.clone();
        self.peer.spawn(async move {
            if let Some(client) = asked.filter(|_| sent.is_ok()) {
                let route = permission::route(&ask, client);
                session.record_route(route).await;
            }
            if let Some(response) = wait_for_response(sent, withdrawn, &peer).await {
                let decision = permission::decision(&ask, profile, response);
                session.answer(ask.ask_id, decision, term).await;
            }
        });
        if let Some(gate) = gate {
            gate.wait_until_open().await;
        }
        Ok(())
    }
}

/// Waits for the client's answer. Returns none if the question is cancelled or the client disconnects: that is
/// no answer, and another client may get the question.
pub(super) async fn wait_for_response(
    sent: Result<SentRequest<Value>, Error>,
    withdrawn: CancellationToken,
    peer: &Peer,
) -> Option<Result<Value, Error>> {
    let response = async { sent?.block_task().await };
    let response = tokio::select! {
        () = withdrawn.cancelled() => return None,
        response = response => response,
    };
    (response.is_ok() || !peer.has_left()).then_some(response)
}
