//! The task that follows a thread for a client: what it asks of the thread and what happens there, in one
//! order, on one line after the other.

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
    methods::thread_get::ended,
    replay::UNTITLED,
    rpc,
    wire::{
        ApprovalDecision, ApprovalReply, BrokenStatus, ItemEnd, OkResult, Thread,
        ThreadNotification, ThreadTime, TurnStartParams, TurnStartResult,
    },
};

/// What a client asks of a thread.
pub(crate) struct ThreadRequest {
    pub(crate) wanted: ThreadAction,
    pub(crate) reply: ReplyTarget,
}

pub(crate) enum ThreadAction {
    Get,
    Start(Box<TurnStartParams>),
    /// Of this turn, or of the one that runs.
    Cancel(Option<TurnId>),
    Decide(AskId, ApprovalDecision),
}

pub(crate) struct ThreadTask {
    peer: Arc<ThreadsPeer>,
    pub(crate) seat: Seat,
    pub(crate) from: Subscription,
    pub(crate) projector: ThreadProjector,
    control: ControlWatch,
    /// Who waits to hear that their turn began.
    starting: HashMap<TurnId, ReplyTarget>,
    /// Who waits to hear that their decision was taken, and which it was.
    deciding: HashMap<AskId, (ReplyTarget, ApprovalReply)>,
    told: Vec<ThreadNotification>,
}

