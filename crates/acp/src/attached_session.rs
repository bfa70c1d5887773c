//! A session that a client has open: the requests that wait for an answer, and the position of the client's
//! stream.

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

pub(crate) struct AttachedSession {
    pub(crate) session: Arc<Seat>,
    /// Whether the client opened the session, and did not only attach to it.
    opens: AtomicBool,
    /// The number of unanswered requests about its clients; questions wait for these answers.
    live_calls: watch::Sender<usize>,
    state: Mutex<AttachedSessionState>,
    stop: CancellationToken,
    /// Cancelled when the answer that opens the session is queued.
    opened: CancellationToken,
    done: CancellationToken,
}

#[derive(Default)]
struct AttachedSessionState {
    /// Prompts that wait for their answer, oldest first; few, because the queue of prompts is bounded.
    prompts: Vec<PendingPrompt>,
    /// Answers that wait for the updates before them.
    replies: Vec<(Seq, Box<dyn FnOnce() + Send>)>,
    /// Controls whose requests wait for their answers.
    unanswered: UnansweredControls,
    /// Messages that the client shows itself, until they are delivered.
    self_shown: Vec<MessageId>,
    position: Seq,
    ended: Option<SessionEnd>,
    /// The attached session that replaced this one.
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

/// The receiver of a turn's end.
enum PromptWaiter {
    /// The request that is answered when the turn ends.
    Request {
        responder: Box<Responder>,
        /// Ends the watch for `$/cancel_request`.
        _watch: DropGuard,
    },
    /// No request; no update of the turn is sent before this gate is open.
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

    /// Creates a new attachment to the same session, to replace this one.
    pub(crate) fn reattach(&self) -> Arc<Self> {
        Self::new(self.session.clone(), self.is_opened_by_client())
    }

    /// Records that the client opens the session, in addition to attaching to it.
    pub(crate) fn mark_opened_by_client(&self) {
        self.opens.store(true, Ordering::Relaxed);
    }

    /// Whether the client opened the session.
    pub(crate) fn is_opened_by_client(&self) -> bool {
        self.opens.load(Ordering::Relaxed)
    }

    /// Makes questions wait until the result is dropped.
    pub(crate) fn begin_live_call(self: &Arc<Self>) -> LiveCall {
        self.live_calls.send_modify(|calls| *calls += 1);
        LiveCall(self.clone())
    }

    /// Returns the number of [`LiveCall`]s.
    pub(crate) fn watch_live_calls(&self) -> watch::Receiver<usize> {
        self.live_calls.subscribe()
    }

    /// Whether a prompt of this client waits for its answer.
    pub(crate) fn has_prompts(&self) -> bool {
        !lock(&self.state).prompts.is_empty()
    }

    /// Whether a turn of any client runs or waits.
    pub(crate) fn has_active_prompt(&self) -> bool {
        self.session.live_state().active_prompt
    }

    /// Stops the follow once the answer that opens the session is queued; resolves when it has stopped.
    pub(crate) async fn stop(&self) {
        tokio::select! {
            () = self.opened.cancelled() => {}
            () = self.done.cancelled() => {}
        }
        self.stop.cancel();
        self.done.cancelled().await;
    }

    /// Resolves when everything the session published is queued, or the follow has stopped.
    pub(crate) async fn wait_until_drained(&self) {
        self.done.cancelled().await;
    }

    /// Returns the handles of the follow: the token that stops it, and the guard to drop when it has stopped.
    pub(crate) fn follow_handles(&self) -> (CancellationToken, DropGuard) {
        (self.stop.clone(), self.done.clone().drop_guard())
    }

    /// Records that the answer that opens the session is queued.
    pub(crate) fn mark_opening_answered(&self) {
        self.opened.cancel();
    }

    /// Stores a prompt's responder until its turn ends. Call it before the session receives the turn.
    pub(crate) fn expect_end(&self, turn: &TurnId, responder: Responder, watch: DropGuard) {
        self.expect(
            turn,
            PromptWaiter::Request {
                responder: Box::new(responder),
                _watch: watch,
            },
        );
    }

    /// Stores a turn of this client that no request waits for; its updates wait until the gate is open.
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

