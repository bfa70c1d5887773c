//! A session a client has open: what waits there for an answer, and how far the client has been told.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use agent_client_protocol::Responder;
use harn_model::{ControlKind, ControlOutcome, MessageId, Seq, TurnId};
use harn_runtime::{ControlError, Seat, SessionEnd};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    answer::answer,
    error,
    lock::lock,
    ordering::{ControlKey, Gate, UnansweredControls},
};

/// A session this client has open.
pub(crate) struct AttachedSession {
    pub(crate) session: Arc<Seat>,
    /// Whether the client opened the session, and did not only attach to it.
    opens: AtomicBool,
    /// Requests about its clients that have no answer yet: questions come after that.
    live_calls: watch::Sender<usize>,
    state: Mutex<AttachedSessionState>,
    stop: CancellationToken,
    /// Its opening answer is queued.
    opened: CancellationToken,
    done: CancellationToken,
}

#[derive(Default)]
struct AttachedSessionState {
    /// Prompts that wait for their answer, oldest first; few, as only so many may wait.
    prompts: Vec<PendingPrompt>,
    /// Answers that wait for the updates before them.
    replies: Vec<(Seq, Box<dyn FnOnce() + Send>)>,
    /// Controls that wait for theirs.
    unanswered: UnansweredControls,
    /// Messages that the client shows by itself, until they are delivered.
    self_shown: Vec<MessageId>,
    position: Seq,
    ended: Option<SessionEnd>,
    /// The attachment that took this one's place.
    successor: Option<Arc<AttachedSession>>,
}

/// A request about a client, until its answer is queued.
pub(crate) struct LiveCall(Arc<AttachedSession>);

impl Drop for LiveCall {
    fn drop(&mut self) {
        self.0.live_calls.send_modify(|calls| *calls -= 1);
    }
}

struct PendingPrompt {
    turn: TurnId,
    waits: PromptWaiter,
}

/// Who waits for a turn.
enum PromptWaiter {
    /// The request that is answered when it ends.
    Request {
        responder: Box<Responder>,
        /// Ends the watch for `$/cancel_request`.
        _watch: DropGuard,
    },
    /// Nobody; nothing is told of it before this is open.
    Nobody(Option<Gate>),
}

impl AttachedSession {
    pub(crate) fn new(session: Arc<Seat>, opens: bool) -> Arc<Self> {
        Arc::new(Self {
            session,
            opens: AtomicBool::new(opens),
            live_calls: watch::Sender::new(0),
            state: Mutex::default(),
            stop: CancellationToken::new(),
            opened: CancellationToken::new(),
            done: CancellationToken::new(),
        })
    }

    /// The session anew, in the place of this one.
    pub(crate) fn again(&self) -> Arc<Self> {
        Self::new(self.session.clone(), self.opens())
    }

    /// The client opens the session, too.
    pub(crate) fn open(&self) {
        self.opens.store(true, Ordering::Relaxed);
    }

    /// Whether the client opened the session.
    pub(crate) fn opens(&self) -> bool {
        self.opens.load(Ordering::Relaxed)
    }

    /// Has questions wait until this is dropped.
    pub(crate) fn live_call(self: &Arc<Self>) -> LiveCall {
        self.live_calls.send_modify(|calls| *calls += 1);
        LiveCall(self.clone())
    }

    /// How many of these there are.
    pub(crate) fn live_calls(&self) -> watch::Receiver<usize> {
        self.live_calls.subscribe()
    }

    /// Whether a prompt of this client waits for its answer.
    pub(crate) fn has_prompts(&self) -> bool {
        !lock(&self.state).prompts.is_empty()
    }

    /// Whether a turn runs or waits, whoever asked for it.
    pub(crate) fn has_active_prompt(&self) -> bool {
        self.session.live_state().active_prompt
    }

    /// Stops following the session once its opening has been answered; resolves when it has stopped.
    pub(crate) async fn stop(&self) {
        tokio::select! {
            () = self.opened.cancelled() => {}
            () = self.done.cancelled() => {}
        }
        self.stop.cancel();
        self.done.cancelled().await;
    }

    /// Resolves when everything the session published has been queued, or following has stopped.
    pub(crate) async fn drained(&self) {
        self.done.cancelled().await;
    }