/// How long those who wait are waited for when the client says nothing more. What they wait for takes no
/// person, so this is only for what should not be.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How long a turn that is cancelled because its client left may take to be told of.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// Opens a thread and follows it. Where it cannot be opened, everyone who asks hears why.
pub(crate) async fn open(
    peer: Arc<ThreadsPeer>,
    id: SessionId,
    mut requests: mpsc::Receiver<ThreadRequest>,
    place: Option<DiskPermit>,
) {
    let place = match place {
        Some(place) => Some(place),
        // It was followed until just now.
        None => peer.disk().await,
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
            peer.registry.leave(&id);
            while let Some(request) = requests.recv().await {
                let refused = Err::<(), _>(error.clone());
                if peer.answer(&request.reply, refused).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// A thread as it looks now.
pub(crate) fn of_session(session: &Observer) -> Thread {
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
    /// Takes a seat at the session, and reads what happened there up to now: it is not told, and what is
    /// told from now on goes on from it.
    pub(crate) async fn follow(
        peer: &Arc<ThreadsPeer>,
        session: Controller,
    ) -> Result<Self, ThreadsError> {
        let seat = session.sit(&peer.name, Arc::new(NoHost), SeatClaim::IfFree);
        let mut from = session.subscribe(Seq::ZERO);
        let mut projector = ThreadProjector::new(session.id().clone());
        let mut told = Vec::new();
        let until = from.head();
        while from.position() < until {
            let delivery = from.next().await.map_err(ended)?;
            for envelope in delivery.events() {
                projector.project(envelope, &mut told);
                told.clear();
            }
        }
        for ask in projector.open_asks() {
            peer.registry.asked(ask.clone(), session.id().clone());
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

    /// Whether the thread has or had this turn, whoever started it.
    pub(crate) fn has_turn(&self, turn: &TurnId) -> bool {
        self.projector.has_turn(turn)
            // It began, and this task has not read so yet.
            || self.starting.contains_key(turn)
            || self.seat.cancel_target().as_ref() == Some(turn)
    }

    /// The thread as it looks now.
    pub(crate) fn thread(&self) -> Thread {
        of_session(&self.seat)
    }

    /// Serves the thread until it ends, or the client has left and everyone has their answer.
    pub(crate) async fn run(mut self, mut requests: mpsc::Receiver<ThreadRequest>) {
        let end = self.serve(&mut requests).await;
        // Before the thread can be opened anew, with what waits there.
        self.peer.registry.settled_in(self.id());
        requests.close();
        self.peer.registry.leave(self.id());
        let Ok(end) = end else { return };
        let mut out = Vec::new();
        let why = self.end(end, &mut out);
        while let Some(request) = requests.recv().await {
            request.reply.write(Err::<(), _>(why.clone()), &mut out);
        }
        // A client that is gone waits for nothing.
        let _ = self.peer.send(out).await;
    }

    /// Why there is nothing more to do; no end where the client has all it asked for.
    async fn serve(
        &mut self,
        requests: &mut mpsc::Receiver<ThreadRequest>,
    ) -> Result<Option<SessionEnd>, ClientDisconnected> {
        let ended = self.peer.ended.clone();
        let (mut leaving, mut drained) = (false, false);
        // Begins when nothing more is asked.
        let mut patience = pin!(tokio::time::sleep(LAST_WORDS));
        self.decline().await;
        let mut stopping = false;
        loop {
            if drained && self.starting.is_empty() && self.deciding.is_empty() {
                let alone = self.peer.config.alone;
                if !(alone && self.projector.is_in_turn()) {
                    break;
                }
                if !std::mem::replace(&mut stopping, true) {
                    // Where nothing runs any more its end is on its way.
                    let _ = self.cancel(None).await;
                    patience.set(tokio::time::sleep(LAST_MOMENT));
                }
            }
            tokio::select! {
                biased;
                // First, so that a thread with much to tell can be stopped.
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
                () = self.control.changed() => self.decline().await,
                delivery = self.from.next() => match delivery {
                    Ok(delivery) => self.tell(&delivery).await?,
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
            // Decided, and not yet told of.
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

    /// Queues what is told of these events, with the answers that belong among it.
    async fn tell(&mut self, delivery: &BatchSlice) -> Result<(), ClientDisconnected> {
        let mut out = Vec::new();
        let mut told = std::mem::take(&mut self.told);
        let mut asked = false;
        for envelope in delivery.events() {
            self.projector.project(envelope, &mut told);
            if let AgentEvent::PermissionAsked(ask) = &envelope.event {
                // Before the client hears of it.
                let (ask, thread) = (ask.ask_id.clone(), self.id().clone());
                self.peer.registry.asked(ask, thread);
            }
            for notification in &told {
                rpc::write_notification(notification, &mut out);
                self.answer_start(notification, &mut out);
            }
            self.answer_rest(envelope, &told, &mut out);
            told.clear();
            asked |= matches!(envelope.event, AgentEvent::HitlRequested { .. });
        }
        self.told = told;
        self.peer.send(out).await?;
        if asked {
            self.decline().await;
        }
        Ok(())
    }

    /// Who began a turn hears of it right behind its beginning.
    fn answer_start(&mut self, notification: &ThreadNotification, out: &mut Vec<u8>) {
        if let ThreadNotification::TurnStarted { turn_id, .. } = notification
            && let Some(reply) = self.starting.remove(turn_id)
        {
            let turn_id = turn_id.clone();
            reply.write(Ok(TurnStartResult { turn_id }), out);
        }
    }

    /// Who decided hears whether it was their decision that counted, behind what was told of it.
    fn answer_rest(&mut self, envelope: &Envelope, told: &[ThreadNotification], out: &mut Vec<u8>) {
        if let AgentEvent::PermissionResolved(resolved) = &envelope.event {
            self.peer.registry.settled(&resolved.ask_id);
            if let Some((reply, decided)) = self.deciding.remove(&resolved.ask_id) {
                let counted = told.iter().filter_map(reply_told).any(|it| it == decided);
                let done = counted.then_some(OkResult::YES);
                reply.write(done.ok_or(ThreadsError::ApprovalNotFound), out);
            }
        } else if let AgentEvent::PromptWithdrawn(_) = &envelope.event {
            // Of one that is not told; see the fold.
            if let Some(turn_id) = envelope.turn.clone()
                && let Some(reply) = self.starting.remove(&turn_id)
            {
                reply.write(Ok(TurnStartResult { turn_id }), out);
            }
        } else if let AgentEvent::TurnEnded(_) = &envelope.event {
            self.peer.registry.settled_in(self.seat.id());
            self.settle(out);
        }
    }

    /// Nothing waits for a decision any more.
    fn settle(&mut self, out: &mut Vec<u8>) {
        for (_, (reply, _)) in self.deciding.drain() {
            reply.write(Err::<(), _>(ThreadsError::ApprovalNotFound), out);
        }
    }

    /// Questions to people that this wire has no words for: the agent says them as text, and goes on.
    async fn decline(&self) {
        let (Some(term), _) = self.seat.asked() else {
            return;
        };
        for request in self.seat.open_hitl() {
            let why = "the client can be asked for approvals only";
            let id = &request.request_id;
            self.seat.hitl_unavailable(id, why, term).await;
        }
    }

    /// The session has ended, or the client has left: whoever still waits hears so. What to tell others.
    fn end(&mut self, end: Option<SessionEnd>, out: &mut Vec<u8>) -> ThreadsError {
        self.settle(out);
        let failed = matches!(end, Some(SessionEnd::Failed(_)));
        let why = ended(end.unwrap_or(SessionEnd::Closed));
        for (_, reply) in self.starting.drain() {
            reply.write(Err::<(), _>(why.clone()), out);
        }
        if failed {
            // Nothing of it can be written any more; opened again, the thread will say that it broke off.
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

/// What was decided, where this tells of a decision.
fn reply_told(notification: &ThreadNotification) -> Option<ApprovalReply> {
    match notification {
        ThreadNotification::ItemCompleted {
            end: Some(ItemEnd::Approval(end)),
            ..
        } => Some(end.reply),
        _ => None,
    }
}