    /// Takes the gate before the first update of a turn.
    pub(crate) fn take_start_gate(&self, turn: &TurnId) -> Option<Gate> {
        let prompts = &mut lock(&self.state).prompts;
        let prompt = prompts.iter_mut().find(|prompt| prompt.turn == *turn)?;
        match &mut prompt.waits {
            PromptWaiter::Nobody(gate) => gate.take(),
            PromptWaiter::Request { .. } => None,
        }
    }

    /// Leaves a message out of the client's stream: the client shows the messages it steers with. A client that
    /// loads the session again has lost it, so the successor sends it.
    pub(crate) fn leave_out(&self, message: &MessageId) {
        let shown = &mut lock(&self.state).self_shown;
        // A revoked message is never delivered, and must not be stored forever.
        const MOST: usize = 64;
        if shown.len() == MOST {
            shown.remove(0);
        }
        shown.push(message.clone());
    }

    /// Whether the client shows this message itself.
    pub(crate) fn is_left_out(&self, message: &MessageId) -> bool {
        lock(&self.state).self_shown.contains(message)
    }

    /// Delays the outcome of a control until the answer to its request.
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

    /// Runs a control whose outcome waits behind the answer to its request.
    pub(crate) async fn run_with_held_outcome<T>(
        &self,
        asked: ControlKey,
        gate: Gate,
        done: impl Future<Output = Result<T, ControlError>>,
    ) -> Result<T, ControlError> {
        self.hold(asked.clone(), gate);
        let result = done.await;
        self.release_if_no_outcome(&asked, &result);
        result
    }

    /// Drops the gate of a control that has no outcome.
    pub(crate) fn release_if_no_outcome<T>(
        &self,
        asked: &ControlKey,
        result: &Result<T, ControlError>,
    ) {
        match result {
            Ok(_) | Err(ControlError::Refused { .. }) => {}
            Err(ControlError::Unfit(_) | ControlError::Closed) => drop(self.release(asked)),
        }
    }

    /// Takes the gate of a control that has no outcome.
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

    /// Takes the gate before this outcome.
    pub(crate) fn take_outcome_gate(&self, outcome: &ControlOutcome) -> Option<Gate> {
        lock(&self.state)
            .unanswered
            .take(&ControlKey::from_outcome(outcome))
    }

    /// Takes the gate before the end of a queued prompt that this client cancelled.
    pub(crate) fn take_withdrawal_gate(&self, turn: &TurnId) -> Option<Gate> {
        let asked = ControlKey::new(ControlKind::Cancel, Some(turn.as_str()));
        lock(&self.state).unanswered.take(&asked)
    }

    /// Calls `reply` once everything up to `seq` is queued.
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

    /// Resolves when everything the session has written so far is queued.
    pub(crate) async fn wait_until_caught_up(&self) {
        let (reply, reached) = tokio::sync::oneshot::channel();
        self.reply_after(self.session.last_seq(), move || {
            // The receiver may be dropped.
            let _ = reply.send(());
        });
        // An error means that the follow has stopped; there is nothing to wait for.
        let _ = reached.await;
    }

    /// Replaces an earlier attachment to the same session whose follow has stopped: takes its pending answers,
    /// including any that are added to it later.
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

    /// Takes the responder of a prompt whose turn has ended, if the prompt was this client's.
    pub(crate) fn take_ended_prompt(&self, turn: &TurnId) -> Option<Responder> {
        let prompts = &mut lock(&self.state).prompts;
        let at = prompts.iter().position(|prompt| prompt.turn == *turn)?;
        match prompts.remove(at).waits {
            PromptWaiter::Request { responder, .. } => Some(*responder),
            PromptWaiter::Nobody(_) => None,
        }
    }

    /// Returns the turn that a cancel of this client means: the turn of its oldest prompt without an answer,
    /// even if the turn has ended and the client cannot know it yet; without a prompt of its own, the running
    /// turn.
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

    /// Records that everything up to `seq` is queued, and sends the answers that waited for it.
    pub(crate) fn set_position(&self, seq: Seq) {
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

    /// Sends all pending answers; the session has ended.
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
    /// Answers with an error: the session ended first.
    fn end(self, end: &SessionEnd) {
        match self {
            Self::Request { responder, .. } => {
                answer::<()>(*responder, Err(error::session_ended(end)));
            }
            Self::Nobody(_) => {}
        }
    }
}