    /// For who follows the session: resolved when it is to stop, dropped when it has.
    pub(crate) fn following(&self) -> (CancellationToken, DropGuard) {
        (self.stop.clone(), self.done.clone().drop_guard())
    }

    /// The opening answer is queued.
    pub(crate) fn opened(&self) {
        self.opened.cancel();
    }

    /// Keeps a prompt's responder until its turn ends. Called before the session hears of the turn.
    pub(crate) fn expect_end(&self, turn: &TurnId, responder: Responder, watch: DropGuard) {
        self.expect(
            turn,
            PromptWaiter::Request {
                responder: Box::new(responder),
                _watch: watch,
            },
        );
    }

    /// Takes a turn of this client that no request waits for; told of from when the gate is open.
    pub(crate) fn expect_detached(&self, turn: &TurnId, gate: Option<Gate>) {
        self.expect(turn, PromptWaiter::Nobody(gate));
    }

    fn expect(&self, turn: &TurnId, waits: PromptWaiter) {
        let mut state = lock(&self.state);
        if let Some(successor) = state.successor.clone() {
            drop(state);
            return successor.expect(turn, waits);
        }
        if let Some(end) = state.ended.clone() {
            drop(state);
            return waits.end(&end);
        }
        let turn = turn.clone();
        state.prompts.push(PendingPrompt { turn, waits });
    }

    /// The gate before everything of a turn that has begun.
    pub(crate) fn before(&self, turn: &TurnId) -> Option<Gate> {
        let prompts = &mut lock(&self.state).prompts;
        let prompt = prompts.iter_mut().find(|prompt| prompt.turn == *turn)?;
        match &mut prompt.waits {
            PromptWaiter::Nobody(gate) => gate.take(),
            PromptWaiter::Request { .. } => None,
        }
    }

    /// Leaves a message out of the client's stream: the client shows what it steers with. One that loads
    /// the session anew has forgotten it, so a successor does not leave it out.
    pub(crate) fn leave_out(&self, message: &MessageId) {
        let shown = &mut lock(&self.state).self_shown;
        // One that was revoked is never delivered, and must not be kept for ever.
        const MOST: usize = 64;
        if shown.len() == MOST {
            shown.remove(0);
        }
        shown.push(message.clone());
    }

    /// Whether the client shows this message by itself.
    pub(crate) fn leaves_out(&self, message: &MessageId) -> bool {
        lock(&self.state).self_shown.contains(message)
    }

    /// Has the outcome of a control come after the answer to its request.
    pub(crate) fn hold(&self, asked: ControlKey, gate: Gate) {
        let mut state = lock(&self.state);
        match state.successor.clone() {
            None => state.unanswered.hold(asked, gate),
            Some(successor) => {
                drop(state);
                successor.hold(asked, gate);
            }
        }
    }

    /// Does what a request asks for, its outcome held back behind the answer.
    pub(crate) async fn held<T>(
        &self,
        asked: ControlKey,
        gate: Gate,
        done: impl Future<Output = Result<T, ControlError>>,
    ) -> Result<T, ControlError> {
        self.hold(asked.clone(), gate);
        let result = done.await;
        self.settled(&asked, &result);
        result
    }

    /// Lets go of an outcome that will not come.
    pub(crate) fn settled<T>(&self, asked: &ControlKey, result: &Result<T, ControlError>) {
        match result {
            Ok(_) | Err(ControlError::Refused { .. }) => {}
            Err(ControlError::Unfit(_) | ControlError::Closed) => drop(self.release(asked)),
        }
    }

    /// The gate of an outcome that will not come.
    pub(crate) fn release(&self, asked: &ControlKey) -> Option<Gate> {
        let mut state = lock(&self.state);
        match state.successor.clone() {
            None => state.unanswered.release(asked),
            Some(successor) => {
                drop(state);
                successor.release(asked)
            }
        }
    }

    /// The gate before this outcome.
    pub(crate) fn answering(&self, outcome: &ControlOutcome) -> Option<Gate> {
        lock(&self.state).unanswered.take(&ControlKey::of(outcome))
    }

    /// The gate before the end of a prompt that a cancel of this client met while it waited.
    pub(crate) fn withdrawing(&self, turn: &TurnId) -> Option<Gate> {
        let asked = ControlKey::new(ControlKind::Cancel, Some(turn.as_str()));
        lock(&self.state).unanswered.take(&asked)
    }

