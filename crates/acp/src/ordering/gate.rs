//! Gates: a line that must not overtake an answer waits until that answer is in the writer's queue.

use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
    sync::Mutex,
};

use agent_client_protocol::{RawJsonRpcId, RawJsonRpcMessage};
use harn_model::{ControlKind, ControlOutcome, SessionId};
use tokio::sync::oneshot;

use super::open_requests::{named_params, named_session};
use crate::{lock::lock, transport::FollowId};

/// Gates behind answers, by request id, and behind our own questions, by the call that they name.
#[derive(Default)]
pub(crate) struct AnswerGates {
    answers: Mutex<HashMap<RawJsonRpcId, AnswerLatch>>,
    questions: Mutex<HashMap<(SessionId, String), QuestionLatch>>,
}

/// A gate that opens when its latch is dropped: the answer is queued, or the connection has ended.
pub(crate) struct Gate(oneshot::Receiver<Infallible>);

/// Dropping it opens its gate.
type Latch = oneshot::Sender<Infallible>;

struct AnswerLatch {
    _latch: Latch,
    /// Whether the answer may overtake lines in the writer's queue.
    ahead: bool,
}

/// A question that is not in the queue yet. Dropping it opens the gate behind it.
pub(super) struct QuestionLatch {
    _latch: Latch,
    /// The follow that asks, for a question that has a position in the stream.
    pub(super) stream: Option<FollowId>,
}

impl Gate {
    fn new_closed() -> (Latch, Self) {
        let (latch, gate) = oneshot::channel();
        (latch, Self(gate))
    }

    /// Waits until the gate is open.
    pub(crate) async fn wait_until_open(self) {
        // Nothing is ever sent; an error means that the latch is dropped.
        let _ = self.0.await;
    }
}

impl AnswerGates {
    /// Creates a gate behind the answer to this request. Call it before the answer is given.
    pub(crate) fn gate_behind_answer(&self, id: &RawJsonRpcId) -> Gate {
        self.create_gate(id, false)
    }

    /// Creates a gate behind an answer that overtakes the updates in the writer's queue: updates that the
    /// request causes wait at the gate, and a client that steers a turn need not wait for earlier updates of
    /// it.
    pub(crate) fn gate_behind_priority_answer(&self, id: &RawJsonRpcId) -> Gate {
        self.create_gate(id, true)
    }

    fn create_gate(&self, id: &RawJsonRpcId, ahead: bool) -> Gate {
        let (_latch, gate) = Gate::new_closed();
        lock(&self.answers).insert(id.clone(), AnswerLatch { _latch, ahead });
        gate
    }

    /// Whether the answer to this request overtakes updates.
    pub(super) fn is_ahead(&self, id: &RawJsonRpcId) -> bool {
        lock(&self.answers).get(id).is_some_and(|it| it.ahead)
    }

    /// Opens the gate behind the answer to this request, which is queued.
    pub(super) fn open(&self, id: &RawJsonRpcId) {
        lock(&self.answers).remove(id);
    }

    /// Creates a gate behind a permission request of ours about this call. Call it before the request is sent.
    pub(crate) fn gate_behind_question(
        &self,
        session: &SessionId,
        call: &str,
        stream: Option<FollowId>,
    ) -> Gate {
        let (_latch, gate) = Gate::new_closed();
        let key = (session.clone(), call.to_owned());
        lock(&self.questions).insert(key, QuestionLatch { _latch, stream });
        gate
    }

    /// Returns the latch of the question that this message is, if there is a gate behind it.
    pub(super) fn take_question(&self, message: &RawJsonRpcMessage) -> Option<QuestionLatch> {
        let RawJsonRpcMessage::Request(request) = message else {
            return None;
        };
        let call = named_params(request.params.as_ref())?.get("toolCall")?;
        let call = call.get("toolCallId")?.as_str()?.to_owned();
        let session = named_session(request.params.as_ref())?;
        lock(&self.questions).remove(&(session, call))
    }
}

/// The key of a requested control, as far as it is known before the outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ControlKey {
    control: ControlKind,
    target: Option<String>,
}

impl ControlKey {
    pub(crate) fn new(control: ControlKind, target: Option<&str>) -> Self {
        let target = target.filter(|_| control != ControlKind::Remind);
        Self {
            control,
            target: target.map(str::to_owned),
        }
    }

    /// Returns the key for an outcome. The id of a reminder may not be known when the control is requested.
    pub(crate) fn from_outcome(outcome: &ControlOutcome) -> Self {
        let target = &outcome.target;
        let target = match outcome.control {
            ControlKind::Inject | ControlKind::RevokeInject | ControlKind::ReplaceInject => {
                target.message_id.as_ref().map(|id| id.as_str())
            }
            ControlKind::RevokeReminder => target.reminder_id.as_deref(),
            ControlKind::Cancel => target.turn_id.as_ref().map(|id| id.as_str()),
            ControlKind::Remind => None,
        };
        Self::new(outcome.control, target)
    }
}

/// Controls whose outcome is not sent before the answer to their request, the oldest first. An equal control of
/// another client may match one of them; then its outcome waits too, which does no harm.
#[derive(Default)]
pub(crate) struct UnansweredControls(HashMap<ControlKey, VecDeque<Gate>>);

impl UnansweredControls {
    pub(crate) fn hold(&mut self, asked: ControlKey, gate: Gate) {
        self.0.entry(asked).or_default().push_back(gate);
    }

    /// Removes the last gate of a control that has no outcome.
    pub(crate) fn release(&mut self, asked: &ControlKey) -> Option<Gate> {
        let gate = self.0.get_mut(asked).and_then(VecDeque::pop_back);
        self.0.retain(|_, gates| !gates.is_empty());
        gate
    }

    /// Removes the gate that the outcome of this control waits for.
    pub(crate) fn take(&mut self, asked: &ControlKey) -> Option<Gate> {
        let gates = self.0.get_mut(asked)?;
        let gate = gates.pop_front();
        if gates.is_empty() {
            self.0.remove(asked);
        }
        gate
    }

    pub(crate) fn extend(&mut self, earlier: Self) {
        for (asked, gates) in earlier.0 {
            self.0.entry(asked).or_default().extend(gates);
        }
    }
}
