//! The task that follows a thread for a client: it puts the client's requests and the thread's events into one
//! order of lines.

use std::{collections::HashMap, pin::pin, sync::Arc, time::Duration};

use harn_lines::ClientDisconnected;
use harn_model::{AgentEvent, AskId, Envelope, Seq, SessionId, TurnId};
use harn_runtime::{
    BatchSlice, ControlWatch, Controller, NoHost, Observer, Seat, SeatClaim, SessionEnd,
    Subscription,
};
use tokio::sync::mpsc;

use crate::{
    ThreadProjector, ThreadsError,
    connection::{DiskPermit, ReplyTarget, ThreadsPeer},
    history::UNTITLED,
    methods::thread_get::session_end_error,
    rpc,
    wire::{
        ApprovalDecision, ApprovalReply, BrokenStatus, ItemEnd, OkResult, Thread,
        ThreadNotification, ThreadTime, TurnStartParams, TurnStartResult,
    },
};

/// A client's request to a thread.
pub(crate) struct ThreadRequest {
    pub(crate) wanted: ThreadAction,
    pub(crate) reply: ReplyTarget,
}

pub(crate) enum ThreadAction {
    Get,
    Start(Box<TurnStartParams>),
    /// Cancels this turn, or the running one.
    Cancel(Option<TurnId>),
    Decide(AskId, ApprovalDecision),
}

pub(crate) struct ThreadTask {
    peer: Arc<ThreadsPeer>,
    pub(crate) seat: Seat,
    pub(crate) from: Subscription,
    pub(crate) projector: ThreadProjector,
    control: ControlWatch,
    /// The requests that wait for the start of their turn.
    starting: HashMap<TurnId, ReplyTarget>,
    /// The requests that wait for their decision to be taken, with the decision.
    deciding: HashMap<AskId, (ReplyTarget, ApprovalReply)>,
    told: Vec<ThreadNotification>,
}