    /// Calls `reply` once everything up to `seq` has been queued.
    pub(crate) fn reply_after(&self, seq: Seq, reply: impl FnOnce() + Send + 'static) {
        let mut state = lock(&self.state);
        if let Some(successor) = state.successor.clone() {
            drop(state);
            successor.reply_after(seq, reply);
        } else if state.position >= seq || state.ended.is_some() {
            drop(state);
            reply();
        } else {
            state.replies.push((seq, Box::new(reply)));
        }
    }

    /// Resolves when everything the session has written so far has been queued.
    pub(crate) async fn caught_up(&self) {
        let (reply, reached) = tokio::sync::oneshot::channel();
        self.reply_after(self.session.last_seq(), move || {
            // Nobody may be waiting any more.
            let _ = reply.send(());
        });
        // An error means that following has stopped; there is nothing to wait for.
        let _ = reached.await;
    }

    /// Takes over from an earlier attachment of the same session that has stopped: what waits there for
    /// an answer moves over, also what comes to it from now on.
    pub(crate) fn take_over(self: &Arc<Self>, earlier: &Self) {
        let (prompts, replies, unanswered) = {
            let mut state = lock(&earlier.state);
            state.successor = Some(self.clone());
            let prompts = std::mem::take(&mut state.prompts);
            let unanswered = std::mem::take(&mut state.unanswered);
            (prompts, std::mem::take(&mut state.replies), unanswered)
        };
        let mut state = lock(&self.state);
        state.unanswered.extend(unanswered);
        state.prompts.extend(prompts);
        state.replies.extend(replies);
    }

    /// The responder of a prompt whose turn has ended, if the prompt was this client's.
    pub(crate) fn ended(&self, turn: &TurnId) -> Option<Responder> {
        let prompts = &mut lock(&self.state).prompts;
        let at = prompts.iter().position(|prompt| prompt.turn == *turn)?;
        match prompts.remove(at).waits {
            PromptWaiter::Request { responder, .. } => Some(*responder),
            PromptWaiter::Nobody(_) => None,
        }
    }

    /// The turn a cancel of this client means: that of its oldest prompt without an answer, also when the
    /// turn has ended and the client cannot know it yet; without a prompt of its own, the one that runs.
    pub(crate) fn cancel_target(&self) -> Option<TurnId> {
        let state = lock(&self.state);
        if let Some(successor) = state.successor.clone() {
            drop(state);
            return successor.cancel_target();
        }
        let own = state.prompts.first().map(|prompt| prompt.turn.clone());
        own.or_else(|| self.session.cancel_target())
    }

    /// Whether the turn is one of this client's prompts.
    pub(crate) fn is_mine(&self, turn: Option<&TurnId>) -> bool {
        let prompts = &lock(&self.state).prompts;
        turn.is_some_and(|turn| prompts.iter().any(|prompt| prompt.turn == *turn))
    }

    /// Everything up to `seq` is queued.
    pub(crate) fn reached(&self, seq: Seq) {
        let due = {
            let mut state = lock(&self.state);
            state.position = seq;
            let (due, later) = std::mem::take(&mut state.replies)
                .into_iter()
                .partition(|(at, _)| *at <= seq);
            state.replies = later;
            due
        };
        let due: Vec<(Seq, Box<dyn FnOnce() + Send>)> = due;
        due.into_iter().for_each(|(_, reply)| reply());
    }

    /// Nothing more will come: who waits is told.
    pub(crate) fn end(&self, end: &SessionEnd) {
        let (prompts, replies) = {
            let mut state = lock(&self.state);
            state.ended = Some(end.clone());
            let prompts = std::mem::take(&mut state.prompts);
            (prompts, std::mem::take(&mut state.replies))
        };
        replies.into_iter().for_each(|(_, reply)| reply());
        for prompt in prompts {
            prompt.waits.end(end);
        }
    }
}

impl PromptWaiter {
    /// The session ended first.
    fn end(self, end: &SessionEnd) {
        match self {
            Self::Request { responder, .. } => {
                answer::<()>(*responder, Err(error::session_ended(end)));
            }
            Self::Nobody(_) => {}
        }
    }
}