/// The time limit for open requests after the client's last one. They wait for no person, so it applies only after
/// a fault.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The time limit for the end of a turn that is cancelled because its client left.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// Opens a thread and follows it. If it cannot be opened, every request receives the error.
pub(crate) async fn open(
    peer: Arc<ThreadsPeer>,
    id: SessionId,
    mut requests: mpsc::Receiver<ThreadRequest>,
    place: Option<DiskPermit>,
) {
    let place = match place {
        Some(place) => Some(place),
        // The thread was followed until just now.
        None => peer.acquire_disk().await,
    };
    let opened = match peer.hub.open(&id, None).await {
        Ok(session) => ThreadTask::follow(&peer, session).await,
        Err(error) => Err(error.into()),
    };
    match opened {
        Ok(task) => {
            drop(place);
            task.run(requests).await;
        }
        Err(error) => {
            requests.close();
            peer.registry.remove_if_closed(&id);
            while let Some(request) = requests.recv().await {
                let refused = Err::<(), _>(error.clone());
                if peer.answer(&request.reply, refused).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Returns the current state of a thread.
pub(crate) fn describe_thread(session: &Observer) -> Thread {
    let meta = session.meta();
    Thread {
        thread_id: meta.thread_id.clone(),
        title: session.title().unwrap_or_else(|| UNTITLED.to_owned()),
        directory: meta.directory.to_string_lossy().into_owned(),
        time: ThreadTime {
            created: meta.created,
            updated: session.updated_at().max(meta.created),
        },
    }
}

impl ThreadTask {
    /// Takes a seat at the session, and reads its past events without sending them; what is sent from now on
    /// continues from there.
    pub(crate) async fn follow(
        peer: &Arc<ThreadsPeer>,
        session: Controller,
    ) -> Result<Self, ThreadsError> {
        let seat = session.take_seat(&peer.name, Arc::new(NoHost), SeatClaim::IfFree);
        let mut from = session.subscribe(Seq::ZERO);
        let mut projector = ThreadProjector::new(session.id().clone());
        let mut told = Vec::new();
        let until = from.head();
        while from.position() < until {
            let delivery = from.next().await.map_err(session_end_error)?;
            for envelope in delivery.events() {
                projector.project(envelope, &mut told);
                told.clear();
            }
        }
        for ask in projector.open_asks() {
            peer.registry.add_ask(ask.clone(), session.id().clone());
        }
        Ok(Self {
            peer: peer.clone(),
            control: seat.watch(),
            seat,
            from,
            projector,
            starting: HashMap::new(),
            deciding: HashMap::new(),
            told,
        })
    }

    pub(crate) fn id(&self) -> &SessionId {
        self.seat.id()
    }

    /// Whether the thread has or had this turn, whichever client started it.
    pub(crate) fn has_turn(&self, turn: &TurnId) -> bool {
        self.projector.has_turn(turn)
            // It has started, and this task has not read the event yet.
            || self.starting.contains_key(turn)
            || self.seat.cancel_target().as_ref() == Some(turn)
    }

    /// Returns the current state of the thread.
    pub(crate) fn thread(&self) -> Thread {
        describe_thread(&self.seat)
    }

    /// Serves the thread until it ends, or until the client has left and all its requests are answered.
    pub(crate) async fn run(mut self, mut requests: mpsc::Receiver<ThreadRequest>) {
        let end = self.serve(&mut requests).await;
        // Before the thread can be opened again, with questions of its own.
        self.peer.registry.remove_asks_of(self.id());
        requests.close();
        self.peer.registry.remove_if_closed(self.id());
        let Ok(end) = end else { return };
        let mut out = Vec::new();
        let why = self.answer_pending(end, &mut out);
        while let Some(request) = requests.recv().await {
            request.reply.write(Err::<(), _>(why.clone()), &mut out);
        }
        // The client may be gone.
        let _ = self.peer.send(out).await;
    }

    /// Serves requests and sends events. Returns the end of the session, or `None` if the client has left and
    /// everything is answered.
    async fn serve(
        &mut self,
        requests: &mut mpsc::Receiver<ThreadRequest>,
    ) -> Result<Option<SessionEnd>, ClientDisconnected> {
        let ended = self.peer.ended.clone();
        let (mut leaving, mut drained) = (false, false);
        // Set again when the last request was read.
        let mut patience = pin!(tokio::time::sleep(LAST_WORDS));
        self.decline_questions().await;
        let mut stopping = false;
        loop {
            if drained && self.starting.is_empty() && self.deciding.is_empty() {
                let alone = self.peer.config.alone;
                if !(alone && self.projector.is_in_turn()) {
                    break;
                }
                if !std::mem::replace(&mut stopping, true) {
                    // If nothing runs any more, the end of the turn follows.
                    let _ = self.cancel(None).await;
                    patience.set(tokio::time::sleep(LAST_MOMENT));
                }
            }
            tokio::select! {
                biased;
                // First, so that a thread with much output can be cancelled.
                request = requests.recv(), if !drained => match request {
                    Some(request) => self.handle(request).await?,
                    None => {
                        drained = true;
                        patience.set(tokio::time::sleep(LAST_WORDS));
                    }
                },
                () = ended.cancelled(), if !leaving => {
                    leaving = true;
                    requests.close();
                }
                () = self.control.changed() => self.decline_questions().await,
                delivery = self.from.next() => match delivery {
                    Ok(delivery) => self.send_events(&delivery).await?,
                    Err(end) => return Ok(Some(end)),
                },
                () = &mut patience, if drained => break,
            }
        }
        Ok(None)
    }

    async fn handle(&mut self, request: ThreadRequest) -> Result<(), ClientDisconnected> {
        let ThreadRequest { wanted, reply } = request;
        let peer = self.peer.clone();
        match wanted {
            ThreadAction::Get => {
                let got = self.get().await;
                peer.answer(&reply, got).await
            }
            ThreadAction::Start(params) => match self.start(*params).await {
                Ok(turn) => {
                    self.starting.insert(turn, reply);
                    Ok(())
                }
                Err(error) => peer.answer(&reply, Err::<(), _>(error)).await,
            },
            ThreadAction::Cancel(turn) => {
                let cancelled = self.cancel(turn).await;
                peer.answer(&reply, cancelled).await
            }
            // It is decided, and not notified yet.
            ThreadAction::Decide(ask, _) if self.deciding.contains_key(&ask) => {
                let late = Err::<(), _>(ThreadsError::ApprovalNotFound);
                peer.answer(&reply, late).await
            }
            ThreadAction::Decide(ask, decide) => match self.decide(&ask, decide).await {
                Ok(taken) => {
                    self.deciding.insert(ask, (reply, taken));
                    Ok(())
                }
                Err(error) => peer.answer(&reply, Err::<(), _>(error)).await,
            },
        }
    }

    /// Queues the notifications of these events, with the answers that belong between them.
    async fn send_events(&mut self, delivery: &BatchSlice) -> Result<(), ClientDisconnected> {
        let mut out = Vec::new();
        let mut told = std::mem::take(&mut self.told);
        let mut asked = false;
        for envelope in delivery.events() {
            self.projector.project(envelope, &mut told);
            if let AgentEvent::PermissionAsked(ask) = &envelope.event {
                // Before the client receives the question.
                let (ask, thread) = (ask.ask_id.clone(), self.id().clone());
                self.peer.registry.add_ask(ask, thread);
            }
            for notification in &told {
                rpc::write_notification(notification, &mut out);
                self.answer_start(notification, &mut out);
            }
            self.answer_settled(envelope, &told, &mut out);
            told.clear();
            asked |= matches!(envelope.event, AgentEvent::HitlRequested { .. });
        }
        self.told = told;
        self.peer.send(out).await?;
        if asked {
            self.decline_questions().await;
        }
        Ok(())
    }

    /// Answers `turn.start` right after the notification that the turn started.
    fn answer_start(&mut self, notification: &ThreadNotification, out: &mut Vec<u8>) {
        if let ThreadNotification::TurnStarted { turn_id, .. } = notification
            && let Some(reply) = self.starting.remove(turn_id)
        {
            let turn_id = turn_id.clone();
            reply.write(Ok(TurnStartResult { turn_id }), out);
        }
    }

    /// Answers a decision after its notification, with whether it was the one that counted; and a `turn.start`
    /// whose turn was withdrawn.
    fn answer_settled(
        &mut self,
        envelope: &Envelope,
        told: &[ThreadNotification],
        out: &mut Vec<u8>,
    ) {
        if let AgentEvent::PermissionResolved(resolved) = &envelope.event {
            self.peer.registry.remove_ask(&resolved.ask_id);
            if let Some((reply, decided)) = self.deciding.remove(&resolved.ask_id) {
                let counted = told
                    .iter()
                    .filter_map(notified_reply)
                    .any(|it| it == decided);
                let done = counted.then_some(OkResult::YES);
                reply.write(done.ok_or(ThreadsError::ApprovalNotFound), out);
            }
        } else if let AgentEvent::PromptWithdrawn(_) = &envelope.event {
            // Its turn is not notified; see `ThreadProjector::project`.
            if let Some(turn_id) = envelope.turn.clone()
                && let Some(reply) = self.starting.remove(&turn_id)
            {
                reply.write(Ok(TurnStartResult { turn_id }), out);
            }
        } else if let AgentEvent::TurnEnded(_) = &envelope.event {
            self.peer.registry.remove_asks_of(self.seat.id());
            self.reject_pending_decisions(out);
        }
    }

    /// Answers the pending decisions: no question is open any more.
    fn reject_pending_decisions(&mut self, out: &mut Vec<u8>) {
        for (_, (reply, _)) in self.deciding.drain() {
            reply.write(Err::<(), _>(ThreadsError::ApprovalNotFound), out);
        }
    }

    /// Declines questions to people, which this wire cannot express: the agent asks them as text, and continues.
    async fn decline_questions(&self) {
        let (Some(term), _) = self.seat.answering_term() else {
            return;
        };
        for request in self.seat.open_hitl() {
            let why = "the client can answer only approvals";
            let id = &request.request_id;
            self.seat.report_hitl_unavailable(id, why, term).await;
        }
    }

    /// Answers the pending requests after the end of the session or of the client. Returns the error for other
    /// requests.
    fn answer_pending(&mut self, end: Option<SessionEnd>, out: &mut Vec<u8>) -> ThreadsError {
        self.reject_pending_decisions(out);
        let failed = matches!(end, Some(SessionEnd::Failed(_)));
        let why = session_end_error(end.unwrap_or(SessionEnd::Closed));
        for (_, reply) in self.starting.drain() {
            reply.write(Err::<(), _>(why.clone()), out);
        }
        if failed {
            // No more events can be written; opened again, the thread will report that it was interrupted.
            let (at, words) = (self.seat.now(), why.to_string());
            let mut told = Vec::new();
            self.projector
                .break_off(BrokenStatus::Error, &words, at, &mut told);
            for notification in &told {
                rpc::write_notification(notification, out);
            }
        }
        why
    }
}

/// Returns the decision that a notification reports, if any.
fn notified_reply(notification: &ThreadNotification) -> Option<ApprovalReply> {
    match notification {
        ThreadNotification::ItemCompleted {
            end: Some(ItemEnd::Approval(end)),
            ..
        } => Some(end.reply),
        _ => None,
    }
}
